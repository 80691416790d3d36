"""Characters for the tests of the add-on, made inside Blender: z up, away from the origin, turned, scaled, with vertex numbers that
follow no rule."""

import math

import bpy
import numpy

NAMES = ("lower", "middle", "upper")
FRAMES = 40


def tube(name, around=16, along=24, radius=0.2, length=2.0, bottom=0.0):
    """A limb with a seam in its texture and a hard edge around its upper end."""
    vertices, faces, uvs = [], [], []
    for i in range(along + 1):
        for k in range(around):
            angle, z = 2 * math.pi * k / around, bottom + length * i / along
            r = radius + 0.05 * math.sin(3 * z) + 0.03 * math.cos(2 * angle)
            vertices.append((r * math.cos(angle), 0.8 * r * math.sin(angle) + 0.02 * z * z, z))
    order = [(7919 * i) % len(vertices) for i in range(len(vertices))]  # 7919 is a prime
    place = {old: new for new, old in enumerate(order)}
    for i in range(along):
        for k in range(around):
            corners = [(i, k), (i, k + 1), (i + 1, k + 1), (i + 1, k)]
            faces.append([place[a * around + b % around] for a, b in corners])
            uvs += [(b / around, a / along) for a, b in corners]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([vertices[old] for old in order], [], faces)
    layer = mesh.uv_layers.new(name="map")
    layer.data.foreach_set("uv", numpy.array(uvs, numpy.float32).ravel())
    for polygon in mesh.polygons:
        polygon.use_smooth = True
    thing = bpy.data.objects.new(name, mesh)
    bpy.context.collection.objects.link(thing)
    return thing


def rig(name="rig", control=False):
    data = bpy.data.armatures.new(name)
    thing = bpy.data.objects.new(name, data)
    bpy.context.collection.objects.link(thing)
    bpy.context.view_layer.objects.active = thing
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for i, bone_name in enumerate(NAMES):
        bone = data.edit_bones.new(bone_name)
        bone.head, bone.tail = (0, 0, 2 * i / 3), (0, 0.02 * i, 2 * (i + 1) / 3)
        bone.roll = 0.3 * i
        bone.parent = parent
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    return thing


def bind(thing, armature):
    """Weights by height, that do not sum to 1: Blender divides."""
    groups = [thing.vertex_groups.new(name=name) for name in NAMES]
    for v in thing.data.vertices:
        at = min(max(1.5 * v.co.z - 0.5, 0), 2)
        low = min(int(at), 1)
        groups[low].add([v.index], 0.9 * (1 - (at - low)), "REPLACE")
        groups[low + 1].add([v.index], 0.9 * (at - low), "REPLACE")
    thing.parent = armature
    thing.modifiers.new("rig", "ARMATURE").object = armature


def animate(armature, name="bend", frames=FRAMES, speed=1.0, roots=True):
    action = bpy.data.actions.new(name)
    armature.animation_data_create()
    armature.animation_data.action = action
    for frame in range(1, frames + 1):
        t = (frame - 1) / (frames - 1)
        for i, bone_name in enumerate(NAMES):
            bone = armature.pose.bones[bone_name]
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = (i * 0.6 * math.sin(6 * speed * t), i * 0.3 * math.sin(9 * speed * t), 0.3 * i * math.sin(4 * t))
            bone.keyframe_insert("rotation_euler", frame=frame)
        if roots:
            armature.location = (1.3 + 0.4 * t, -0.7, 0.4)
            armature.rotation_euler = (0.1, 0.2, 0.5 + 0.6 * t)
            armature.keyframe_insert("location", frame=frame)
            armature.keyframe_insert("rotation_euler", frame=frame)
    return action


def drive_key(thing, armature):
    """A shape key that swells the limb as the middle bone bends."""
    thing.shape_key_add(name="Basis")
    key = thing.shape_key_add(name="swell")
    for v, point in zip(thing.data.vertices, key.data):
        point.co = v.co + 0.08 * v.normal * math.exp(-20 * (v.co.z - 0.8) ** 2)
    curve = thing.data.shape_keys.key_blocks["swell"].driver_add("value")
    curve.driver.type = "SCRIPTED"
    variable = curve.driver.variables.new()
    variable.name, variable.type = "x", "SINGLE_PROP"
    variable.targets[0].id = armature
    variable.targets[0].data_path = 'pose.bones["middle"].rotation_euler[0]'
    curve.driver.expression = "min(abs(x), 1)"


