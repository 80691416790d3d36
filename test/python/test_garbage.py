"""test_garbage.py: every public function and property, called with whatever there is: exceptions of pelt, and no crash.

The calls are made in another process, so that a crash is told from an exception; it prints each call before it makes it."""

from __future__ import annotations

import inspect
import os
import random
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Callable, Iterator

import numpy as np
from support import POINTS, Bar

import pelt

SEEDS = range(2)
CALLS = 40  # of each function, for each seed
LEFT_OUT = {"close"}  # closed ones are among the arguments


class Subjects:
    """One of everything, in use and closed."""

    def __init__(self) -> None:
        self.bar = Bar()
        self.body, self.other, self.closed = (self.bar.character() for _ in range(3))
        self.train = self.bar.clip(self.body, "train", 0, 6)
        self.foreign = self.bar.clip(self.other, "walk", 1, 5)
        self.skin, self.closed_skin = (pelt.fit(self.body, self.train, method="psd", holdout=0) for _ in range(2))
        self.frames = np.random.default_rng(1).normal(size=(30, 20, 3))
        self.keys, self.closed_keys = (pelt.train_keys(self.frames, keys=5) for _ in range(2))
        self.measure = self.skin.measure(self.train)
        self.closed.close(), self.closed_skin.close(), self.closed_keys.close()

    def callables(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        for name in pelt.__all__:
            thing = getattr(pelt, name)
            if inspect.isfunction(thing) or thing in (pelt.Character,):
                yield name, thing
        for owner in (self.body, self.closed, self.train, self.skin, self.closed_skin, self.keys, self.closed_keys, self.measure,
                      pelt.Character, pelt.Skin, pelt.Keys):  # fmt: skip
            kind = owner if isinstance(owner, type) else type(owner)
            for name in dir(kind):
                static = inspect.getattr_static(kind, name)
                if name.startswith("_") or name in LEFT_OUT or (owner is kind) != isinstance(static, (classmethod, staticmethod)):
                    continue
                if isinstance(static, property):
                    yield f"{kind.__name__}.{name}", lambda owner=owner, name=name: getattr(owner, name)
                elif callable(getattr(owner, name, None)):
                    yield f"{kind.__name__}.{name}", getattr(owner, name)

    def arguments(self) -> list[Any]:
        b, pose = self.bar, self.bar.rest.astype(np.float32)
        read_only = np.zeros((POINTS, 3), np.float32)
        read_only.flags.writeable = False
        return [
            None, True, 0, 1, -1, 3, 2**31, 2**32, 2**63, 2**64, -(2**40), 0.5, -0.5, 1e308, float("nan"), float("inf"), 1j, "", "train", "psd",
            "kernel", "x.pelt", "x.glb", "x.pc2", "a\0b", "nowhere/x.glb", "\ud800", b"", b"PELT" * 40, bytearray(9), [], [None], {}, {"a": 1},
            [[1, 2], [3]], range(3), (i for i in range(3)), object(), print, lambda *_: 1 / 0, lambda *_: np.zeros(3), type, slice(3),
            self.body, self.other, self.closed, self.train, self.foreign, self.skin, self.closed_skin, self.keys, self.closed_keys,
            [self.train, self.foreign], self.train.frames([0, 2]), self.measure, self.skin.to_bytes(), self.skin.to_bytes()[:-5], self.keys.to_bytes(),
            b.positions, b.triangles, b.parents, b.rest, b.weights, pose, pose[None], np.repeat(pose[None], 3, 0), self.train.poses, self.frames,
            np.zeros(0), np.zeros((0, 3)), np.array(3.0), np.zeros((2, 10), object), np.zeros((2, 10), complex), np.zeros((2, 10), bool),
            np.zeros((2, 10), ">f4"), np.full((2, 10), np.nan), np.zeros((2, 3, 4)), np.zeros((2, 3, 4), np.float32)[:, ::-1], np.zeros((POINTS, 3)),
            np.zeros((POINTS, 3), np.float32), np.zeros((3, POINTS), np.float32).T, read_only, np.broadcast_to(np.float32(1), (POINTS, 3)),
            np.zeros((POINTS + 1, 3), np.float32)[1:], np.zeros((2 * POINTS, 3), np.float32)[::2], np.zeros((POINTS, 3), "S4"), np.array(["a", "b"]),
            np.zeros(4, [("x", "f4")]), np.ma.masked_array([1.0, 2.0], [0, 1]), np.datetime64("2020-01-01"), np.arange(3, dtype=np.uint64) + 2**63,
            np.lib.stride_tricks.as_strided(np.zeros(POINTS + 3, np.float32), (POINTS, 3), (4, 4)), memoryview(np.zeros(60, np.float32)),
        ]  # fmt: skip


def names_of(call: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """The arguments that must be given, and those that may be."""
    given = [p for p in inspect.signature(call).parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    given = [p for p in given if p.name not in ("owner", "name") or not call.__name__ == "<lambda>"]
    return [p.name for p in given if p.default is p.empty], [p.name for p in given if p.default is not p.empty]


def throw_garbage(seed: int) -> None:
    dice = random.Random(seed)
    subjects = Subjects()
    everything = subjects.arguments()
    wrong: set[str] = set()
    for name, call in subjects.callables():
        needed, options = names_of(call)
        for attempt in range(CALLS if needed or options else 1):
            chosen = needed + dice.sample(options, dice.randint(0, min(3, len(options))))
            given = {option: dice.choice(everything) for option in chosen}
            print(name, attempt, {option: type(value).__name__ for option, value in given.items()}, flush=True)
            try:
                call(**given)
            except (pelt.Error, ZeroDivisionError) as problem:  # or what the caller's own function raises
                if not str(problem):
                    wrong.add(f"{name}: an exception without a sentence")
            except Exception as problem:  # noqa: BLE001
                words = {option: repr(value)[:60] for option, value in given.items()}
                wrong.add(f"{name}({words}): {type(problem).__name__}: {problem}")
    print(*sorted(wrong), sep="\n", file=sys.stderr)
    # What was given to all of that still works.
    fresh = pelt.fit(subjects.other, subjects.foreign, method="psd", holdout=0)
    assert np.isfinite(fresh.evaluate(subjects.bar.rest)).all()
    assert not wrong, f"{len(wrong)} exceptions that are not pelt's"
    print("all of it", flush=True)


class Garbage(unittest.TestCase):
    def test_it_is_refused_and_nothing_crashes(self) -> None:
        for seed in SEEDS:
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [sys.executable, os.path.abspath(__file__), str(seed)], cwd=folder, capture_output=True, text=True, timeout=280,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PELT_PROGRAM": "/nowhere"},
                )  # fmt: skip
                last = done.stdout.splitlines()[-1:]
                self.assertEqual((done.returncode, last), (0, ["all of it"]), f"after {last}:\n{done.stderr[-3000:]}")


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].isdigit():
        throw_garbage(int(sys.argv[1]))
    else:
        unittest.main()
