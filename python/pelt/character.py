"""Characters, their clips, and examples: the input of fits."""

from __future__ import annotations

import ctypes as c
import os
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import Floats, address, array_of, flag, floats, integers, list_of, number, texts, there, view
from ._library import ArgumentError, Failure, Handle, check_layout, done, good, lib, path_of, text_of, word
from ._structs import CacheOptions, CharacterInput, ClipInput, Example, Examples, Findings, Influences, MeshObject
from ._work import Guard

TRANSFORM = 10
"""Numbers of a joint in a pose: a quaternion x y z w, a translation, a scale."""

_SPACES = ("seen", "posed", "rest")


@dataclass(frozen=True)
class Finding:
    """Something that the library noticed.

    Attributes:
        severity: "note", "warning" or "fatal".
        what: a stable word for programs, such as "point-count".
        text: a sentence for people: what, where, what to do.
    """

    severity: str
    what: str
    text: str


def findings_of(pointer: Optional[int]) -> tuple[Finding, ...]:
    found = c.c_void_p(pointer)
    return tuple(
        Finding(
            ("note", "warning", "fatal")[lib.pelt_finding_severity(found, c.c_size_t(i))],
            word(lib.pelt_finding_what(found, c.c_size_t(i))),
            word(lib.pelt_finding_text(found, c.c_size_t(i))),
        )
        for i in range(lib.pelt_finding_count(found))
    )


class Weights(NamedTuple):
    """Which joints a character's own file makes its vertices follow: those of vertex v are entries first[v] to first[v + 1] - 1."""

    first: NDArray[np.uint32]
    joints: NDArray[np.uint32]
    weights: Floats


@dataclass(frozen=True)
class Part:
    """The vertices of one object of a file: `first` to `first + count - 1`."""

    name: str
    first: int
    count: int


class FrameList:
    """Some frames of a clip as examples, each with a weight; made by `Clip.frames`."""

    def __init__(self, clip: Clip, frames: Sequence[int], weights: Optional[Floats]) -> None:
        self.clip = clip
        self.list = frames
        self.weights = weights


ExamplesLike = Union["Clip", FrameList, Iterable[Union["Clip", FrameList]]]
"""What fits and measures take: a clip, some frames of one, or several of both, all of one character."""


class Clip:
    """A motion of a character, or a set of examples: poses, and the true shape in each where it is known.

    Clips come from `Character.clip`, `Character.clips` and `Character.add_clip`, and keep their character alive.
    """

    def __init__(self, character: Character, pointer: int) -> None:
        self.character = character
        self._pointer = c.c_void_p(pointer)
        self._owner = character._handle_of()

    @property
    def name(self) -> str:
        return word(lib.pelt_clip_name(self._pointer))

    @property
    def frame_count(self) -> int:
        return int(lib.pelt_clip_frame_count(self._pointer))

    def __len__(self) -> int:
        return self.frame_count

    def __repr__(self) -> str:
        return f"<pelt.Clip {self.name!r}: {self.frame_count} frames{'' if self.positions is None else ' with true positions'}>"

    @property
    def times(self) -> Floats:
        """[frames] in seconds; without a copy, read-only."""
        return there(lib.pelt_clip_times(self._pointer), (self.frame_count,), np.float32, self._owner)

    @property
    def positions(self) -> Optional[Floats]:
        """True positions [frames, vertices, 3], without a copy, read-only; None: not known, or not read yet (`Character.clip`)."""
        return self._shape(lib.pelt_clip_positions(self._pointer))

    @property
    def normals(self) -> Optional[Floats]:
        """True normals [frames, vertices, 3], read-only; None: those of the surface through the positions."""
        return self._shape(lib.pelt_clip_normals(self._pointer))

    def _shape(self, pointer: Optional[int]) -> Optional[Floats]:
        vertices = lib.pelt_bundle_vertex_count(self._owner.pointer)
        return view(pointer, (self.frame_count, vertices, 3), np.float32, self._owner)

    @property
    def poses(self) -> Floats:
        """[frames, joints, 10]: each joint relative to its parent, as a quaternion x y z w, a translation and a scale."""
        joints = lib.pelt_bundle_joint_count(self._owner.pointer)
        poses = np.empty((self.frame_count, joints, TRANSFORM), np.float32)
        with self.character._guard.reading():
            for frame in range(self.frame_count):
                lib.pelt_bundle_pose(self._owner.pointer, self._pointer, c.c_uint32(frame), c.c_void_p(poses[frame].ctypes.data), None)
        return poses

    @property
    def controls(self) -> Floats:
        """[frames, controls], in the order of `Character.controls`."""
        with self.character._guard.reading():
            controls = np.empty((self.frame_count, lib.pelt_bundle_control_count(self._owner.pointer)), np.float32)
            for frame in range(self.frame_count if controls.size else 0):
                row = c.c_void_p(controls[frame].ctypes.data)
                lib.pelt_bundle_pose(self._owner.pointer, self._pointer, c.c_uint32(frame), None, row)
        return controls

    def frames(self, frames: ArrayLike, weights: Optional[ArrayLike] = None) -> FrameList:
        """Some of the frames as examples.

        Args:
            frames: their numbers, such as range(0, 100, 5).
            weights: how many examples each counts as; only fitted blends ("fit", "joints") take them.
        """
        chosen = integers(np.asarray(list(frames)) if isinstance(frames, range) else frames, ("frames",), "frames")
        if chosen.size and int(chosen.max()) >= self.frame_count:
            raise ArgumentError(f"frames: {int(chosen.max())} is beyond the {self.frame_count} frames of clip {self.name!r}", option="frames")
        counted = None if weights is None else floats(weights, chosen.shape, "weights")
        return FrameList(self, chosen.tolist(), counted)


