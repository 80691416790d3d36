"""A skin as things that Blender plays without pelt: shape keys with keyframes, and point caches in the objects' own vertex order."""

import struct

import bpy
import numpy as np

from . import preview
from .arrays import matrix, moved, set_vertices
from .examples import Restored
from .library import Problem
from .versions import assign, curves


def play(subject, requests):
    """Generator over (request, frame, depsgraph); afterwards the scene is as it was."""
    restored = Restored(subject)
    preview.is_paused = True
    try:
        for request in requests:
            if request.action:
                restored.play(request.action)
            for frame in request.frames:
                bpy.context.scene.frame_set(frame)
                yield request, frame, bpy.context.evaluated_depsgraph_get()
    finally:
        preview.is_paused = False
        restored.put_back()


def result_collection(context, subject):
    """Where results go: they are the user's from then on."""
    name = f"pelt result {subject.armature}"
    found = bpy.data.collections.get(name)
    if found is None:
        found = bpy.data.collections.new(name)
        context.scene.collection.children.link(found)
    return found


def bake_keys(context, player, requests):
    """Objects with a shape key for every frame, in the scene's space. Returns them."""
    subject, skin = player.subject, player.skin
    rest = skin.evaluate(skin.rest_pose)
    shapes = [(request, frame, player.evaluate(depsgraph).copy()) for request, frame, depsgraph in play(subject, requests)]
    depsgraph = context.evaluated_depsgraph_get()
    collection, made = result_collection(context, subject), []
    for part in subject.parts:
        mesh = preview.mesh_of(part, depsgraph, "baked")
        copy = bpy.data.objects.new(mesh.name, mesh)
        copy["pelt"] = "baked"
        collection.objects.link(copy)
        set_vertices(mesh, player.points(part, rest))
        copy.shape_key_add(name="Basis", from_mix=False)
        blocks = []
        for request, frame, positions in shapes:
            block = copy.shape_key_add(name=f"{request.name} {frame}", from_mix=False)
            block.data.foreach_set("co", player.points(part, positions).astype(np.float32).ravel())
            blocks.append((request, frame, block))
        animate_keys(mesh.shape_keys, [(block, {r.name: [(f, float(f == frame)) for f in _around(r, frame)]}) for r, frame, block in blocks],
                     [request.name for request in requests])  # fmt: skip
        made.append(copy)
    return made


def _around(request, frame):
    """The frame, and those before and after it in the request, where its key is off."""
    at = request.frames.index(frame)
    return request.frames[max(at - 1, 0) : at + 2]


def animate_keys(keys, tracks, clips):
    """Keyframes of shape keys: of each block {clip: [(frame, value)]}. A clip is an action of its own, in which other clips' are 0."""
    actions = []
    for clip in clips:
        action = bpy.data.actions.new(f"{clip} {keys.user.name}")
        action.use_fake_user = True
        actions.append(action)
        assign(keys, action)
        first = min(frame for _, of_clip in tracks for frame, _ in of_clip.get(clip, []))
        for block, of_clip in tracks:
            for frame, value in of_clip.get(clip, [(first, 0.0)]):
                block.value = value
                block.keyframe_insert("value", frame=frame)
        for curve in curves(action):
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"
    assign(keys, actions[0])


# -- Point caches --------------------------------------------------------------------------------------------------------------


def write_pc2(path, first, frames):
    """A .pc2 of [frames, points, 3], whose first frame has this number."""
    shapes = np.ascontiguousarray(frames, "<f4")
    with open(path, "wb") as file:
        file.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, shapes.shape[1], float(first), 1.0, len(shapes)))
        file.write(shapes.tobytes())


def write_caches(player, request, path, space="OBJECT"):
    """A .pc2 for each object: PATH for one, PATH with the object's name before the ending for several. Returns their paths.

    Points are in the object's own order, and in its own space, as the Mesh Cache modifier reads them, or in the scene's."""
    if request.frames != list(range(request.frames[0], request.frames[-1] + 1)):
        raise Problem("A point cache has every frame: choose a step of 1.")
    parts = [part for part in player.subject.parts if not part.instance]
    shapes = {part.name: [] for part in parts}
    for _, _, depsgraph in play(player.subject, [request]):
        positions = player.evaluate(depsgraph)
        for part in parts:
            points = player.points(part, positions)
            if space == "OBJECT":
                points = moved(points, np.linalg.inv(matrix(bpy.data.objects[part.object].evaluated_get(depsgraph).matrix_world)))
            shapes[part.name].append(points)
    stem = path[:-4] if path.lower().endswith(".pc2") else path
    written = []
    for part in parts:
        written.append(f"{stem}.pc2" if len(parts) == 1 else f"{stem}.{bpy.path.clean_name(part.name)}.pc2")
        write_pc2(written[-1], request.frames[0], np.array(shapes[part.name]))
    return written
