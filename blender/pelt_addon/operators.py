"""Operators: what the panel does, for scripts too. All of them report a problem as one sentence and cancel."""

import bpy

from . import preview
from .bake import bake_keys, write_caches
from .examples import frames_of_actions, frames_of_scene
from .fitting import Job, sessions
from .gltf import export_gltf
from .library import Problem, pelt
from .native_rig import has_negative_weights, make_rig
from .settings import BONES, METHODS, SOURCES
from .subject import armature_of, subject_of

current = None
"""The fit that is running in the background."""


def requests_of(context, rig):
    """The frames that the settings ask for."""
    settings = context.scene.pelt
    if settings.source == "ACTIONS":
        names = [name.strip() for name in settings.actions.split(",") if name.strip()]
        return frames_of_actions(rig, names, settings.step)
    return [frames_of_scene(context.scene, step=settings.step)]


def selected_armature(context):
    """The armature of what is selected, of the active object, or the only one that was fitted; None."""
    for thing in [*context.selected_objects, context.active_object]:
        if thing is None:
            continue
        if thing.type == "ARMATURE":
            return thing
        for collection in thing.users_collection:
            if "pelt_armature" in collection:
                return bpy.data.objects.get(collection["pelt_armature"])
        found = armature_of(thing)
        if found:
            return found
    shown = [c["pelt_armature"] for c in bpy.data.collections if "pelt_armature" in c]
    names = list(dict.fromkeys([*sessions, *shown]))
    return bpy.data.objects.get(names[0]) if len(names) == 1 else None


def player_for(context):
    """The skin of the selected armature: of the fit in this session, else that of the preview in the file."""
    rig = selected_armature(context)
    if rig is None:
        raise Problem("No armature is selected: select the character that was fitted.")
    if rig.name in sessions:
        return preview.Player(sessions[rig.name].examples.subject, sessions[rig.name].skin)
    collection = preview.collection_of(rig.name)
    if collection is None:
        raise Problem(f"'{rig.name}' has no skin yet: fit one first.")
    return preview.player_of(collection)


def result_for(context):
    rig = selected_armature(context)
    if rig is None or rig.name not in sessions:
        raise Problem("The examples are no longer in memory: fit again.")
    return sessions[rig.name]


def go_to(context, clip, frame):
    rig = selected_armature(context)
    if rig is not None and rig.name in sessions:
        request = sessions[rig.name].examples.clips.get(clip, (None, None))[1]
        if request is not None and request.action and rig.animation_data:
            from .versions import assign

            assign(rig, bpy.data.actions[request.action])
    context.scene.frame_set(frame)


class Reported:
    """Turns problems into a report."""

    bl_options = {"REGISTER"}

    def execute(self, context):
        try:
            said = self.work(context)
        except Problem as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        except OSError as problem:
            self.report({"ERROR"}, f"{problem.filename or 'A file'}: {problem.strerror or problem}.")
            return {"CANCELLED"}
        except Exception as problem:
            if not isinstance(problem, pelt().Error):
                raise
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        if said:
            self.report({"INFO"}, said)
        return {"FINISHED"}


def show_result(context, result):
    """Puts what a fit found out where the panel shows it."""
    settings = context.scene.pelt
    settings.message = "\n".join(result.summary())
    settings.worst.clear()
    for clip, frame, rms, largest in result.worst():
        row = settings.worst.add()
        row.clip, row.frame, row.rms, row.largest = clip, frame, rms, largest


