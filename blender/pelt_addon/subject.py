"""What is fitted: an armature, the objects that it moves, and the bones that count. Objects are kept by name, because Blender's
own references do not survive an undo, and so that a subject can be stored in the .blend."""

from dataclasses import asdict, dataclass, field

import bpy
import numpy as np

from .arrays import joint_matrices, matrix
from .library import Problem

PHYSICS = {"CLOTH", "SOFT_BODY", "DYNAMIC_PAINT", "FLUID", "EXPLODE", "PARTICLE_SYSTEM"}


@dataclass
class Part:
    """Vertices of one object, or of one instance: `count` from `first` on among those of the character, in the object's own
    order; as many as `whole` with those that seams and hard edges add after them."""

    name: str
    object: str
    bone: str = ""  # that a rigid part follows; "": the armature object
    skinned: bool = True
    instance: list = field(default_factory=list)  # the object that is shown, and which of its instances; []: none
    first: int = 0
    count: int = 0
    whole: int = 0


@dataclass
class Subject:
    armature: str
    bones: list
    parts: list
    controls: list  # [object, shape key] of keys that are animated by themselves, not driven by the pose

    @property
    def rig(self):
        return object_named(self.armature)

    @property
    def joint_names(self):
        root = self.armature
        while root in self.bones:
            root += "_object"
        return [root, *self.bones]

    @property
    def control_names(self):
        keys = [key for _, key in self.controls]
        return [key if keys.count(key) == 1 else f"{name}:{key}" for name, key in self.controls]

    @property
    def parents(self):
        place = {name: i + 1 for i, name in enumerate(self.bones)}
        found = [-1]
        for name in self.bones:
            bone = self.rig.data.bones[name].parent
            while bone is not None and bone.name not in place:
                bone = bone.parent
            found.append(place[bone.name] if bone else 0)
        return found

    def pose(self, depsgraph):
        """[joints, 4, 4] in the scene, as pelt has it."""
        rig = self.rig.evaluated_get(depsgraph)
        bones = rig.pose.bones
        try:
            posed = np.array([bones[name].matrix for name in self.bones], np.float64).reshape(-1, 4, 4)
        except KeyError:
            gone = next(name for name in self.bones if name not in bones)
            raise Problem(f"The bone '{gone}' is no longer in '{self.armature}': fit again.") from None
        return joint_matrices(matrix(rig.matrix_world), posed)

    def control_values(self, depsgraph):
        found = []
        for name, key in self.controls:
            keys = object_named(name).data.shape_keys
            block = keys.evaluated_get(depsgraph).key_blocks.get(key) if keys else None
            if block is None:
                raise Problem(f"The shape key '{key}' is no longer in '{name}': fit again.")
            found.append(block.value)
        return found

    def visit(self, depsgraph, use, parts=None):
        """Calls use(part, mesh, matrix in the scene) for the parts as they are evaluated."""
        wanted = {}
        for part in self.parts if parts is None else parts:
            if part.instance:
                wanted[(part.object, part.instance[0], tuple(part.instance[1]))] = part
                continue
            found = object_named(part.object).evaluated_get(depsgraph)
            mesh = found.to_mesh(preserve_all_data_layers=True, depsgraph=depsgraph)
            if mesh is None:
                raise Problem(f"'{part.object}' has no mesh in frame {bpy.context.scene.frame_current}: switch off what removes it.")
            use(part, mesh, matrix(found.matrix_world))
            found.to_mesh_clear()
        if wanted:
            for key, shown, place in _instances(depsgraph):
                part = wanted.pop(key, None)
                if part:
                    use(part, shown.to_mesh(), place)
                    shown.to_mesh_clear()
            for part in wanted.values():
                raise Problem(
                    f"The instance '{part.name}' is not there in frame {bpy.context.scene.frame_current}: the number of instances must not "
                    f"change, so realise them, or leave '{part.object}' out."
                )

    def to_dict(self):
        return asdict(self)

    @staticmethod
    def from_dict(given):
        return Subject(given["armature"], given["bones"], [Part(**part) for part in given["parts"]], given["controls"])


def object_named(name):
    found = bpy.data.objects.get(name)
    if found is None:
        raise Problem(f"The object '{name}' is no longer there: it was renamed or deleted, so fit again.")
    return found


def _instances(depsgraph):
    for each in depsgraph.object_instances:
        if each.is_instance and each.object.type == "MESH" and each.parent:
            key = (each.parent.original.name, each.object.original.name, tuple(each.persistent_id))
            yield key, each.object, matrix(each.matrix_world)


# -- From what is selected -------------------------------------------------------------------------------------------------


def armature_of(thing):
    """The armature that moves an object: that of its first Armature modifier, else one above it."""
    for modifier in thing.modifiers:
        if modifier.type == "ARMATURE" and modifier.object:
            return modifier.object
    above = thing.parent
    while above is not None and above.type != "ARMATURE":
        above = above.parent
    return above


