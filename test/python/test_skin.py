"""test_skin.py: characters, fits, skins and measures in Python, against numpy and against the program."""

from __future__ import annotations

import base64
import json
import re
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np
from support import POINTS, PROGRAM, Bar, blend, matrices, run

import pelt

random = np.random.default_rng(1)


class Arrays(unittest.TestCase):
    def setUp(self) -> None:
        self.bar = Bar()
        self.body = self.bar.character()

    def test_a_character_keeps_the_arrays_and_their_order(self) -> None:
        np.testing.assert_array_equal(self.body.positions, self.bar.positions.astype(np.float32))
        np.testing.assert_array_equal(self.body.triangles, self.bar.triangles)
        self.assertEqual(self.body.joint_names, ["lower", "upper"])
        self.assertEqual(self.body.parents, [-1, 0])
        size = np.ptp(self.bar.positions, axis=0)
        self.assertAlmostEqual(self.body.diagonal, float(np.linalg.norm(size)), 6)
        dense = np.zeros((POINTS, 2))
        first, joints, weights = self.body.weights
        for v in range(POINTS):
            dense[v, joints[first[v] : first[v + 1]]] = weights[first[v] : first[v + 1]]
        np.testing.assert_allclose(dense, self.bar.weights, atol=1e-7)

    def test_poses_are_made_saved_and_chosen(self) -> None:
        poses = self.body.add_poses(20, seed=3)
        self.assertEqual((poses.name, len(poses)), ("poses", 20))
        np.testing.assert_array_equal(poses.poses[0], self.body.rest_pose)
        self.assertGreater(np.abs(poses.poses[1:, 1, :4] - self.body.rest_pose[1, :4]).max(), 0.1)
        chosen = self.body.choose(poses, 4)
        self.assertEqual([len(set(part.list)) for part in chosen], [4])
        with tempfile.TemporaryDirectory() as folder:
            self.body.save_poses(poses, Path(folder, "poses.glb"))
            again = pelt.Character.read(Path(folder, "poses.glb"))
            np.testing.assert_allclose(again.clip("poses", positions=False).poses, poses.poses, atol=1e-6)
        with self.assertRaisesRegex(pelt.ArgumentError, "count"):
            self.body.choose(poses, 21)
        with self.assertRaisesRegex(pelt.ArgumentError, "count"):
            self.body.add_poses(0)

    def test_weights_may_be_a_column_for_each_joint_or_a_few_with_their_joints(self) -> None:
        order = np.argsort(-self.bar.weights, axis=1)
        few = pelt.Character(self.bar.positions, self.bar.triangles, parents=[-1, 0], rest=self.bar.rest, joints=order,
                             weights=np.take_along_axis(self.bar.weights, order, 1))  # fmt: skip
        poses = random.normal(size=(4, 2, 10))
        one = pelt.fit(self.body, method="ssd", report=False).evaluate(poses)
        np.testing.assert_allclose(pelt.fit(few, method="ssd", report=False).evaluate(poses), one, atol=1e-5)

    def test_a_plain_blend_is_that_of_its_definition(self) -> None:
        skin = pelt.fit(self.body, method="ssd", report=False)
        poses = random.normal(size=(7, 2, 10))
        scene = matrices(poses, self.bar.parents)
        truth = blend(self.bar.positions, self.bar.weights, scene, matrices(self.bar.rest, self.bar.parents))
        np.testing.assert_allclose(skin.evaluate(poses), truth, atol=2e-5)
        np.testing.assert_allclose(skin.evaluate(poses[3]), truth[3], atol=2e-5)
        np.testing.assert_allclose(skin.evaluate_matrices(scene[..., :3, :]), truth, atol=2e-5)
        np.testing.assert_allclose(skin.evaluate_matrices(scene[2, :, :3]), truth[2], atol=2e-5)

    def test_one_pose_is_written_into_a_buffer_of_the_callers(self) -> None:
        skin = pelt.fit(self.body, method="ssd", report=False)
        pose = random.normal(size=(2, 10)).astype(np.float32)
        apart = np.full((POINTS, 8), 7, np.float32)
        normals = np.empty((POINTS, 3), np.float32)
        out = skin.evaluate(pose, out=apart[:, :3], normals=normals)
        self.assertTrue(np.shares_memory(out, apart))
        np.testing.assert_allclose(apart[:, :3], skin.evaluate(pose), rtol=0, atol=1e-6)  # positions alone may round otherwise
        self.assertTrue((apart[:, 3:] == 7).all())
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-5)
        many, gaps = np.stack([pose] * 3), np.zeros((3, POINTS, 5), np.float32)
        np.testing.assert_array_equal(skin.evaluate(many, out=gaps[:, :, 1:4]), skin.evaluate(many))

    def test_transforms_of_matrices_give_the_matrices_back(self) -> None:
        poses = random.normal(size=(5, 6, 10))
        poses[..., 7:] = 1 + 0.3 * np.abs(poses[..., 7:8])  # even scales: others shear their children
        parents = [-1, 0, 1, 0, 3, -1]
        scene = matrices(poses, parents)
        again = matrices(pelt.transforms(scene, parents).astype(np.float64), parents)
        np.testing.assert_allclose(again, scene, atol=2e-5)
        mirrored = np.diag([1.0, -2, 3, 1])[None]
        np.testing.assert_allclose(matrices(pelt.transforms(mirrored, [-1]).astype(float), [-1]), mirrored, atol=1e-6)

    def test_a_fit_and_its_report_agree_with_measures_in_numpy(self) -> None:
        train, test = self.bar.clip(self.body, "train", 0), self.bar.clip(self.body, "test", 0.7)
        skin = pelt.fit(self.body, train, method="psd", threads=1)
        report = skin.report
        assert report and report.train and report.holdout
        self.assertEqual((report.method, report.blend, report.corrective), ("psd", "file", "psd"))
        self.assertTrue(0 < report.holdout.rel_err < 0.5)
        self.assertEqual(len(report.holdout.frames), report.holdout.frame_count)
        measure = skin.measure(test)
        made = skin.play(test).astype(np.float64)
        truth = test.positions.astype(np.float64)
        error = np.linalg.norm(made - truth, axis=2)
        plain = blend(self.bar.positions, self.bar.weights, matrices(test.poses.astype(float), [-1, 0]),
                      matrices(self.bar.rest, [-1, 0]))  # fmt: skip
        self.assertAlmostEqual(measure.rms, float(np.sqrt((error**2).mean())), 7)
        self.assertAlmostEqual(measure.max, float(error.max()), 6)
        self.assertAlmostEqual(measure.rel_err, float(np.linalg.norm(made - truth) / np.linalg.norm(plain - truth)), 4)
        np.testing.assert_allclose(measure.frame_rms, np.sqrt((error**2).mean(axis=1)), atol=1e-6)
        np.testing.assert_allclose(measure.vertex_rms, np.sqrt((error**2).mean(axis=0)), atol=1e-6)
        self.assertEqual(error[measure.worst_frame, measure.worst_vertex], error.max())
        half = np.where(self.bar.weights[:, 1] > 0.5, 1, 0)
        regions = measure.by_region(self.body)
        tied = self.bar.weights[:, 0] == self.bar.weights[:, 1]
        self.assertEqual(list(self.body.joint_of_vertex()[~tied]), list(half[~tied]))
        self.assertAlmostEqual(regions["upper"], float(np.sqrt((error[:, self.body.joint_of_vertex() == 1] ** 2).mean())), 6)

    def test_some_frames_are_examples_too(self) -> None:
        train = self.bar.clip(self.body, "train", 0)
        skin = pelt.fit(self.body, train, method="psd", holdout=0)
        some = skin.measure(train.frames([3, 5]))
        whole = skin.measure([train])
        np.testing.assert_allclose(some.frame_rms, whole.frame_rms[[3, 5]], atol=1e-7)
        self.assertEqual(some.frames, [("train", 3), ("train", 5)])
        weighted = train.frames(range(24), weights=np.r_[np.ones(12), np.zeros(12)])
        first = pelt.fit(self.body, train.frames(range(12)), blend="fit", corrective="none", holdout=0, threads=1)
        again = pelt.fit(self.body, weighted, blend="fit", corrective="none", holdout=0, threads=1)
        np.testing.assert_array_equal(first.evaluate(train.poses), again.evaluate(train.poses))

    def test_controls_and_lists_reach_the_fit(self) -> None:
        body = self.bar.character(controls={"swell": 0.0})
        swell = np.linspace(0, 1, 12)
        truth = np.stack([self.bar.positions * [1, 1 + 0.5 * s, 1 + 0.5 * s] for s in swell])
        train = body.add_clip("train", np.stack([self.bar.rest] * 12), truth, controls=swell[:, None])
        skin = pelt.fit(body, train, method="psd", control_scale={"swell": 2}, holdout=0)
        self.assertEqual(skin.controls, {"swell": 0.0})
        np.testing.assert_allclose(train.controls[:, 0], swell, atol=1e-6)
        np.testing.assert_allclose(skin.evaluate(self.bar.rest, [swell[7]]), truth[7], atol=2e-3)
        np.testing.assert_allclose(skin.evaluate(self.bar.rest), self.bar.positions, atol=2e-3)
        train = self.bar.clip(self.body, "train", 0)
        dropped = pelt.fit(self.body, train, blend="fit", corrective="none", drop_joints=["upper"], holdout=0)
        np.testing.assert_allclose(dropped.evaluate(self.bar.pose(1)), self.bar.positions, atol=1e-5)
        locked = pelt.fit(self.body, train, blend="fit", corrective="none", lock_vertices=range(POINTS), holdout=0)
        plain = pelt.fit(self.body, method="ssd", report=False)
        np.testing.assert_allclose(locked.evaluate(self.bar.pose(1)), plain.evaluate(self.bar.pose(1)), atol=1e-5)
        driven = pelt.fit(self.body, train, method="joints", drive=[pelt.DriveRule("upper", turns=[0.5])], holdout=0)
        self.assertEqual(driven.about["blend_fit"]["driven"], 1)

    def test_the_lock_is_released_and_threads_agree(self) -> None:
        skin = pelt.fit(self.body, self.bar.clip(self.body, "train", 0), method="psd", holdout=0)
        poses = random.normal(size=(50, 2, 10)) + self.bar.rest
        want, wrong = skin.evaluate(poses, threads=1), []

        def work() -> None:
            for f in range(len(poses)):
                wrong.extend([f] * (not np.array_equal(skin.evaluate(poses[f]), want[f])))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_clips_are_added_while_others_fit(self) -> None:
        train = self.bar.clip(self.body, "train", 0)
        skins: list[pelt.Skin] = []
        fits = [threading.Thread(target=lambda: skins.append(pelt.fit(self.body, train, method="psd"))) for _ in range(3)]
        for thread in fits:
            thread.start()
        for i in range(20):
            self.bar.clip(self.body, f"more{i}", i, 4)
        for thread in fits:
            thread.join()
        self.assertEqual(len(self.body.clips), 21)
        self.assertEqual(len({skin.to_bytes() for skin in skins}), 1)

    def test_arrays_outlive_what_they_show(self) -> None:
        train = self.bar.clip(self.body, "train", 0)
        shown, rest = train.positions, self.body.positions
        before = shown.sum(), rest.sum()
        self.body.close()
        del train, self.body
        self.assertEqual((shown.sum(), rest.sum()), before)

    def test_a_skin_goes_through_bytes_and_files(self) -> None:
        skin = pelt.fit(self.body, self.bar.clip(self.body, "train", 0), method="psd", holdout=0)
        with tempfile.TemporaryDirectory() as folder:
            skin.save(Path(folder) / "bar.pelt")
            for other in (pelt.Skin.read(Path(folder) / "bar.pelt"), pelt.Skin.from_bytes(skin.to_bytes())):
                np.testing.assert_array_equal(other.evaluate(self.bar.pose(1)), skin.evaluate(self.bar.pose(1)))
                np.testing.assert_array_equal(other.rest_pose, self.body.rest_pose)
                self.assertIsNone(other.report)


