"""A character as people have them in Blender, and the caches that its own exporters write of it. Run inside Blender:

    blender --background --factory-startup --python-exit-code 1 --python test/blender_caches.py -- FOLDER

It is rigged, UV-unwrapped with a seam, z-up, and moved away from the origin; the truth is what a Smooth modifier makes of
the armature's deformation. FOLDER gets limb.glb, limb.bend.mdd (the world's space), object.pc2 (as the exporter has it by
default: the object's space, y-up, frames 1 to 250), world.pc2 (z-up, the clip's frames), late.pc2 (begun 3 frames early),
and rms.txt: how far the truth is from the armature's own deformation, as Blender has both."""

import math
import sys

import numpy

numpy.bool = bool  # Debian's add-on still asks for it

import bpy
import addon_utils
from io_shape_mdd import export_mdd

FOLDER = sys.argv[sys.argv.index("--") + 1]
AROUND, ALONG, FRAMES = 20, 36, 30


def make_mesh():
    vertices, faces, uvs = [], [], []
    for i in range(ALONG + 1):
        for k in range(AROUND):
            angle, z = 2 * math.pi * k / AROUND, 2 * i / ALONG
            radius = 0.2 + 0.05 * math.sin(3 * z) + 0.03 * math.cos(2 * angle)
            vertices.append((radius * math.cos(angle), 0.8 * radius * math.sin(angle) + 0.02 * z * z, z))
    # Vertex numbers that follow no rule, as after a day of modelling.
    order = [(7919 * i) % len(vertices) for i in range(len(vertices))]
    place = {old: new for new, old in enumerate(order)}
    for i in range(ALONG):
        for k in range(AROUND):
            corners = [(i, k), (i, k + 1), (i + 1, k + 1), (i + 1, k)]
            faces.append([place[a * AROUND + b % AROUND] for a, b in corners])
            uvs += [(b / AROUND, a / ALONG) for a, b in corners]
    mesh = bpy.data.meshes.new("limb")
    mesh.from_pydata([vertices[old] for old in order], [], faces)
    layer = mesh.uv_layers.new(name="map")
    for loop, uv in zip(layer.data, uvs):
        loop.uv = uv
    for polygon in mesh.polygons:
        polygon.use_smooth = True
    return mesh


def make_armature():
    data = bpy.data.armatures.new("rig")
    rig = bpy.data.objects.new("rig", data)
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for i, name in enumerate(("lower", "middle", "upper")):
        bone = data.edit_bones.new(name)
        bone.head, bone.tail = (0, 0, 2 * i / 3), (0, 0, 2 * (i + 1) / 3)
        bone.parent = parent
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def bind(limb, rig):
    groups = [limb.vertex_groups.new(name=name) for name in ("lower", "middle", "upper")]
    for v in limb.data.vertices:
        at = min(max(1.5 * v.co.z - 0.5, 0), 2)
        low = min(int(at), 1)
        groups[low].add([v.index], 1 - (at - low), "REPLACE")
        groups[low + 1].add([v.index], at - low, "REPLACE")
    limb.parent = rig
    limb.modifiers.new("rig", "ARMATURE").object = rig
    smooth = limb.modifiers.new("flesh", "SMOOTH")
    smooth.factor, smooth.iterations = 0.5, 4


def animate(rig):
    rig.animation_data_create()
    rig.animation_data.action = bpy.data.actions.new("bend")
    for frame in range(1, FRAMES + 1):
        t = (frame - 1) / (FRAMES - 1)
        for i, name in enumerate(("lower", "middle", "upper")):
            bone = rig.pose.bones[name]
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = (i * 0.9 * math.sin(2 * math.pi * t), i * 0.4 * math.sin(3 * t), 0.5 * i * t * t)
            bone.keyframe_insert("rotation_euler", frame=frame)


def export_pc2(name, **options):
    bpy.ops.export_shape.pc2(filepath=f"{FOLDER}/{name}.pc2", **options)


def positions(limb):
    evaluated = limb.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return [v.co.copy() for v in evaluated.to_mesh().vertices]


def difference(scene, limb):
    """Root mean square over frames and vertices."""
    total = 0
    for frame in range(1, FRAMES + 1):
        scene.frame_set(frame)
        limb.modifiers["flesh"].show_viewport = True
        truth = positions(limb)
        limb.modifiers["flesh"].show_viewport = False
        total += sum((a - b).length_squared for a, b in zip(truth, positions(limb)))
    limb.modifiers["flesh"].show_viewport = True
    return math.sqrt(total / FRAMES / len(limb.data.vertices))


bpy.ops.wm.read_factory_settings(use_empty=True)
for addon in ("io_export_pc2", "io_shape_mdd", "io_scene_gltf2"):
    addon_utils.enable(addon)
scene = bpy.context.scene
scene.frame_start, scene.frame_end = 1, FRAMES
rig = make_armature()
limb = bpy.data.objects.new("limb", make_mesh())
bpy.context.collection.objects.link(limb)
bind(limb, rig)
animate(rig)
rig.location = (1.3, -0.7, 0.4)
bpy.context.view_layer.update()
bpy.context.view_layer.objects.active = limb
export_pc2("object")
export_pc2("world", rot_x90=False, world_space=True, range_end=FRAMES)
export_pc2("late", rot_x90=False, world_space=True, range_start=-2, range_end=FRAMES - 3)
export_mdd.save(bpy.context, filepath=f"{FOLDER}/limb.bend.mdd", frame_start=1, frame_end=FRAMES)
with open(f"{FOLDER}/rms.txt", "w") as file:
    print(difference(scene, limb), file=file)
limb.modifiers.remove(limb.modifiers["flesh"])
bpy.ops.export_scene.gltf(filepath=f"{FOLDER}/limb.glb", export_format="GLB")
print(len(limb.data.vertices), "vertices in Blender")
