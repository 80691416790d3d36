# blender_plays.py: run by plays.sh in Blender: imports FILE.glb and compares the vertices of its mesh with a dump
# of test/dump_skin.c, frame by frame. Exit 1 when one is off by more than 1e-4 of the diagonal of the rest pose.

import struct
import sys
import numpy

numpy.bool = bool  # Blender 3.4's importer knows numpy before 1.24
import bpy  # noqa: E402

TOLERANCE = 1e-4
MOST_FRAMES = 12


def read_dump(path):
    data = open(path, "rb").read()
    vertices, diagonal, normals, clips = struct.unpack_from("<IfII", data)
    at, out = 16, []
    for _ in range(clips):
        (length,) = struct.unpack_from("<I", data, at)
        name = data[at + 4 : at + 4 + length].decode()
        at += 4 + (length + 3) // 4 * 4
        (frames,) = struct.unpack_from("<I", data, at)
        at += 4
        for _ in range(frames):
            (time,) = struct.unpack_from("<f", data, at)
            positions = numpy.frombuffer(data, "<f4", 3 * vertices, at + 4).reshape(-1, 3)
            at += 4 + 12 * vertices * (2 if normals else 1)
            out.append((name, time, positions))
    return diagonal, out


def positions_of(objects):
    """The vertices of the scene as it stands, in glTF's axes: y is up."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    parts = []
    for source in objects:
        mesh = source.evaluated_get(depsgraph).to_mesh()
        flat = numpy.empty(3 * len(mesh.vertices), numpy.float32)
        mesh.vertices.foreach_get("co", flat)
        world = numpy.array(source.matrix_world, numpy.float64)
        parts.append(flat.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3])
        source.evaluated_get(depsgraph).to_mesh_clear()
    x, y, z = numpy.concatenate(parts).T
    return numpy.stack([x, z, -y], axis=1)


def play(name):
    """Makes a clip the action of all that it moves; the importer lays every clip into a track of its name."""
    owners = list(bpy.context.scene.objects)
    owners += [o.data.shape_keys for o in owners if o.type == "MESH" and o.data.shape_keys]
    for data in [owner.animation_data for owner in owners if owner.animation_data]:
        for track in data.nla_tracks:
            track.mute = True
            if track.name == name:
                data.action = track.strips[0].action


def compare(dump, file):
    diagonal, frames = read_dump(dump)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.preferences.addon_enable(module="io_scene_gltf2")
    bpy.ops.import_scene.gltf(filepath=file)
    scene = bpy.context.scene
    meshes = [o for o in scene.objects if o.type == "MESH" and any(m.type == "ARMATURE" for m in o.modifiers)]
    played = [f for f in frames if f[0]]
    worst = 0.0
    play(played[0][0])
    for name, time, positions in played[:: -(-len(played) // MOST_FRAMES)]:
        frame = time * scene.render.fps / scene.render.fps_base
        scene.frame_set(int(frame), subframe=frame - int(frame))
        ours = positions_of(meshes)
        if ours.shape != positions.shape:
            print(f"{file}: Blender has {len(ours)} vertices, pelt {len(positions)}")
            return False
        worst = max(worst, float(numpy.linalg.norm(ours - positions, axis=1).max()) / diagonal)
    keys = sum(len(o.data.shape_keys.key_blocks) - 1 for o in meshes if o.data.shape_keys)
    bones = sum(len(o.data.bones) for o in scene.objects if o.type == "ARMATURE")
    print(f"{file}: {len(positions)} vertices, {bones} bones, {keys} shape keys: off by at most {worst:.2e} of the diagonal")
    return worst <= TOLERANCE


arguments = sys.argv[sys.argv.index("--") + 1 :]
results = [compare(*pair) for pair in zip(arguments[::2], arguments[1::2])]
sys.exit(0 if all(results) else 1)