def add_lattice(thing, armature):
    """A lattice around the upper end, carried by its bone."""
    data = bpy.data.lattices.new("cage")
    data.points_u = data.points_v = data.points_w = 3
    cage = bpy.data.objects.new("cage", data)
    bpy.context.collection.objects.link(cage)
    cage.parent, cage.parent_type, cage.parent_bone = armature, "BONE", "upper"
    cage.scale = (0.8, 0.9, 0.8)
    data.points[13].co_deform = (0.25, 0.1, 0)
    thing.modifiers.new("cage", "LATTICE").object = cage


def add_skirt(armature):
    """Cloth that hangs from the middle: an object of its own."""
    skirt = tube("skirt", around=14, along=6, radius=0.3, length=0.5, bottom=0.35)
    bind(skirt, armature)
    pin = skirt.vertex_groups.new(name="pin")
    pin.add([v.index for v in skirt.data.vertices if v.co.z > 0.7], 1.0, "REPLACE")
    cloth = skirt.modifiers.new("cloth", "CLOTH")
    cloth.settings.vertex_group_mass = "pin"
    cloth.settings.quality = 3
    cloth.point_cache.frame_start, cloth.point_cache.frame_end = 1, FRAMES
    return skirt


def add_rigid(armature):
    """A hat on a bone, and a collection that is shown twice on another one."""
    bpy.ops.mesh.primitive_cone_add(vertices=9, radius1=0.3, depth=0.4)
    hat = bpy.context.active_object
    hat.name = "hat"
    hat.parent, hat.parent_type, hat.parent_bone = armature, "BONE", "upper"
    hat.location, hat.scale = (0, 0.1, 0.05), (0.5, 0.7, -0.6)
    beads = bpy.data.collections.new("beads")
    bpy.ops.mesh.primitive_cube_add(size=0.1)
    bead = bpy.context.active_object
    for collection in list(bead.users_collection):
        collection.objects.unlink(bead)
    bead.name = "bead"
    beads.objects.link(bead)
    for i in range(2):
        shown = bpy.data.objects.new(f"beads {i}", None)
        bpy.context.collection.objects.link(shown)
        shown.instance_type, shown.instance_collection = "COLLECTION", beads
        shown.parent, shown.parent_type, shown.parent_bone = armature, "BONE", "middle"
        shown.location = (0.3, 0.2 * i, 0)
    return hat


def empty_scene():
    bpy.ops.wm.read_homefile(use_empty=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, FRAMES
    scene.frame_set(1)


def select(*things):
    bpy.ops.object.select_all(action="DESELECT")
    for thing in things:
        thing.select_set(True)
    bpy.context.view_layer.objects.active = things[0]


def plain(name="limb"):
    """An armature skin and nothing else, on an armature and an object that are scaled, the object also mirrored."""
    empty_scene()
    armature = rig()
    limb = tube(name)
    bind(limb, armature)
    animate(armature)
    armature.scale = (1.4, 1.4, 1.4)
    limb.location, limb.scale, limb.rotation_euler = (0.05, 0, 0.02), (-1.1, 0.9, 1.05), (0, 0.1, 0.3)
    bpy.context.scene.frame_set(1)
    return armature, limb


def corrected():
    """Everything that a fit has to learn: Corrective Smooth, a lattice, a driven shape key, cloth."""
    empty_scene()
    armature = rig()
    limb = tube("limb")
    bind(limb, armature)
    drive_key(limb, armature)
    animate(armature)
    add_lattice(limb, armature)
    smooth = limb.modifiers.new("flesh", "CORRECTIVE_SMOOTH")
    smooth.factor, smooth.iterations = 0.5, 8
    skirt = add_skirt(armature)
    bpy.context.scene.frame_set(1)
    return armature, limb, skirt
