"""The weights that Blender's Armature modifier uses, as pelt wants them."""

import numpy as np

from .arrays import moved
from .library import Problem
from .subject import modifier_of

LEAST = 1e-4  # Blender leaves vertices alone whose weights are less in all


def weights_of(subject, part, thing, mesh, to_armature):
    """[vertices, n] joints and weights of a part. Weights sum to 1: what follows no bone follows the armature object."""
    count = len(mesh.vertices)
    place = {name: i + 1 for i, name in enumerate(subject.bones)}
    if not part.skinned:
        return np.full((count, 1), place.get(part.bone, 0), np.uint32), np.ones((count, 1), np.float32)
    modifier = modifier_of(thing, subject.rig)
    by_groups = modifier is None or modifier.use_vertex_groups
    by_envelopes = modifier is not None and modifier.use_bone_envelopes
    rows = _by_groups(subject, thing, mesh, place) if by_groups else [[] for _ in range(count)]
    if by_envelopes:
        _by_envelopes(subject, mesh, to_armature, place, rows)
    if not any(rows):
        raise Problem(f"No vertex group of '{thing.name}' has the name of a bone that deforms: parent it with automatic weights (Ctrl P).")
    share = _share(thing, mesh, modifier)
    return _columns(rows, share)


def _by_groups(subject, thing, mesh, place):
    bones = subject.rig.data.bones
    joint = {}
    for group in thing.vertex_groups:
        bone = bones.get(group.name)
        if bone is not None and bone.use_deform:
            joint[group.index] = place[group.name]
    return [[(joint[g.group], g.weight) for g in v.groups if g.group in joint and g.weight > 0] for v in mesh.vertices]


def _by_envelopes(subject, mesh, to_armature, place, rows):
    bones = [bone for bone in subject.rig.data.bones if bone.use_deform]
    for vertex, row in zip(mesh.vertices, rows):
        if not row:
            at = moved(np.array(vertex.co), to_armature)
            near = ((place[bone.name], bone.evaluate_envelope(at) * bone.envelope_weight) for bone in bones)
            row.extend(pair for pair in near if pair[1] > 0)


def _share(thing, mesh, modifier):
    """How much of each vertex the modifier moves at all: its own vertex group says."""
    if modifier is None or not modifier.vertex_group or modifier.vertex_group not in thing.vertex_groups:
        return None
    index = thing.vertex_groups[modifier.vertex_group].index
    share = np.array([next((g.weight for g in v.groups if g.group == index), 0.0) for v in mesh.vertices])
    return 1 - share if modifier.invert_vertex_group else share


def _columns(rows, share):
    most = max(len(row) for row in rows) + 1
    joints, weights = np.zeros((len(rows), most), np.uint32), np.zeros((len(rows), most), np.float64)
    for v, row in enumerate(rows):
        for i, (joint, weight) in enumerate(row):
            joints[v, i], weights[v, i] = joint, weight
    total = weights.sum(axis=1)
    moves = total > LEAST
    weights = np.where(moves[:, None], weights / np.where(moves, total, 1)[:, None], 0)
    if share is not None:
        weights *= share[:, None]
    weights[:, -1] = 1 - weights.sum(axis=1)  # joint 0 is the armature object
    weights[np.abs(weights) < 1e-7] = 0
    used = (weights != 0).any(axis=0)
    used[0] = True
    return joints[:, used], weights[:, used].astype(np.float32)