class PELT_OT_fit(Reported, bpy.types.Operator):
    """Evaluate the selected character over the frames and fit a skin to it in the background"""

    bl_idname, bl_label = "pelt.fit", "Fit a Skin"

    method: bpy.props.EnumProperty(items=METHODS, options={"SKIP_SAVE"})
    options: bpy.props.StringProperty(options={"SKIP_SAVE"})
    holdout: bpy.props.FloatProperty(default=0.2, min=0, max=0.9, options={"SKIP_SAVE"})
    source: bpy.props.EnumProperty(items=SOURCES, options={"SKIP_SAVE"})
    actions: bpy.props.StringProperty(options={"SKIP_SAVE"})
    step: bpy.props.IntProperty(default=1, min=1, options={"SKIP_SAVE"})
    bones: bpy.props.EnumProperty(items=BONES, options={"SKIP_SAVE"})

    def _job(self, context):
        """What was passed counts, else what the panel says."""
        settings = context.scene.pelt
        for name in ("method", "options", "holdout", "source", "actions", "step", "bones"):
            if self.properties.is_property_set(name):
                setattr(settings, name, getattr(self, name))
        pelt()
        if current is not None:
            raise Problem("A fit is running: wait for it, or cancel it.")
        subject = subject_of(context.selected_objects, settings.bones)
        return Job(subject, requests_of(context, subject.rig), settings.method, settings.options, settings.holdout)

    def work(self, context):
        job = self._job(context)
        try:
            result = job.run()
        finally:
            for warning in dict.fromkeys(job.warnings):
                self.report({"WARNING"}, warning)
        show_result(context, result)
        return ". ".join(result.summary()) + "."

    def invoke(self, context, event):
        global current
        try:
            current = self._job(context)
        except Problem as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        self._timer = context.window_manager.event_timer_add(0.1, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC":
            current.cancel()
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        going = current.step(0.2)
        settings = context.scene.pelt
        settings.progress, settings.task = 100 * max(current.fraction, 0), current.task
        for area in context.screen.areas:
            area.tag_redraw()
        return {"RUNNING_MODAL"} if going else self._finish(context)

    def _finish(self, context):
        global current
        job, current = current, None
        context.window_manager.event_timer_remove(self._timer)
        context.scene.pelt.task = ""
        for warning in dict.fromkeys(job.warnings):
            self.report({"WARNING"}, warning)
        if job.problem:
            self.report({"INFO"} if job.problem == "cancelled" else {"ERROR"}, "The fit was cancelled." if job.problem == "cancelled" else job.problem)
            return {"CANCELLED"}
        show_result(context, job.result)
        self.report({"INFO"}, job.result.summary()[-1])
        return {"FINISHED"}


class PELT_OT_cancel(Reported, bpy.types.Operator):
    """Stop the running fit"""

    bl_idname, bl_label = "pelt.cancel", "Cancel"

    def work(self, context):
        if current is None:
            raise Problem("No fit is running.")
        current.cancel()


class PELT_OT_preview(Reported, bpy.types.Operator):
    """Play the skin beside the original, following every change of frame or pose"""

    bl_idname, bl_label, bl_options = "pelt.preview", "Preview", {"REGISTER", "UNDO"}

    def work(self, context):
        settings, player = context.scene.pelt, player_for(context)
        preview.show(context, player.subject, player.skin, settings.offset, settings.colors, settings.scale / 100)


class PELT_OT_preview_remove(Reported, bpy.types.Operator):
    """Remove the preview; the skin stays available in this session"""

    bl_idname, bl_label, bl_options = "pelt.preview_remove", "Remove Preview", {"REGISTER", "UNDO"}

    def work(self, context):
        rig = selected_armature(context)
        if rig is None or not preview.remove(rig.name):
            raise Problem("The selection has no preview.")


class PELT_OT_bake_keys(Reported, bpy.types.Operator):
    """Make objects with a shape key and keyframes for every frame; they need neither pelt nor the armature"""

    bl_idname, bl_label, bl_options = "pelt.bake_keys", "Bake to Shape Keys", {"REGISTER", "UNDO"}

    def work(self, context):
        player = player_for(context)
        made = bake_keys(context, player, requests_of(context, player.subject.rig))
        return f"Baked {', '.join(thing.name for thing in made)}."


class PELT_OT_make_rig(Reported, bpy.types.Operator):
    """Turn the skin into a native Blender rig: fitted weights as vertex groups, driven joints as bones with constraints and drivers, the corrective as shape keys with keyframes"""

    bl_idname, bl_label, bl_options = "pelt.make_rig", "Make a Rig", {"REGISTER", "UNDO"}

    def work(self, context):
        player = player_for(context)
        subject = player.subject
        if has_negative_weights(player.skin) and subject.armature in sessions:
            examples = sessions[subject.armature].examples
            player = preview.Player(subject, player.skin.convex([clip for clip, _ in examples.clips.values()]))
            self.report({"INFO"}, "Weights were refitted so that none is negative, since Blender cannot use negative ones.")
        made, left = make_rig(context, player, requests_of(context, subject.rig), context.scene.pelt.keys)
        return f"Made {', '.join(thing.name for thing in made)}; shape keys leave out {left:.2g} at most."


class PathOperator(Reported):
    """Asks for a file where none is given."""

    check_existing: bpy.props.BoolProperty(default=True, options={"HIDDEN", "SKIP_SAVE"})
    filepath: bpy.props.StringProperty(subtype="FILE_PATH", options={"SKIP_SAVE"})
    ending = ""

    def invoke(self, context, event):
        if not self.filepath:
            rig = selected_armature(context)
            self.filepath = bpy.path.clean_name(rig.name if rig else "skin") + self.ending
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def path(self):
        if not self.filepath:
            raise Problem("No file was named: set filepath.")
        return bpy.path.ensure_ext(bpy.path.abspath(self.filepath), self.ending)


class PELT_OT_point_cache(PathOperator, bpy.types.Operator):
    """Write the frames as the skin deforms them, as .pc2 in each object's own vertex order"""

    bl_idname, bl_label, ending = "pelt.point_cache", "Point Cache", ".pc2"

    space: bpy.props.EnumProperty(items=[("OBJECT", "Object", "In each object's own space, as the Mesh Cache modifier reads it"), ("WORLD", "World", "The scene's space")])

    def work(self, context):
        player = player_for(context)
        request = requests_of(context, player.subject.rig)[0]
        return f"Wrote {', '.join(write_caches(player, request, self.path(), self.space))}."


class PELT_OT_save_skin(PathOperator, bpy.types.Operator):
    """Write the skin as a .pelt file for pelt's run time"""

    bl_idname, bl_label, ending = "pelt.save_skin", "Save Skin", ".pelt"

    def work(self, context):
        player_for(context).skin.save(self.path())
        return f"Wrote {self.path()}."


class PELT_OT_save_examples(PathOperator, bpy.types.Operator):
    """Write the examples as a .glb with a point cache per clip, for the program pelt"""

    bl_idname, bl_label, ending = "pelt.save_examples", "Save Examples", ".glb"

    def work(self, context):
        result_for(context).examples.character.save(self.path())
        return f"Wrote {self.path()}."


class PELT_OT_export_gltf(PathOperator, bpy.types.Operator):
    """Write the character with its skin as plain glTF that any engine plays: weights, joints, morph targets, materials"""

    bl_idname, bl_label, ending = "pelt.export_gltf", "Export glTF", ".glb"

    targets: bpy.props.IntProperty(name="Morph Targets", default=0, min=0, max=65535, description="Most morph targets; 0: as many as every player supports")
    influences: bpy.props.IntProperty(name="Joints per Vertex", default=4, min=0, description="Most joints per vertex, since many players read 4; more are refused. 0: any number")
    materials: bpy.props.BoolProperty(name="Materials", default=True)

    def work(self, context):
        result = result_for(context)
        requests = requests_of(context, result.examples.subject.rig)
        report = export_gltf(result, requests, self.path(), self.targets, self.influences, self.materials)
        return f"Wrote {self.path()}: {report.target_count} morph targets, {report.driven_count} driven joints, off by {report.worst:.2g} at most."


CLASSES = [
    PELT_OT_fit, PELT_OT_cancel, PELT_OT_preview, PELT_OT_preview_remove, PELT_OT_bake_keys, PELT_OT_make_rig, PELT_OT_point_cache,
    PELT_OT_save_skin, PELT_OT_save_examples, PELT_OT_export_gltf,
]  # fmt: skip


def register():
    for each in CLASSES:
        bpy.utils.register_class(each)


def unregister():
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
