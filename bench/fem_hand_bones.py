"""fem_hand_bones.py FEM_HAND.glb BONES.glb: the bones of the finite-element hand, as its README describes them.

19 capsules (6-sided there, 12-sided here): radius .45 of the least distance to the skin, 1.5 to 4.5 mm, metacarpals at most
3.2 mm; .35 r + .5 mm away from joints; finger metacarpals start 10 mm, the thumb's 6 mm from their joint; distal ones end
3.2 mm below the skin. The wrist's end, y > 72 mm, is held by a slab. For `pelt flesh --bones`.
"""

import json
import math
import struct
import sys

MM = 1e-3
SIDES, CAPS = 12, 4


def read_glb(path):
    data = open(path, "rb").read()
    size = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + size]), data[20 + size + 8 :]


def numbers(gltf, blob, index):
    accessor = gltf["accessors"][index]
    view = gltf["bufferViews"][accessor["bufferView"]]
    code, wide = {5126: ("f", 4), 5125: ("I", 4), 5123: ("H", 2), 5121: ("B", 1)}[accessor["componentType"]]
    parts = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}[accessor["type"]]
    start, stride = view.get("byteOffset", 0) + accessor.get("byteOffset", 0), view.get("byteStride", parts * wide)
    return [struct.unpack_from("<%d%s" % (parts, code), blob, start + i * stride) for i in range(accessor["count"])]


