"""What differs between the versions of Blender, from 3.4 on, in one place."""

import numpy as np


def corner_normals(mesh):
    """[corners, 3] as the mesh is shaded: hard edges, flat faces and custom normals included."""
    flat = np.empty(3 * len(mesh.loops), np.float32)
    if hasattr(mesh, "corner_normals"):  # 4.1
        mesh.corner_normals.foreach_get("vector", flat)
    else:
        mesh.calc_normals_split()
        mesh.loops.foreach_get("normal", flat)
        mesh.free_normals_split()
    return flat.reshape(-1, 3)


def curves(action, owner=None):
    """The F-curves of an action; since 4.4 they are in the slots of layers, of which an object plays one."""
    if not getattr(action, "is_action_layered", False):
        return list(action.fcurves)
    slot = getattr(owner.animation_data, "action_slot", None) if owner and owner.animation_data else None
    found = []
    for layer in action.layers:
        for strip in layer.strips:
            for bag in strip.channelbags:
                if slot is None or bag.slot == slot:
                    found.extend(bag.fcurves)
    return found


def assign(owner, action):
    """Makes an object play an action."""
    if not owner.animation_data:
        owner.animation_data_create()
    data = owner.animation_data
    data.action = action
    if action and getattr(data, "action_slot", None) is None:  # 4.4 chooses none where several would do
        suitable = getattr(data, "action_suitable_slots", None)
        if suitable:
            data.action_slot = suitable[0]


def active_uvs(mesh):
    """[corners, 2] of the texture coordinates that are rendered; None: there are none."""
    layer = next((each for each in mesh.uv_layers if each.active_render), None) or mesh.uv_layers.active
    if layer is None or not len(layer.data):
        return None
    flat = np.empty(2 * len(mesh.loops), np.float32)
    layer.data.foreach_get("uv", flat)
    return flat.reshape(-1, 2)


