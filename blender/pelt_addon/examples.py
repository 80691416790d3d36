"""Examples from Blender's own evaluation: the pose of the armature and the shape of its objects, frame by frame.

The rest is what Blender makes of the armature in its rest position, with everything but physics: modifiers that change the shape
at rest are part of it. The motion of the armature object itself is taken out of the examples: where a character walks to must not
change its shape. Work is done in generators that yield how far they are, so that a panel can stay alive meanwhile; whoever
closes one early gets the scene back as it was."""

from dataclasses import dataclass, field

import bpy
import numpy as np

from . import preview
from .arrays import DOWN, UP, corners_of, matrix, moved, triangles_of, vertices_of
from .library import Problem, pelt
from .subject import PHYSICS, Subject, hidden_modifiers
from .versions import active_uvs, assign, corner_normals, curves
from .weights import weights_of


@dataclass
class Request:
    """Frames to evaluate: of the scene as it is, or of an action."""

    name: str
    frames: list
    action: str = ""


@dataclass
class Examples:
    subject: Subject
    character: object  # a pelt.Character
    clips: dict  # name: (pelt.Clip, Request)
    arrays: dict  # that the character was made of
    materials: list  # of each part: [triangles] the number of the material
    warnings: list = field(default_factory=list)


@dataclass
class Rest:
    """A part at rest, in the scene and with y up: its own vertices, then those that seams and hard edges add."""

    positions: np.ndarray
    normals: np.ndarray
    uvs: np.ndarray  # None: it has none
    triangles: np.ndarray
    materials: np.ndarray  # [triangles]
    source: np.ndarray  # [vertices] the own vertex that each is at
    joints: np.ndarray
    weights: np.ndarray
    corners: np.ndarray  # of the object's mesh: another topology has others


# -- What is asked for -----------------------------------------------------------------------------------------------------


def frames_of_scene(scene, first=None, last=None, step=1):
    first = scene.frame_start if first is None else first
    last = scene.frame_end if last is None else last
    if last < first:
        raise Problem(f"The frame range {first} to {last} is empty: the last frame must not be before the first.")
    return Request("frames", list(range(first, last + 1, max(step, 1))))


def actions_of(rig):
    """Those that move bones of an armature."""
    bones = {f'pose.bones["{bone.name}"]' for bone in rig.data.bones}
    return [
        action for action in bpy.data.actions
        if any(curve.data_path.rpartition(".")[0] in bones for curve in curves(action))
    ]  # fmt: skip


def frames_of_actions(rig, names, step=1):
    """A request for each action by name; without names for all of the armature."""
    actions = [action_of(name) for name in names] or actions_of(rig)
    if not actions:
        raise Problem(f"There is no action for the bones of '{rig.name}': animate it, or use the frames of the scene.")
    found = []
    for action in actions:
        if not curves(action):
            raise Problem(f"The action '{action.name}' is empty: leave it out, or give it keyframes.")
        first, last = (int(round(value)) for value in action.frame_range)
        found.append(Request(action.name, list(range(first, last + 1, max(step, 1))), action.name))
    return found


def action_of(name):
    action = bpy.data.actions.get(name)
    if action is None:
        raise Problem(f"There is no action '{name}': the file has {', '.join(a.name for a in bpy.data.actions) or 'none'}.")
    return action


# -- Evaluation ------------------------------------------------------------------------------------------------------------


class _Pose:
    """The transform properties of an armature's bones, and of the armature, as they are set: not by matrices, which lose turns."""

    NAMES = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")

    def __init__(self, rig):
        self.values = [(owner, name, tuple(getattr(owner, name))) for owner in [rig, *rig.pose.bones] for name in self.NAMES]
        self.bones = list(rig.pose.bones)

    def clear(self):
        for bone in self.bones:
            bone.matrix_basis.identity()

    def put_back(self):
        for owner, name, value in self.values:
            setattr(owner, name, value)


