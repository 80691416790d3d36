"""Driven joints as bones, in a copy of the armature whose other bones follow the original. With R the rotation of the driver relative
to its parent (docs/format.md):

    turn f     R^f                 Copy Transforms of the driver with influence f
    twist f    (twist of R)^f      a driver that reads the twist about the bone
    bend f     (R twist^-1)^f      a bone that turns the twist back, and Copy Transforms of it
    bulge k    scale s/s0          a driver, s = 1 + k/2 (cos(b1, R b2) + 1); a dent s0/s"""

import bpy
import numpy as np
from mathutils import Matrix, Vector

from .library import Problem


def add_driven_bones(context, rig, bones, driven, to_armature, collection):
    """A copy of the armature with the driven joints. Returns it and the names of their bones. `bones` are the names of all joints,
    of which the first is the armature object; vectors of driven joints come into the armature's space by `to_armature`."""
    for each in driven:
        if each.kind in ("turn", "twist", "bend") and not 0 <= each.amount <= 1:
            raise Problem(f"The driven joint '{each.name}' turns by {each.amount:g} times its driver: Blender's constraints go from 0 to 1.")
        if each.driver == 0:
            raise Problem(f"The driven joint '{each.name}' follows the armature object, which no bone can: fit again.")
    copy = _copy(context, rig, collection)
    maker = _Maker(copy, bones, to_armature)
    with _editing(context, copy):
        plans = [maker.add(each) for each in driven]
    for plan in plans:
        plan()
    return copy, [plan.name for plan in plans]


def _copy(context, rig, collection):
    copy = rig.copy()
    copy.data = rig.data.copy()
    copy.name = f"{rig.name} pelt"
    copy.animation_data_clear()
    copy.data.animation_data_clear()
    collection.objects.link(copy)
    copy.constraints.clear()
    copy.parent, copy.matrix_parent_inverse, copy.matrix_basis = rig, Matrix(), Matrix()
    for bone in copy.pose.bones:
        for each in list(bone.constraints):
            bone.constraints.remove(each)
        _follow(bone, "COPY_TRANSFORMS", rig, bone.name)
    return copy


class _editing:
    """Edit Mode of one object, and then back to what was selected."""

    def __init__(self, context, thing):
        self.context, self.thing = context, thing

    def __enter__(self):
        view = self.context.view_layer
        self.active = view.objects.active
        if self.active and self.active.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        view.objects.active = self.thing
        bpy.ops.object.mode_set(mode="EDIT")

    def __exit__(self, *_):
        bpy.ops.object.mode_set(mode="OBJECT")
        self.context.view_layer.objects.active = self.active


def _follow(bone, kind, target, subtarget, influence=1.0):
    constraint = bone.constraints.new(kind)
    constraint.target, constraint.subtarget, constraint.influence = target, subtarget, influence


class _Plan:
    """What is left to do for a bone in Object Mode."""

    def __init__(self, name, work):
        self.name, self.work = name, work

    def __call__(self):
        for each in self.work:
            each()


