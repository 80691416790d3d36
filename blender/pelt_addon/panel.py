"""The panel in the sidebar of the 3D view."""

import bpy

from . import operators, preview
from .fitting import sessions
from .library import missing


class Panel:
    bl_space_type, bl_region_type, bl_category = "VIEW_3D", "UI", "pelt"


class PELT_UL_worst(bpy.types.UIList):
    def draw_item(self, context, layout, data, item, icon, active, active_property, index=0, flag=0):
        row = layout.split(factor=0.65)
        row.label(text=f"{item.frame}  {item.clip}")
        row.label(text=f"{item.rms:.2g}")


class PELT_PT_fit(Panel, bpy.types.Panel):
    bl_label = "Skin from Examples"

    def draw(self, context):
        layout, settings = self.layout, context.scene.pelt
        layout.use_property_split, layout.use_property_decorate = True, False
        problem = missing()
        if problem:
            wrapped(layout, problem, context.region.width, "ERROR")
            return
        column = layout.column()
        column.prop(settings, "source")
        if settings.source == "ACTIONS":
            column.prop(settings, "actions")
        else:
            row = column.row(align=True)
            row.prop(context.scene, "frame_start", text="Range")
            row.prop(context.scene, "frame_end", text="")
        column.prop(settings, "step")
        column.prop(settings, "bones")
        column = layout.column()
        column.prop(settings, "method")
        column.prop(settings, "holdout")
        column.prop(settings, "options")
        if operators.current is not None:
            row = layout.row(align=True)
            row.prop(settings, "progress", text=settings.task or "starting", slider=True)
            row.operator("pelt.cancel", text="", icon="X")
        else:
            row = layout.row()
            row.scale_y = 1.4
            row.operator_context = "INVOKE_DEFAULT"
            row.operator("pelt.fit", icon="MOD_ARMATURE")
        for line in settings.message.splitlines():
            wrapped(layout, line, context.region.width, "NONE")


class PELT_PT_preview(Panel, bpy.types.Panel):
    bl_label, bl_parent_id = "Preview", "PELT_PT_fit"

    def draw(self, context):
        layout, settings = self.layout, context.scene.pelt
        layout.use_property_split, layout.use_property_decorate = True, False
        layout.prop(settings, "offset")
        layout.prop(settings, "colors")
        row = layout.row()
        row.enabled = settings.colors
        row.prop(settings, "scale")
        row = layout.row(align=True)
        row.operator("pelt.preview", icon="PLAY")
        row.operator("pelt.preview_remove", text="", icon="X")
        rig = operators.selected_armature(context)
        collection = preview.collection_of(rig.name) if rig else None
        if collection and collection.name in preview.figures:
            rms, largest = preview.figures[collection.name]
            diagonal = collection["pelt_diagonal"]
            layout.label(text=f"Now: {100 * rms / diagonal:.3f}%, max {100 * largest / diagonal:.3f}%")
        if len(settings.worst):
            layout.label(text="Worst frames and their rms:")
            layout.template_list("PELT_UL_worst", "", settings, "worst", settings, "worst_index", rows=4)


class PELT_PT_back(Panel, bpy.types.Panel):
    bl_label, bl_parent_id = "Result", "PELT_PT_fit"

    def draw(self, context):
        layout, settings = self.layout, context.scene.pelt
        layout.use_property_split, layout.use_property_decorate = True, False
        layout.enabled = bool(sessions) or any("pelt_skin" in c for c in bpy.data.collections)
        column = layout.column(align=True)
        column.operator("pelt.make_rig", icon="ARMATURE_DATA")
        column.prop(settings, "keys")
        column.separator()
        column.operator("pelt.bake_keys", icon="SHAPEKEY_DATA")
        column = layout.column(align=True)
        column.operator("pelt.point_cache", icon="FILE_CACHE")
        column.operator("pelt.save_skin", icon="FILE_TICK")
        column.operator("pelt.export_gltf", icon="EXPORT")
        column.operator("pelt.save_examples", icon="FILE_NEW")


def wrapped(layout, text, width, icon):
    """A label of several lines: Blender's own have one."""
    most, line, column = max(width // 8, 24), "", layout.column(align=True)
    lines = []
    for word in text.split():
        if line and len(line) + len(word) >= most:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    for number, each in enumerate([*lines, line]):
        column.label(text=each, icon=icon if number == 0 else "NONE" if icon == "NONE" else "BLANK1")


CLASSES = [PELT_UL_worst, PELT_PT_fit, PELT_PT_preview, PELT_PT_back]


def register():
    for each in CLASSES:
        bpy.utils.register_class(each)


def unregister():
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
