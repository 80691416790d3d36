"""Arrays in and out: what callers pass is checked here, and what the library owns is shown without a copy."""

from __future__ import annotations

import ctypes as c
from typing import Any, Optional, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._library import ArgumentError, Handle

Floats = NDArray[np.float32]
Sizes = Sequence[Union[int, str]]  # a word stands for any size


def _shape_text(shape: Sequence[Union[int, str]]) -> str:
    return "(" + ", ".join(str(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"


def _check_shape(array: NDArray[Any], shape: Sizes, name: str) -> None:
    fits = array.ndim == len(shape) and all(isinstance(want, str) or want == is_ for want, is_ in zip(shape, array.shape))
    if not fits:
        raise ArgumentError(f"{name}: expected an array of shape {_shape_text(shape)}, not {_shape_text(array.shape)}", option=name)


def _array(value: ArrayLike, name: str, kinds: str, what: str) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as problem:
        raise ArgumentError(f"{name}: {problem}", option=name) from None
    if array.dtype.kind not in kinds and array.size:
        raise ArgumentError(f"{name}: expected {what}, not {array.dtype}", option=name)
    return array


def array_of(value: ArrayLike, name: str) -> NDArray[Any]:
    """Of any shape and type."""
    return _array(value, name, "fiu", "numbers")


def flag(value: object, name: str) -> int:
    """A truth value, 0 or 1; arrays have none."""
    try:
        return int(bool(value))
    except (ValueError, TypeError):
        raise ArgumentError(f"{name}: expected True or False, not {type(value).__name__}", option=name) from None


def number(value: object, name: str) -> float:
    """One number."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name}: expected a number, not {type(value).__name__}", option=name) from None


def list_of(values: object, name: str) -> list[Any]:
    """What can be gone through, once."""
    try:
        return list(values)  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise ArgumentError(f"{name}: expected a list, not {type(values).__name__}", option=name) from None


def floats(value: ArrayLike, shape: Sizes, name: str) -> Floats:
    """Numbers as the library takes them: single precision, without gaps. What is so already is not copied."""
    array = _array(value, name, "fiu", "numbers")
    _check_shape(array, shape, name)
    with np.errstate(over="ignore", invalid="ignore"):  # the library refuses what is not finite
        return np.require(array, np.float32, ["C", "A"])


def finite(array: Floats, name: str) -> Floats:
    """For calls that the library does not check."""
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ArgumentError(f"{name}: the number at {where} is not finite", "number", name)
    return array


def integers(value: ArrayLike, shape: Sizes, name: str, kind: Any = np.uint32) -> NDArray[Any]:
    """Indices; a negative one is refused and not wrapped around."""
    array = _array(value, name, "iu", "integers")
    _check_shape(array, shape, name)
    limits = np.iinfo(kind)
    if array.size and (int(array.min()) < limits.min or int(array.max()) > limits.max):
        raise ArgumentError(f"{name}: {int(array.min())} to {int(array.max())} is beyond {limits.min} to {limits.max}", option=name)
    return np.require(array, kind, ["C", "A"])


def target(array: object, shape: Sequence[int], name: str) -> Floats:
    """An array to write into: single precision, the last axis without gaps, vertices any distance apart."""
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"{name}: expected a numpy array to write into, not {type(array).__name__}", option=name)
    _check_shape(array, tuple(shape), name)
    if array.dtype != np.float32 or not array.dtype.isnative:
        raise ArgumentError(f"{name}: expected numbers of type float32 to write into, not {array.dtype}", option=name)
    if not array.flags.writeable:
        raise ArgumentError(f"{name}: the array is read-only", option=name)
    if not array.flags.aligned or (array.size and (array.strides[-1] != 4 or (array.shape[-2] > 1 and array.strides[-2] < 12))):
        raise ArgumentError(f"{name}: the numbers of each vertex must be contiguous, and vertices must not overlap", option=name)
    return array


def address(array: Optional[NDArray[Any]]) -> Optional[int]:
    """What ctypes passes for an array; None is NULL. The caller keeps the array until the call returns."""
    return None if array is None else array.ctypes.data


class _Window:
    """Memory of the library as an array; the array keeps this, and this keeps the owner."""

    def __init__(self, pointer: int, shape: Sequence[int], kind: Any, owner: Handle) -> None:
        self._owner = owner
        self.__array_interface__ = {
            "data": (pointer, True), "shape": tuple(shape), "typestr": np.dtype(kind).str, "version": 3,
        }  # fmt: skip


def view(pointer: Optional[int], shape: Sequence[int], kind: Any, owner: Handle) -> Optional[NDArray[Any]]:
    """A read-only array over memory of the library, without a copy; None for NULL."""
    if not pointer:
        return None
    if 0 in shape:
        return np.zeros(tuple(shape), kind)
    return np.asarray(_Window(pointer, shape, kind, owner))


def there(pointer: Optional[int], shape: Sequence[int], kind: Any, owner: Handle) -> NDArray[Any]:
    """The same for what every object has."""
    array = view(pointer, shape, kind, owner)
    return np.zeros(tuple(shape), kind) if array is None else array


def aligned(size: int) -> NDArray[np.uint8]:
    """Bytes that begin at a multiple of 64, as the run time wants its memory."""
    whole = np.empty(size + 64, np.uint8)
    first = -whole.ctypes.data % 64
    return whole[first : first + size]


def texts(values: Sequence[bytes]) -> "c.Array[c.c_char_p]":
    """An array of C strings."""
    return (c.c_char_p * len(values))(*values)