class ExampleList:
    """Examples as the library takes them: `struct` is valid while this is kept."""

    def __init__(self, character: Character, examples: ExamplesLike) -> None:
        self.frames: list[tuple[str, int]] = []
        rows: list[tuple[Clip, int, float]] = []
        for part in lists_of(examples):
            if part.clip.character is not character:
                raise ArgumentError(f"examples: the clip {part.clip.name!r} is of another character", option="examples")
            for i, frame in enumerate(part.list):
                weight = 1.0 if part.weights is None else float(part.weights[i])
                if weight != 0:
                    rows.append((part.clip, frame, weight))
        self._rows = (Example * len(rows))()
        for row, (clip, frame, weight) in zip(self._rows, rows):
            row.clip, row.frame, row.weight = clip._pointer.value, frame, weight
            self.frames.append((clip.name, frame))
        self.struct = Examples(len(rows), c.cast(self._rows, c.c_void_p))


def lists_of(examples: ExamplesLike) -> list[FrameList]:
    """One list for each clip; those of whole clips have the clip's own weights."""
    if isinstance(examples, (Clip, FrameList)):
        examples = [examples]
    lists = []
    try:
        parts = list(examples)
    except TypeError:
        raise ArgumentError(f"examples: expected clips, not {type(examples).__name__}", option="examples") from None
    for part in parts:
        if isinstance(part, Clip):
            weights = view(lib.pelt_clip_example_weights(part._pointer), (part.frame_count,), np.float32, part._owner)
            part = FrameList(part, range(part.frame_count), weights)
        if not isinstance(part, FrameList):
            raise ArgumentError(f"examples: expected clips, not {type(part).__name__}", option="examples")
        lists.append(part)
    return lists


