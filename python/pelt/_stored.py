"""What skins and key points have in common: the bytes of a file, opened, saved and let go."""

from __future__ import annotations

import ctypes as c
import json
import os
from typing import Any, ClassVar, Generic, Optional, TypeVar, Union

import numpy as np

from ._arrays import aligned
from ._library import ArgumentError, Failure, Handle, done, lib, path_of

PathLike = Union[str, "os.PathLike[str]"]


class Memory:
    """Bytes, whoever owns them; subclasses open them."""

    def __init__(self, owner: object, start: int, size: int) -> None:
        self._owner = owner
        self.start, self.size = start, size


AnyMemory = TypeVar("AnyMemory", bound=Memory)
AnyStored = TypeVar("AnyStored", bound="Stored[Any]")


class Stored(Generic[AnyMemory]):
    """Something that is the bytes of its file."""

    _opens: ClassVar[type[Memory]]  # what opens the bytes
    _words: ClassVar[str]  # what messages about it begin with
    _memory: Optional[AnyMemory]

    @classmethod
    def from_bytes(cls: type[AnyStored], data: Union[bytes, bytearray, memoryview]) -> AnyStored:
        """Opens the bytes of its file; they are copied and checked."""
        try:
            given = np.frombuffer(data, np.uint8)
        except (TypeError, ValueError) as problem:
            raise ArgumentError(f"data: {problem}", option="data") from None
        own = aligned(len(given))
        own[:] = given
        return cls(cls._opens(own, own.ctypes.data, len(own)))  # type: ignore[call-arg]

    def to_bytes(self) -> bytes:
        """The bytes of its file."""
        memory = self._open()
        return c.string_at(memory.start, memory.size)

    def save(self, path: PathLike) -> None:
        """Writes its file, which appears whole or not at all."""
        memory, failure = self._open(), Failure()
        held = (c.c_void_p * 2)(memory.start, memory.size)  # a pelt_bytes
        done(lib.pelt_bytes_write(held, path_of(path), failure.buffer), failure)

    def _open(self) -> AnyMemory:
        if self._memory is None:
            raise ArgumentError(f"{self._words} been closed")
        return self._memory

    def close(self) -> None:
        """Lets go of the memory; what still uses it keeps it."""
        self._memory = None

    def __enter__(self: AnyStored) -> AnyStored:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def memory_of(opens: type[AnyMemory], pointer: c.c_void_p) -> AnyMemory:
    """Opens a pelt_bytes, and owns it."""
    handle = Handle(pointer, "pelt_bytes_free")
    return opens(handle, lib.pelt_bytes_data(pointer), lib.pelt_bytes_size(pointer))


def about_of(text: str) -> dict[str, Any]:
    """The text for people in a file."""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {"text": text}
    return found if isinstance(found, dict) else {"text": text}
