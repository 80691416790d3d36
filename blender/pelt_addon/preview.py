"""The skin beside the original: copies of the objects that libpelt moves whenever the frame or the pose changes.

A collection "pelt ARMATURE" keeps all that is needed, the skin too, so it goes on when the .blend is opened again."""

import json

import bpy
import numpy as np
from bpy.app.handlers import persistent

from .arrays import DOWN, UP, moved, set_vertices, vertices_of
from .library import Problem, pelt
from .subject import Subject, object_named

ERROR = "pelt error"
HEAT = (0x4D535D, 0x5F5977, 0x715F92, 0x936196, 0xB3619B, 0xD26590, 0xF16683, 0xFF7575, 0xFF8464, 0xFF9D5E, 0xFFB455, 0xFFD068, 0xFFEA7A)
"""The colours of pelt's pictures, for equal steps of the error."""


class Player:
    """A skin that is ready for the poses of a subject."""

    def __init__(self, subject, skin):
        self.subject, self.skin = subject, skin
        names, numbers = subject.joint_names, subject.control_names
        if skin.vertex_count != sum(part.whole for part in subject.parts):
            raise Problem(f"The skin has {skin.vertex_count} vertices, which are not those of '{subject.armature}': fit again.")
        lost = [name for name in skin.joint_names if name not in names] + [name for name in skin.controls if name not in numbers]
        if lost:
            raise Problem(f"The skin needs '{lost[0]}', which '{subject.armature}' does not have: fit again.")
        self._joints = [names.index(name) for name in skin.joint_names]
        self._controls = [numbers.index(name) for name in skin.controls]
        self._out = np.empty((skin.vertex_count, 3), np.float32)

    def pose(self, depsgraph):
        """[joints, 3, 4] in the scene, in the order of the skin."""
        return self.subject.pose(depsgraph)[self._joints, :3]

    def evaluate(self, depsgraph):
        """[vertices, 3] in the scene, with y up, as libpelt has them."""
        pose = self.pose(depsgraph)
        controls = np.array(self.subject.control_values(depsgraph), np.float32)[self._controls] if self._controls else None
        return self.skin.evaluate_matrices(pose, controls, out=self._out)

    def points(self, part, positions):
        """A part's own vertices in Blender's scene."""
        return moved(positions[part.first : part.first + part.count].astype(np.float64), DOWN)

    def errors(self, depsgraph, positions):
        """[(part, distance of each vertex from what Blender has)]."""
        found = []

        def compare(part, mesh, place):
            if len(mesh.vertices) != part.count:
                raise Problem(f"'{part.name}' has {len(mesh.vertices)} vertices, but the skin was fitted to {part.count}: fit again.")
            truth = moved(vertices_of(mesh), UP @ place)
            found.append((part, np.linalg.norm(positions[part.first : part.first + part.count] - truth, axis=1)))

        self.subject.visit(depsgraph, compare)
        return found


# -- The collection ----------------------------------------------------------------------------------------------------------


_players = {}
figures = {}
"""What the panel shows, by collection: the error of the frame that is seen, (rms, largest), in scene units."""


def collection_of(armature):
    return next((c for c in bpy.data.collections if c.get("pelt_armature") == armature and "pelt_skin" in c), None)


def player_of(collection):
    """The player of a collection; kept while its skin is the same."""
    kept = _players.get(collection.name)
    if kept is None or kept[0] != collection["pelt_stamp"]:
        subject = Subject.from_dict(json.loads(collection["pelt_subject"]))
        kept = (collection["pelt_stamp"], Player(subject, pelt().Skin.from_bytes(bytes(collection["pelt_skin"]))))
        _players[collection.name] = kept
    return kept[1]


def show(context, subject, skin, offset=(0.0, 0.0, 0.0), colors=True, scale=0.01):
    """Makes the copies, `offset` away from the originals; replaces those of an earlier fit."""
    Player(subject, skin)  # refuses before anything is made
    remove(subject.armature)
    collection = bpy.data.collections.new(f"pelt {subject.armature}")
    context.scene.collection.children.link(collection)
    collection["pelt_armature"] = subject.armature
    collection["pelt_subject"] = json.dumps(subject.to_dict())
    collection["pelt_skin"] = skin.to_bytes()
    show.count += 1
    collection["pelt_stamp"] = f"{show.count} {id(skin)}"
    collection["pelt_colors"], collection["pelt_scale"], collection["pelt_diagonal"] = bool(colors), float(scale), _diagonal(skin)
    try:
        _fill(collection, subject, context.evaluated_depsgraph_get(), offset, colors)
    except Exception:
        remove(subject.armature)
        raise
    return collection


def _fill(collection, subject, depsgraph, offset, colors):
    for number, part in enumerate(subject.parts):
        mesh = mesh_of(part, depsgraph, "pelt")
        copy = bpy.data.objects.new(mesh.name, mesh)
        copy["pelt"] = number
        copy.location = offset
        collection.objects.link(copy)
        if colors:
            mesh.materials.clear()
            mesh.materials.append(_material())
            if ERROR not in mesh.attributes:
                mesh.attributes.new(ERROR, "FLOAT_COLOR", "POINT")
            mesh.color_attributes.active_color = mesh.color_attributes[ERROR]
    update(collection, depsgraph)


