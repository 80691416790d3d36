"""Pictures of the panel for the docs: a fit of the open character that is running, and its preview. Needs a screen:

    LIBGL_ALWAYS_SOFTWARE=1 xvfb-run -a -s "-screen 0 1280x800x24" blender arm.blend --enable-event-simulate --addons pelt_addon \
        --window-geometry 0 0 1280 800 -P test/blender/picture.py -- FOLDER"""

import os
import sys

import bpy

FOLDER = os.path.abspath(sys.argv[sys.argv.index("--") + 1])


def view():
    window = bpy.context.window_manager.windows[0]
    area = max((a for a in window.screen.areas if a.type == "VIEW_3D"), key=lambda a: a.width)
    return window, area, {region.type: region for region in area.regions}


def override(region="WINDOW"):
    window, area, regions = view()
    return bpy.context.temp_override(window=window, area=area, region=regions[region])


def picture(name):
    with override():
        bpy.ops.screen.screenshot(filepath=os.path.join(FOLDER, name))


def click(x, y):
    window = view()[0]
    for kind, value in (("MOUSEMOVE", "NOTHING"), ("LEFTMOUSE", "PRESS"), ("LEFTMOUSE", "RELEASE")):
        window.event_simulate(type=kind, value=value, x=int(x), y=int(y))


def prepare():
    window, area, regions = view()
    rig = next(thing for thing in bpy.data.objects if thing.type == "ARMATURE")
    skins = [thing for thing in bpy.data.objects if thing.type == "MESH" and thing.find_armature() == rig]
    for thing in bpy.data.objects:
        thing.select_set(thing in skins)
    bpy.context.view_layer.objects.active = skins[0]
    space = area.spaces.active
    space.show_region_ui, space.overlay.show_floor, space.shading.light = True, False, "STUDIO"
    space.shading.color_type = "VERTEX"
    size = max(skins[0].dimensions)
    settings = bpy.context.scene.pelt
    settings.source, settings.actions, settings.method, settings.options = "ACTIONS", "train_Armature", "kernel", "threads=1"
    settings.offset, settings.scale = (0, -0.6 * size, 0), 0.01
    settings.step = 4
    rig.hide_set(True)
    return 1.0


def frame_all():
    with override():
        bpy.ops.view3d.view_axis(type="TOP")
        bpy.ops.view3d.view_selected()
    return 0.5


def open_tab():
    """Tabs are vertical at the right edge; pelt's is the last of four."""
    regions = view()[2]
    ui = regions["UI"]
    click(ui.x + ui.width - 10, ui.y + ui.height - 158)
    return 1.5


def fit():
    """As the operator does it, which gets no timer while events are simulated."""
    from pelt_addon import operators
    from pelt_addon.fitting import Job
    from pelt_addon.subject import subject_of

    context = bpy.context
    subject = subject_of([thing for thing in context.view_layer.objects if thing.select_get()])
    operators.current = Job(subject, operators.requests_of(context, subject.rig), context.scene.pelt.method, "threads=1", 0.2)
    return 0.1


def wait():
    from pelt_addon import operators

    job, settings = operators.current, bpy.context.scene.pelt
    going = job.step(4.0 if job.task == "examples" else 0.3)
    settings.progress, settings.task = 100 * max(job.fraction, 0), job.task
    for area in view()[0].screen.areas:
        area.tag_redraw()
    if wait.ready == 1:
        picture("blender-fit.png")
    wait.ready += job.task != "examples" and job.fraction > 0.2
    if going:
        return 0.3
    operators.current = None
    operators.show_result(bpy.context, job.result)
    return None


wait.ready = 0


def preview():
    bpy.context.scene.pelt.worst_index = 1
    with override():
        bpy.ops.pelt.preview()
    for thing in bpy.data.objects:
        if thing.type == "MESH" and thing.visible_get():
            thing.select_set(True)
    with override():
        bpy.ops.view3d.view_selected()
    for thing in bpy.data.objects:
        thing.select_set(False)
    return 2.0


def finish():
    picture("blender-preview.png")
    os._exit(0)


steps = [prepare, frame_all, open_tab, fit, wait, preview, finish]


def go():
    try:
        pause = steps[0]()
    except Exception as problem:
        print("picture:", problem, flush=True)
        os._exit(1)
    if steps[0] is wait and pause is not None:
        return pause
    del steps[0]
    return pause or 0.5


bpy.app.timers.register(go, first_interval=2.0)
