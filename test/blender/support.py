"""What the tests of the add-on share. Each is run inside Blender by test/blender_addon.sh, with a folder for files."""

import os
import sys
import unittest

import bpy
import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
FOLDER = sys.argv[sys.argv.index("--") + 1]


def enable():
    import addon_utils

    assert addon_utils.enable("pelt_addon") is not None, "the add-on is not installed"


def world(thing):
    """The vertices of an object as Blender evaluates it, in the scene."""
    found = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = found.to_mesh()
    flat = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", flat)
    place = np.array(found.matrix_world, np.float64)
    found.to_mesh_clear()
    return flat.reshape(-1, 3) @ place[:3, :3].T + place[:3, 3]


def diagonal(points):
    return float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


class AddonTest(unittest.TestCase):
    def refuses(self, sentence, operator, **words):
        """The operator reports one sentence, and does nothing."""
        with self.assertRaisesRegex(RuntimeError, sentence) as caught:
            operator(**words)
        self.assertEqual(len(str(caught.exception).strip().splitlines()), 1)

    def near(self, points, truth, fraction, size=None):
        """Every point within a fraction of the diagonal."""
        off = float(np.linalg.norm(points - truth, axis=-1).max()) / (size or diagonal(truth))
        self.assertLess(off, fraction)
        return off


def run(*names):
    """Runs the tests of modules; exit status 1 where one fails."""
    tests = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(name) for name in names)
    if not unittest.TextTestRunner(verbosity=1).run(tests).wasSuccessful():
        sys.exit(1)