def subject_of(objects, bones="DEFORM"):
    """The subject that these objects make. An armature alone stands for everything visible that it moves."""
    chosen = [thing for thing in objects if thing.type == "MESH" or _is_instancer(thing)]
    rigs = [thing for thing in objects if thing.type == "ARMATURE"]
    if not chosen and not rigs:
        raise Problem("Nothing to fit is selected: select a mesh that an armature moves, or the armature.")
    for thing in chosen:
        above = armature_of(thing)
        if above is None:
            raise Problem(f"'{thing.name}' has no armature: parent it to one (Ctrl P, With Automatic Weights), or deselect it.")
        if above not in rigs:
            rigs.append(above)
    if len(rigs) > 1:
        raise Problem(f"'{rigs[0].name}' and '{rigs[1].name}' both move what is selected: select the objects of one armature.")
    rig = rigs[0]
    _check_rig(rig)
    if not chosen:
        chosen = [o for o in bpy.context.view_layer.objects if _is_moved(o, rig) and o.visible_get() and "pelt" not in o]
    if not chosen:
        raise Problem(f"'{rig.name}' moves no visible mesh: parent one to it (Ctrl P), or show it.")
    for thing in chosen:
        _check_object(thing)
    parts = [part for thing in chosen for part in _parts_of(thing, rig)]
    names = _bones_of(rig, parts, chosen, bones)
    return Subject(rig.name, names, parts, [pair for thing in chosen for pair in _animated_keys(thing)])


def _is_instancer(thing):
    return thing.type == "EMPTY" and thing.instance_type == "COLLECTION" and thing.instance_collection is not None


def _is_moved(thing, rig):
    return (thing.type == "MESH" or _is_instancer(thing)) and armature_of(thing) == rig


def _check_rig(rig):
    if rig.library or rig.data.library:
        path = bpy.path.basename((rig.library or rig.data.library).filepath)
        raise Problem(f"'{rig.name}' is linked from {path}: make a library override (Object, Library Override, Make), or open that file.")
    if rig.data.pose_position == "REST":
        raise Problem(f"'{rig.name}' is set to Rest Position and does not move: choose Pose Position in its data properties.")
    scale = [abs(value) for value in rig.matrix_world.to_scale()]
    if min(scale) < 1e-6 * max(scale) or max(scale) == 0:
        raise Problem(f"'{rig.name}' is scaled to nothing: give it a scale other than 0.")
    if rig.matrix_world.is_negative:
        raise Problem(f"'{rig.name}' has a negative scale, which turns it inside out: apply it (Ctrl A, Scale).")
    if rig.mode == "EDIT":
        raise Problem(f"'{rig.name}' is in Edit Mode: leave it (Tab).")


def _check_object(thing):
    if thing.library or (thing.data and thing.data.library):
        path = bpy.path.basename((thing.library or thing.data.library).filepath)
        raise Problem(f"'{thing.name}' is linked from {path}: make a library override (Object, Library Override, Make), or open that file.")
    if not thing.visible_get():
        raise Problem(f"'{thing.name}' is hidden, so Blender does not evaluate it: show it (Alt H, and the screen in the outliner).")
    if thing.mode == "EDIT":
        raise Problem(f"'{thing.name}' is in Edit Mode: leave it (Tab).")
    if thing.type == "MESH" and not thing.data.polygons:
        raise Problem(f"'{thing.name}' has no faces: a skin needs a surface.")


def hidden_modifiers(objects):
    """Sentences about modifiers that are not in the examples, because they are switched off in the viewport."""
    return [
        f"The modifier '{each.name}' of '{thing.name}' is off in the viewport, so its effect is not in the examples: switch it on, or remove it."
        for thing in objects
        for each in thing.modifiers
        if not each.show_viewport
    ]


def _host_of(thing, rig):
    """The bone that an object without Armature modifier follows; "": the armature object itself."""
    while thing.parent is not None and thing.parent != rig:
        thing = thing.parent
    return thing.parent_bone if thing.parent == rig and thing.parent_type == "BONE" else ""


def modifier_of(thing, rig):
    return next((each for each in thing.modifiers if each.type == "ARMATURE" and each.object == rig), None)


def _parts_of(thing, rig):
    skinned = modifier_of(thing, rig) is not None or thing.parent_type == "ARMATURE"
    bone = "" if skinned else _host_of(thing, rig)
    found = [] if thing.type != "MESH" else [Part(thing.name, thing.name, bone, skinned)]
    for (owner, shown, number), _, _ in _instances(bpy.context.evaluated_depsgraph_get()):
        if owner == thing.name:
            found.append(Part(f"{owner}.{shown}.{len(found)}", owner, bone, False, [shown, list(number)]))
    return found


def _bones_of(rig, parts, objects, choice):
    """Names, parents first: the bones that deform, carry objects or are asked by drivers, and those above them; or all."""
    wanted = {bone.name for bone in rig.data.bones if bone.use_deform or choice == "ALL"}
    wanted |= {part.bone for part in parts if part.bone} | {name for o in objects for name in _driving_bones(o, rig)}
    found = []

    def walk(bone):
        mine = [bone.name]
        below = [name for child in bone.children for name in walk(child)]
        return mine + below if below or bone.name in wanted else []

    for bone in rig.data.bones:
        if bone.parent is None:
            found.extend(walk(bone))
    return found


def _driving_bones(thing, rig):
    owners = [thing, thing.data, getattr(thing.data, "shape_keys", None)]
    for data in (owner.animation_data for owner in owners if owner and owner.animation_data):
        for curve in data.drivers:
            for variable in curve.driver.variables:
                for target in variable.targets:
                    if target.id == rig and target.bone_target:
                        yield target.bone_target
                    elif target.id == rig and target.data_path.startswith('pose.bones["'):
                        yield target.data_path.split('"')[1]


def _animated_keys(thing):
    keys = getattr(thing.data, "shape_keys", None)
    if not keys or not keys.animation_data:
        return []
    from .versions import curves

    data = keys.animation_data
    actions = [data.action] + [strip.action for track in data.nla_tracks for strip in track.strips]
    paths = {curve.data_path for action in actions if action for curve in curves(action)}
    paths -= {curve.data_path for curve in data.drivers}
    return [[thing.name, block.name] for block in keys.key_blocks[1:] if f'key_blocks["{block.name}"].value' in paths and not block.mute]
