"""pelt for Blender: skins from examples, fitted to what Blender's own modifiers, shape keys, drivers and physics do."""

bl_info = {
    "name": "pelt: skins from examples",
    "author": "pelt",
    "version": (0, 2, 0),
    "blender": (3, 4, 0),
    "location": "3D View, sidebar (N), pelt",
    "description": "Fits a small real-time skin to what modifiers, shape keys, drivers and physics do to a character",
    "category": "Rigging",
}


def register():
    from . import operators, panel, preview, settings

    settings.register()
    operators.register()
    panel.register()
    preview.register()


def unregister():
    from . import operators, panel, preview, settings

    preview.unregister()
    panel.unregister()
    operators.unregister()
    settings.unregister()