class _Maker:
    def __init__(self, copy, bones, to_armature):
        self.copy, self.bones, self.to_armature = copy, bones, to_armature
        self.helpers = {}

    def add(self, joint):
        """Adds bones for a driven joint in Edit Mode."""
        if joint.kind in ("bulge", "dent"):
            return self._scale(joint)
        if joint.kind == "turn":
            bone = self._bone(joint.name, joint.parent, self._matrix(joint.driver))
            name, driver = bone.name, self.bones[joint.driver]
            return _Plan(name, [
                lambda: _follow(self._pose(name), "COPY_TRANSFORMS", self.copy, driver, joint.amount),
                lambda: _follow(self._pose(name), "COPY_LOCATION", self.copy, driver),
            ])  # fmt: skip
        return self._about_axis(joint)

    def _pose(self, name):
        return self.copy.pose.bones[name]

    def _edit(self, joint):
        return self.copy.data.edit_bones[self.bones[joint]] if joint > 0 else None  # 0 is the armature object

    def _matrix(self, joint):
        return self._edit(joint).matrix.copy() if joint > 0 else Matrix()

    def _bone(self, name, parent, place, deform=True):
        bone = self.copy.data.edit_bones.new(name)
        bone.head, bone.tail = (0, 0, 0), (0, 0.05 * max(self.copy.dimensions.length, 1e-3), 0)
        bone.matrix = place
        bone.use_deform, bone.use_connect = deform, False
        bone.parent = parent if not isinstance(parent, int) else self._edit(parent)
        return bone

    def _point(self, point):
        return self.to_armature[:3, :3] @ point + self.to_armature[:3, 3]

    def _direction(self, vector):
        turned = self.to_armature[:3, :3] @ vector
        return turned / max(np.linalg.norm(turned), 1e-30)

    def _along(self, origin, axis):
        """A place for a bone whose y is the axis."""
        place = Vector((0, 1, 0)).rotation_difference(Vector(self._direction(axis))).to_matrix().to_4x4()
        place.translation = self._point(origin)
        return place

    def _relative(self, joint, place):
        """The driver's motion relative to its parent, as the motion of a helper bone that is at `place` at rest."""
        key = (joint.parent, joint.driver, tuple(round(value, 6) for row in place for value in row))
        if key not in self.helpers:
            carried = self._bone(f"{joint.name} carried", joint.driver, place, deform=False).name
            name = self._bone(f"{joint.name} relative", joint.parent, place, deform=False).name
            self.helpers[key] = (name, lambda: _follow(self._pose(name), "COPY_TRANSFORMS", self.copy, carried))
            return self.helpers[key]
        return self.helpers[key][0], lambda: None

    def _about_axis(self, joint):
        place = self._along(joint.origin, joint.axis)
        relative, prepare = self._relative(joint, place)
        name = self._bone(joint.name, joint.parent, place).name
        work = [prepare]
        if joint.kind == "twist":
            work.append(lambda: self._turn_y(name, relative, joint.amount))
        else:
            back = self._bone(f"{joint.name} back", self.copy.data.edit_bones[relative], place, deform=False).name
            work.append(lambda: self._turn_y(back, relative, -1.0))
            work.append(lambda: _follow(self._pose(name), "COPY_TRANSFORMS", self.copy, back, joint.amount))
        work.append(lambda: _follow(self._pose(name), "COPY_LOCATION", self.copy, relative))
        return _Plan(name, work)

    def _turn_y(self, name, source, factor):
        self._pose(name).rotation_mode = "YXZ"
        curve = self._pose(name).driver_add("rotation_euler", 1)
        self._variable(curve, "a", source, "ROT_Y", "SWING_TWIST_Y")
        curve.driver.expression = f"{factor:.6g}*a"

    def _variable(self, curve, name, source, channel, mode):
        variable = curve.driver.variables.new()
        variable.name, variable.type = name, "TRANSFORMS"
        target = variable.targets[0]
        target.id, target.bone_target = self.copy, source
        target.transform_type, target.rotation_mode, target.transform_space = channel, mode, "LOCAL_SPACE"

    def _scale(self, joint):
        place = self._matrix(joint.driver)
        relative, prepare = self._relative(joint, place)
        name = self._bone(joint.name, joint.host, self._along(joint.origin, joint.axis)).name
        turn = np.array(place.to_3x3())
        upstream, downstream = (turn.T @ self._direction(each) for each in (joint.upstream, joint.downstream))
        return _Plan(name, [prepare, lambda: self._scale_y(name, relative, joint, upstream, downstream)])

    def _scale_y(self, name, source, joint, u, d):
        """u . R d = (2 w^2 - 1) u.d + 2 (v.u)(v.d) + 2 w v.(d x u), with R the rotation of the quaternion (w, v)."""
        curve = self._pose(name).driver_add("scale", 1)
        for letter, channel in zip("wxyz", ("ROT_W", "ROT_X", "ROT_Y", "ROT_Z")):
            self._variable(curve, letter, source, channel, "QUATERNION")
        half, dot, cross = joint.amount / 2, float(u @ d), np.cross(d, u)
        scale = 1 / (1 + half * (dot + 1))
        b = half * scale
        terms = {"": scale * (1 + half) - b * dot, "*w*w": 2 * b * dot}
        for i, first in enumerate("xyz"):
            terms[f"*w*{first}"] = 2 * b * cross[i]
            terms[f"*{first}*{first}"] = 2 * b * u[i] * d[i]
        for i, j in ((0, 1), (0, 2), (1, 2)):
            terms[f"*{'xyz'[i]}*{'xyz'[j]}"] = 2 * b * (u[i] * d[j] + u[j] * d[i])
        text = "".join(f"{value:+.6g}{what}" for what, value in terms.items() if abs(value) > 1e-7 or not what)
        curve.driver.expression = text if joint.kind == "bulge" else f"1/({text})"
