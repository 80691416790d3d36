"""support.py: a character by formula, and references in double precision that share no code with the library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import numpy as np

import pelt

PROGRAM = os.environ.get("PELT_PROGRAM", "")
RINGS, AROUND = 13, 8
POINTS = RINGS * AROUND


def run(*words: str, cwd: Any = None) -> str:
    """What the program prints."""
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True, cwd=cwd).stdout


def turn_z(angle: float) -> np.ndarray:
    return np.array([0, 0, np.sin(angle / 2), np.cos(angle / 2)])


class Bar:
    """A bar along x from 0 to 2 that bends in the middle, and swells as it does."""

    def __init__(self) -> None:
        p = np.arange(POINTS)
        x, turn = 2 * (p // AROUND) / (RINGS - 1), 2 * np.pi * (p % AROUND) / AROUND
        self.positions = np.stack([x, 0.2 * np.cos(turn), 0.2 * np.sin(turn)], axis=1)
        second = np.clip(x - 0.5, 0, 1)
        self.weights = np.stack([1 - second, second], axis=1)
        a = p[: POINTS - AROUND]
        b = np.where(a % AROUND == AROUND - 1, a + 1 - AROUND, a + 1)
        self.triangles = np.concatenate([np.stack([a, b, b + AROUND], 1), np.stack([a, b + AROUND, a + AROUND], 1)])
        self.parents = [-1, 0]
        self.rest = self.pose(0)

    def pose(self, angle: float) -> np.ndarray:
        pose = np.zeros((2, 10))
        pose[:, 3] = pose[:, 7:] = 1
        pose[1, :4], pose[1, 4] = turn_z(angle), 1
        return pose

    def truth(self, angle: float) -> np.ndarray:
        swell = 1 + 0.3 * abs(angle) * np.exp(-8 * (self.positions[:, 0] - 1) ** 2)
        bend = self.weights[:, 1] * angle
        x, y = self.positions[:, 0] - 1, self.positions[:, 1] * swell
        c, s = np.cos(bend), np.sin(bend)
        return np.stack([1 + c * x - s * y, s * x + c * y, self.positions[:, 2] * swell], axis=1)

    def character(self, **more: Any) -> pelt.Character:
        return pelt.Character(
            self.positions, self.triangles, parents=self.parents, rest=self.rest, weights=self.weights,
            **{"joint_names": ["lower", "upper"], "name": "bar", **more},
        )  # fmt: skip

    def clip(self, character: pelt.Character, name: str, phase: float, frames: int = 24) -> pelt.Clip:
        angles = [1.5 * np.sin(phase + 2.4 * f) for f in range(frames)]
        return character.add_clip(name, np.array([self.pose(a) for a in angles]), np.array([self.truth(a) for a in angles]))


def matrices(poses: np.ndarray, parents: list[int]) -> np.ndarray:
    """[..., joints, 4, 4] from transforms: scale, rotate, translate, then the parent's."""
    x, y, z, w = np.moveaxis(poses[..., :4] / np.linalg.norm(poses[..., :4], axis=-1, keepdims=True), -1, 0)
    out = np.zeros(poses.shape[:-1] + (4, 4))
    out[..., 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], -1)
    out[..., 1, :3] = np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], -1)
    out[..., 2, :3] = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], -1)
    out[..., :3, :3] *= poses[..., None, 7:10]
    out[..., :3, 3] = poses[..., 4:7]
    out[..., 3, 3] = 1
    for j, parent in enumerate(parents):
        if parent >= 0:
            out[..., j, :, :] = out[..., parent, :, :] @ out[..., j, :, :]
    return out


def blend(positions: np.ndarray, weights: np.ndarray, scene: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Linear blend skinning by its definition: [..., vertices, 3]."""
    moved = scene @ np.linalg.inv(rest)
    mixed = np.einsum("vj,...jab->...vab", weights, moved)
    return np.einsum("...vab,vb->...va", mixed[..., :3, :], np.c_[positions, np.ones(len(positions))])
