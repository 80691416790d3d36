"""What a rig is made of, read from the bytes of a skin: weights, rest positions and driven joints (docs/format.md). libpelt has checked
the file before."""

import struct
from dataclasses import dataclass

import numpy as np

KINDS = ("turn", "twist", "bend", "bulge", "dent")


@dataclass
class Driven:
    kind: str
    parent: int
    driver: int
    host: int
    amount: float
    name: str
    origin: np.ndarray
    axis: np.ndarray
    upstream: np.ndarray
    downstream: np.ndarray


@dataclass
class SkinFile:
    joint_count: int
    positions: np.ndarray  # [vertices, 3] at rest
    first: np.ndarray  # influences of vertex v are those from first[v] up to first[v + 1]
    joints: np.ndarray  # from joint_count on: driven joints
    weights: np.ndarray
    inverse_bind: np.ndarray  # [joints, 3, 4]
    driven: list


def read(data):
    vertices, blocks, joints, entries = struct.unpack_from("<4I", data, 24)
    table = {}
    for i in range(struct.unpack_from("<I", data, 12)[0]):
        kind, _, offset, size = struct.unpack_from("<4sIQQ", data, 64 + 32 * i)
        table[kind.decode("ascii", "replace")] = data[offset : offset + size]
    slot = np.frombuffer(table["SLOT"], "<u4").astype(np.int64)
    block_of = np.repeat(np.arange(blocks), np.diff(np.frombuffer(table["BLOK"], "<u4").astype(np.int64)))
    weights = np.frombuffer(table["WGHT"], "<f4").reshape(entries, 16)
    entry_joint = np.frombuffer(table["ENTR"], "<u2").astype(np.int64)
    entry, lane = np.nonzero(weights)
    vertex_of = np.full(16 * blocks, -1, np.int64)
    vertex_of[slot] = np.arange(vertices)
    vertex = vertex_of[16 * block_of[entry] + lane]
    entry, lane, vertex = (each[vertex >= 0] for each in (entry, lane, vertex))
    order = np.argsort(vertex, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(vertex, minlength=vertices))])
    rest = np.frombuffer(table["RPOS"], "<f4").reshape(blocks, 3, 16).transpose(0, 2, 1).reshape(-1, 3)
    bind = np.frombuffer(table["JNTS"], np.dtype([("rest", "<f4", 11), ("bind", "<f4", (3, 4)), ("name", "<u4")]))["bind"]
    return SkinFile(
        joints, rest[slot], first, entry_joint[entry][order], weights[entry, lane][order], bind, _driven(table.get("DRVN", b""), table["NAME"])
    )


def _driven(data, names):
    found = []
    for at in range(0, len(data), 72):
        kind, parent, driver, host, amount, name = struct.unpack_from("<IiIIfI", data, at)
        vectors = np.frombuffer(data, "<f4", 12, at + 24).astype(np.float64).reshape(4, 3)
        found.append(Driven(KINDS[kind], parent, driver, host, amount, bytes(names[name:]).split(b"\0")[0].decode("utf-8", "replace"), *vectors))
    return found
