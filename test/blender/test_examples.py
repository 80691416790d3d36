"""Where nothing is fitted, pelt's evaluation is Blender's own: skins, rigid objects, instances, masks, envelopes, any transform."""

import math
import os
import sys

import bpy
import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
from support import AddonTest, diagonal, enable, world  # noqa: E402

enable()
import character  # noqa: E402
from pelt_addon import fitting, operators, preview  # noqa: E402

EXACT = 1e-5


class Examples(AddonTest):
    def agrees(self, things, frames=(1, 8, 23, 40), **words):
        """The preview of a fit with the painted weights lies on what Blender evaluates."""
        character.select(*things)
        bpy.ops.pelt.fit(method="ssd", holdout=0, **words)
        bpy.context.scene.pelt.offset = (0, 0, 0)
        bpy.ops.pelt.preview()
        worst, size = 0.0, None
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            for thing in things:
                if thing.type == "MESH":
                    size = size or diagonal(world(thing))
                    worst = max(worst, self.near(world(bpy.data.objects[f"{thing.name} pelt"]), world(thing), EXACT, size))
        return worst

    def test_an_armature_skin_plays_as_in_blender(self):
        armature, limb = character.plain()
        worst = self.agrees([limb])
        print(f"measured: an armature skin is off by {worst:.1e} of the diagonal")

    def test_rigid_objects_and_instances_follow_their_bones(self):
        armature, limb = character.plain()
        hat = character.add_rigid(armature)
        self.agrees([limb, hat, bpy.data.objects["beads 0"], bpy.data.objects["beads 1"]])
        depsgraph = bpy.context.evaluated_depsgraph_get()
        shown = {i.parent.original.name: np.array(i.matrix_world) for i in depsgraph.object_instances if i.is_instance}
        self.assertEqual(len(shown), 2)
        corners = np.array([v.co for v in bpy.data.objects["bead"].data.vertices])
        for name, place in shown.items():
            self.near(world(bpy.data.objects[f"{name}.bead.0 pelt"]), corners @ place[:3, :3].T + place[:3, 3], EXACT)

    def test_an_armature_alone_stands_for_all_that_it_moves(self):
        armature, limb = character.plain()
        character.add_rigid(armature)
        character.select(armature)
        bpy.ops.pelt.fit(method="ssd", holdout=0)
        parts = fitting.sessions["rig"].examples.subject.parts
        self.assertEqual(sorted(part.object for part in parts), ["beads 0", "beads 1", "hat", "limb"])

    def test_masks_unweighted_vertices_and_bones_that_do_not_deform(self):
        armature, limb = character.plain()
        mask = limb.vertex_groups.new(name="mask")
        mask.add([v.index for v in limb.data.vertices if v.co.z > 0.5], 0.6, "REPLACE")
        limb.modifiers["rig"].vertex_group = "mask"
        limb.vertex_groups["middle"].remove(range(0, 100))
        limb.vertex_groups["lower"].remove(range(50, 150))
        armature.data.bones["upper"].use_deform = False
        self.agrees([limb])

    def test_envelopes(self):
        armature, limb = character.plain()
        limb.modifiers["rig"].use_vertex_groups, limb.modifiers["rig"].use_bone_envelopes = False, True
        self.agrees([limb])

    def test_modifiers_that_make_vertices(self):
        armature, limb = character.plain()
        limb.modifiers.new("fine", "SUBSURF").levels = 1
        bpy.ops.object.select_all(action="DESELECT")
        bpy.context.view_layer.objects.active = limb
        bpy.ops.object.modifier_move_to_index(modifier="fine", index=0)
        self.agrees([limb], frames=(1, 23))
        self.assertEqual(len(bpy.data.objects["limb pelt"].data.vertices), len(world(limb)))

    def test_actions_are_played_one_after_the_other_and_the_scene_is_left_as_it_was(self):
        armature, limb = character.plain()
        character.animate(armature, "twist", frames=12, speed=2.0, roots=False)
        bpy.context.scene.frame_set(5)
        before = (armature.animation_data.action.name, world(limb))
        self.agrees([limb], frames=(5,), source="ACTIONS", actions="bend, twist", step=3)
        clips = fitting.sessions["rig"].examples.clips
        self.assertEqual({name: len(clip) for name, (clip, _) in clips.items()}, {"bend": 14, "twist": 4})
        self.assertEqual(bpy.context.scene.frame_current, 5)
        self.assertEqual(armature.animation_data.action.name, before[0])
        self.near(world(limb), before[1], 1e-7)

    def test_keys_that_are_animated_by_themselves_are_controls(self):
        armature, limb = character.plain()
        limb.shape_key_add(name="Basis")
        key = limb.shape_key_add(name="smile")
        for v, point in zip(limb.data.vertices, key.data):
            point.co = v.co * (1 + 0.2 * math.exp(-9 * (v.co.z - 1) ** 2))
        for frame in (1, 10, 25, 40):
            key.value = abs(math.sin(frame))
            key.keyframe_insert("value", frame=frame)
        character.select(limb)
        bpy.ops.pelt.fit(method="kernel", holdout=0.25, options="family=kernel threads=1")
        self.assertEqual(list(fitting.sessions["rig"].skin.controls), ["smile"])
        self.assertLess(fitting.sessions["rig"].report.holdout.rel_err, 0.1)

    def test_a_preview_goes_on_in_a_file_that_is_opened_again(self):
        armature, limb = character.plain()
        self.agrees([limb])
        path = os.path.join(bpy.app.tempdir, "again.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        fitting.sessions.clear()
        bpy.ops.wm.open_mainfile(filepath=path)
        bpy.context.scene.frame_set(31)
        self.near(world(bpy.data.objects["limb pelt"]), world(bpy.data.objects["limb"]), EXACT)

    def test_the_preview_follows_a_pose_that_is_changed_by_hand(self):
        armature, limb = character.plain()
        self.agrees([limb])
        armature.pose.bones["upper"].rotation_euler = (0.4, -0.9, 0.2)
        bpy.context.view_layer.update()
        self.near(world(bpy.data.objects["limb pelt"]), world(limb), EXACT)
        self.assertIn(preview.collection_of("rig").name, preview.figures)
        self.assertEqual(operators.selected_armature(bpy.context), armature)