class Restored:
    """The scene as it was before: frame, action, pose."""

    def __init__(self, subject):
        self.scene, self.rig = bpy.context.scene, subject.rig
        self.frame = (self.scene.frame_current, self.scene.frame_subframe)
        data = self.rig.animation_data
        self.animation = None if data is None else (data.action, getattr(data, "action_slot", None), data.use_nla)
        self.pose = _Pose(self.rig)
        self.had_animation = data is not None

    def play(self, action):
        """Plays an action alone; what it leaves alone is at rest."""
        self.stop_animation()
        self.pose.clear()
        assign(self.rig, action_of(action))

    def stop_animation(self):
        data = self.rig.animation_data
        if data:
            data.action, data.use_nla = None, False

    def play_animation(self):
        data = self.rig.animation_data
        if data and self.animation:
            data.use_nla = self.animation[2]
            data.action = self.animation[0]
            if self.animation[1] is not None:
                data.action_slot = self.animation[1]

    def put_back(self):
        self.play_animation()
        if not self.had_animation and self.rig.animation_data:
            self.rig.animation_data_clear()
        self.pose.put_back()
        self.scene.frame_set(self.frame[0], subframe=self.frame[1])


def collect(subject, requests):
    """Generator: yields the fraction that is done, returns Examples."""
    library = pelt()
    things = [bpy.data.objects[part.object] for part in subject.parts]
    warnings = hidden_modifiers(dict.fromkeys(things))
    restored = Restored(subject)
    preview.is_paused = True
    try:
        rest, rest_pose, rest_controls = _rest(subject, requests[0], restored)
        tracks = []
        total, done = sum(len(request.frames) for request in requests), 0
        for request in requests:
            if request.action:
                restored.play(request.action)
            track = _Track(subject, rest, rest_pose[0], len(request.frames))
            for frame in _stepped(request.frames, things):
                bpy.context.scene.frame_set(frame)
                if frame in track.wanted(request):
                    track.take(subject)
                    done += 1
                    yield done / total
            tracks.append(track)
    finally:
        preview.is_paused = False
        restored.put_back()
    warnings += _sheared(subject, tracks)
    arrays = _arrays(library, subject, rest, rest_pose, rest_controls)
    character = library.Character(**arrays)
    clips = {}
    for request, track in zip(requests, tracks):
        poses = library.transforms(track.poses, subject.parents)
        controls = np.array(track.controls, np.float32) if subject.controls else None
        clip = character.add_clip(request.name, poses, track.positions, controls=controls, frames_per_second=frame_rate())
        clips[request.name] = (clip, request)
    return Examples(subject, character, clips, arrays, [part.materials for part in rest], warnings)


def frame_rate():
    render = bpy.context.scene.render
    return render.fps / render.fps_base


def _stepped(frames, things):
    """The frames to visit: physics must see every one from its start, or it is something else."""
    caches = [m.point_cache for thing in things for m in thing.modifiers if m.type in PHYSICS and getattr(m, "point_cache", None)]
    if not caches:
        return frames
    for cache in caches:
        if not cache.is_baked:
            cache.frame_start = cache.frame_start  # what it remembers is of another action
    first = min(min(cache.frame_start for cache in caches), frames[0])
    return range(first, frames[-1] + 1)


def _rest(subject, request, restored):
    """Every part at rest, the joints, and the controls; the armature object is where it is in the first frame."""
    scene, rig = bpy.context.scene, subject.rig
    if request.action:
        restored.play(request.action)
    scene.frame_set(request.frames[0])
    switched = [m for part in subject.parts for m in bpy.data.objects[part.object].modifiers if m.type in PHYSICS and m.show_viewport]
    pose = _Pose(rig)
    try:
        restored.stop_animation()
        pose.clear()  # drivers may read these properties
        rig.data.pose_position = "REST"
        for modifier in switched:
            modifier.show_viewport = False
        depsgraph = bpy.context.evaluated_depsgraph_get()
        depsgraph.update()
        found = []
        to_armature = matrix(rig.evaluated_get(depsgraph).matrix_world.inverted())
        subject.visit(depsgraph, lambda part, mesh, place: found.append((part, _rest_part(subject, part, mesh, place, to_armature))))
        joints, controls = subject.pose(depsgraph), subject.control_values(depsgraph)
    finally:
        rig.data.pose_position = "POSE"
        for modifier in switched:
            modifier.show_viewport = True
        pose.put_back()
        restored.play_animation()
    at = 0
    for part, rest in found:
        part.first, part.count, part.whole = at, int(rest.source.max()) + 1, len(rest.source)
        at += part.whole
    subject.parts = [part for part, _ in found]  # instances come last
    return [rest for _, rest in found], joints, controls


