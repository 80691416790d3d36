"""What the panel asks for, kept in the scene."""

import bpy

METHODS = [
    ("default", "Default", "The default of the library"),
    ("kernel", "Kernel", "A corrective learned from all poses: the most accurate"),
    ("eigen", "EigenSkin", "Eigendisplacements of each joint (Kry, James and Pai)"),
    ("wpsd", "WPSD", "Weighted pose space deformation (Rhee, Lewis and Neumann)"),
    ("psd", "PSD", "Pose space deformation (Lewis, Cordner and Fong)"),
    ("joints", "Driven Joints", "More joints instead of a corrective (Mohr and Gleicher): the smallest"),
    ("ssd", "Armature Alone", "The painted weights as they are; nothing is fitted"),
]
SOURCES = [
    ("SCENE", "Frames", "The frames of the scene as it is animated now"),
    ("ACTIONS", "Actions", "Every frame of some actions of the armature"),
]
BONES = [
    ("DEFORM", "That Deform", "Bones that deform, carry objects or are read by drivers, and their parents"),
    ("ALL", "All", "Control bones too, for effects that no other bone shows"),
]


class PeltWorst(bpy.types.PropertyGroup):
    clip: bpy.props.StringProperty()
    frame: bpy.props.IntProperty()
    rms: bpy.props.FloatProperty()
    largest: bpy.props.FloatProperty()


class PeltSettings(bpy.types.PropertyGroup):
    source: bpy.props.EnumProperty(name="Examples", items=SOURCES, description="Where poses come from")
    actions: bpy.props.StringProperty(name="Actions", description="Names separated by commas; empty: all actions of the armature")
    step: bpy.props.IntProperty(name="Step", default=1, min=1, description="Use every N-th frame; physics still runs through all of them")
    bones: bpy.props.EnumProperty(name="Bones", items=BONES)
    method: bpy.props.EnumProperty(name="Method", items=METHODS)
    holdout: bpy.props.FloatProperty(
        name="Held Out", default=0.2, min=0, max=0.9, subtype="FACTOR",
        description="Fraction of the frames to hold out, to measure the error in new poses",
    )  # fmt: skip
    options: bpy.props.StringProperty(name="Options", description="More options of the fit by name, such as per_vertex=20 seed=3")
    offset: bpy.props.FloatVectorProperty(name="Beside", size=3, subtype="TRANSLATION", description="Offset of the preview from the original")
    colors: bpy.props.BoolProperty(name="Error as Colour", default=True, description="Compare with the original in every frame")
    scale: bpy.props.FloatProperty(name="Brightest at", default=1, min=0.001, soft_max=10, subtype="PERCENTAGE", description="Error that gets the last colour, as a percentage of the diagonal")
    keys: bpy.props.IntProperty(name="Shape Keys", default=32, min=0, max=512, description="Most shape keys for the corrective")
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
