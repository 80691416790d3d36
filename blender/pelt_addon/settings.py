"""What the panel asks for, kept in the scene."""

import bpy

METHODS = [
    ("default", "Default", "What the library chooses"),
    ("kernel", "Kernel", "A corrective learned from all poses: the most exact"),
    ("eigen", "EigenSkin", "Eigendisplacements of each joint (Kry, James and Pai)"),
    ("wpsd", "WPSD", "Weighted pose space deformation (Rhee, Lewis and Neumann)"),
    ("psd", "PSD", "Pose space deformation (Lewis, Cordner and Fong)"),
    ("joints", "Driven Joints", "More joints instead of a corrective (Mohr and Gleicher): the smallest"),
    ("ssd", "Armature Alone", "The weights as they are painted; nothing is fitted"),
]
SOURCES = [
    ("SCENE", "Frames", "The frames of the scene as it is animated now"),
    ("ACTIONS", "Actions", "Every frame of some actions of the armature"),
]
BONES = [
    ("DEFORM", "That Deform", "Bones that deform, carry objects or are asked by drivers, and those above them"),
    ("ALL", "All", "Control bones too: where they do what no other bone shows"),
]


class PeltWorst(bpy.types.PropertyGroup):
    clip: bpy.props.StringProperty()
    frame: bpy.props.IntProperty()
    rms: bpy.props.FloatProperty()
    largest: bpy.props.FloatProperty()


class PeltSettings(bpy.types.PropertyGroup):
    source: bpy.props.EnumProperty(name="Examples", items=SOURCES, description="Where poses come from")
    actions: bpy.props.StringProperty(name="Actions", description="Names with commas between; empty: all of the armature")
    step: bpy.props.IntProperty(name="Step", default=1, min=1, description="Every how many frames; physics is still run through all")
    bones: bpy.props.EnumProperty(name="Bones", items=BONES)
    method: bpy.props.EnumProperty(name="Method", items=METHODS)
    holdout: bpy.props.FloatProperty(
        name="Held Out", default=0.2, min=0, max=0.9, subtype="FACTOR",
        description="The fraction of the frames that a second fit does not see, so that its error is that of new poses",
    )  # fmt: skip
    options: bpy.props.StringProperty(name="Options", description="Further options of the fit by name, such as per_vertex=20 seed=3")
    offset: bpy.props.FloatVectorProperty(name="Beside", size=3, subtype="TRANSLATION", description="Where the preview is, from the original")
    colors: bpy.props.BoolProperty(name="Error as Colour", default=True, description="Compare with the original in every frame")
    scale: bpy.props.FloatProperty(name="Brightest at", default=1, min=0.001, soft_max=10, subtype="PERCENTAGE", description="Of the diagonal")
    keys: bpy.props.IntProperty(name="Shape Keys", default=32, min=0, max=512, description="At most, for the corrective")
    # What the panel shows.
    progress: bpy.props.FloatProperty(name="Progress", min=0, max=100, subtype="PERCENTAGE")
    task: bpy.props.StringProperty()
    message: bpy.props.StringProperty()
    worst: bpy.props.CollectionProperty(type=PeltWorst)
    worst_index: bpy.props.IntProperty(update=lambda self, context: _go(self, context))


def _go(settings, context):
    """Shows the frame that was clicked."""
    if 0 <= settings.worst_index < len(settings.worst):
        row = settings.worst[settings.worst_index]
        from .operators import go_to

        go_to(context, row.clip, row.frame)


def register():
    for each in (PeltWorst, PeltSettings):
        bpy.utils.register_class(each)
    bpy.types.Scene.pelt = bpy.props.PointerProperty(type=PeltSettings)


def unregister():
    del bpy.types.Scene.pelt
    for each in (PeltSettings, PeltWorst):
        bpy.utils.unregister_class(each)
