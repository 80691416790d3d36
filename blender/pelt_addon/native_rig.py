"""A skin as a rig of Blender's own: fitted weights as vertex groups, driven joints as bones with constraints and drivers, and the
corrective as a few shape keys with keyframes.

    v(p) = S_p( v0 + D(p) ),   D(p) = S_p^-1 v(p) - v0

S is what the Armature modifier does. D over the frames is a matrix with a row for each frame; its singular value decomposition
says which few shapes it is nearly a sum of."""

import bpy
import numpy as np

from .arrays import DOWN, UP, moved, set_vertices
from .bake import animate_keys, play, result_collection
from .driven_bones import add_driven_bones
from .library import Problem
from .preview import mesh_of
from .skin_file import read

LEAST = 1e-5  # of the diagonal: what a frame may be off by before another key is added


def make_rig(context, player, requests, most_keys=32):
    """Objects that Blender's Armature modifier moves as the skin does. Returns them and the largest error left, in scene units."""
    subject = player.subject
    data = read(player.skin.to_bytes())
    if has_negative_weights(player.skin):
        raise Problem("The skin has negative weights, which Blender does not support: fit again, so that they can be refitted to the examples.")
    collection = result_collection(context, subject)
    shapes, blends = _frames(player, data, requests)
    rig, bones = subject.rig, player.skin.joint_names
    to_armature = np.linalg.inv(rest_place(player)) @ DOWN
    if data.driven:
        rig, added = add_driven_bones(context, subject.rig, bones, data.driven, to_armature, collection)
        bones += added
    corrections = _corrections(data, shapes, blends)
    basis, values, left = _keys(corrections, blends, most_keys, LEAST * _size(data.positions))
    depsgraph = context.evaluated_depsgraph_get()
    made = []
    for part in subject.parts:
        thing = _object(part, data, rig, bones, to_armature, depsgraph)
        collection.objects.link(thing)
        _shape_keys(thing, part, basis @ to_armature[:3, :3].T, values, requests)
        made.append(thing)
    return made, left


def has_negative_weights(skin):
    return bool((read(skin.to_bytes()).weights < -1e-6).any())


def _size(points):
    return float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


def _object(part, data, rig, bones, to_armature, depsgraph):
    """The rest mesh in the armature's space, with groups and a modifier."""
    mesh = mesh_of(part, depsgraph, "rigged")
    thing = bpy.data.objects.new(mesh.name, mesh)
    thing["pelt"] = "rigged"
    thing.vertex_groups.clear()
    thing.parent = rig
    set_vertices(mesh, moved(data.positions[part.first : part.first + part.count], to_armature))
    groups = {}
    for v in range(part.count):
        for i in range(data.first[part.first + v], data.first[part.first + v + 1]):
            joint = int(data.joints[i])
            if joint == 0:
                continue  # the armature object, which a vertex without weights follows
            if joint not in groups:
                groups[joint] = thing.vertex_groups.new(name=bones[joint])
            groups[joint].add([v], float(data.weights[i]), "REPLACE")
    _hold(thing, part, data, groups)
    modifier = thing.modifiers.new("rig", "ARMATURE")
    modifier.object, modifier.use_vertex_groups = rig, True
    if "pelt share" in thing.vertex_groups:
        modifier.vertex_group = "pelt share"
    return thing


def _hold(thing, part, data, groups):
    """Vertices that partly follow the armature object: the modifier moves the rest of them."""
    held = {}
    for v in range(part.count):
        rows = slice(data.first[part.first + v], data.first[part.first + v + 1])
        weight = float(data.weights[rows][data.joints[rows] == 0].sum())
        if weight > 1e-6:
            held[v] = 1 - weight
    if held and groups:
        share = thing.vertex_groups.new(name="pelt share")
        share.add([v for v in range(part.count) if v not in held], 1.0, "REPLACE")
        for v, weight in held.items():
            share.add([v], weight, "REPLACE")