class Character:
    """A mesh on a skeleton, and clips of it: from arrays, or from a file (`Character.read`).

    Args:
        positions: [vertices, 3] at rest, in your own vertex order, which everything else keeps.
        triangles: [triangles, 3], counter-clockwise from outside.
        parents: [joints], -1 for a root; parents come before their children.
        rest: [joints, 10], the pose in which the mesh has its rest positions: each joint relative to its parent, as a
            quaternion x y z w, a translation and a scale. `transforms` makes them from matrices.
        weights: how strongly vertices follow joints: [vertices, joints], or with `joints` [vertices, n]. None: the character
            has none yet, and only blends that find their own ("distance", "fit") can be fitted.
        joints: [vertices, n], the joints that the columns of `weights` are for.
        joint_names: a skin finds its joints by name; None: "joint0", "joint1", ...
        normals: [vertices, 3]; None: smooth.
        uvs: [vertices, 2], v downwards; a skin with them has tangents.
        tangents: [vertices, 4] as in glTF; None: by MikkTSpace from `uvs`.
        inverse_bind: [joints, 3, 4] from the scene to the joint at rest; None: the inverse of the rest pose.
        controls: numbers besides the joints that the shape depends on, with their values at rest.
        name: for messages.

    Everything is checked and copied. Several threads may use one character; those that add clips wait for the others.
    """

    def __init__(
        self,
        positions: ArrayLike,
        triangles: ArrayLike,
        *,
        parents: ArrayLike,
        rest: ArrayLike,
        weights: Optional[ArrayLike] = None,
        joints: Optional[ArrayLike] = None,
        joint_names: Optional[Sequence[str]] = None,
        normals: Optional[ArrayLike] = None,
        uvs: Optional[ArrayLike] = None,
        tangents: Optional[ArrayLike] = None,
        inverse_bind: Optional[ArrayLike] = None,
        controls: Optional[Mapping[str, float]] = None,
        name: str = "character",
    ) -> None:
        places = floats(positions, ("vertices", 3), "positions")
        corners = integers(triangles, ("triangles", 3), "triangles")
        above = integers(parents, ("joints",), "parents", np.int32)
        n, joint_count = len(places), len(above)
        pose = floats(rest, (joint_count, TRANSFORM), "rest")
        follow, how_much = _influences(weights, joints, n, joint_count)
        optional: dict[str, Optional[NDArray[Any]]] = {
            "normals": None if normals is None else floats(normals, (n, 3), "normals"),
            "uvs": None if uvs is None else floats(uvs, (n, 2), "uvs"),
            "tangents": None if tangents is None else floats(tangents, (n, 4), "tangents"),
            "inverse_bind": None if inverse_bind is None else floats(inverse_bind, (joint_count, 3, 4), "inverse_bind"),
        }
        if joint_names is not None and len(joint_names) != joint_count:
            raise ArgumentError(f"joint_names: there are {len(joint_names)} for {joint_count} joints", option="joint_names")
        joint_texts = None if joint_names is None else texts([text_of(word, "joint_names") for word in joint_names])
        controls = dict(controls or {})
        control_texts = texts([text_of(word, "controls") for word in controls])
        control_rest = floats(list(controls.values()), (len(controls),), "controls")
        check_layout(CharacterInput)
        given = CharacterInput(
            name=text_of(name, "name"), vertex_count=n, triangle_count=len(corners), joint_count=joint_count,
            influences_per_vertex=0 if how_much is None else how_much.shape[1], control_count=len(controls),
            positions=address(places), triangles=address(corners), joints=address(follow), weights=address(how_much),
            joint_names=None if joint_texts is None else c.addressof(joint_texts), parents=address(above), rest=address(pose),
            control_names=c.addressof(control_texts) if controls else None,
            control_rest=address(control_rest) if controls else None,
            **{field: address(array) for field, array in optional.items()},
        )  # fmt: skip
        failure = Failure()
        self._take(good(lib.pelt_bundle_new(c.byref(given), failure.buffer), failure))

    def _take(self, pointer: c.c_void_p) -> None:
        self._handle: Optional[Handle] = Handle(pointer, "pelt_bundle_free")
        self._guard = Guard()
        self._clips: dict[int, Clip] = {}

    @classmethod
    def read(
        cls,
        path: Union[str, os.PathLike[str]],
        *,
        fix: bool = False,
        axes: Optional[Sequence[int]] = None,
        scale: float = 0.0,
        offset: Sequence[float] = (0.0, 0.0, 0.0),
        first_frame: Optional[int] = None,
        space: str = "seen",
    ) -> Character:
        """Reads a .glb or .gltf file. True positions are read when `clip` asks for them.

        Args:
            path: the file; caches such as body.walk.pc2 are looked for next to body.glb.
            fix: find out how caches lie on the mesh: vertex order, axes, scale, offset, frames.
            axes: which axis of a cache is x, y, z of the character: 1, 2, 3, negative if flipped; (1, 3, -2) for z up.
            scale: of caches; 0: 1.
            offset: of caches, in scene units.
            first_frame: the frame of a cache that is the first key of its clip.
            space: where shapes were sculpted: "seen" (found out), "posed" or "rest".
        """
        if not isinstance(space, str) or space not in _SPACES:
            raise ArgumentError(f"space: there is no {space!r}; choose from {', '.join(_SPACES)}", option="space")
        check_layout(CacheOptions)
        axis = integers(axes if axes is not None else (0, 0, 0), (3,), "axes", np.int32)
        shift = np.asarray(floats(offset, (3,), "offset"), np.float64)
        options = CacheOptions(
            fix=flag(fix, "fix"), axes=(c.c_int * 3)(*axis.tolist()), scale=number(scale, "scale"),
            offset=(c.c_double * 3)(*shift.tolist()), set_frames=int(first_frame is not None), frames=0 if first_frame is None else int(integers(first_frame, (), "first_frame", np.int32)),
            space=_SPACES.index(space),
        )  # fmt: skip
        failure = Failure()
        character = cls.__new__(cls)
        character._take(good(lib.pelt_bundle_read(path_of(path), failure.buffer), failure))
        lib.pelt_bundle_set_cache(character._bundle, c.byref(options))
        return character

    # -- Lifetime ------------------------------------------------------------------------------------------------------

    def _handle_of(self) -> Handle:
        handle: Optional[Handle] = getattr(self, "_handle", None)
        if handle is None:
            raise ArgumentError("this character has been closed")
        return handle

    @property
    def _bundle(self) -> c.c_void_p:
        return self._handle_of().pointer

    def close(self) -> None:
        """Lets go of the memory; arrays and clips that are still in use keep it until they go."""
        self._handle = None
        self._clips = {}

    def __enter__(self) -> Character:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- What is in it ---------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        if self._handle is None:
            return "<pelt.Character, closed>"
        return f"<pelt.Character {self.path!r}: {self.vertex_count} vertices, {self.joint_count} joints, {len(self.clips)} clips>"

    @property
    def path(self) -> str:
        """Of the file; for a character from arrays its name."""
        return word(lib.pelt_bundle_path(self._bundle))

    @property
    def is_from_arrays(self) -> bool:
        return bool(lib.pelt_bundle_in_memory(self._bundle))

    @property
    def vertex_count(self) -> int:
        return int(lib.pelt_bundle_vertex_count(self._bundle))

    @property
    def joint_count(self) -> int:
        return int(lib.pelt_bundle_joint_count(self._bundle))

    @property
    def diagonal(self) -> float:
        """Of the box around the mesh at rest, in the scene; errors are given as fractions of it."""
        return float(lib.pelt_bundle_diagonal(self._bundle))

    @property
    def positions(self) -> Floats:
        """[vertices, 3] at rest, without a copy, read-only; as are the arrays below."""
        return there(lib.pelt_bundle_positions(self._bundle), (self.vertex_count, 3), np.float32, self._handle_of())

    @property
    def normals(self) -> Floats:
        """[vertices, 3] at rest."""
        return there(lib.pelt_bundle_normals(self._bundle), (self.vertex_count, 3), np.float32, self._handle_of())

    @property
    def uvs(self) -> Optional[Floats]:
        """[vertices, 2]; None: there are none."""
        return view(lib.pelt_bundle_uvs(self._bundle), (self.vertex_count, 2), np.float32, self._handle_of())

    @property
    def triangles(self) -> NDArray[np.uint32]:
        """[triangles, 3]."""
        count = lib.pelt_bundle_triangle_count(self._bundle)
        return there(lib.pelt_bundle_triangles(self._bundle), (count, 3), np.uint32, self._handle_of())

    @property
    def rest_pose(self) -> Floats:
        """[joints, 10]."""
        return there(lib.pelt_bundle_rest_pose(self._bundle), (self.joint_count, TRANSFORM), np.float32, self._handle_of())

    @property
    def inverse_bind(self) -> NDArray[np.float64]:
        """[joints, 3, 4] from the scene to the joint at rest."""
        return there(lib.pelt_bundle_inverse_bind(self._bundle), (self.joint_count, 3, 4), np.float64, self._handle_of())

    @property
    def joint_names(self) -> list[str]:
        return [word(lib.pelt_bundle_joint_name(self._bundle, c.c_uint32(j))) for j in range(self.joint_count)]

    @property
    def parents(self) -> list[int]:
        """[joints], -1 for a root."""
        return [int(lib.pelt_bundle_joint_parent(self._bundle, c.c_uint32(j))) for j in range(self.joint_count)]

    @property
    def weights(self) -> Weights:
        check_layout(Influences)
        handle = self._handle_of()
        given = Influences.from_address(lib.pelt_bundle_influences(handle.pointer))
        first = there(given.first, (self.vertex_count + 1,), np.uint32, handle)
        count = int(first[-1])
        return Weights(first, there(given.joints, (count,), np.uint32, handle), there(given.weights, (count,), np.float32, handle))

    @property
    def controls(self) -> dict[str, float]:
        """Numbers besides the joints that the shape depends on, with their values at rest."""
        bundle = self._bundle
        return {
            word(lib.pelt_bundle_control_name(bundle, c.c_uint32(i))): float(lib.pelt_bundle_control_rest(bundle, c.c_uint32(i)))
            for i in range(lib.pelt_bundle_control_count(bundle))
        }

    @property
    def parts(self) -> list[Part]:
        """The objects of a file, in the order of their vertices; empty for a character from arrays."""
        check_layout(MeshObject)
        found = (lib.pelt_bundle_object_at(self._bundle, c.c_uint32(i)) for i in range(lib.pelt_bundle_object_count(self._bundle)))
        objects = [MeshObject.from_address(pointer) for pointer in found]
        return [Part(word(o.name), o.first, o.count) for o in objects]

    @property
    def clips(self) -> dict[str, Clip]:
        """All clips by name. Those of a file have no true positions until `clip` reads them."""
        with self._guard.reading():
            count = lib.pelt_bundle_clip_count(self._bundle)
            found = [self._clip(lib.pelt_bundle_clip_at(self._bundle, c.c_uint32(i))) for i in range(count)]
        return {clip.name: clip for clip in found}

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What the reader noticed and repaired."""
        with self._guard.reading():
            return findings_of(lib.pelt_bundle_notes(self._bundle))

    def joint_of_vertex(self) -> NDArray[np.int64]:
        """[vertices] the joint that each vertex follows most, -1 where it follows none: a way to divide a mesh into regions."""
        first, joints, weights = self.weights
        most = np.full(self.vertex_count, -1, np.int64)
        order = np.lexsort((weights, np.repeat(np.arange(self.vertex_count), np.diff(first.astype(np.int64)))))
        some = np.diff(first.astype(np.int64)) > 0
        most[some] = joints[order[first[1:][some].astype(np.int64) - 1]]
        return most

    # -- Clips -------------------------------------------------------------------------------------------------------------

    def _clip(self, pointer: int) -> Clip:
        if pointer not in self._clips:
            self._clips[pointer] = Clip(self, pointer)
        return self._clips[pointer]

    def clip(self, name: str, *, positions: bool = True) -> Clip:
        """A clip of the file, with its true positions: from a cache next to the file, from "CLIP=FILE", or from its morph targets.

        Args:
            name: of the clip, or a .json file of sculpts.
            positions: False: only the motion is needed.
        """
        failure = Failure()
        with self._guard.changing():
            found = lib.pelt_bundle_clip(self._bundle, text_of(name, "name"), flag(positions, "positions"), failure.buffer)
            good(found, failure)
            return self._clip(found)

    def add_clip(
        self,
        name: str,
        poses: ArrayLike,
        positions: Optional[ArrayLike] = None,
        *,
        controls: Optional[ArrayLike] = None,
        normals: Optional[ArrayLike] = None,
        frames_per_second: float = 30.0,
    ) -> Clip:
        """Adds frames from arrays, also to a character from a file.

        Args:
            name: unlike those of other clips.
            poses: [frames, joints, 10], as in `rest_pose`.
            positions: [frames, vertices, 3] the true shape in each; None: a motion to play, not examples.
            controls: [frames, controls]; None: at rest.
            normals: [frames, vertices, 3] true normals; None: those of the surface. Length 0 means unknown.
            frames_per_second: in exported files.
        """
        bundle = self._bundle
        check_layout(ClipInput)
        pose = floats(poses, ("frames", self.joint_count, TRANSFORM), "poses")
        frames = len(pose)
        shape = (frames, self.vertex_count, 3)
        places = None if positions is None else floats(positions, shape, "positions")
        turned = None if normals is None else floats(normals, shape, "normals")
        numbers = None if controls is None else floats(controls, (frames, len(self.controls)), "controls")
        rate = number(frames_per_second, "frames_per_second")
        given = ClipInput(text_of(name, "name"), frames, address(pose), address(places), address(numbers), address(turned), rate)
        failure = Failure()
        with self._guard.changing():
            added = lib.pelt_bundle_add_clip(bundle, c.byref(given), failure.buffer)
            good(added, failure)
            return self._clip(added)

    def mirror(self, clip: Clip, axis: int = 0) -> Clip:
        """Adds the mirror image of a clip along an axis (0, 1, 2 for x, y, z), as "CLIP, mirrored"."""
        self._own(clip)
        failure, along = Failure(), int(integers(axis, (), "axis"))
        with self._guard.changing():
            added = lib.pelt_bundle_mirror(self._bundle, clip._pointer, along, failure.buffer)
            good(added, failure)
            return self._clip(added)

    def add_poses(self, count: int = 240, *, seed: int = 1, name: str = "poses") -> Clip:
        """Adds a clip of poses worth an example: the rest pose, joints at their limits, then poses of the whole body.

        Limits are those of the character's clips, or of the parts of a body that its joints are named after.
        """
        poses, start = int(integers(count, (), "count")), int(integers(seed, (), "seed", np.uint64))
        failure = Failure()
        with self._guard.changing():
            limits = good(lib.pelt_motion_range_of(self._bundle, None, failure.buffer), failure)
            try:
                added = lib.pelt_bundle_add_poses(self._bundle, limits, poses, start, text_of(name, "name"), failure.buffer)
                return self._clip(good(added, failure).value)
            finally:
                lib.pelt_motion_range_free(limits)

    def choose(self, examples: ExamplesLike, count: int) -> list[FrameList]:
        """The frames that tell most about all others, as examples: a list for each clip. They need no true positions."""
        parts = lists_of(examples)
        given = ExampleList(self, parts)
        wanted = int(integers(count, (), "count"))
        chosen = (c.c_size_t * min(max(wanted, 1), max(len(given.frames), 1)))()
        failure = Failure()
        with self._guard.reading():
            done(lib.pelt_choose_examples(self._bundle, given.struct, wanted, 0, 1, chosen, None, failure.buffer), failure)
        taken: dict[str, list[int]] = {}
        for i in chosen[:wanted]:
            taken.setdefault(given.frames[i][0], []).append(given.frames[i][1])
        clips = {part.clip.name: part.clip for part in parts}
        return [clips[name].frames(frames) for name, frames in taken.items()]

    def save_poses(self, clip: Clip, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the character with one clip of poses, for whoever makes the skin in them: a simulator, a sculptor."""
        self._own(clip)
        failure = Failure()
        with self._guard.reading():
            done(lib.pelt_export_poses(self._bundle, clip._pointer, path_of(path), failure.buffer), failure)

    def _own(self, clip: Clip) -> None:
        if not isinstance(clip, Clip):
            raise ArgumentError(f"clip: expected a clip, not {type(clip).__name__}", option="clip")
        if clip.character is not self:
            raise ArgumentError(f"clip: {clip.name!r} is of another character", option="clip")

    def diagnose(self, clips: Union[Clip, Iterable[Clip]] = ()) -> tuple[Finding, ...]:
        """Everything that looks wrong with the character and these clips, worst first."""
        chosen = [clips] if isinstance(clips, Clip) else list_of(clips, "clips")
        for clip in chosen:
            self._own(clip)
        pointers = (c.c_void_p * len(chosen))(*(clip._pointer for clip in chosen))
        check_layout(Findings)
        with self._guard.changing():
            found = lib.pelt_diagnose(self._bundle, pointers, len(chosen))
            return findings_of(c.addressof(found))

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes a character from arrays as files: PATH (.glb), and next to it a cache for each clip with true positions."""
        failure = Failure()
        with self._guard.reading():
            done(lib.pelt_export_bundle(self._bundle, path_of(path), failure.buffer), failure)

    def _repr_html_(self) -> Optional[str]:
        from .viewer import html_or_none

        return html_or_none(self, None)


def a_character(value: object) -> Character:
    if not isinstance(value, Character):
        raise ArgumentError(f"character: expected a character, not {type(value).__name__}", option="character")
    value._handle_of()
    return value


def _influences(
    weights: Optional[ArrayLike], joints: Optional[ArrayLike], vertices: int, joint_count: int
) -> tuple[Optional[NDArray[np.uint32]], Optional[Floats]]:
    """Weights in columns, each with its joint; a column for every joint becomes as many as a vertex uses at most."""
    if weights is None:
        if joints is not None:
            raise ArgumentError("joints: there are no weights for them", option="joints")
        return None, None
    if joints is not None:
        columns = floats(weights, (vertices, "n"), "weights")
        return integers(joints, columns.shape, "joints"), columns
    dense = floats(weights, (vertices, joint_count), "weights")
    most = max(int((dense != 0).sum(axis=1).max(initial=0)), 1)
    chosen = np.argsort(dense == 0, axis=1, kind="stable")[:, :most]
    return np.require(chosen, np.uint32, ["C"]), np.require(np.take_along_axis(dense, chosen, axis=1), np.float32, ["C"])


def transforms(matrices: ArrayLike, parents: ArrayLike) -> Floats:
    """Poses from matrices: where joints are in the scene, as transforms relative to their parents.

    Args:
        matrices: [..., joints, 4, 4] (or 3, 4), from the space of the joint to that of the scene; columns are axes.
        parents: [joints], -1 for a root; parents come before their children.

    Returns:
        [..., joints, 10]: a quaternion x y z w, a translation and a scale. Shear, which these cannot have, is left out;
        `Skin.evaluate_matrices` takes matrices as they are.
    """
    given = array_of(matrices, "matrices")
    if given.dtype.kind not in "fiu" or given.ndim < 3 or given.shape[-1] != 4 or given.shape[-2] not in (3, 4):
        raise ArgumentError(f"matrices: expected numbers of shape (..., joints, 4, 4), not {given.dtype} {given.shape}", option="matrices")
    above = integers(parents, (given.shape[-3],), "parents", np.int32)
    if (above >= np.arange(len(above))).any() or (above < -1).any():
        raise ArgumentError("parents: parents must come before their children", option="parents")
    scene = np.zeros(given.shape[:-2] + (4, 4))
    scene[..., :3, :] = given[..., :3, :]
    scene[..., 3, 3] = 1
    if not np.isfinite(scene).all():
        raise ArgumentError("matrices: a number is not finite", "number", "matrices")
    child = np.flatnonzero(above >= 0)
    local = scene.copy()
    try:
        local[..., child, :, :] = np.linalg.solve(scene[..., above[child], :, :], scene[..., child, :, :])
    except np.linalg.LinAlgError:
        raise ArgumentError("matrices: a joint with children has scale 0", "number", "matrices") from None
    return _split(local)


def _split(local: NDArray[np.float64]) -> Floats:
    """Translation, rotation and scale of affine maps."""
    out = np.empty(local.shape[:-2] + (TRANSFORM,), np.float32)
    axes = local[..., :3, :3]
    scale = np.linalg.norm(axes, axis=-2)
    scale[..., 0] *= np.where(np.linalg.det(axes) < 0, -1.0, 1.0)  # a mirrored joint
    unit = axes / np.where(scale == 0, 1, scale)[..., None, :]
    u, _, v = np.linalg.svd(unit)
    turn = u @ v  # the nearest rotation: exact unless there is shear
    out[..., 0:4] = _quaternions(turn)
    out[..., 4:7] = local[..., :3, 3]
    out[..., 7:10] = scale
    return out


def _quaternions(r: NDArray[np.float64]) -> NDArray[np.float64]:
    """x y z w of rotation matrices: the row of the largest of 4q^2, which is the best conditioned."""
    xx, yy, zz = r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]
    outer = np.empty(r.shape[:-2] + (4, 4))
    outer[..., 0, 0], outer[..., 1, 1], outer[..., 2, 2], outer[..., 3, 3] = (
        1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz,
    )  # fmt: skip
    for i, j in ((0, 1), (0, 2), (1, 2)):
        outer[..., i, j] = outer[..., j, i] = r[..., i, j] + r[..., j, i]
    for i, (a, b) in enumerate(((2, 1), (0, 2), (1, 0))):
        outer[..., i, 3] = outer[..., 3, i] = r[..., a, b] - r[..., b, a]
    best = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(outer, best[..., None, None], axis=-2)[..., 0, :]
    result: NDArray[np.float64] = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return result


__all__ = ["Character", "Clip", "Finding", "FrameList", "Part", "Weights", "transforms"]
