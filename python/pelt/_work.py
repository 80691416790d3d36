"""Long work: progress, stopping, Ctrl-C; and who may use a character while."""

from __future__ import annotations

import ctypes as c
import signal
import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional

from ._library import ArgumentError, word
from ._structs import STEP, Progress

ProgressFunction = Callable[[str, float], object]
"""Called with the name of the task and the fraction that is done, 0 to 1. Return something true to stop."""


class Watch:
    """A pelt_progress that calls a Python function. Exceptions stop the work and are raised by `check`."""

    def __init__(self, progress: Optional[ProgressFunction]) -> None:
        if progress is not None and not callable(progress):
            raise ArgumentError(f"progress: expected a function, not {type(progress).__name__}", option="progress")
        self._progress = progress
        self._error: Optional[BaseException] = None
        self._interrupted = False
        self.step = STEP(self._step)
        self.struct = Progress(self.step, None)

    def _step(self, user: Any, task: Optional[bytes], fraction: float) -> int:
        try:
            if self._interrupted:
                return 1
            return 1 if self._progress is not None and self._progress(word(task), fraction) else 0
        except BaseException as problem:  # it cannot pass through C
            self._error = problem
            return 1

    def _interrupt(self, number: int, frame: Any) -> None:
        self._interrupted = True

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C stops the work. Python's own handler would raise inside the callback, where nobody can catch it."""
        ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if ours:
            signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            if ours:
                signal.signal(signal.SIGINT, signal.default_int_handler)

    def check(self) -> None:
        """After the call: raises what the progress function raised."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        if self._interrupted:
            raise KeyboardInterrupt


class Guard:
    """Several threads may read a bundle at once, or one may change it."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers: dict[int, int] = {}
        self._writer: Optional[int] = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        me = threading.get_ident()
        with self._condition:
            while self._writer is not None and self._writer != me:
                self._condition.wait()
            self._readers[me] = self._readers.get(me, 0) + 1
        try:
            yield
        finally:
            with self._condition:
                self._readers[me] -= 1
                if not self._readers[me]:
                    del self._readers[me]
                self._condition.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        me = threading.get_ident()
        with self._condition:
            if me in self._readers or self._writer == me:
                raise ArgumentError("the character is in use; a progress function cannot add clips to it or read them")
            while self._writer is not None or self._readers:
                self._condition.wait()
            self._writer = me
        try:
            yield
        finally:
            with self._condition:
                self._writer = None
                self._condition.notify_all()


def callback_address(function: Any) -> c.c_void_p:
    """A callback as a plain pointer."""
    return c.cast(function, c.c_void_p)