class Stops(unittest.TestCase):
    def setUp(self) -> None:
        self.bar = Bar()
        self.body = self.bar.character()
        self.train = self.bar.clip(self.body, "train", 0)

    def test_progress_is_told_and_a_true_answer_stops(self) -> None:
        told: list[tuple[str, float]] = []
        pelt.fit(self.body, self.train, method="psd", progress=lambda task, part: told.append((task, part)))
        self.assertTrue(told and all(task and 0 <= part <= 1 for task, part in told))
        with self.assertRaises(pelt.Cancelled) as caught:
            pelt.fit(self.body, self.train, method="psd", progress=lambda task, part: True)
        self.assertEqual(caught.exception.code, "cancelled")

    def test_what_a_progress_function_raises_comes_out(self) -> None:
        def fail(task: str, part: float) -> None:
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            pelt.fit(self.body, self.train, method="psd", progress=fail)
        pelt.fit(self.body, self.train, method="psd")  # the next one is not affected

    def test_a_progress_function_cannot_change_the_character(self) -> None:
        with self.assertRaisesRegex(pelt.ArgumentError, "in use"):
            pelt.fit(self.body, self.train, method="psd", progress=lambda task, part: self.body.add_clip("x", [self.bar.rest]))

    def test_ctrl_c_stops_a_fit(self) -> None:
        import os
        import signal

        with self.assertRaises(KeyboardInterrupt):
            pelt.fit(self.body, self.train, method="psd", progress=lambda task, part: os.kill(os.getpid(), signal.SIGINT))
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)


