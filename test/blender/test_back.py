"""What goes back: shape keys, a rig with driven bones, point caches, glTF."""

import os
import struct
import sys

import bpy
import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
from support import FOLDER, AddonTest, diagonal, enable, world  # noqa: E402

enable()
import character  # noqa: E402
from pelt_addon import fitting, operators, preview  # noqa: E402
from pelt_addon.gltf import Glb  # noqa: E402
from pelt_addon.library import pelt  # noqa: E402
from pelt_addon.native_rig import make_rig  # noqa: E402

FAST = "family=kernel threads=1"
FRAMES = (1, 6, 13, 29, 40)


def fitted(method="kernel", options=FAST):
    armature, limb, skirt = character.corrected()
    character.select(limb)
    bpy.ops.pelt.fit(method=method, holdout=0, options=options)
    return operators.player_for(bpy.context), limb


def shape(player):
    return player.points(player.subject.parts[0], player.evaluate(bpy.context.evaluated_depsgraph_get()))


class Back(AddonTest):
    def plays_as_the_skin(self, player, thing, fraction):
        worst = 0.0
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            worst = max(worst, self.near(world(thing), shape(player), fraction))
        return worst

    def test_a_corrective_becomes_few_shape_keys_on_fitted_weights(self):
        player, limb = fitted()
        bpy.ops.pelt.make_rig()
        made = bpy.data.objects["limb rigged"]
        self.assertLess(len(made.data.shape_keys.key_blocks), 34)
        worst = self.plays_as_the_skin(player, made, 2e-5)
        print(f"measured: as a rig with {len(made.data.shape_keys.key_blocks) - 1} shape keys it is off by {worst:.1e} of the diagonal")

    def test_fewer_shape_keys_are_the_best_of_their_number(self):
        player, limb = fitted()
        bpy.context.scene.pelt.keys = 3
        bpy.ops.pelt.make_rig()
        made = bpy.data.objects["limb rigged"]
        self.assertEqual(len(made.data.shape_keys.key_blocks), 4)
        self.plays_as_the_skin(player, made, 0.02)
        bpy.context.scene.frame_set(13)
        without = made.modifiers["rig"]
        for block in made.data.shape_keys.key_blocks:
            block.mute = True
        bpy.context.view_layer.update()
        self.assertTrue(without.show_viewport)
        self.assertGreater(np.abs(world(made) - shape(player)).max() / diagonal(shape(player)), 0.01)

    def test_driven_joints_become_bones_with_constraints_and_drivers(self):
        character.corrected()
        limb = bpy.data.objects["limb"]
        character.select(limb)
        bpy.ops.pelt.fit(method="ssd", holdout=0)
        result, library = fitting.sessions["rig"], pelt()
        rules = [
            library.DriveRule("upper", twists=(0.25, 0.75), turns=(0.5,)),
            library.DriveRule("middle", bends=(0.5, 1.0), turns=(0.25,), upstream=True, downstream=True),
        ]
        clips = [clip for clip, _ in result.examples.clips.values()]
        skin = library.fit(result.examples.character, clips, method="joints", drive=rules, report=False, threads=1)
        player = preview.Player(result.examples.subject, skin.convex(clips))
        (made,), _ = make_rig(bpy.context, player, [result.examples.clips["frames"][1]])
        kinds = {name.rstrip("0123456789.").rsplit(".", 1)[-1] for name in made.vertex_groups.keys()}
        for kind in ("turn", "twist", "bend", "bulge", "dent"):
            self.assertTrue(any(kind in name for name in made.vertex_groups.keys()), f"{kind} is not in {sorted(kinds)}")
        worst = self.plays_as_the_skin(player, made, 2e-5)
        self.assertIs(bpy.context.view_layer.objects.active, limb)
        print(f"measured: driven joints as bones are off by {worst:.1e} of the diagonal")

    def test_negative_weights_are_refitted(self):
        player, limb = fitted("joints", "threads=1")
        bpy.ops.pelt.make_rig()
        made = bpy.data.objects["limb rigged"]
        bpy.context.scene.frame_set(13)
        self.near(world(made), shape(player), 0.02)

    def test_every_frame_becomes_a_shape_key(self):
        player, limb = fitted()
        bpy.context.scene.frame_end = 13
        bpy.ops.pelt.bake_keys()
        made = bpy.data.objects["limb baked"]
        self.assertEqual(len(made.data.shape_keys.key_blocks), 14)
        for frame in (1, 6, 13):
            bpy.context.scene.frame_set(frame)
            self.near(world(made), shape(player), 1e-6)
        bpy.context.scene.frame_set(6, subframe=0.5)
        values = [block.value for block in made.data.shape_keys.key_blocks[1:]]
        self.assertAlmostEqual(sum(values), 1, delta=1e-5)
        self.assertAlmostEqual(max(values), 0.5, delta=1e-5)

    def test_a_point_cache_is_read_by_the_mesh_cache_modifier(self):
        player, limb = fitted()
        limb.location, limb.rotation_euler = (0.2, 0.1, 0), (0, 0.3, 0)
        character.select(limb)
        bpy.ops.pelt.fit(method="kernel", holdout=0, options=FAST)
        player = operators.player_for(bpy.context)
        path = os.path.join(FOLDER, "limb.pc2")
        bpy.ops.pelt.point_cache(filepath=path)
        with open(path, "rb") as file:
            self.assertEqual(struct.unpack("<12siiffi", file.read(32))[1:], (1, 400, 1.0, 1.0, 40))
        for modifier in list(limb.modifiers):
            limb.modifiers.remove(modifier)
        cache = limb.modifiers.new("cache", "MESH_CACHE")
        cache.cache_format, cache.filepath, cache.frame_start = "PC2", path, 1
        self.plays_as_the_skin(player, limb, 1e-6)

    def test_glTF_has_the_materials_and_textures(self):
        armature, limb, skirt = character.corrected()
        for name in ("red", "blue"):
            material = bpy.data.materials.new(name)
            material.use_nodes = True
            limb.data.materials.append(material)
        tree = bpy.data.materials["red"].node_tree
        image = bpy.data.images.new("stripes", 4, 4)
        image.pack()
        picture = tree.nodes.new("ShaderNodeTexImage")
        picture.image = image
        tree.links.new(picture.outputs[0], tree.nodes["Principled BSDF"].inputs["Base Color"])
        for polygon in limb.data.polygons:
            polygon.material_index = polygon.index % 2
        character.select(limb, skirt)
        bpy.ops.pelt.fit(method="kernel", holdout=0, options=FAST)
        path = os.path.join(FOLDER, "textured.glb")
        before = {name: len(getattr(bpy.data, name)) for name in ("scenes", "objects", "meshes")}
        bpy.ops.pelt.export_gltf(filepath=path)
        self.assertEqual(before, {name: len(getattr(bpy.data, name)) for name in before})
        file = Glb(path)
        names = [file.json["materials"][primitive["material"]]["name"] for primitive in file.primitives()]
        self.assertEqual(sorted(names), ["blue", "red", "skin"])
        counts = [file.json["accessors"][primitive["indices"]]["count"] for primitive in file.primitives()]
        self.assertEqual(sorted(counts), sorted([3 * 384, 3 * 384, 6 * 84]))
        self.assertEqual(len(file.json["images"]), 1)
        self.assertTrue(all("TEXCOORD_0" in primitive["attributes"] for primitive in file.primitives()))

    def test_glTF_plays_as_the_skin(self):
        """Written for test/js/plays.mjs and test/blender_plays.py: the clip moves the armature too, 24 frames a second."""
        player, limb = fitted()
        bpy.context.scene.render.fps = 24
        bpy.ops.pelt.export_gltf(filepath=os.path.join(FOLDER, "plays.glb"), materials=False)
        count = player.skin.vertex_count
        normals = np.empty((count, 3), np.float32)
        rest = player.skin.evaluate(player.skin.rest_pose)
        with open(os.path.join(FOLDER, "plays.bin"), "wb") as file:
            file.write(struct.pack("<IfII", count, diagonal(rest), 1, 2))
            file.write(struct.pack("<IIf", 0, 1, 0.0) + player.skin.evaluate(player.skin.rest_pose, normals=normals).tobytes() + normals.tobytes())
            file.write(struct.pack("<I8sI", 6, b"frames\0\0", len(FRAMES)))
            for frame in FRAMES:
                bpy.context.scene.frame_set(frame)
                pose = player.pose(bpy.context.evaluated_depsgraph_get())
                positions = player.skin.evaluate_matrices(pose, normals=normals)
                file.write(struct.pack("<f", (frame - 1) / 24) + positions.tobytes() + normals.tobytes())
        self.assertEqual(Glb(os.path.join(FOLDER, "plays.glb")).json["animations"][0]["name"], "frames")
