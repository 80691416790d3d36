"""Runs the tests of the add-on that is installed, all in one Blender; names after the folder choose some."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from support import run  # noqa: E402

chosen = sys.argv[sys.argv.index("--") + 2 :]
run(*(chosen or ["test_examples", "test_fit", "test_back", "test_problems"]))