@unittest.skipUnless(PROGRAM, "PELT_PROGRAM is not set")
class Program(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def test_fits_measures_and_caches_are_those_of_the_program(self) -> None:
        run("sample", "elbow", "--vertices", "300", "--frames", "16", "-o", ".", "--quiet", cwd=self.path)
        run("fit", "elbow.glb", "--train", "train", "--method", "psd", "--threads", "1", "-o", "own.pelt", "--quiet", cwd=self.path)
        body = pelt.Character.read(self.path / "elbow.glb")
        skin = pelt.fit(body, body.clip("train"), method="psd", threads=1)
        own = pelt.Skin.read(self.path / "own.pelt")
        test = body.clip("test")
        np.testing.assert_array_equal(skin.evaluate(test.poses), own.evaluate(test.poses))
        skin.save(self.path / "made.pelt")
        said = json.loads(run("measure", "made.pelt", "elbow.glb", "--clip", "test", "--json", cwd=self.path))
        measure = skin.measure(test)
        for name in ("rms", "max", "rms_fraction", "rel_err", "roughness", "normal_rms_degrees", "worst_frame", "worst_vertex"):
            self.assertAlmostEqual(getattr(measure, name), said[name], 6, name)
        run("eval", "made.pelt", "elbow.glb", "--clip", "test", "-o", "eval.npy", "--quiet", cwd=self.path)
        np.testing.assert_array_equal(np.load(self.path / "eval.npy"), skin.play(test))
        skin.export_frames(test, self.path / "own.npy")
        self.assertEqual((self.path / "own.npy").read_bytes(), (self.path / "eval.npy").read_bytes())

    def test_a_cache_is_written_as_another_one_is(self) -> None:
        """One point for all vertices of a seam, in any order, z up, in centimetres, from frame 3 on."""
        run("sample", "elbow", "--variant", "seam", "--vertices", "300", "--frames", "12", "-o", ".", "--quiet", cwd=self.path)
        body = pelt.Character.read(self.path / "elbow.glb")
        train, skin = body.clip("train"), pelt.fit(body, body.clip("train"), method="psd", holdout=0)
        _, first = np.unique(body.positions, axis=0, return_index=True)
        order = random.permutation(first)
        self.assertLess(len(order), body.vertex_count)

        def as_theirs(shapes: np.ndarray, before: int) -> np.ndarray:
            x, y, z = np.moveaxis(100 * shapes[:, order].astype(np.float64), -1, 0)
            theirs = np.stack([x, -z, y], axis=-1)
            return np.concatenate([theirs[:1]] * before + [theirs]).astype(np.float32)

        np.save(self.path / "theirs.npy", as_theirs(train.positions, 3))
        skin.save(self.path / "made.pelt")
        run("eval", "made.pelt", "elbow.glb", "--clip", "train", "--like", "theirs.npy", "-o", "back.npy", "--quiet", cwd=self.path)
        np.testing.assert_allclose(np.load(self.path / "back.npy"), as_theirs(skin.play(train), 3), atol=2e-3)
        test = body.clip("test")
        skin.export_frames(test, self.path / "other.npy", like=self.path / "theirs.npy", like_clip=train)
        np.testing.assert_allclose(np.load(self.path / "other.npy"), as_theirs(skin.play(test), 3), atol=2e-3)
        with self.assertRaisesRegex(pelt.ArgumentError, "like: .* is not a cache"):
            skin.export_frames(test, self.path / "other.glb", like=self.path / "theirs.npy")

    def test_a_character_from_arrays_is_saved_and_read_again(self) -> None:
        bar = Bar()
        body = bar.character()
        train = bar.clip(body, "train", 0)
        body.save(self.path / "bar.glb")
        again = pelt.Character.read(self.path / "bar.glb")
        np.testing.assert_array_equal(again.clip("train").positions, train.positions)
        np.testing.assert_allclose(again.positions, body.positions, atol=0)

    def test_clips_have_the_rate_that_they_were_given(self) -> None:
        bar = Bar()
        body = bar.character()
        poses = np.array([bar.pose(a) for a in (0, 0.5, 1)])
        np.testing.assert_allclose(body.add_clip("slow", poses, frames_per_second=4).times, [0, 0.25, 0.5])
        np.testing.assert_allclose(body.add_clip("plain", poses).times, [0, 1 / 30, 2 / 30], rtol=1e-6)
        for rate in (-1, 1e9, float("nan")):
            with self.assertRaisesRegex(pelt.Error, "frames per second"):
                body.add_clip("bad", poses, frames_per_second=rate)
        body.save(self.path / "bar.glb")
        np.testing.assert_allclose(pelt.Character.read(self.path / "bar.glb").clip("slow", positions=False).times, [0, 0.25, 0.5])

    def test_convex_weights_are_not_negative(self) -> None:
        bar = Bar()
        body = bar.character()
        train = bar.clip(body, "train", 0)
        skin = pelt.fit(body, train, method="joints", report=False)
        convex = skin.convex(train)
        still = convex.evaluate(convex.rest_pose)
        for joint in range(2):  # a joint that is moved by 1 moves what follows it by its weight; those of driven joints follow too
            pose = convex.rest_pose
            pose[joint, 5] += 1
            share = (convex.evaluate(pose) - still)[:, 1]
            self.assertGreater(share.min(), -1e-5)
            self.assertLess(share.max(), 1 + 1e-5)
        self.assertLess(convex.measure(train).rms, pelt.fit(body, method="ssd", report=False).measure(train).rms)

    def test_a_sample_of_a_file_keeps_what_is_in_it(self) -> None:
        bar = Bar()
        body = bar.character()
        walk = body.add_clip("walk", np.array([bar.pose(a) for a in (0, 0.5, 1)]))
        body.save(self.path / "bar.glb")
        run("sample", "bar.glb", "--frames", "4", "-o", "out", "--quiet", cwd=self.path)
        sampled = pelt.Character.read(self.path / "out/bar.glb")
        self.assertEqual(sorted(sampled.clips), ["test", "train", "walk"])
        np.testing.assert_allclose(sampled.clip("walk", positions=False).poses, walk.poses, atol=1e-6)
        self.assertEqual(sampled.clip("train").positions.shape[1], POINTS)

    def test_an_object_on_a_bone_in_its_own_space_moves_with_the_bone(self) -> None:
        bar = Bar()
        bar.weights = np.stack([np.zeros(POINTS), np.ones(POINTS)], axis=1)
        body = bar.character()
        poses = np.array([bar.pose(a) for a in (0, 0.4, 0.9, 1.3)])
        body.add_clip("swing", poses)
        body.save(self.path / "bar.glb")
        turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
        own = 100 * bar.positions[random.permutation(POINTS)] @ turn + [5, 6, 7]
        np.save(self.path / "bar.swing.npy", np.stack([own] * 4).astype(np.float32))
        read = pelt.Character.read(self.path / "bar.glb")
        found = read.clip("swing").positions
        scene = matrices(poses, bar.parents)
        np.testing.assert_allclose(found, blend(bar.positions, bar.weights, scene, scene[0]), atol=1e-5)
        self.assertTrue(any("moved with the node" in note.text for note in read.notes))
        np.save(self.path / "bar.swing.npy", np.stack([own * [1, 1, 2]] * 4).astype(np.float32))
        with self.assertRaisesRegex(pelt.Error, 'node "upper" .* object\'s own space'):
            pelt.Character.read(self.path / "bar.glb").clip("swing")

    def test_an_export_plays_as_the_skin_does_whatever_joints_are_called(self) -> None:
        bar = Bar()
        for names in (["lower", "upper"], ["bone", "bone"]):  # a bone and a mesh on it often share a name
            body = bar.character(joint_names=names)
            train = bar.clip(body, "train", 0)
            skin = pelt.fit(body, train, method="joints", holdout=0, threads=1)
            report = skin.export(self.path / "plain.glb", train)
            self.assertTrue(report.driven_count and not report.target_count)
            self.assertIn("train", run("info", "plain.glb", "--json", cwd=self.path))
            plain = pelt.Character.read(self.path / "plain.glb")
            played = pelt.fit(plain, method="ssd", report=False).play(plain.clip("train", positions=False))
            np.testing.assert_allclose(played, skin.play(train), atol=1e-4)

    def test_the_notebook_view_is_one_text_without_anything_outside(self) -> None:
        bar = Bar()
        body = bar.character()
        skin = pelt.fit(body, bar.clip(body, "train", 0), method="psd", holdout=0)
        shown = skin._repr_html_()
        if "without its page" in shown:
            self.skipTest("this build has no page")
        self.assertTrue(shown.startswith("<iframe srcdoc="))
        self.assertIsNone(re.search(r"(src|href)=&quot;\./", shown))
        files = json.loads(re.search(r"id=&quot;pelt-files&quot;&gt;(.*?)&lt;/script", shown).group(1).replace("&quot;", '"'))
        show = json.loads(base64.b64decode(files["data/show.json"][1]))
        self.assertEqual(show["characters"][0]["vertices"], POINTS)
        self.assertEqual([each["name"] for each in show["characters"][0]["skins"]], ["psd"])


if __name__ == "__main__":
    unittest.main()
