"""A fit in the background. Examples are evaluated by Blender, a frame at a time, in the main thread; the fit itself runs in a thread
of its own, with Python's lock released, and says how far it is."""

import threading
import time
from dataclasses import dataclass

from .examples import collect
from .library import Problem, pelt

sessions = {}
"""What was fitted while Blender runs, by the name of the armature: a Result."""


@dataclass
class Result:
    examples: object
    skin: object

    @property
    def report(self):
        return self.skin.report

    def worst(self, most=10):
        """[(clip, frame in Blender, rms, max)] of frames that the held-out fit has not seen, or, where none was held out, of all."""
        measure = self.report.holdout or self.report.train
        if measure is None:
            return []
        rows = []
        for (clip, frame), rms, largest in zip(measure.frames, measure.frame_rms, measure.frame_max):
            rows.append((clip, self.examples.clips[clip][1].frames[frame], float(rms), float(largest)))
        return sorted(rows, key=lambda row: -row[2])[:most]

    def summary(self):
        report = self.report
        parts = [f"{report.method}, {self.skin.nbytes / 1024:.0f} kB, {report.seconds:.1f} s"]
        for measure, where in ((report.holdout, "held out"), (report.train, "trained")):
            if measure is not None:
                parts.append(f"{where} {measure.frame_count} frames: rms {100 * measure.rms_fraction:.3f}% of the diagonal, "
                             f"rel_err {measure.rel_err:.3f}")  # fmt: skip
        return parts


def options_of(text):
    """Options of a fit as people write them: "per_vertex=20 seed=3"."""
    found = {}
    for word in text.replace(",", " ").split():
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise Problem(f"The option '{word}' has no value: write it as name=value, such as per_vertex=20.")
        found[name.lstrip("-").replace("-", "_")] = value
    return found


class Job:
    """Examples, then the fit. `step` does a little of what the main thread must do; `run` does all."""

    def __init__(self, subject, requests, method="default", options="", holdout=None):
        self.subject = subject
        self.options = options_of(options)
        if method != "default":  # otherwise the library's own choice
            self.options["method"] = method
        if holdout is not None:
            self.options["holdout"] = holdout
        self.task, self.fraction = "examples", 0.0
        self.result, self.problem = None, ""
        self.warnings = []
        self.is_cancelled = self.is_done = False
        self._work = collect(subject, requests)
        self._thread = None

    def cancel(self):
        self.is_cancelled = True

    def step(self, seconds=0.1):
        """Goes on for a while; False when all is done."""
        if self._thread is not None:
            self._thread.join(seconds if self.fraction < 0 else 0.0)
            self.is_done = self.is_done or not self._thread.is_alive()
            return not self.is_done
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                if self.is_cancelled:
                    self._work.close()
                    return self._end("cancelled")
                self.fraction = next(self._work)
        except StopIteration as finished:
            self._start(finished.value)
        except (Problem, pelt().Error) as problem:
            return self._end(str(problem))
        return True

    def run(self):
        while self.step():
            if self._thread is not None:
                self._thread.join()
        if self.problem:
            raise Problem(self.problem)
        return self.result

    def _end(self, problem):
        self.problem, self.is_done = problem, True
        return False

    def _start(self, examples):
        self.warnings += examples.warnings
        self.task, self.fraction = "fit", 0.0
        self._thread = threading.Thread(target=self._fit, args=(examples,), name="pelt fit", daemon=True)
        self._thread.start()

    def _progress(self, task, fraction):
        self.task, self.fraction = task, fraction
        return self.is_cancelled

    def _fit(self, examples):
        library = pelt()
        try:
            clips = [clip for clip, _ in examples.clips.values()]
            skin = library.fit(examples.character, clips, progress=self._progress, **self.options)
            self.warnings += skin.report.warnings
            self.result = sessions[self.subject.armature] = Result(examples, skin)
        except library.Cancelled:
            self.problem = "cancelled"
        except Exception as problem:  # a thread has nobody else to tell
            self.problem = str(problem) or type(problem).__name__
        self.is_done = True
