"""test_misuse.py: whatever a caller passes, there is an exception with a sentence, and the process goes on."""

from __future__ import annotations

import gc
import unittest

import numpy as np
from support import POINTS, Bar

import pelt


class Misuse(unittest.TestCase):
    def setUp(self) -> None:
        self.bar = Bar()
        self.body = self.bar.character()
        self.train = self.bar.clip(self.body, "train", 0)
        self.skin = pelt.fit(self.body, self.train, method="psd", holdout=0)
        self.pose = self.bar.rest.astype(np.float32)

    def refuses(self, sentence: str, call: object, *values: object, **named: object) -> None:
        with self.assertRaisesRegex(pelt.Error, sentence):
            call(*values, **named)  # type: ignore[operator]

    def test_characters(self) -> None:
        b = self.bar
        good = {"positions": b.positions, "triangles": b.triangles, "parents": b.parents, "rest": b.rest, "weights": b.weights}
        hole = b.positions.copy()
        hole[5, 1] = np.nan
        for sentence, change in (
            (r"positions: expected an array of shape \(vertices, 3\), not \(104, 2\)", {"positions": b.positions[:, :2]}),
            ("positions: expected numbers", {"positions": np.array([["a"] * 3])}),
            ("position of vertex 5 is not finite", {"positions": hole}),
            ("positions", {"positions": [[1, 2, 3], [4, 5]]}),
            ("positions: expected numbers, not complex", {"positions": b.positions * 1j}),
            ("triangles: expected integers", {"triangles": b.triangles.astype(float)}),
            ("triangles: -1 to", {"triangles": b.triangles - 1}),
            ("triangle", {"triangles": b.triangles + POINTS}),
            ("parent", {"parents": [1, 0]}),
            ("parents", {"parents": [-1, 7]}),
            (r"rest: expected an array of shape \(2, 10\)", {"rest": b.rest[:1]}),
            ("joint", {"joints": np.full((POINTS, 2), 9)}),
            ("weight", {"weights": -b.weights}),
            ("weights: expected an array", {"weights": b.weights[:-1]}),
            ("joint_names: there are 1", {"joint_names": ["one"]}),
            ("zero byte", {"joint_names": ["a\0b", "c"]}),
            ("name: expected a text", {"name": 7}),
            ("normals", {"normals": np.zeros((3, 3))}),
            ("control", {"controls": {"a": float("inf")}}),
        ):
            with self.subTest(sentence=sentence, change=list(change)):
                given = {**good, **change}
                places, corners = given.pop("positions"), given.pop("triangles")
                self.refuses(sentence, pelt.Character, places, corners, **given)

    def test_files(self) -> None:
        self.refuses("nowhere.glb", pelt.Character.read, "nowhere.glb")
        self.refuses("path", pelt.Character.read, 7)
        self.refuses("path", pelt.Skin.read, "a\0b")
        self.refuses("nowhere.pelt", pelt.Skin.read, "nowhere.pelt")
        self.refuses("", pelt.Skin.from_bytes, b"not a skin at all")
        self.refuses("", pelt.Skin.from_bytes, b"")
        self.refuses("data", pelt.Skin.from_bytes, "text")
        damaged = bytearray(self.skin.to_bytes())
        damaged[200:400] = b"\xff" * 200
        self.refuses("", pelt.Skin.from_bytes, damaged)
        self.refuses("", self.skin.save, "/nowhere/at/all.pelt")

    def test_clips(self) -> None:
        poses, shapes = self.train.poses, np.array(self.train.positions)
        hole = shapes.copy()
        hole[3, 2, 1] = np.inf
        self.refuses("vertex 2 in frame 3 is not finite", self.body.add_clip, "x", poses, hole)
        self.refuses(r"positions: expected an array of shape \(24, 104, 3\)", self.body.add_clip, "x", poses, shapes[:, :-1])
        self.refuses("poses", self.body.add_clip, "x", poses[:, :1])
        self.refuses("train", self.body.add_clip, "train", poses, shapes)
        self.refuses("name", self.body.add_clip, "", poses, shapes)
        self.refuses("frames: 24 is beyond", self.train.frames, [24])
        self.refuses("frames", self.train.frames, [-1])
        self.refuses("walk", self.body.clip, "walk")
        other = self.bar.character()
        self.refuses("another character", pelt.fit, other, self.train)
        self.refuses("clip", other.mirror, self.train)
        self.refuses("expected a clip", self.skin.play, "train")

    def test_fits(self) -> None:
        fit = pelt.fit
        self.refuses('no choice "best"', fit, self.body, self.train, method="best")
        self.refuses("no option called", fit, self.body, self.train, per_vertx=3)
        self.refuses("per_joint|per_vertex", fit, self.body, self.train, method="psd", per_joint=3)
        self.refuses("holdout", fit, self.body, self.train, holdout=7)
        self.refuses("holdout", fit, self.body, self.train, holdout=float("nan"))
        self.refuses("width: expected a number or a text", fit, self.body, self.train, width=[1])
        self.refuses("progress", fit, self.body, self.train, progress=3)
        self.refuses("examples", fit, self.body, 5)
        self.refuses("examples", fit, self.body, [None])
        self.refuses("no examples", fit, self.body, [])
        self.refuses("drop_joints: expected a list", fit, self.body, self.train, method="joints", drop_joints="upper")
        self.refuses("lock", fit, self.body, self.train, blend="fit", corrective="none", lock_vertices=[10**6])
        self.refuses("weight", fit, self.body, self.train.frames([0, 1], weights=[1, np.nan]), blend="fit", corrective="none")

    def test_poses(self) -> None:
        evaluate = self.skin.evaluate
        bad = self.pose.copy()
        bad[1, 2] = np.nan
        self.refuses(r"pose: the number at \(1, 2\) is not finite", evaluate, bad)
        self.refuses("pose: expected an array", evaluate, self.pose[:1])
        self.refuses("pose", evaluate, np.zeros((3, 2, 11)))
        self.refuses("pose", evaluate, None)
        self.refuses("controls", evaluate, self.pose, [1.0])
        self.refuses("matrices", self.skin.evaluate_matrices, np.zeros((2, 4, 4)))
        self.refuses("threads", evaluate, self.pose[None], threads=-1)
        self.assertEqual(evaluate(np.zeros((0, 2, 10))).shape, (0, POINTS, 3))
        np.testing.assert_array_equal(evaluate(np.asfortranarray(self.pose)), evaluate(self.pose))
        np.testing.assert_array_equal(evaluate(np.repeat(self.pose, 2, axis=0)[::2]), evaluate(self.pose))

    def test_buffers(self) -> None:
        evaluate, room = self.skin.evaluate, np.zeros((POINTS + 1, 3), np.float32)
        self.refuses("out: expected an array of shape", evaluate, self.pose, out=room)
        self.refuses("float32", evaluate, self.pose, out=np.zeros((POINTS, 3)))
        self.refuses("float32", evaluate, self.pose, out=np.zeros((POINTS, 3), ">f4"))
        self.refuses("numpy array", evaluate, self.pose, out=[[0.0] * 3] * POINTS)
        still = np.zeros((POINTS, 3), np.float32)
        still.flags.writeable = False
        self.refuses("read-only", evaluate, self.pose, out=still)
        self.refuses("contiguous", evaluate, self.pose, out=np.zeros((3, POINTS), np.float32).T)
        self.refuses("contiguous", evaluate, self.pose, out=np.zeros((POINTS, 3), np.float32)[::-1])
        overlapping = np.lib.stride_tricks.as_strided(np.zeros(3 + POINTS, np.float32), (POINTS, 3), (4, 4))
        self.refuses("overlap", evaluate, self.pose, out=overlapping)
        self.refuses("normals", evaluate, self.pose, normals=room)

    def test_what_was_closed(self) -> None:
        self.skin.close()
        for call in (lambda: self.skin.evaluate(self.pose), self.skin.to_bytes, lambda: self.skin.measure(self.train),
                     lambda: self.skin.joint_names, lambda: self.skin.save("x.pelt")):  # fmt: skip
            self.refuses("this skin has been closed", call)
        self.body.close()
        self.refuses("this character has been closed", lambda: self.body.positions)
        self.refuses("this character has been closed", self.body.clip, "train")
        self.assertEqual(repr(self.skin), "<pelt.Skin, closed>")
        self.assertEqual(self.train.name, "train")  # the clip keeps what it shows
        self.assertEqual(self.train.positions.shape, (24, POINTS, 3))

    def test_the_order_in_which_things_go_does_not_matter(self) -> None:
        for order in ("skin", "body", "train"):
            bar = Bar()
            body = bar.character()
            train = bar.clip(body, "train", 0)
            skin = pelt.fit(body, train, method="psd", holdout=0)
            if order == "body":
                del body
            elif order == "train":
                del train, body
            else:
                del skin
            gc.collect()


if __name__ == "__main__":
    unittest.main()
