"""Key points: a slow calculation at a few points gives its values at all of them (Meyer & Anderson 2007)."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import Floats, address, aligned, array_of, finite, flag, floats, integers, number, there
from ._library import ArgumentError, Failure, Handle, check_layout, good, lib, path_of, result_error, text_of, word
from ._structs import (
    EVALUATE, READ, EngineCall, FrameInfo, Frames, KeysFrame, KeysMeasureOptions, KeysMeasureOutput, KeysOptions,
    KeysReportOutput, Misfit, Range, SoftCacheOptions, SoftCacheState,
)  # fmt: skip
from ._stored import Memory, PathLike, Stored, about_of, memory_of
from ._work import ProgressFunction, Watch

Engine = Callable[[Floats, NDArray[np.uint32]], ArrayLike]
"""The slow calculation: from controls [controls] and numbers of points [n] to values [n, components]."""

_RECIPES = ("pelt", "paper")
_VERDICTS = ("hit", "part", "blend", "miss", "doubt")


@dataclass(frozen=True)
class KeysReport:
    """What training found. Errors are fractions of the diagonal.

    Attributes:
        error_p995: 99.5% of the frames, held out shot by shot, have a largest error below this.
        curve: the same for other numbers of keys.
        hit_rate: of held-out frames at the bounds that were set.
        expected_hits: of clips that nobody trained on: the middle, and the range of 9 in 10 such clips; zeros if there was too
            little to leave out.
        forgotten: with `previous`, the RMS of what its subspace had left out of its own frames; -1 where it does not say.
    """

    frames: int
    keys: int
    basis: int
    regions: int
    witnesses: int
    witnesses_each_frame: int
    error_p995: float
    ridge: float
    hit_rate: float
    bad_caught: float
    bad_frames: int
    by_controls: bool
    forgotten: float
    curve: dict[int, float]
    expected_hits: tuple[float, float, float]


@dataclass(frozen=True)
class KeysMeasure:
    """How key points do on frames whose truth is known. Errors are fractions of the diagonal.

    Attributes:
        p50, p99, p995, largest: of the largest error of a frame, keys alone.
        rms: over all frames and points, keys alone.
        hit_rate: frames that needed the keys alone.
        final_p999, final_largest: the same with the soft cache.
        bad_frames, missed_bad: frames above the bar, and those of them that the soft cache trusted.
        speedup: of the soft cache over the calculation alone; by points where the cost was not given.
        frame_error, frame_final, frame_e: [frames] the largest error, keys alone and with the soft cache, and the misfit.
        frame_verdict: of each frame: "hit", "part", "blend", "miss" or "doubt".
    """

    frame_count: int
    shot_count: int
    p50: float
    p99: float
    p995: float
    largest: float
    rms: float
    hit_rate: float
    final_p999: float
    final_largest: float
    under_bar: float
    final_under_bar: float
    bad_frames: int
    missed_bad: int
    correlation: float
    jump: float
    switch_jump: float
    evaluated: float
    speedup: float
    frame_error: Floats = field(repr=False)
    frame_final: Floats = field(repr=False)
    frame_e: Floats = field(repr=False)
    frame_verdict: list[str] = field(repr=False)


class Filled(NamedTuple):
    """Values at all points, and how far to trust them: e is at most 1 where they can be trusted."""

    values: Floats
    e: Floats


class _FrameSource:
    """A pelt_frames over an array; exceptions are raised by `check`."""

    def __init__(
        self, frames: ArrayLike, shots: Optional[ArrayLike], controls: Optional[ArrayLike], weights: Optional[ArrayLike], name: str
    ) -> None:
        check_layout(Frames)
        whole = ("frames", "points", "components")
        self.values: NDArray[Any] = np.asarray(frames) if isinstance(frames, np.memmap) else floats(frames, whole, "frames")
        if self.values.ndim != 3 or self.values.dtype.kind not in "fiu":
            raise ArgumentError(f"frames: expected numbers of shape (frames, points, components), not {self.values.shape}", option="frames")
        count, points, components = self.values.shape
        self._shots = None if shots is None else integers(shots, (count,), "shots")
        self._controls = None if controls is None else floats(controls, (count, "controls"), "controls")
        self._weights = None if weights is None else floats(weights, (count,), "weights")
        self._problem: Optional[BaseException] = None
        self._read = READ(self._fill)
        self.struct = Frames(
            frame_count=count, point_count=points, component_count=components, read=self._read, name=text_of(name, "name"),
            shots=address(self._shots), controls=address(self._controls), weights=address(self._weights),
            control_count=0 if self._controls is None else self._controls.shape[1],
        )  # fmt: skip

    def _fill(self, user: Any, first: int, count: int, values: int, error: Any) -> int:
        try:
            size = count * self.values.shape[1] * self.values.shape[2]
            to = np.ctypeslib.as_array((c.c_float * size).from_address(values))
            to[:] = np.asarray(self.values[first : first + count], np.float32).ravel()
            return 0
        except BaseException as problem:  # it cannot pass through C
            self._problem = problem
            return 3  # PELT_ERROR_FILE

    def check(self) -> None:
        if self._problem is not None:
            raise self._problem


class _Memory(Memory):
    """An opened .keys file."""

    def __init__(self, owner: object, start: int, size: int) -> None:
        super().__init__(owner, start, size)
        self.keys = c.create_string_buffer(lib.pelt_sizeof_keys())
        result = lib.pelt_keys_open(start, size, self.keys)
        if result:
            raise result_error(result)
        self.points = int(lib.pelt_keys_point_count(self.keys))
        self.components = int(lib.pelt_keys_component_count(self.keys))
        self.key_count = int(lib.pelt_keys_key_count(self.keys))


class Keys(Stored[_Memory]):
    """Key points, as `train_keys` makes them or `Keys.read` reads them.

    Attributes:
        report: what training found; None for files.
    """

    _opens, _words = _Memory, "these key points have"

    def __init__(self, memory: _Memory, report: Optional[KeysReport] = None) -> None:
        self._memory = memory
        self.report = report

    @classmethod
    def read(cls, path: PathLike) -> Keys:
        """Reads a .keys file."""
        failure = Failure()
        opened = c.create_string_buffer(lib.pelt_sizeof_keys())
        return cls(memory_of(_Memory, good(lib.pelt_keys_read(path_of(path), opened, failure.buffer), failure)))

    def __repr__(self) -> str:
        if self._memory is None:
            return "<pelt.Keys, closed>"
        return f"<pelt.Keys: {self.key_count} keys for {self.point_count} points>"

    @property
    def point_count(self) -> int:
        return self._open().points

    @property
    def component_count(self) -> int:
        return self._open().components

    @property
    def key_count(self) -> int:
        return self._open().key_count

    @property
    def basis_count(self) -> int:
        return int(lib.pelt_keys_basis_count(self._open().keys))

    @property
    def region_count(self) -> int:
        return int(lib.pelt_keys_region_count(self._open().keys))

    @property
    def control_count(self) -> int:
        return int(lib.pelt_keys_control_count(self._open().keys))

    @property
    def diagonal(self) -> float:
        """What errors are fractions of."""
        return float(lib.pelt_keys_diagonal(self._open().keys))

    @property
    def key_points(self) -> NDArray[np.uint32]:
        """[keys] the points to compute in every frame."""
        memory = self._open()
        owner = Handle(c.c_void_p(), "pelt_bytes_free", memory)
        return there(lib.pelt_keys_key_points(memory.keys), (memory.key_count,), np.uint32, owner)

    @property
    def about(self) -> dict[str, Any]:
        """The text for people in the file."""
        return about_of(word(lib.pelt_keys_about(self._open().keys)))

    def fill(self, key_values: ArrayLike) -> Filled:
        """From values at the keys to values at all points.

        Args:
            key_values: [keys, components], in the order of `key_points`; or [frames, keys, components].

        Returns:
            values [points, components] and e, or [frames, points, components] and [frames].
        """
        memory = self._open()
        check_layout(Misfit)
        many = array_of(key_values, "key_values").ndim == 3
        shape: tuple[Any, ...] = (memory.key_count, memory.components)
        given = finite(floats(key_values, ("frames",) + shape if many else shape, "key_values"), "key_values")
        batch = given if many else given[None]
        frames = len(batch)
        values = np.empty((frames, memory.points, memory.components), np.float32)
        misfits = (Misfit * frames)()
        step = 64  # frames that share the reading of the basis; memory stays small
        scratch = aligned(lib.pelt_keys_scratch_size(memory.keys, c.c_uint32(min(frames, step))))
        blocks = Range(0, lib.pelt_keys_block_count(memory.keys))
        for first in range(0, frames, step):
            count = min(step, frames - first)
            place = c.c_void_p(scratch.ctypes.data)
            found = c.c_void_p(c.addressof(misfits) + first * c.sizeof(Misfit))
            lib.pelt_keys_solve(memory.keys, c.c_void_p(batch[first].ctypes.data), c.c_uint32(count), place, found)
            lib.pelt_keys_fill(memory.keys, place, count, blocks, values[first].ctypes.data)
        e = np.array([misfit.e for misfit in misfits], np.float32)
        return Filled(values, e) if many else Filled(values[0], e[0])

    def measure(
        self,
        frames: ArrayLike,
        *,
        shots: Optional[ArrayLike] = None,
        controls: Optional[ArrayLike] = None,
        bar: float = 0.0,
        progress: Optional[ProgressFunction] = None,
    ) -> KeysMeasure:
        """Plays frames through the key points and the soft cache, and compares.

        Args:
            frames: [frames, points, components] the truth; a memory-mapped array is read piece by piece.
            shots: [frames] consecutive frames share a number; None: all are consecutive.
            controls: [frames, controls] what they were computed from.
            bar: errors above this fraction of the diagonal are bad; 0: 0.01.
        """
        memory = self._open()
        check_layout(KeysMeasureOptions, KeysMeasureOutput, KeysFrame)
        source, watch, failure = _FrameSource(frames, shots, controls, None, "frames"), Watch(progress), Failure()
        options = KeysMeasureOptions(bar=number(bar, "bar"), progress=watch.struct)
        with watch.interruptible():
            found = lib.pelt_keys_measure_frames(memory.keys, c.byref(source.struct), c.byref(options), failure.buffer)
        if not found:
            watch.check()
            source.check()
        handle = Handle(good(found, failure), "pelt_keys_measure_free")
        return _measure_of(KeysMeasureOutput.from_address(found), handle)

    def soft_cache(self, engine: Engine, control_count: int, **options: Union[float, bool]) -> SoftCache:
        """A soft cache: it computes keys, and more where they disagree, by `engine`. See `SoftCache`."""
        return SoftCache(self, engine, control_count, **options)


def _measure_of(m: KeysMeasureOutput, handle: Handle) -> KeysMeasure:
    rows = (KeysFrame * m.frame_count).from_address(m.frames)
    own: dict[str, Any] = {name: getattr(m, name) for name, kind in KeysMeasure.__annotations__.items() if kind in ("int", "float")}
    measure = KeysMeasure(
        frame_error=np.array([row.error for row in rows], np.float32),
        frame_final=np.array([row.final for row in rows], np.float32),
        frame_e=np.array([row.e for row in rows], np.float32),
        frame_verdict=[_VERDICTS[row.verdict] for row in rows],
        **own,
    )
    del handle  # until here it keeps the rows
    return measure


def train_keys(
    frames: ArrayLike,
    *,
    keys: int = 0,
    basis: int = 0,
    error: float = 0.0,
    recipe: str = "pelt",
    shots: Optional[ArrayLike] = None,
    controls: Optional[ArrayLike] = None,
    weights: Optional[ArrayLike] = None,
    positions: Optional[ArrayLike] = None,
    fiducials: Optional[ArrayLike] = None,
    previous: Optional[Keys] = None,
    regions: int = 0,
    witnesses: int = 0,
    diagonal: float = 0.0,
    bar: float = 0.0,
    ridge: float = 0.0,
    uncentred: bool = False,
    shared: bool = False,
    seed: int = 0,
    progress: Optional[ProgressFunction] = None,
) -> Keys:
    """Learns which few points of a calculation determine the others.

    Args:
        frames: [frames, points, components] its results; a memory-mapped array is read piece by piece.
        keys: how many key points; 0: 170, or as many as `error` needs.
        basis: basis vectors; 0: as many as the keys have values.
        error: the fewest keys that bring the largest error under this fraction of the diagonal in 99.5% of the frames.
        recipe: "pelt", or "paper" for Meyer & Anderson's own.
        shots: [frames] consecutive frames share a number, and are held out together.
        controls: [frames, controls] what the frames were computed from, for better bounds.
        weights: [frames].
        positions: [points, 3] at rest; None: the mean frame, if it has three components.
        fiducials: points that are always keys.
        previous: key points to train further.
        regions, witnesses, diagonal, bar, ridge, uncentred, shared, seed: as in keys_fit.h; 0: the default.
        progress: as for `fit`.
    """
    if not isinstance(recipe, str) or recipe not in _RECIPES:
        raise ArgumentError(f"recipe: there is no {recipe!r}; choose from {', '.join(_RECIPES)}", option="recipe")
    check_layout(KeysOptions, KeysReportOutput)
    source, watch, failure = _FrameSource(frames, shots, controls, weights, "training frames"), Watch(progress), Failure()
    rest = None if positions is None else floats(positions, (source.values.shape[1], 3), "positions")
    always = None if fiducials is None else integers(fiducials, ("n",), "fiducials")
    counts = {name: int(integers(value, (), name)) for name, value in
              {"keys": keys, "basis": basis, "regions": regions, "witnesses": witnesses, "seed": seed}.items()}  # fmt: skip
    if previous is not None and not isinstance(previous, Keys):
        raise ArgumentError(f"previous: expected key points, not {type(previous).__name__}", option="previous")
    memory = None if previous is None else previous._open()
    options = KeysOptions(
        recipe=_RECIPES.index(recipe), error=number(error, "error"), bar=number(bar, "bar"), ridge=number(ridge, "ridge"),
        diagonal=number(diagonal, "diagonal"),
        uncentred=bool(flag(uncentred, "uncentred")), shared=bool(flag(shared, "shared")), positions=address(rest), fiducials=address(always),
        fiducial_count=0 if always is None else always.size, previous=None if memory is None else c.addressof(memory.keys),
        progress=watch.struct, **counts,
    )  # fmt: skip
    found = KeysReportOutput()
    with watch.interruptible():
        made = lib.pelt_keys_train(c.byref(source.struct), c.byref(options), c.byref(found), failure.buffer)
    if not made:
        watch.check()
        source.check()
    return Keys(memory_of(_Memory, good(made, failure)), _report_of(found))


def _report_of(r: KeysReportOutput) -> KeysReport:
    made = ("curve", "expected_hits")
    own: dict[str, Any] = {name: getattr(r, name) for name in KeysReport.__annotations__ if name not in made}
    hits = r.forecast.hit_rate
    return KeysReport(curve={keys: error for keys, error in zip(r.curve_keys, r.curve_error) if keys},
                      expected_hits=(hits.expected, hits.low, hits.high), **own)


class SoftCache:
    """Frame after frame of a slow calculation, computed at the keys where they can be trusted and everywhere else where not.

    Args:
        keys: trained key points.
        engine: the calculation: engine(controls, points) gives values [points, components].
        control_count: numbers that define a frame.
        options: as in keys.h: e_min, e_max, step, whole, new_each_frame, no_witnesses, absolute.

    Not for several threads at once.
    """

    def __init__(self, keys: Keys, engine: Engine, control_count: int, **options: Union[float, bool]) -> None:
        check_layout(SoftCacheOptions, SoftCacheState, EngineCall, FrameInfo)
        self._keys = keys._open()
        if not callable(engine):
            raise ArgumentError(f"engine: expected a function, not {type(engine).__name__}", option="engine")
        self._engine = engine
        self._count = int(integers(control_count, (), "control_count"))
        self._problem: Optional[BaseException] = None
        self._evaluate = EVALUATE(self._call)
        given = SoftCacheOptions()
        for name, value in options.items():
            if not hasattr(given, name):
                raise ArgumentError(f"{name}: a soft cache has no such option", option=name)
            setattr(given, name, number(value, name) if name in ("e_min", "e_max", "step") else flag(value, name))
        problem = lib.pelt_soft_cache_problem(c.byref(given))
        if problem:
            raise ArgumentError(f"{word(problem)}: out of range", option=word(problem))
        size = lib.pelt_soft_cache_size(self._keys.keys, c.c_uint32(self._count))
        if size > 1 << 40:
            raise ArgumentError("control_count: too many for this machine's memory", option="control_count")
        self._room = aligned(size)
        self._state = SoftCacheState()
        call = EngineCall(self._evaluate, None, self._count)
        result = lib.pelt_soft_cache_init(c.byref(self._state), self._keys.keys, c.byref(given), call, c.c_void_p(self._room.ctypes.data))
        if result:
            raise result_error(result)
        self.verdict = ""
        self.e = 0.0
        self.evaluated = 0

    def _call(self, user: Any, controls: Optional[int], points: int, count: int, values: int) -> int:
        try:
            numbers = np.ctypeslib.as_array((c.c_float * self._count).from_address(controls)).copy() if controls and self._count else np.zeros(0, np.float32)
            chosen = np.ctypeslib.as_array((c.c_uint32 * count).from_address(points)).copy()
            result = floats(self._engine(numbers, chosen), (count, self._keys.components), "the engine's values")
            np.ctypeslib.as_array((c.c_float * result.size).from_address(values))[:] = result.ravel()
            return 0
        except BaseException as problem:  # it cannot pass through C
            self._problem = problem
            return 1

    def next(self, controls: ArrayLike, out: Optional[Floats] = None) -> Floats:
        """The next frame: values [points, components] for its controls [controls].

        `verdict` then says what became of the frame, `e` the misfit of its worst region, `evaluated` how many points were computed.
        """
        numbers = finite(floats(controls, (self._count,), "controls"), "controls")
        shape = (self._keys.points, self._keys.components)
        values = np.empty(shape, np.float32) if out is None else out
        if not isinstance(values, np.ndarray) or values.dtype != np.float32 or values.shape != shape or not values.flags.carray:
            raise ArgumentError(f"out: expected a float32 array of shape {shape} without gaps to write into", option="out")
        info, self._problem = FrameInfo(), None
        result = lib.pelt_soft_cache_next(c.byref(self._state), c.c_void_p(address(numbers)), c.c_void_p(values.ctypes.data), c.byref(info))
        if self._problem is not None:
            raise self._problem
        if result:
            raise result_error(result)
        self.verdict, self.e, self.evaluated = _VERDICTS[info.verdict], float(info.e), int(info.evaluated)
        return values

    def cut(self) -> None:
        """The next frame does not follow the last one."""
        lib.pelt_soft_cache_cut(c.byref(self._state))


__all__ = ["Filled", "Keys", "KeysMeasure", "KeysReport", "SoftCache", "train_keys"]
