"""The Cornell box by Blender's Cycles, to compare with pelt's own light. Run by cycles.sh inside Blender.

Renders direct and indirect diffuse light without the colour of the surfaces, reads the same of pelt (PFM), and prints how
far they are apart. Lamps are measured differently in the two programs, so one factor is fitted, on the direct light; the
indirect light is then compared as it is."""

import math
import os
import sys

import bpy
import mathutils
import numpy as np

direct_pfm, indirect_pfm, size, samples = sys.argv[-4], sys.argv[-3], int(sys.argv[-2]), int(sys.argv[-1])
LAMP = (0.2, 0.46648, 0.3)
WHITE, RED, GREEN = (0.73, 0.73, 0.73), (0.63, 0.065, 0.05), (0.14, 0.45, 0.091)
WALLS = [
    (WHITE, [(552.8, 0, 0), (0, 0, 0), (0, 0, 559.2), (549.6, 0, 559.2)]),
    (WHITE, [(556, 548.8, 0), (556, 548.8, 559.2), (0, 548.8, 559.2), (0, 548.8, 0)]),
    (WHITE, [(549.6, 0, 559.2), (0, 0, 559.2), (0, 548.8, 559.2), (556, 548.8, 559.2)]),
    (GREEN, [(0, 0, 559.2), (0, 0, 0), (0, 548.8, 0), (0, 548.8, 559.2)]),
    (RED, [(552.8, 0, 0), (549.6, 0, 559.2), (556, 548.8, 559.2), (556, 548.8, 0)]),
]
BLOCKS = [(165, [(130, 65), (82, 225), (240, 272), (290, 114)]), (330, [(423, 247), (265, 296), (314, 456), (472, 406)])]


def quads():
    yield from WALLS
    for height, top in BLOCKS:
        yield WHITE, [(x, height, z) for x, z in top]
        for (x, z), (u, w) in zip(top, top[1:] + top[:1]):
            yield WHITE, [(x, height, z), (x, 0, z), (u, 0, w), (u, height, w)]


def build():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    for i, (color, corners) in enumerate(quads()):
        mesh = bpy.data.meshes.new(f"quad{i}")
        mesh.from_pydata([tuple(0.001 * c for c in p) for p in corners], [], [(0, 1, 2, 3)])
        material = bpy.data.materials.new(f"material{i}")
        material.use_nodes = True
        nodes, links = material.node_tree.nodes, material.node_tree.links
        nodes.clear()
        diffuse, output = nodes.new("ShaderNodeBsdfDiffuse"), nodes.new("ShaderNodeOutputMaterial")
        diffuse.inputs["Color"].default_value = (*color, 1)
        links.new(diffuse.outputs[0], output.inputs[0])
        mesh.materials.append(material)
        scene.collection.objects.link(bpy.data.objects.new(f"quad{i}", mesh))
    lamp = bpy.data.lights.new("lamp", "POINT")
    lamp.energy, lamp.shadow_soft_size = 10, 0
    lamp_object = bpy.data.objects.new("lamp", lamp)
    lamp_object.location = LAMP
    scene.collection.objects.link(lamp_object)
    camera = bpy.data.cameras.new("camera")
    camera.sensor_fit, camera.angle = "VERTICAL", 2 * math.atan(0.01195 / 0.035)
    camera.clip_start = 0.01
    camera_object = bpy.data.objects.new("camera", camera)
    axes = mathutils.Matrix(((-1, 0, 0, 0.278), (0, 1, 0, 0.2744), (0, 0, -1, -0.8), (0, 0, 0, 1)))
    camera_object.matrix_world = axes
    scene.collection.objects.link(camera_object)
    scene.camera = camera_object
    return scene


def render(scene, folder):
    scene.render.engine = "CYCLES"
    cycles = scene.cycles
    cycles.samples, cycles.use_adaptive_sampling, cycles.use_denoising = samples, False, False
    cycles.max_bounces = cycles.diffuse_bounces = 4
    cycles.sample_clamp_indirect = cycles.sample_clamp_direct = 0
    cycles.pixel_filter_type, cycles.filter_width = "BOX", 0.01
    scene.render.resolution_x = scene.render.resolution_y = size
    scene.render.resolution_percentage = 100
    layer = scene.view_layers[0]
    layer.use_pass_diffuse_direct = layer.use_pass_diffuse_indirect = True
    scene.use_nodes = True
    tree = scene.node_tree
    tree.nodes.clear()
    layers, files = tree.nodes.new("CompositorNodeRLayers"), tree.nodes.new("CompositorNodeOutputFile")
    files.base_path = folder
    files.format.file_format, files.format.color_depth = "OPEN_EXR", "32"
    files.file_slots.clear()
    for name, output in (("direct", "DiffDir"), ("indirect", "DiffInd")):
        files.file_slots.new(name)
        tree.links.new(layers.outputs[output], files.inputs[name])
    bpy.ops.render.render()
    return [read_exr(os.path.join(folder, f"{name}0001.exr")) for name in ("direct", "indirect")]


def read_exr(path):
    image = bpy.data.images.load(path)
    image.colorspace_settings.name = "Non-Color"
    return np.array(image.pixels[:], dtype=np.float64).reshape(size, size, 4)[:, :, :3]  # rows from the bottom


def read_pfm(path):
    with open(path, "rb") as file:
        assert file.readline().strip() == b"PF"
        width, height = map(int, file.readline().split())
        assert (width, height) == (size, size) and float(file.readline()) < 0
        return np.frombuffer(file.read(), "<f4").astype(np.float64).reshape(height, width, 3)


theirs = render(build(), os.path.dirname(direct_pfm))
ours = [read_pfm(direct_pfm), read_pfm(indirect_pfm)]
factor = (ours[0] * theirs[0]).sum() / (theirs[0] ** 2).sum()
for name, a, b in zip(("direct", "indirect"), ours, theirs):
    b = factor * b
    blocks = lambda x: x.reshape(size // 10, 10, size // 10, 10, 3).mean((1, 3))
    print(f"cycles {name}: mean differs by {100 * (a.mean() / b.mean() - 1):+.2f}%, "
          f"pixels by {100 * np.sqrt(((a - b) ** 2).sum() / (b ** 2).sum()):.2f}% RMS, "
          f"blocks of 10 x 10 pixels by {100 * np.sqrt(((blocks(a) - blocks(b)) ** 2).sum() / (blocks(b) ** 2).sum()):.2f}%")
    print("       mean of the channels:", (a.mean((0, 1)) / b.mean((0, 1))).round(4))
