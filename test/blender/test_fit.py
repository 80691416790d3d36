"""A character with Corrective Smooth, a lattice, a driven shape key and cloth: its fit, its error, progress and cancel."""

import json
import os
import subprocess
import sys

import bpy
import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
from support import FOLDER, AddonTest, diagonal, enable, world  # noqa: E402

enable()
import character  # noqa: E402
from pelt_addon import fitting, operators, preview  # noqa: E402
from pelt_addon.examples import frames_of_scene  # noqa: E402
from pelt_addon.subject import subject_of  # noqa: E402


def program(*words):
    found = subprocess.run([os.environ["PELT_PROGRAM"], *words, "--json"], check=True, capture_output=True, text=True, cwd=FOLDER)
    return json.loads(found.stdout)


class Fit(AddonTest):
    def test_everything_is_learned_and_measured_as_pelt_measures(self):
        armature, limb, skirt = character.corrected()
        bpy.ops.wm.save_as_mainfile(filepath=os.path.join(FOLDER, "body.blend"), copy=True)
        plain = world(limb)
        for modifier in limb.modifiers:
            modifier.show_viewport = modifier.type == "ARMATURE"
        bpy.context.scene.frame_set(12)
        flat = world(limb)
        for modifier in limb.modifiers:
            modifier.show_viewport = True
        bpy.context.scene.frame_set(12)
        self.assertGreater(np.abs(world(limb) - flat).max() / diagonal(plain), 0.01)  # there is something to learn

        character.select(limb, skirt)
        bpy.ops.pelt.fit(method="kernel", holdout=0.2, options="family=kernel threads=1")
        result = fitting.sessions["rig"]
        self.assertLess(result.report.holdout.rel_err, 0.1)
        self.assertEqual(result.report.holdout.frame_count, 8)
        settings = bpy.context.scene.pelt
        self.assertIn("held out 8 frames", settings.message)
        self.assertGreaterEqual(settings.worst[0].rms, settings.worst[1].rms)

        bpy.ops.pelt.save_skin(filepath=os.path.join(FOLDER, "body.pelt"))
        bpy.ops.pelt.save_examples(filepath=os.path.join(FOLDER, "body.glb"))
        measured = program("measure", "body.pelt", "body.glb", "--clip", "frames")
        rms = next(value for value in self.find(measured, "rms"))
        train = result.report.train
        self.assertAlmostEqual(rms / train.rms, 1, delta=1e-3)
        self.compare_with_blender(result, limb, skirt)
        print(f"measured: held out rel_err {result.report.holdout.rel_err:.3f}, rms {train.rms:.3e} here, {rms:.3e} by pelt measure")

    def find(self, tree, name):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
            if key == name and isinstance(value, float):
                yield value
            yield from self.find(value, name)

    def compare_with_blender(self, result, limb, skirt):
        """The error of each frame is the distance of the preview from what Blender evaluates, over all of pelt's vertices."""
        bpy.ops.pelt.preview()
        parts = result.examples.subject.parts
        scene = bpy.context.scene
        for frame in range(1, 31):  # the cloth needs every frame
            scene.frame_set(frame)
        total, count = 0.0, 0
        for part, thing in zip(parts, (limb, skirt)):
            off = np.linalg.norm(world(bpy.data.objects[f"{part.name} pelt"]) - world(thing), axis=1)
            positions = result.examples.arrays["positions"][part.first : part.first + part.whole]
            at = {tuple(p): i for i, p in enumerate(positions[: part.count].tolist())}
            source = [at[tuple(p)] for p in positions.tolist()]  # vertices at seams count twice
            total, count = total + (off[source] ** 2).sum(), count + part.whole
        self.assertAlmostEqual(np.sqrt(total / count) / float(result.report.train.frame_rms[29]), 1, delta=2e-2)
        layer = bpy.data.objects["limb pelt"].data.attributes["pelt error"]
        colors = np.empty(4 * len(layer.data), np.float32)
        layer.data.foreach_get("color", colors)
        self.assertTrue(np.isfinite(colors).all() and colors.reshape(-1, 4)[:, :3].std() > 0)

    def test_a_fit_can_be_cancelled_while_frames_are_evaluated_and_while_it_runs(self):
        armature, limb, skirt = character.corrected()
        character.select(limb)
        scene = bpy.context.scene
        scene.frame_set(7)
        for late in (False, True):
            job = fitting.Job(subject_of([limb]), [frames_of_scene(scene)], "kernel")
            fitting.sessions.clear()
            seen = []
            while job.step(0.01):
                seen.append((job.task, job.fraction))
                if job.task != "examples" or not late:
                    job.cancel()
            self.assertEqual(job.problem, "cancelled")
            self.assertIsNone(job.result)
            self.assertEqual(fitting.sessions, {})
            self.assertEqual(scene.frame_current, 7)
            self.assertFalse(preview.is_paused)
            fractions = [fraction for task, fraction in seen if task == "examples"]
            self.assertEqual(fractions, sorted(fractions))

    def test_physics_is_run_through_every_frame_also_with_a_step(self):
        armature, limb, skirt = character.corrected()
        character.select(skirt)
        bpy.ops.pelt.fit(method="ssd", holdout=0)
        every = fitting.sessions["rig"].examples.clips["frames"][0].positions
        bpy.ops.pelt.fit(method="ssd", holdout=0, step=6)
        some = fitting.sessions["rig"].examples.clips["frames"][0].positions
        self.near(some, every[::6], 1e-6, diagonal(every[0]))
        self.assertGreater(np.abs(every[5] - every[30]).max(), 0.01)

    def test_a_frame_that_is_clicked_is_shown(self):
        armature, limb = character.plain()
        character.select(limb)
        bpy.ops.pelt.fit(method="ssd", holdout=0.2)
        settings = bpy.context.scene.pelt
        settings.worst_index = 2
        self.assertEqual(bpy.context.scene.frame_current, settings.worst[2].frame)
        self.assertIsNone(operators.current)