def _rest_part(subject, part, mesh, place, to_armature):
    thing = bpy.data.objects[part.object]
    corners, own = corners_of(mesh), vertices_of(mesh)
    if not len(corners):
        raise Problem(f"'{part.name}' has no faces in frame {bpy.context.scene.frame_current}: switch off the modifier that removes them{_suspect(part)}.")
    turned, uvs = corner_normals(mesh), active_uvs(mesh)
    source, of_corner, chosen = _split(len(own), corners, turned, uvs)
    triangles, materials = triangles_of(mesh)
    triangles = of_corner[triangles]
    if np.linalg.det(place[:3, :3]) < 0:
        triangles = triangles[:, ::-1]
    joints, weights = weights_of(subject, part, thing, mesh, to_armature @ place)
    normals = np.zeros((len(source), 3))
    normals[chosen >= 0] = turned[chosen[chosen >= 0]]
    normals = normals @ np.linalg.inv(place[:3, :3]) @ UP[:3, :3].T
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.where(length > 0, normals / np.where(length > 0, length, 1), (0, 1, 0))
    if uvs is not None:
        kept = np.zeros((len(source), 2), np.float32)
        kept[chosen >= 0] = uvs[chosen[chosen >= 0]]
        uvs = np.stack([kept[:, 0], 1 - kept[:, 1]], axis=1)
    return Rest(moved(own, UP @ place)[source], normals, uvs, triangles, materials, source, joints[source], weights[source], corners)


def _split(count, corners, normals, uvs):
    """Corners of one vertex that differ in normal or texture become vertices of their own, after all of the object's.

    Returns the own vertex of each vertex, the vertex of each corner, and a corner of each vertex, -1 where it has none."""
    columns = [corners[:, None], np.rint(2e3 * normals)]
    if uvs is not None:
        columns.append(np.rint(1e5 * uvs))
    kinds, sample, kind = np.unique(np.concatenate(columns, axis=1).astype(np.int64), axis=0, return_index=True, return_inverse=True)
    owner = kinds[:, 0]
    first = np.ones(len(owner), bool)
    first[1:] = owner[1:] != owner[:-1]
    number = np.where(first, owner, count + np.cumsum(~first) - 1)
    chosen = np.full(count + int((~first).sum()), -1, np.int64)
    chosen[number] = sample
    return np.concatenate([np.arange(count), owner[~first]]), number[kind.ravel()], chosen


class _Track:
    """What a clip will be made of."""

    def __init__(self, subject, rest, root, frames):
        self.rest, self.root = rest, root
        self.vertices = sum(part.whole for part in subject.parts)
        self.poses = np.empty((frames, 1 + len(subject.bones), 4, 4))
        self.positions = np.empty((frames, self.vertices, 3), np.float32)
        self.controls = []
        self.bound = {}
        self.at = 0
        self._wanted = None

    def wanted(self, request):
        if self._wanted is None:
            self._wanted = set(request.frames)
        return self._wanted

    def take(self, subject):
        depsgraph = bpy.context.evaluated_depsgraph_get()
        pose = subject.pose(depsgraph)
        if not np.isfinite(pose).all():
            raise Problem(f"A bone of '{subject.armature}' is not finite in frame {bpy.context.scene.frame_current}: look at its drivers.")
        self.controls.append(subject.control_values(depsgraph))
        home = self.root @ np.linalg.inv(pose[0])
        self.poses[self.at] = pose = home @ pose
        rests = {id(part): rest for part, rest in zip(subject.parts, self.rest)}
        subject.visit(depsgraph, lambda part, mesh, place: self._part(subject, part, rests[id(part)], mesh, home @ UP @ place, pose))
        self.at += 1

    def _part(self, subject, part, rest, mesh, place, pose):
        frame = bpy.context.scene.frame_current
        if len(mesh.vertices) != part.count or not np.array_equal(corners_of(mesh), rest.corners):
            raise Problem(_changed(part, frame, len(mesh.vertices)))
        self._stays(subject, part, place, pose, frame)
        points = moved(vertices_of(mesh), place)
        if not np.isfinite(points).all():
            raise Problem(f"A vertex of '{part.name}' is not finite in frame {frame}: look at its modifiers there.")
        self.positions[self.at, part.first : part.first + part.whole] = points[rest.source]

    def _stays(self, subject, part, place, pose, frame):
        """An object must move with what carries it: its own motion is in no joint."""
        joint = subject.bones.index(part.bone) + 1 if part.bone else 0
        own = np.linalg.solve(pose[joint], place @ DOWN)
        first = self.bound.setdefault(part.name, own)
        if np.abs(own - first).max() > 1e-4 * max(np.abs(first).max(), 1e-9):
            carrier = f"the bone '{part.bone}'" if part.bone else f"'{subject.armature}'"
            raise Problem(
                f"'{part.name}' moves by itself in frame {frame}, besides {carrier}: parent it (Ctrl P) and remove its own animation, or "
                f"parent it to a bone that has this motion."
            )


