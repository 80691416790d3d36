"""The zip installs by Blender's own dialog, and the add-on goes on and off."""

import os
import sys

import bpy

sys.path.insert(0, os.path.dirname(__file__))
from support import FOLDER, AddonTest, run  # noqa: E402


class Install(AddonTest):
    def test_the_zip_installs_and_brings_its_library(self):
        bpy.ops.preferences.addon_install(filepath=os.path.join(FOLDER, "pelt_addon.zip"))
        bpy.ops.preferences.addon_enable(module="pelt_addon")
        import pelt_addon.library

        self.assertEqual(pelt_addon.library.missing(), "")
        self.assertTrue(pelt_addon.library.pelt().__file__.startswith(os.path.join(FOLDER, "scripts")))
        self.assertTrue(hasattr(bpy.types, "PELT_OT_fit") and hasattr(bpy.types, "PELT_PT_fit"))
        bpy.ops.preferences.addon_disable(module="pelt_addon")
        self.assertFalse(hasattr(bpy.types, "PELT_OT_fit") or hasattr(bpy.types.Scene, "pelt"))
        handlers = [f.__name__ for f in bpy.app.handlers.frame_change_post + bpy.app.handlers.depsgraph_update_post]
        self.assertNotIn("on_frame", handlers)
        self.assertNotIn("on_change", handlers)


run(__name__)
