"""test_hosts.py: the programs of docs/howto-houdini-maya.md, with stand-ins for the modules of Houdini and Maya.

The stand-ins give what the documentation of `hou` and `maya.api.OpenMaya` says: row vectors, points as bytes or as a list."""

from __future__ import annotations

import re
import sys
import types
import unittest
from pathlib import Path
from typing import Any

import numpy as np
from support import Bar, matrices

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/howto-houdini-maya.md").read_text("utf-8"), re.DOTALL)


class Scene:
    """The bar at a frame, seen through either program."""

    def __init__(self) -> None:
        self.bar, self.frame = Bar(), 0.0

    def angle(self) -> float:
        return float(1.5 * np.sin(2.4 * self.frame))

    def points(self) -> np.ndarray:
        return self.bar.truth(self.angle()).astype(np.float32)

    def row_major(self, joint: int) -> list[float]:
        """Sixteen numbers for row vectors: the translation comes last."""
        return list(matrices(self.bar.pose(self.angle()), self.bar.parents)[joint].T.ravel())

    def go_to(self, frame: float) -> None:
        self.frame = frame


def houdini(scene: Scene) -> tuple[dict[str, Any], Any, list[Any]]:
    geometry = types.SimpleNamespace(pointFloatAttribValuesAsString=lambda name: {"P": scene.points().tobytes()}[name])
    matrix = lambda j: types.SimpleNamespace(asTuple=lambda: tuple(scene.row_major(j)))  # noqa: E731
    joints = [types.SimpleNamespace(worldTransform=lambda j=j: matrix(j)) for j in range(2)]
    hou = types.ModuleType("hou")
    hou.setFrame = scene.go_to  # type: ignore[attr-defined]
    return {"hou": hou}, types.SimpleNamespace(geometry=lambda: geometry), joints


def maya(scene: Scene) -> tuple[dict[str, Any], Any, list[Any]]:
    names = ["lower", "upper"]

    class Path_:
        def __init__(self, name: str) -> None:
            self.name = name

        def inclusiveMatrix(self) -> list[float]:
            return scene.row_major(names.index(self.name))

    class MSelectionList:
        def add(self, name: str) -> MSelectionList:
            self.name = name
            return self

        def getDagPath(self, index: int) -> Path_:
            return Path_(self.name)

    class MFnMesh:
        def __init__(self, path: Path_) -> None:
            assert path.name == "barShape"

        def getFloatPoints(self, space: int) -> list[Any]:
            assert space == 4
            return [types.SimpleNamespace(x=x, y=y, z=z, w=1) for x, y, z in scene.points()]

        def getTriangles(self) -> tuple[list[int], list[int]]:
            return [1] * len(scene.bar.triangles), scene.bar.triangles.ravel().tolist()

    whole, api, om, cmds = (types.ModuleType(name) for name in ("maya", "maya.api", "maya.api.OpenMaya", "maya.cmds"))
    om.MSelectionList, om.MFnMesh, om.MSpace = MSelectionList, MFnMesh, types.SimpleNamespace(kWorld=4)  # type: ignore[attr-defined]
    cmds.currentTime = scene.go_to  # type: ignore[attr-defined]
    whole.api, whole.cmds, api.OpenMaya = api, cmds, om  # type: ignore[attr-defined]
    return {"maya": whole, "maya.api": api, "maya.api.OpenMaya": om, "maya.cmds": cmds}, "barShape", names


class Hosts(unittest.TestCase):
    def test_a_skin_is_fitted_from_each(self) -> None:
        for number, host in enumerate((houdini, maya)):
            with self.subTest(host=host.__name__):
                scene = Scene()
                modules, mesh, joints = host(scene)
                sys.modules.update(modules)
                code: dict[str, Any] = {}
                for program in (PROGRAMS[0], PROGRAMS[1 + number]):
                    exec(program, code)
                bar = scene.bar
                triangles = code["triangles_of"](mesh) if "triangles_of" in code else bar.triangles
                body = code["character"](
                    code["points_of"](mesh), triangles, bar.parents, ["lower", "upper"], code["matrices_of"](joints), bar.weights
                )
                skin = code["train"](body, bar.parents, code["frames_of"](mesh, joints, range(1, 41)))
                scene.go_to(50.5)  # not among them
                shown, truth = skin.evaluate_matrices(code["matrices_of"](joints)[:, :3]), scene.points()
                self.assertLess(np.abs(shown - truth).max(), 0.003)
                self.assertGreater(np.abs(truth - bar.positions).max(), 0.2)


if __name__ == "__main__":
    unittest.main()