def sub(a, b):
    return [x - y for x, y in zip(a, b)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def along(a, b, t):
    return [x + t * (y - x) for x, y in zip(a, b)]


def segment_distance(a, b, p):
    d = sub(b, a)
    return math.dist(p, along(a, b, min(max(dot(sub(p, a), d) / dot(d, d), 0), 1)))


def triangle_distance(t, p):
    n = cross(sub(t[1], t[0]), sub(t[2], t[0]))
    if all(dot(cross(n, sub(t[(i + 1) % 3], t[i])), sub(p, t[i])) >= 0 for i in range(3)):
        return abs(dot(n, sub(p, t[0]))) / math.sqrt(dot(n, n))
    return min(segment_distance(t[i], t[(i + 1) % 3], p) for i in range(3))


def least_distance(skin, points):
    middle, reach = points[len(points) // 2], max(math.dist(points[0], points[-1]), 20 * MM)
    near = [t for t in skin if math.dist(t[0], middle) < reach + 25 * MM]
    return min(triangle_distance(t, p) for t in near for p in points)


def towards_skin(skin, origin, direction):
    """How far the skin is in a direction (Moeller and Trumbore)."""
    best = math.inf
    for t in skin:
        a, b, s = sub(t[1], t[0]), sub(t[2], t[0]), sub(origin, t[0])
        h, q = cross(direction, b), cross(s, a)
        det = dot(a, h)
        if abs(det) > 1e-20 and dot(s, h) / det >= 0 and dot(direction, q) / det >= 0:
            if (dot(s, h) + dot(direction, q)) / det <= 1 and dot(b, q) / det > 0:
                best = min(best, dot(b, q) / det)
    return best


def capsule(a, b, radii):
    """Points and triangles of a capsule around the segment, as wide as two radii say."""
    d = sub(b, a)
    d = [x / math.sqrt(dot(d, d)) for x in d]
    u = cross(d, [float(k == min(range(3), key=lambda i: abs(d[i]))) for k in range(3)])
    u = [x / math.sqrt(dot(u, u)) for x in u]
    v = cross(d, u)
    points, triangles = [], []
    for ring in range(2 * CAPS + 2):
        half = ring > CAPS
        angle = math.pi * (ring - half) / (2 * CAPS)
        for side in range(SIDES):
            turn, r = 2 * math.pi * side / SIDES, radii[half]
            out = [math.cos(turn) * x + math.sin(turn) * y for x, y in zip(u, v)]
            points.append([c + r * (math.sin(angle) * o - math.cos(angle) * x) for c, o, x in zip((a, b)[half], out, d)])
            i, j = ring * SIDES + side, ring * SIDES + (side + 1) % SIDES
            if ring <= 2 * CAPS:
                triangles += [(i, i + SIDES, j), (j, i + SIDES, j + SIDES)]
    return points, [(t[0], t[2], t[1]) for t in triangles]


def slab(low, high):
    points = [[(low, high)[i >> k & 1][k] for k in range(3)] for i in range(8)]
    quads = [(0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6)]
    return points, [t for q in quads for t in ((q[0], q[1], q[2]), (q[0], q[2], q[3]))]


def bones_of(skin, heads, names):
    place = dict(zip(names, heads))
    for finger in ("thumb", "index-finger", "middle-finger", "ring-finger", "pinky-finger"):
        parts = ["metacarpal", "phalanx-proximal", "phalanx-intermediate", "phalanx-distal", "tip"]
        if finger == "thumb":
            parts.remove("phalanx-intermediate")
        joints = [finger + "-" + part for part in parts]
        for joint, following in zip(joints, joints[1:]):
            a, b, metacarpal, last = place[joint], place[following], "metacarpal" in joint, following.endswith("tip")
            length = math.dist(a, b)
            direction = [x / length for x in sub(b, a)]
            if last:
                length = towards_skin(skin, a, direction) - 3.2 * MM
            start = (6 if finger == "thumb" else 10) * MM if metacarpal else 0
            at = [[p + s * d for p, d in zip(a, direction)] for s in (start + i * (length - start) / 12 for i in range(13))]
            reach = at[:9] if last else at
            radius = min(max(0.45 * least_distance(skin, reach), 1.5 * MM), (3.2 if metacarpal else 4.5) * MM)
            gap = 0.35 * radius + 0.5 * MM
            tip = min(radius, 0.5 * least_distance(skin, at[-1:])) if last else radius
            first, final = max(start, gap) + radius, length - (tip if last else gap + radius)
            ends = [[p + s * d for p, d in zip(a, direction)] for s in (first, final)]
            yield joint, *capsule(*ends, (radius, tip))


def main(source, target):
    gltf, blob = read_glb(source)
    primitive, skin = gltf["meshes"][0]["primitives"][0], gltf["skins"][0]
    points = numbers(gltf, blob, primitive["attributes"]["POSITION"])
    flat = [i[0] for i in numbers(gltf, blob, primitive["indices"])]
    surface = [[points[i] for i in flat[k : k + 3]] for k in range(0, len(flat), 3)]
    names = [gltf["nodes"][j]["name"] for j in skin["joints"]]
    heads = []
    for m in numbers(gltf, blob, skin["inverseBindMatrices"]):
        columns = [m[0:3], m[4:7], m[8:11]]
        heads.append([-dot(c, m[12:15]) for c in columns])
    wrist = slab([-37 * MM, 72 * MM, -20 * MM], [-14 * MM, 79 * MM, 38 * MM])
    positions, triangles, joints = [], [], []
    for joint, corners, faces in [("wrist", *wrist), *bones_of(surface, heads, names)]:
        triangles += [[i + len(positions) for i in face] for face in faces]
        positions += corners
        joints += [names.index(joint)] * len(corners)
    write(gltf, blob, target, positions, triangles, joints)


def write(gltf, blob, target, positions, triangles, joints):
    """The hand's own file with the bones' mesh in place of its skin's, and without clips."""
    chunks = [
        (b"".join(struct.pack("<3f", *p) for p in positions), 5126, "VEC3", len(positions)),
        (b"".join(struct.pack("<4H", j, 0, 0, 0) for j in joints), 5123, "VEC4", len(joints)),
        (struct.pack("<4f", 1, 0, 0, 0) * len(joints), 5126, "VEC4", len(joints)),
        (b"".join(struct.pack("<3I", *t) for t in triangles), 5125, "SCALAR", 3 * len(triangles)),
    ]
    first, blob = len(gltf["accessors"]), bytearray(blob[: gltf["buffers"][0]["byteLength"]])
    for data, kind, shape, count in chunks:
        blob += bytes(-len(blob) % 4)
        gltf["bufferViews"].append({"buffer": 0, "byteOffset": len(blob), "byteLength": len(data)})
        accessor = {"bufferView": len(gltf["bufferViews"]) - 1, "componentType": kind, "type": shape, "count": count}
        gltf["accessors"].append(accessor)
        blob += data
    gltf["accessors"][first]["min"] = [min(p[k] for p in positions) for k in range(3)]
    gltf["accessors"][first]["max"] = [max(p[k] for p in positions) for k in range(3)]
    attributes = {"POSITION": first, "JOINTS_0": first + 1, "WEIGHTS_0": first + 2}
    gltf["meshes"][0]["primitives"] = [{"attributes": attributes, "indices": first + 3}]
    gltf.pop("animations", None)
    blob += bytes(-len(blob) % 4)
    gltf["buffers"] = [{"byteLength": len(blob)}]
    text = json.dumps(gltf).encode()
    text += b" " * (-len(text) % 4)
    with open(target, "wb") as out:
        out.write(struct.pack("<4sIIII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(blob), len(text), 0x4E4F534A))
        out.write(text + struct.pack("<II", len(blob), 0x004E4942) + bytes(blob))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
