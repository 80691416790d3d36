"""Whatever is wrong gets one sentence that says what to do, and the scene stays as it was."""

import os
import sys

import bpy

sys.path.insert(0, os.path.dirname(__file__))
from support import FOLDER, AddonTest, enable  # noqa: E402

enable()
import character  # noqa: E402
from pelt_addon import fitting, preview  # noqa: E402
from pelt_addon.subject import hidden_modifiers  # noqa: E402


class Problems(AddonTest):
    def setUp(self):
        self.armature, self.limb = character.plain()
        character.select(self.limb)
        fitting.sessions.clear()

    def refuses_to_fit(self, sentence, **words):
        bpy.context.scene.frame_set(3)
        self.refuses(sentence, bpy.ops.pelt.fit, **words)
        self.assertEqual(bpy.context.scene.frame_current, 3)
        self.assertEqual(self.armature.data.pose_position if self.armature else "POSE", "POSE")
        self.assertFalse(preview.is_paused)

    def test_nothing_is_selected(self):
        bpy.ops.object.select_all(action="DESELECT")
        self.refuses_to_fit("Nothing to fit is selected: select a mesh")

    def test_an_object_without_armature(self):
        self.limb.modifiers.clear()
        self.limb.parent = None
        self.refuses_to_fit("'limb' has no armature: parent it to one")

    def test_objects_of_two_armatures(self):
        other = character.rig("other")
        second = character.tube("second")
        character.bind(second, other)
        character.select(self.limb, second)
        self.refuses_to_fit("both move what is selected")

    def test_an_armature_that_moves_nothing(self):
        other = character.rig("other")
        character.select(other)
        self.refuses_to_fit("'other' moves no visible mesh")

    def test_scales_that_no_skin_can_have(self):
        self.armature.scale = (-1, 1, 1)
        self.refuses_to_fit(r"'rig' has a negative scale.*apply it \(Ctrl A")
        self.armature.scale = (1, 0, 1)
        self.refuses_to_fit("'rig' is scaled to nothing")

    def test_topology_that_changes(self):
        build = self.limb.modifiers.new("grow", "BUILD")
        build.frame_start, build.frame_duration = 1, 30
        self.refuses_to_fit(r"'limb' has no faces in frame 1: .*\(perhaps 'grow'\)")
        build.frame_start = -10
        self.refuses_to_fit(r"'limb' has \d+ vertices in frame \d+ but \d+ at rest: .*\(perhaps 'grow'\)")

    def test_hidden_objects_and_modifiers(self):
        self.limb.modifiers.new("flesh", "SMOOTH").show_viewport = False
        self.assertRegex(hidden_modifiers([self.limb])[0], "'flesh' of 'limb' is off in the viewport.*: switch it on")
        bpy.ops.pelt.fit(method="ssd", holdout=0)
        self.limb.hide_viewport = True
        character.select(self.armature)
        self.refuses_to_fit("'rig' moves no visible mesh")

    def test_actions_that_are_empty_or_not_there(self):
        bpy.data.actions.new("nothing")
        self.refuses_to_fit("The action 'nothing' is empty: leave it out", source="ACTIONS", actions="nothing")
        self.refuses_to_fit("There is no action 'walk': the file has", source="ACTIONS", actions="walk")
        bpy.data.actions.remove(bpy.data.actions["bend"])
        self.refuses_to_fit("There is no action for the bones of 'rig'", source="ACTIONS", actions="")

    def test_an_empty_frame_range(self):
        from pelt_addon.examples import frames_of_scene
        from pelt_addon.library import Problem

        with self.assertRaisesRegex(Problem, "The frame range 9 to 3 is empty"):
            frames_of_scene(bpy.context.scene, 9, 3)

    def test_linked_libraries(self):
        path = os.path.join(FOLDER, "library.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path, copy=True)
        character.empty_scene()
        with bpy.data.libraries.load(path, link=True) as (there, here):
            here.objects = ["limb", "rig"]
        for thing in here.objects:
            bpy.context.collection.objects.link(thing)
        self.armature = None
        character.select(bpy.data.objects["limb"])
        self.refuses_to_fit("is linked from library.blend: make a library override")

    def test_rest_position_and_edit_mode(self):
        self.armature.data.pose_position = "REST"
        with self.assertRaisesRegex(RuntimeError, "'rig' is set to Rest Position"):
            bpy.ops.pelt.fit()
        self.armature.data.pose_position = "POSE"
        bpy.context.view_layer.objects.active = self.limb
        bpy.ops.object.mode_set(mode="EDIT")
        self.refuses_to_fit("'limb' is in Edit Mode")

    def test_weights_that_name_no_bone(self):
        for group in self.limb.vertex_groups:
            group.name = f"no {group.name}"
        self.refuses_to_fit("No vertex group of 'limb' has the name of a bone")

    def test_an_object_that_moves_by_itself(self):
        for frame, x in ((1, 0.0), (40, 1.0)):
            self.limb.location.x = x
            self.limb.keyframe_insert("location", frame=frame)
        self.refuses_to_fit("'limb' moves by itself in frame")

    def test_an_armature_that_leaves_its_mesh_behind(self):
        self.limb.parent = None
        self.refuses_to_fit("'limb' moves by itself in frame .*: parent it")

    def test_options(self):
        self.refuses_to_fit("'per_vertex' has no value", options="per_vertex")
        self.refuses_to_fit("no_such_thing", options="no_such_thing=3")
        self.refuses_to_fit("per_vertex", method="ssd", options="per_vertex=20")

    def test_results_before_a_fit(self):
        for operator in (bpy.ops.pelt.preview, bpy.ops.pelt.make_rig, bpy.ops.pelt.bake_keys):
            self.refuses("'rig' has no skin yet: fit one first", operator)
        self.refuses("fit again", bpy.ops.pelt.export_gltf, filepath=os.path.join(FOLDER, "x.glb"))
        self.refuses("no preview", bpy.ops.pelt.preview_remove)
        self.refuses("No fit is running", bpy.ops.pelt.cancel)

    def test_places_that_cannot_be_written(self):
        bpy.ops.pelt.fit(method="ssd", holdout=0)
        for operator, name in ((bpy.ops.pelt.point_cache, "x.pc2"), (bpy.ops.pelt.save_skin, "x.pelt"), (bpy.ops.pelt.export_gltf, "x.glb")):
            self.refuses("no/such/folder", operator, filepath=os.path.join(FOLDER, "no/such/folder", name))
        self.refuses("No file was named", bpy.ops.pelt.save_skin)

    def test_a_mesh_that_changed_after_the_fit(self):
        bpy.ops.pelt.fit(method="ssd", holdout=0)
        self.limb.modifiers.new("fine", "SUBSURF").levels = 1
        self.refuses(r"'limb' has \d+ vertices, but the skin was fitted to 400: fit again", bpy.ops.pelt.preview)
        self.assertIsNone(preview.collection_of("rig"))
        self.limb.name = "arm"
        self.refuses("The object 'limb' is no longer there", bpy.ops.pelt.preview)

    def test_a_bone_that_is_sheared_is_a_warning(self):
        self.armature.data.bones["upper"].inherit_scale = "AVERAGE"
        self.armature.pose.bones["middle"].scale = (1, 2, 1)
        self.armature.pose.bones["middle"].keyframe_insert("scale", frame=1)
        bpy.ops.pelt.fit(method="ssd", holdout=0)
        self.assertRegex(fitting.sessions["rig"].examples.warnings[0], "'upper' is sheared by an uneven scale above it")
