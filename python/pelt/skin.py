"""Skins: run, measured, exported."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import Floats, address, aligned, array_of, finite, flag, floats, integers, list_of, target
from ._library import ArgumentError, Failure, Handle, check_layout, done, good, lib, path_of, result_error, word
from ._structs import ExportFramesOptions, ExportOptions, ExportReportOutput, Output, PoseInput, Range, Stream
from ._stored import Memory, PathLike, Stored, about_of, memory_of
from ._work import ProgressFunction, Watch
from .character import TRANSFORM, Character, Clip, ExampleList, ExamplesLike, a_character, lists_of

if TYPE_CHECKING:
    from .fitting import FitReport


@dataclass(frozen=True)
class Measure:
    """How far a skin is from the truth. Lengths are in scene units; fractions are of the character's diagonal.

    Attributes:
        rms: sqrt(sum of squared distances / (frames x vertices)).
        max: the largest distance, of `worst_vertex` in `worst_frame`.
        rel_err: the error over that of the blend with the file's weights; 0 where `is_relative` is False.
        roughness: the same of the Laplacian of the error: 1 is as rough as the blend.
        jump: the largest change of a point's error from frame to frame, over the blend's; NaN without consecutive frames.
        frame_rms: [frames] of each example.
        frame_max: [frames] the largest of each.
        vertex_rms: [vertices] over the frames.
        vertex_rough: [vertices] of the Laplacian of the error.
        frames: the clip and the frame of each example.
    """

    rms: float
    max: float
    rms_fraction: float
    max_fraction: float
    rel_err: float
    blend_fraction: float
    roughness: float
    normal_rms_degrees: float
    normal_max_degrees: float
    jump: float
    jump_max: float
    mean_edge: float
    frame_count: int
    vertex_count: int
    point_count: int
    worst_frame: int
    worst_vertex: int
    jump_frame: int
    jump_vertex: int
    is_relative: bool
    frame_rms: Floats = field(repr=False)
    frame_max: Floats = field(repr=False)
    vertex_rms: Floats = field(repr=False)
    vertex_rough: Floats = field(repr=False)
    frames: list[tuple[str, int]] = field(repr=False)

    def by_region(self, character: Character) -> dict[str, float]:
        """RMS error by region, largest first: a region is the vertices that follow one joint most."""
        joint = a_character(character).joint_of_vertex()
        if len(joint) != self.vertex_count:
            raise ArgumentError(f"character: it has {len(joint)} vertices, but {self.vertex_count} were measured", option="character")
        square = np.asarray(self.vertex_rms, np.float64) ** 2
        names = character.joint_names
        found = {("(no joint)" if j < 0 else names[j]): float(np.sqrt(square[joint == j].mean())) for j in np.unique(joint)}
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def measure_of(pointer: Optional[int], frames: list[tuple[str, int]]) -> Optional[Measure]:
    """A pelt_measure, copied."""
    if not pointer:
        return None
    measure = c.c_void_p(pointer)

    def number(name: str) -> float:
        return float(lib.pelt_measure_number(measure, name.encode()))

    def array(name: str) -> Floats:
        count = c.c_size_t()
        start = lib.pelt_measure_array(measure, name.encode(), c.byref(count))
        return np.frombuffer(c.string_at(start, 4 * count.value), np.float32) if start else np.zeros(0, np.float32)

    numbers: dict[str, Any] = {}
    for name, kind in Measure.__annotations__.items():
        if kind == "float":
            numbers[name] = number(name)
        elif kind == "int":
            numbers[name] = int(number(name))
        elif kind == "Floats":
            numbers[name] = array(name)
    return Measure(is_relative=bool(lib.pelt_measure_is_relative(measure)), frames=frames, **numbers)


@dataclass(frozen=True)
class ExportReport:
    """What became of a skin as plain glTF.

    Attributes:
        driven_count: driven joints, which are nodes now.
        pair_count: nodes for pairs of joints, which replace negative weights.
        target_count: morph targets of the corrective.
        whole_count: targets that the corrective is a sum of; 0: it is not a sum.
        beyond_four: vertices that follow more than four nodes, which some engines leave out.
        shear: the largest element by which a node's matrix differs from what it should be.
        compressed: the targets are not the corrective's, but fitted to the clips; then:
        worst: the largest distance from the skin's vertices, and
        rms: of all.
        normal_rms_degrees: how far normals are turned.
        true_rms: RMS error of the skin, and of the targets, where true positions are known; None: they are not.
        refitted_count: vertices that followed more nodes than allowed, whose weights were refitted; then:
        refitted_frames: the poses that they were refitted to; 0: there is no clip.
        refitted_worst: how far that moves these vertices at most, and
        refitted_rms: in the mean.
    """

    driven_count: int
    pair_count: int
    target_count: int
    whole_count: int
    beyond_four: int
    shear: float
    compressed: bool
    worst: float
    rms: float
    normal_rms_degrees: float
    true_rms: Optional[tuple[float, float]]
    refitted_count: int
    refitted_frames: int
    refitted_worst: float
    refitted_rms: float


class _Memory(Memory):
    """An opened skin: its bytes, the pelt_skin that points into them, and scratch memory to reuse."""

    def __init__(self, owner: object, start: int, size: int) -> None:
        super().__init__(owner, start, size)
        self.skin = c.create_string_buffer(lib.pelt_sizeof_skin())
        result = lib.pelt_open(start, size, self.skin)
        if result:
            raise result_error(result)
        self.vertices = int(lib.pelt_skin_vertex_count(self.skin))
        self.blocks = int(lib.pelt_skin_block_count(self.skin))
        self.joints = int(lib.pelt_skin_joint_count(self.skin))
        self.controls = int(lib.pelt_skin_control_count(self.skin))
        self.slots = np.empty(16 * self.blocks, np.uint32)
        lib.pelt_slot_vertices(self.skin, c.c_void_p(self.slots.ctypes.data))
        self._scratch: list[NDArray[np.uint8]] = []

    def take_scratch(self) -> NDArray[np.uint8]:
        """Memory for one pose; threads do not share it."""
        try:
            return self._scratch.pop()
        except IndexError:
            return aligned(lib.pelt_scratch_size(self.skin))

    def give_back(self, scratch: NDArray[np.uint8]) -> None:
        if len(self._scratch) < 8:
            self._scratch.append(scratch)


class Skin(Stored[_Memory]):
    """A skin, as `pelt.fit` makes it or `Skin.read` reads it. Several threads may use one at once.

    Attributes:
        report: what the fit found out; None for skins that were read.
    """

    _opens, _words = _Memory, "this skin has"
    report: Optional[FitReport]

    def __init__(self, memory: _Memory, character: Optional[Character] = None, report: Optional[FitReport] = None) -> None:
        self._memory = memory
        self._character = character
        self.report = report

    @classmethod
    def read(cls, path: PathLike) -> Skin:
        """Reads a .pelt file, or the skin in a glTF file."""
        failure = Failure()
        opened = c.create_string_buffer(lib.pelt_sizeof_skin())
        pointer = good(lib.pelt_skin_read(path_of(path), opened, failure.buffer), failure)
        return cls(memory_of(_Memory, pointer))

    def close(self) -> None:
        """Lets go of the memory."""
        super().close()
        self._character = None

    # -- What is in it -----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        if self._memory is None:
            return "<pelt.Skin, closed>"
        return f"<pelt.Skin: {self.vertex_count} vertices, {self.joint_count} joints, {self.nbytes} bytes>"

    @property
    def nbytes(self) -> int:
        """Size of its file."""
        return self._open().size

    @property
    def vertex_count(self) -> int:
        return self._open().vertices

    @property
    def joint_count(self) -> int:
        return self._open().joints

    @property
    def joint_names(self) -> list[str]:
        """In the order of poses."""
        memory = self._open()
        return [word(lib.pelt_skin_joint_name(memory.skin, c.c_uint32(j))) for j in range(memory.joints)]

    @property
    def parents(self) -> list[int]:
        memory = self._open()
        return [int(lib.pelt_skin_joint_parent(memory.skin, c.c_uint32(j))) for j in range(memory.joints)]

    @property
    def rest_pose(self) -> Floats:
        """[joints, 10], as `Character.rest_pose`; a copy to change."""
        memory = self._open()
        rows = [c.string_at(lib.pelt_skin_joint_rest(memory.skin, c.c_uint32(j)), 4 * TRANSFORM) for j in range(memory.joints)]
        return np.frombuffer(b"".join(rows), np.float32).reshape(-1, TRANSFORM).copy()

    @property
    def controls(self) -> dict[str, float]:
        """Numbers besides the joints that the shape depends on, with their values at rest."""
        memory = self._open()
        return {
            word(lib.pelt_skin_control_name(memory.skin, c.c_uint32(i))): float(lib.pelt_skin_control_rest(memory.skin, c.c_uint32(i)))
            for i in range(memory.controls)
        }

    @property
    def has_corrective(self) -> bool:
        """Whether the shape depends on the pose beyond the blend."""
        return bool(lib.pelt_skin_has_corrective(self._open().skin))

    @property
    def about(self) -> dict[str, Any]:
        """The text for people in the file: method, options, errors."""
        return about_of(word(lib.pelt_skin_about(self._open().skin)))

    # -- Running it ----------------------------------------------------------------------------------------------------------

    def evaluate(
        self,
        pose: ArrayLike,
        controls: Optional[ArrayLike] = None,
        *,
        out: Optional[Floats] = None,
        normals: Optional[Floats] = None,
        threads: int = 0,
    ) -> Floats:
        """The mesh in one pose or in many.

        Args:
            pose: [joints, 10], or [frames, joints, 10]: each joint relative to its parent, as a quaternion x y z w, a
                translation and a scale, in the order of `joint_names`.
            controls: [controls], or [frames, controls]; None: at rest.
            out: float32 array to write into, [vertices, 3] or [frames, vertices, 3]; vertices may be any distance apart.
            normals: the same for normals, which are computed only if it is given.
            threads: for many poses; 0: as many as the machine has.

        Returns:
            positions in the mesh's own vertex order: `out`, or a new array.
        """
        return self._evaluate(pose, (TRANSFORM,), "pose", controls, out, normals, threads)

    def evaluate_matrices(
        self,
        matrices: ArrayLike,
        controls: Optional[ArrayLike] = None,
        *,
        out: Optional[Floats] = None,
        normals: Optional[Floats] = None,
        threads: int = 0,
    ) -> Floats:
        """`evaluate` from matrices: [joints, 3, 4] or [frames, joints, 3, 4], from each joint's space to the scene's.

        These are transforms of joints, not skinning matrices: the inverse bind matrices are applied here.
        """
        return self._evaluate(matrices, (3, 4), "matrices", controls, out, normals, threads)

    @property
    def regions(self) -> list[str]:
        """The regions whose errors the skin can tell (`confidence`), by the joints that they follow; none if it cannot."""
        skin = self._open().skin
        return [word(lib.pelt_confidence_region_name(skin, r)) or "" for r in range(lib.pelt_confidence_region_count(skin))]

    def confidence(self, pose: ArrayLike, controls: Optional[ArrayLike] = None) -> tuple[float, Floats]:
        """The error to expect in a pose, without any truth: 19 of 20 frames like the held-out examples stay below.

        Args:
            pose, controls: one pose, as for `evaluate`.

        Returns:
            the error of the mesh as a whole (root mean square), and [regions] that of each of `regions`, in scene units.

        Raises:
            ArgumentError: the skin does not know its own errors.
        """
        memory = self._open()
        if not self.regions:
            raise ArgumentError("the skin cannot predict its own errors; fit it again with more examples")
        given = finite(floats(pose, (memory.joints, TRANSFORM), "pose"), "pose")
        numbers = None if controls is None else finite(floats(controls, (memory.controls,), "controls"), "controls")
        errors = np.empty(len(self.regions), np.float32)
        check_layout(PoseInput)
        scratch = memory.take_scratch()
        lib.pelt_pose_from(memory.skin, PoseInput(address(given), None, address(numbers)), scratch.ctypes.data)
        frame = lib.pelt_confidence(memory.skin, scratch.ctypes.data, address(errors))
        memory.give_back(scratch)
        return float(frame), errors

    def _evaluate(
        self, pose: ArrayLike, one: tuple[int, ...], name: str, controls: Optional[ArrayLike], out: Optional[Floats],
        normals: Optional[Floats], threads: int,
    ) -> Floats:  # fmt: skip
        memory = self._open()
        many = array_of(pose, name).ndim == len(one) + 2
        frames: tuple[Any, ...] = ("frames",) if many else ()
        given = finite(floats(pose, frames + (memory.joints,) + one, name), name)
        count = given.shape[:1] if many else ()
        numbers = None if controls is None else finite(floats(controls, count + (memory.controls,), "controls"), "controls")
        shape = count + (memory.vertices, 3)
        positions = np.empty(shape, np.float32) if out is None else target(out, shape, "out")
        if normals is not None:
            normals = target(normals, shape, "normals")
        if not many:
            self._one(memory, given, name, numbers, positions, normals)
        elif positions.flags.c_contiguous and (normals is None or normals.flags.c_contiguous):
            self._many(memory, given, name, numbers, positions, normals, threads)
        else:
            for f in range(len(given)):
                row = None if numbers is None else numbers[f]
                self._one(memory, given[f], name, row, positions[f], None if normals is None else normals[f])
        return positions

    def _one(
        self, memory: _Memory, pose: Floats, name: str, controls: Optional[Floats], positions: Floats, normals: Optional[Floats]
    ) -> None:
        check_layout(PoseInput, Output)
        place = address(pose)
        given = PoseInput(None if name == "matrices" else place, place if name == "matrices" else None, address(controls))
        tangents = Stream(None, 0, 0)
        to = Output(_stream(positions), tangents if normals is None else _stream(normals), tangents, address(memory.slots), None)
        scratch = memory.take_scratch()
        lib.pelt_pose_from(memory.skin, given, scratch.ctypes.data)
        lib.pelt_deform_to(memory.skin, scratch.ctypes.data, Range(0, memory.blocks), c.byref(to))
        memory.give_back(scratch)

    def _many(
        self, memory: _Memory, poses: Floats, name: str, controls: Optional[Floats], positions: Floats, normals: Optional[Floats],
        threads: int,
    ) -> None:  # fmt: skip
        failure = Failure()
        place = address(poses)
        given = (None, place) if name == "matrices" else (place, None)
        done(
            lib.pelt_deform_poses(
                memory.skin, len(poses), *given, address(controls), _threads(threads), address(positions), address(normals),
                failure.buffer,
            ),
            failure,
        )  # fmt: skip

    def play(self, clip: Clip, frames: Optional[ArrayLike] = None, *, normals: Optional[Floats] = None) -> Floats:
        """The mesh in the frames of a clip, whose character has joints of the same names: [frames, vertices, 3].

        Args:
            clip: the motion.
            frames: which of its frames; None: all.
            normals: [frames, vertices, 3] to write normals into.
        """
        memory, character = self._open(), _character_of(clip)
        chosen = lists_of(clip.frames(frames) if frames is not None else clip)[0].list
        positions = np.empty((len(chosen), memory.vertices, 3), np.float32)
        turned = None if normals is None else target(normals, positions.shape, "normals")
        if turned is not None and not turned.flags.c_contiguous:
            raise ArgumentError("normals: the array must have no gaps", option="normals")
        failure = Failure()
        with character._guard.reading():
            player = Handle(good(lib.pelt_player_new(memory.skin, character._bundle, failure.buffer), failure), "pelt_player_free", memory)
            for i, frame in enumerate(chosen):
                place = None if turned is None else c.c_void_p(turned[i].ctypes.data)
                lib.pelt_player_frame(player.pointer, clip._pointer, c.c_uint32(frame), c.c_void_p(positions[i].ctypes.data), place)
        return positions

    # -- Measuring and exporting ---------------------------------------------------------------------------------------------

    def measure(self, examples: ExamplesLike, *, threads: int = 0) -> Measure:
        """How far the skin is from the true positions of clips, as `pelt measure` says."""
        memory, lists = self._open(), lists_of(examples)
        if not lists:
            raise ArgumentError("examples: the list is empty; give at least one", option="examples")
        character = lists[0].clip.character
        given = ExampleList(character, lists)
        failure = Failure()
        with character._guard.reading():
            found = lib.pelt_measure_examples(memory.skin, character._bundle, given.struct, _threads(threads), failure.buffer)
            handle = Handle(good(found, failure), "pelt_measure_free")
        measure = measure_of(handle.pointer.value, given.frames)
        assert measure is not None
        return measure

    def convex(self, examples: ExamplesLike, *, threads: int = 0) -> Skin:
        """A skin with the same joints and rest positions, whose weights are refitted so that none is negative, for players that want that."""
        memory, lists = self._open(), lists_of(examples)
        if not lists:
            raise ArgumentError("examples: the list is empty; give at least one", option="examples")
        character = lists[0].clip.character
        given, failure = ExampleList(character, lists), Failure()
        with character._guard.reading():
            made = lib.pelt_fit_convex(memory.skin, character._bundle, given.struct, _threads(threads), failure.buffer)
        return skin_of(good(made, failure), character, None)

    def export(
        self,
        path: PathLike,
        clips: Union[Clip, Iterable[Clip]] = (),
        *,
        character: Optional[Character] = None,
        targets: int = 0,
        influences: int = 4,
        plain_normals: bool = False,
        embed: bool = False,
        threads: int = 0,
    ) -> ExportReport:
        """Writes plain glTF that any engine plays: the character's own file with the skin in it.

        Args:
            path: a .glb, or a .gltf, which gets a .bin.
            clips: driven joints and correctives are baked into these, frame by frame.
            character: whose file it is; needed without clips, unless the skin was fitted to it.
            targets: most morph targets; 0: as many as every player supports.
            influences: most nodes that a vertex may follow, because many players read four: weights on more are refitted; 0: any.
            plain_normals: leave out what correctives do to normals.
            embed: also put the skin itself into the file, for players that know pelt.
        """
        memory = self._open()
        chosen = [clips] if isinstance(clips, Clip) else list_of(clips, "clips")
        body = a_character(character) if character is not None else (_character_of(chosen[0]) if chosen else self._character)
        if body is None:
            raise ArgumentError("character: is missing; a skin that was read from a file needs one, or clips", option="character")
        for clip in chosen:
            body._own(clip)
        check_layout(ExportOptions, ExportReportOutput)
        pointers = (c.c_void_p * len(chosen))(*(clip._pointer for clip in chosen))
        held = (c.c_void_p * 2)(memory.start, memory.size)
        options = ExportOptions(
            clips=c.addressof(pointers), clip_count=len(chosen), targets=_threads(targets, "targets"),
            plain_normals=flag(plain_normals, "plain_normals"), threads=_threads(threads),
            influences=_threads(influences, "influences"), embed=c.addressof(held) if flag(embed, "embed") else None,
        )  # fmt: skip
        report, failure = ExportReportOutput(), Failure()
        with body._guard.changing():
            done(lib.pelt_export(memory.skin, body._bundle, c.byref(options), path_of(path), c.byref(report), failure.buffer), failure)
        return ExportReport(
            report.driven_count, report.pair_count, report.target_count, report.whole_count, report.beyond_four, report.shear,
            bool(report.compressed), report.worst, report.rms, report.normal_rms_degrees,
            (report.true_rms[0], report.true_rms[1]) if report.has_truth else None,
            report.refitted_count, report.refitted_frames, report.refitted_worst, report.refitted_rms,
        )  # fmt: skip

    def export_frames(
        self,
        clip: Clip,
        path: PathLike,
        *,
        like: Optional[PathLike] = None,
        like_clip: Optional[Clip] = None,
        progress: Optional[ProgressFunction] = None,
    ) -> None:
        """Writes a clip as the skin deforms it, as `pelt eval` does: a .pc2, .mdd, .npy, a folder of .obj files, or a .glb.

        Args:
            clip: the motion.
            path: its ending chooses the format.
            like: a cache of the character: points are written in its order, axes, scale and frame numbers.
            like_clip: the clip that `like` is of; None: the same.
        """
        memory, character = self._open(), _character_of(clip)
        check_layout(ExportFramesOptions)
        watch, failure = Watch(progress), Failure()
        if like_clip is not None:
            character._own(like_clip)
        options = ExportFramesOptions(
            progress=watch.struct, like=None if like is None else path_of(like, "like"),
            like_clip=None if like_clip is None else like_clip._pointer,
        )  # fmt: skip
        with character._guard.reading(), watch.interruptible():
            result = lib.pelt_export_frames(
                memory.skin, character._bundle, clip._pointer, c.byref(options), path_of(path), failure.buffer
            )
        watch.check()
        done(result, failure)

    def _repr_html_(self) -> Optional[str]:
        from .viewer import html_or_none

        return None if self._character is None else html_or_none(self._character, self)


def skin_of(pointer: c.c_void_p, character: Character, report: Optional[FitReport]) -> Skin:
    return Skin(memory_of(_Memory, pointer), character, report)


def _stream(array: Floats) -> Stream:
    return Stream(array.ctypes.data, array.strides[0] if len(array) > 1 else 12, 0)


def _character_of(clip: Clip) -> Character:
    if not isinstance(clip, Clip):
        raise ArgumentError(f"clip: expected a clip, not {type(clip).__name__}", option="clip")
    clip.character._handle_of()
    return clip.character


def _threads(value: int, name: str = "threads") -> int:
    return int(integers(value, (), name))


__all__ = ["ExportReport", "Measure", "Skin"]
