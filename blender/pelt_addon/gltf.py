"""The character with its skin as plain glTF. pelt writes joints, weights, morph targets and clips; texture coordinates and materials,
as Blender's own exporter makes them, are put into that file."""

import json
import os
import struct
import tempfile

import bpy
import numpy as np

from .bake import play
from .examples import frame_rate
from .library import Problem, pelt

FLOAT = 5126


def export_gltf(result, requests, path, targets=0, influences=4, materials=True):
    """Writes PATH (.glb) with a clip for each request; unlike the examples, these have the armature object's own motion."""
    library, examples = pelt(), result.examples
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise Problem(f"The folder {folder} does not exist: make it first.")
    character = library.Character(**examples.arrays)
    clips = [_motion(library, character, examples.subject, request) for request in requests]
    with tempfile.TemporaryDirectory(dir=folder, prefix=".pelt") as temporary:
        plain = os.path.join(temporary, "plain.glb")
        report = result.skin.export(plain, clips, character=character, targets=targets, influences=influences)
        file = Glb(plain)
        if examples.arrays["uvs"] is not None:
            file.add_uvs(examples.arrays["uvs"])
        if materials:
            _add_materials(file, examples, temporary)
        file.write(os.path.join(temporary, "whole.glb"))
        os.replace(os.path.join(temporary, "whole.glb"), path)
    return report


def _motion(library, character, subject, request):
    frames = [(subject.pose(depsgraph), subject.control_values(depsgraph)) for _, _, depsgraph in play(subject, [request])]
    poses = library.transforms(np.array([pose for pose, _ in frames]), subject.parents)
    controls = np.array([values for _, values in frames], np.float32) if subject.controls else None
    return character.add_clip(request.name, poses, controls=controls, frames_per_second=frame_rate())