show.count = 0


def mesh_of(part, depsgraph, what):
    """A mesh of its own, with the vertices of a part as they are now, named after it and what it is for."""
    shown = object_named(part.instance[0] if part.instance else part.object)
    mesh = bpy.data.meshes.new_from_object(shown.evaluated_get(depsgraph), preserve_all_data_layers=True, depsgraph=depsgraph)
    mesh.name = f"{part.name} {what}"
    if len(mesh.vertices) != part.count:
        found = len(mesh.vertices)
        bpy.data.meshes.remove(mesh)
        raise Problem(f"'{part.name}' has {found} vertices, but the skin was fitted to {part.count}: fit again.")
    return mesh


def remove(armature):
    collection = collection_of(armature)
    if collection is None:
        return False
    for thing in list(collection.objects):
        mesh = thing.data
        bpy.data.objects.remove(thing)
        if mesh and mesh.users == 0:
            bpy.data.meshes.remove(mesh)
    figures.pop(collection.name, None)
    _players.pop(collection.name, None)
    bpy.data.collections.remove(collection)
    return True


def _diagonal(skin):
    rest = skin.evaluate(skin.rest_pose)
    return float(np.linalg.norm(rest.max(axis=0) - rest.min(axis=0)))


def update(collection, depsgraph):
    """The skin in the pose that Blender has now."""
    player = player_of(collection)
    positions = player.evaluate(depsgraph)
    errors = dict((id(part), error) for part, error in player.errors(depsgraph, positions)) if collection["pelt_colors"] else {}
    for copy in collection.objects:
        if "pelt" not in copy or copy.type != "MESH":
            continue
        part = player.subject.parts[copy["pelt"]]
        set_vertices(copy.data, player.points(part, positions))
        if errors:
            _paint(copy.data, errors[id(part)], collection["pelt_scale"] * collection["pelt_diagonal"])
    if errors:
        every = np.concatenate(list(errors.values()))
        figures[collection.name] = (float(np.sqrt((every**2).mean())), float(every.max()))


def _paint(mesh, errors, most):
    """The error of each vertex as a colour: the last one is `most` and above."""
    layer = mesh.attributes.get(ERROR)
    if layer is None:
        return
    ramp = np.array([[(color >> shift & 255) / 255 for shift in (16, 8, 0)] for color in HEAT])
    ramp = np.where(ramp <= 0.04045, ramp / 12.92, ((ramp + 0.055) / 1.055) ** 2.4)  # Blender's colours are linear
    at = np.clip(errors / max(most, 1e-30), 0, 1) * (len(ramp) - 1)
    colors = np.ones((len(errors), 4), np.float32)
    for channel in range(3):
        colors[:, channel] = np.interp(at, np.arange(len(ramp)), ramp[:, channel])
    layer.data.foreach_set("color", colors.ravel())


def _material():
    found = bpy.data.materials.get(ERROR)
    if found is None:
        found = bpy.data.materials.new(ERROR)
        found.use_nodes = True
        nodes, links = found.node_tree.nodes, found.node_tree.links
        color = nodes.new("ShaderNodeAttribute")
        color.attribute_name = ERROR
        surface = next(node for node in nodes if node.type == "BSDF_PRINCIPLED")
        links.new(color.outputs["Color"], surface.inputs["Base Color"])
    return found


# -- On every change -----------------------------------------------------------------------------------------------------------


is_paused = False
"""While examples are collected nobody looks."""


def _update_all(depsgraph, moved_only):
    if is_paused:
        return
    for collection in [c for c in bpy.data.collections if "pelt_skin" in c]:
        armature = bpy.data.objects.get(collection["pelt_armature"])
        if moved_only and not any(change.id.original == armature for change in depsgraph.updates):
            continue
        try:
            update(collection, depsgraph)
        except (Problem, pelt().Error) as problem:
            print(f"pelt: {problem}")


@persistent
def on_frame(scene, depsgraph=None):
    _update_all(depsgraph or bpy.context.evaluated_depsgraph_get(), False)


@persistent
def on_change(scene, depsgraph=None):
    if depsgraph is not None:
        _update_all(depsgraph, True)


@persistent
def on_load(*_):
    _players.clear()
    figures.clear()


def register():
    bpy.app.handlers.frame_change_post.append(on_frame)
    bpy.app.handlers.depsgraph_update_post.append(on_change)
    bpy.app.handlers.load_post.append(on_load)


def unregister():
    for handlers, function in (
        (bpy.app.handlers.frame_change_post, on_frame),
        (bpy.app.handlers.depsgraph_update_post, on_change),
        (bpy.app.handlers.load_post, on_load),
    ):
        if function in handlers:
            handlers.remove(function)
