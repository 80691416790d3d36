"""test_keys.py: key points and the soft cache in Python, against numpy."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import numpy as np

import support  # noqa: F401  (finds the package)
import pelt

random = np.random.default_rng(2)
POINTS, CONTROLS = 60, 3
REST = random.normal(size=(POINTS, 3))
SHAPES = random.normal(size=(CONTROLS, POINTS, 3))


def rig(controls: np.ndarray, points: np.ndarray) -> np.ndarray:
    return REST[points] + np.einsum("c,cpk->pk", controls, SHAPES[:, points])


def frames(count: int) -> tuple[np.ndarray, np.ndarray]:
    controls = random.uniform(-1, 1, (count, CONTROLS)).astype(np.float32)
    return controls, np.stack([rig(row, np.arange(POINTS)) for row in controls])


class Keys(unittest.TestCase):
    def setUp(self) -> None:
        self.controls, self.values = frames(40)
        self.keys = pelt.train_keys(self.values, keys=8, controls=self.controls, shots=np.arange(40) // 5)

    def test_keys_give_all_points_of_a_linear_rig(self) -> None:
        controls, truth = frames(70)
        filled = self.keys.fill(truth[:, self.keys.key_points])
        np.testing.assert_allclose(filled.values, truth, atol=0.02)
        self.assertEqual(filled.e.shape, (70,))
        one = self.keys.fill(truth[3, self.keys.key_points])
        np.testing.assert_allclose(one.values, filled.values[3], atol=1e-5)
        far = self.keys.fill(truth[3, self.keys.key_points] + random.normal(size=(self.keys.key_count, 3)))
        self.assertTrue(far.e > 1 >= one.e)

    def test_a_measure_is_that_of_numpy(self) -> None:
        controls, truth = frames(20)
        measure = self.keys.measure(truth)
        made = self.keys.fill(truth[:, self.keys.key_points]).values
        worst = np.linalg.norm(made - truth, axis=2).max(axis=1) / self.keys.diagonal
        np.testing.assert_allclose(measure.frame_error, worst, atol=1e-5)
        self.assertAlmostEqual(measure.largest, float(worst.max()), 5)
        self.assertEqual(len(measure.frame_verdict), 20)

    def test_the_soft_cache_computes_what_keys_cannot_explain(self) -> None:
        calls: list[int] = []

        def engine(controls: np.ndarray, points: np.ndarray) -> np.ndarray:
            calls.append(len(points))
            lump = np.where(points[:, None] % 7 == 0, 5.0, 0.0) if controls[0] > 5 else 0.0
            return rig(controls, points) + lump

        cache = self.keys.soft_cache(engine, CONTROLS)
        usual = self.controls[0]
        np.testing.assert_allclose(cache.next(usual), rig(usual, np.arange(POINTS)), atol=0.05)
        cache.next(usual)  # the first frame of a shot checks all witnesses
        self.assertEqual(cache.verdict, "hit")
        self.assertLess(cache.evaluated, POINTS)
        cache.cut()
        strange = np.array([9.0, 0, 0], np.float32)
        np.testing.assert_allclose(cache.next(strange), engine(strange, np.arange(POINTS)), atol=1e-4)
        self.assertEqual(cache.verdict, "miss")

    def test_files_and_reports(self) -> None:
        assert self.keys.report
        self.assertEqual(self.keys.report.keys, self.keys.key_count)
        self.assertEqual(self.keys.report.frames, 40)
        with tempfile.TemporaryDirectory() as folder:
            self.keys.save(Path(folder) / "rig.keys")
            again = pelt.Keys.read(Path(folder) / "rig.keys")
        np.testing.assert_array_equal(again.key_points, self.keys.key_points)
        points = self.keys.key_points
        self.keys.close()
        del self.keys
        self.assertTrue((points < POINTS).all())
        again = pelt.Keys.from_bytes(again.to_bytes())
        self.assertEqual(again.point_count, POINTS)

    def test_misuse(self) -> None:
        def refuses(sentence: str, call: object, *values: object, **named: object) -> None:
            with self.assertRaisesRegex(pelt.Error, sentence):
                call(*values, **named)  # type: ignore[operator]

        refuses("frames", pelt.train_keys, self.values[0])
        refuses("shots", pelt.train_keys, self.values, shots=[1, 2])
        refuses("keys", pelt.train_keys, self.values, keys=10**6)
        refuses("keys", pelt.train_keys, self.values, keys=-1)
        refuses("recipe", pelt.train_keys, self.values, recipe="cake")
        hole = self.values.copy()
        hole[3, 3, 1] = np.nan
        refuses("", pelt.train_keys, hole)
        refuses("key_values", self.keys.fill, self.values[0])
        refuses("no such option", self.keys.soft_cache, rig, CONTROLS, wobble=1)
        refuses("e_min", self.keys.soft_cache, rig, CONTROLS, e_min=-1)
        refuses("engine's values", self.keys.soft_cache(lambda c, p: c, CONTROLS).next, self.controls[0])
        refuses("", self.keys.soft_cache(lambda c, p: np.full((len(p), 3), np.nan), CONTROLS).next, self.controls[0])
        refuses("controls", self.keys.soft_cache(rig, CONTROLS).next, [1, 2])
        refuses("", pelt.Keys.from_bytes, b"x" * 500)
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            self.keys.soft_cache(lambda c, p: 1 / 0, CONTROLS).next(self.controls[0])
        with self.assertRaises(pelt.Cancelled):
            pelt.train_keys(self.values, keys=8, progress=lambda task, part: True)


if __name__ == "__main__":
    unittest.main()