class Glb:
    """A .glb in memory: its JSON, and the bytes of its buffer."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if data[:4] != b"glTF":
            raise Problem(f"{path} is not a .glb file.")
        length = struct.unpack_from("<I", data, 12)[0]
        self.json = json.loads(data[20 : 20 + length])
        self.bytes = bytearray(data[20 + length + 8 :])

    def list(self, name):
        return self.json.setdefault(name, [])

    def add_view(self, data, target=None):
        """Bytes as a buffer view; returns its number."""
        self.bytes += b"\0" * (-len(self.bytes) % 4)
        view = {"buffer": 0, "byteOffset": len(self.bytes), "byteLength": len(data)}
        if target:
            view["target"] = target
        self.bytes += data
        self.list("bufferViews").append(view)
        return len(self.list("bufferViews")) - 1

    def view_bytes(self, number):
        view = self.list("bufferViews")[number]
        start = view.get("byteOffset", 0)
        return bytes(self.bytes[start : start + view["byteLength"]])

    def add_uvs(self, uvs):
        data = np.ascontiguousarray(uvs, "<f4")
        self.list("accessors").append({"bufferView": self.add_view(data.tobytes(), 34962), "componentType": FLOAT, "count": len(data), "type": "VEC2"})
        for primitive in self.primitives():
            primitive["attributes"]["TEXCOORD_0"] = len(self.list("accessors")) - 1

    def primitives(self):
        return [primitive for mesh in self.list("meshes") for primitive in mesh["primitives"]]

    def split(self, material):
        """One primitive becomes one for each material; `material` says that of each triangle. Triangles are sorted where they are."""
        mesh = self.list("meshes")[0]
        primitive = mesh["primitives"][0]
        accessor = self.list("accessors")[primitive["indices"]]
        start = self.list("bufferViews")[accessor["bufferView"]].get("byteOffset", 0) + accessor.get("byteOffset", 0)
        corners = np.frombuffer(self.bytes, "<u4", accessor["count"], start).reshape(-1, 3).copy()
        order = np.argsort(material, kind="stable")
        self.bytes[start : start + corners.nbytes] = corners[order].tobytes()
        numbers, counts = np.unique(material, return_counts=True)
        mesh["primitives"], at = [], accessor.get("byteOffset", 0)
        for number, count in zip(numbers.tolist(), counts.tolist()):
            piece = {key: value for key, value in accessor.items() if key not in ("min", "max")}
            piece.update(byteOffset=at, count=3 * count)
            at += 12 * count
            if mesh["primitives"]:
                self.list("accessors").append(piece)
                mesh["primitives"].append({**primitive, "indices": len(self.list("accessors")) - 1, "material": number})
            else:
                self.list("accessors")[primitive["indices"]] = piece
                mesh["primitives"].append({**primitive, "material": number})

    def write(self, path):
        self.bytes += b"\0" * (-len(self.bytes) % 4)
        self.list("buffers")[0]["byteLength"] = len(self.bytes)
        text = json.dumps(self.json, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-len(text) % 4)
        with open(path, "wb") as file:
            file.write(struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(self.bytes)))
            file.write(struct.pack("<I4s", len(text), b"JSON") + text)
            file.write(struct.pack("<I4s", len(self.bytes), b"BIN\0") + self.bytes)


# -- Materials -------------------------------------------------------------------------------------------------------------------


def _materials_of(examples):
    """The materials in use, None where a slot is empty, and [triangles] which of them each has."""
    found, numbers = [], []
    for part, of_triangle in zip(examples.subject.parts, examples.materials):
        slots = [slot.material for slot in bpy.data.objects[part.instance[0] if part.instance else part.object].material_slots] or [None]
        own = []
        for material in slots:
            if material not in found:
                found.append(material)
            own.append(found.index(material))
        numbers.append(np.array(own)[np.clip(of_triangle, 0, len(own) - 1)])
    return found, np.concatenate(numbers)


def _add_materials(file, examples, folder):
    """Exports a triangle for each material by Blender's own exporter, and takes materials, textures and images from there."""
    found, of_triangle = _materials_of(examples)
    used = [material for material in found if material is not None]
    plain = file.list("materials")[0]
    if not used:
        return
    sample = _exported(used, os.path.join(folder, "materials.glb"))
    by_name = {material["name"]: number for number, material in enumerate(sample.json.get("materials", []))}
    file.json["materials"] = sample.json.get("materials", [])
    for name in ("textures", "images", "samplers"):
        if sample.json.get(name):
            file.json[name] = sample.json[name]
    for image in file.json.get("images", []):
        if "bufferView" in image:
            image["bufferView"] = file.add_view(sample.view_bytes(image["bufferView"]))
    for name in sample.json.get("extensionsUsed", []):
        if name not in file.list("extensionsUsed"):
            file.list("extensionsUsed").append(name)
    place = []
    for material in found:
        if material is None or material.name not in by_name:
            file.json["materials"].append(plain)
            place.append(len(file.json["materials"]) - 1)
        else:
            place.append(by_name[material.name])
    file.split(np.array(place)[of_triangle])


def _exported(materials, path):
    if "bool" not in vars(np):
        np.bool = bool  # the exporter of Blender 3.4 is older than numpy 1.24
    if not hasattr(bpy.types, "EXPORT_SCENE_OT_gltf"):
        import addon_utils

        if addon_utils.enable("io_scene_gltf2") is None:
            raise Problem("Blender's glTF exporter is not installed: install it, or export without materials.")
    mesh = bpy.data.meshes.new("pelt materials")
    mesh.from_pydata([(x, i, 0) for i in range(len(materials)) for x in (0, 1, 2)], [], [(3 * i, 3 * i + 1, 3 * i + 2) for i in range(len(materials))])
    mesh.uv_layers.new(name="UVMap")
    for number, material in enumerate(materials):
        mesh.materials.append(material)
        mesh.polygons[number].material_index = number
    thing = bpy.data.objects.new("pelt materials", mesh)
    scene = bpy.data.scenes.new("pelt materials")
    scene.collection.objects.link(thing)
    try:
        with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0], active_object=thing, selected_objects=[thing]):
            words = {"filepath": path, "export_format": "GLB", "use_active_scene": True, "export_animations": False, "check_existing": False}
            if bpy.ops.export_scene.gltf(**words) != {"FINISHED"}:
                raise Problem("Blender's glTF exporter did not write the materials: export without them.")
    finally:
        bpy.data.scenes.remove(scene)
        bpy.data.objects.remove(thing)
        bpy.data.meshes.remove(mesh)
    return Glb(path)