SUSPECTS = {"DECIMATE", "REMESH", "BOOLEAN", "MASK", "BUILD", "NODES", "EXPLODE", "WELD", "SKIN", "BEVEL", "SOLIDIFY", "SUBSURF", "MULTIRES"}


def _suspect(part):
    names = [m.name for m in bpy.data.objects[part.object].modifiers if m.type in SUSPECTS]
    return f" (perhaps '{names[-1]}')" if names else ""


def _changed(part, frame, count):
    what = f"has {count} vertices in frame {frame} but {part.count} at rest" if count != part.count else f"has other faces in frame {frame} than at rest"
    return f"'{part.name}' {what}: a skin needs the same mesh in every frame, so switch off the modifier that changes it{_suspect(part)}."


def _sheared(subject, tracks):
    """A warning where a bone is sheared, which poses of position, rotation and scale cannot be."""
    parents = np.array(subject.parents)
    worst, where = 0.0, 0
    for track in tracks:
        local = track.poses.copy()
        below = np.flatnonzero(parents >= 0)
        local[:, below] = np.linalg.solve(track.poses[:, parents[below]], track.poses[:, below])
        axes = local[..., :3, :3]
        axes = axes / np.maximum(np.linalg.norm(axes, axis=-2, keepdims=True), 1e-30)
        shear = np.abs(np.swapaxes(axes, -1, -2) @ axes - np.eye(3)).max(axis=(0, 2, 3))
        if shear.max() > worst:
            worst, where = float(shear.max()), int(shear.argmax())
    if worst < 1e-3:
        return []
    name = subject.joint_names[where]
    return [
        f"'{name}' is sheared by an uneven scale above it (by {worst:.2g}), which no player supports: apply that scale, or set the bone's Inherit "
        f"Scale to Aligned."
    ]


def _arrays(library, subject, rest, joints, controls):
    """What pelt.Character takes."""
    most = max(part.weights.shape[1] for part in rest)
    wide = lambda array: np.pad(array, ((0, 0), (0, most - array.shape[1])))  # noqa: E731
    triangles = np.concatenate([part.triangles + info.first for part, info in zip(rest, subject.parts)])
    textured = any(part.uvs is not None for part in rest)
    return dict(
        positions=np.concatenate([part.positions for part in rest]).astype(np.float32),
        triangles=np.ascontiguousarray(triangles, np.uint32),
        parents=subject.parents,
        rest=library.transforms(joints, subject.parents),
        joints=np.concatenate([wide(part.joints) for part in rest]),
        weights=np.concatenate([wide(part.weights) for part in rest]),
        joint_names=subject.joint_names,
        normals=np.concatenate([part.normals for part in rest]).astype(np.float32),
        uvs=np.concatenate([np.zeros((len(p.source), 2)) if p.uvs is None else p.uvs for p in rest]).astype(np.float32) if textured else None,
        controls=dict(zip(subject.control_names, controls)),
        name=subject.armature,
    )
