"""test_layout.py: the structs of the package are those of the headers, field by field, as a C compiler sees them."""

from __future__ import annotations

import ctypes as c
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import support  # noqa: F401  (finds the package)
import pelt
from pelt import _structs
from pelt._library import lib

COMPILER = os.environ.get("CC") or shutil.which("cc") or ""
INCLUDE = Path(__file__).resolve().parents[2] / "include"
STRUCTS = [s for s in vars(_structs).values() if isinstance(s, type) and issubclass(s, c.Structure) and "c_name" in s.__dict__]


class Layout(unittest.TestCase):
    @unittest.skipUnless(COMPILER, "no C compiler")
    def test_every_field_is_where_c_has_it(self) -> None:
        lines = ["#include <pelt/bind.h>", "#include <stdio.h>", "int main(void) {"]
        want = []
        for struct in STRUCTS:
            name = struct.__dict__["c_name"]
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            want.append(f"{name} {c.sizeof(struct)}")
            for field, *_ in struct._fields_:
                lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
                want.append(f"{name}.{field} {getattr(struct, field).offset} {getattr(struct, field).size}")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "layout.c").write_text("\n".join([*lines, "return 0;", "}"]))
            subprocess.run([COMPILER, "-std=c17", f"-I{INCLUDE}", "layout.c", "-o", "layout"], check=True, cwd=folder)
            said = subprocess.run([str(Path(folder) / "layout")], check=True, capture_output=True, text=True).stdout
        self.assertEqual(said.splitlines(), want)

    def test_the_library_tells_their_sizes(self) -> None:
        for struct in STRUCTS:
            self.assertEqual(lib.pelt_sizeof(struct.__dict__["c_name"].encode()), c.sizeof(struct), struct)
        self.assertEqual(lib.pelt_sizeof(b"pelt_soup"), 0)
        self.assertEqual(lib.pelt_sizeof(None), 0)

    def test_versions_agree(self) -> None:
        self.assertEqual(lib.pelt_version().decode(), pelt.__version__)


if __name__ == "__main__":
    unittest.main()