def rest_place(player):
    """Where the armature object was at rest, in Blender's scene."""
    root = np.eye(4)
    root[:3] = _matrices(player.skin.rest_pose[:1])[0]
    return DOWN @ root @ UP


def _matrices(pose):
    """[joints, 3, 4] of transforms relative to the scene: for roots."""
    x, y, z, w = pose[:, :4].astype(np.float64).T
    turn = np.stack([
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
        2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
    ], axis=1).reshape(-1, 3, 3)  # fmt: skip
    return np.concatenate([turn * pose[:, None, 7:10], pose[:, 4:7, None]], axis=2)


# -- The corrective as shape keys --------------------------------------------------------------------------------------------------


def _frames(player, data, requests):
    """The skin's shapes, and its blended matrices [frames, vertices, 3, 4]; without corrective none are wanted."""
    if not player.skin.has_corrective:
        return [], []
    if data.driven:
        raise Problem("This skin has both driven joints and a corrective, which a Blender rig cannot combine: fit with one or the other.")
    shapes, blends = [], []
    vertex = np.repeat(np.arange(len(data.positions)), np.diff(data.first))
    bind = np.zeros((data.joint_count, 4, 4))
    bind[:, :3], bind[:, 3, 3] = data.inverse_bind, 1
    for _, _, depsgraph in play(player.subject, requests):
        shapes.append(player.evaluate(depsgraph).copy())
        skin = player.pose(depsgraph) @ bind
        blend = np.zeros((len(data.positions), 3, 4), np.float32)
        np.add.at(blend, vertex, data.weights[:, None, None] * skin[data.joints])
        blends.append(blend)
    return shapes, blends


def _corrections(data, shapes, blends):
    return np.array([
        np.linalg.solve(blend[:, :, :3], (shape - blend[:, :, 3])[..., None])[..., 0] - data.positions
        for shape, blend in zip(shapes, blends)
    ])  # fmt: skip


def _keys(corrections, blends, most, enough):
    """Basis shapes [keys, vertices, 3], their values [frames, keys], and the largest error that is left."""
    if len(corrections) == 0:
        return np.zeros((0, 0, 3)), np.zeros((0, 0)), 0.0
    flat = corrections.reshape(len(corrections), -1)
    left, sizes, right = np.linalg.svd(flat, full_matrices=False)
    for count in [c for c in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512) if c < min(most, len(sizes))] + [min(most, len(sizes))]:
        values = left[:, :count] * sizes[:count]
        missing = (flat - values @ right[:count]).reshape(corrections.shape)
        worst = max(float(np.linalg.norm(np.einsum("vab,vb->va", b[:, :, :3], m), axis=-1).max()) for b, m in zip(blends, missing))
        if worst <= enough:
            break
    reach = np.maximum(np.abs(values).max(axis=0), 1e-30)  # values between -1 and 1
    return (right[:count] * reach[:, None]).reshape(count, -1, 3), values / reach, worst


def _shape_keys(thing, part, basis, values, requests):
    if not len(basis):
        return
    own = slice(part.first, part.first + part.count)
    place = np.empty(3 * part.count, np.float32)
    thing.data.vertices.foreach_get("co", place)
    thing.shape_key_add(name="Basis", from_mix=False)
    tracks = []
    frames = [(request.name, frame) for request in requests for frame in request.frames]
    for k, shape in enumerate(basis):
        block = thing.shape_key_add(name=f"pelt {k + 1}", from_mix=False)
        block.slider_min, block.slider_max = -1.0, 1.0
        block.data.foreach_set("co", (place.reshape(-1, 3) + shape[own]).astype(np.float32).ravel())
        of_clip = {}
        for (clip, frame), value in zip(frames, values[:, k]):
            of_clip.setdefault(clip, []).append((frame, float(value)))
        tracks.append((block, of_clip))
    animate_keys(thing.data.shape_keys, tracks, [request.name for request in requests])
