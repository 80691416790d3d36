"""test_howto.py: the programs of docs/howto-python.md run, one after the other, in one folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import PROGRAM, run

ROOT = Path(__file__).resolve().parents[2]


@unittest.skipUnless(PROGRAM, "PELT_PROGRAM is not set")
class Howto(unittest.TestCase):
    def test_its_programs_run(self) -> None:
        text = (ROOT / "docs/howto-python.md").read_text("utf-8")
        programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertGreaterEqual(len(programs), 4)
        surroundings = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        with tempfile.TemporaryDirectory() as folder:
            run("sample", "arm", "--vertices", "400", "--frames", "40", "-o", ".", "--quiet", cwd=folder)
            said = ""
            for program in programs:
                ended = subprocess.run([sys.executable, "-c", program], cwd=folder, env=surroundings, capture_output=True, text=True)
                if ended.returncode and "no matplotlib" not in ended.stderr:
                    self.fail(ended.stderr)
                said += ended.stdout
            table = (Path(folder) / "errors.csv").read_text().splitlines()
            self.assertEqual(sum(line.startswith("psd,frame,") for line in table), 40)
            self.assertTrue(any(line.startswith("kernel,region,elbow,") for line in table))
            self.assertTrue((Path(folder) / "arm.pelt").exists() and (Path(folder) / "arm_plain.glb").exists())
        promised = re.search(r"prints `(.+?)`", text)
        assert promised
        self.assertIn(promised.group(1), said)


if __name__ == "__main__":
    unittest.main()
