"""The add-on without a window, for farms:

    blender -b body.blend --python-exit-code 1 -P .../pelt_addon/pelt_cli.py -- --object rig --method kernel --actions walk,run -o body.glb

What --help lists can be combined: the fit is done once. Exit status 1, and one sentence, where something is wrong."""

import argparse
import os
import sys


def words():
    found = argparse.ArgumentParser(prog="pelt_cli.py", description="Fits a skin to a character in a .blend file and writes the results you ask for.")
    found.add_argument("--object", action="append", default=[], help="an object of the character, or its armature; may be repeated")
    found.add_argument("--method", default="default", help="default, kernel, eigen, wpsd, psd, joints or ssd")
    found.add_argument("--options", default="", help='further options of the fit, such as "per_vertex=20 seed=3"')
    found.add_argument("--holdout", type=float, default=0.2, help="fraction of the frames to hold out")
    found.add_argument("--actions", help="actions to use, separated by commas; 'all': every action of the armature; default: the frames of the scene")
    found.add_argument("--frames", help="frames of the scene to use, FIRST:LAST")
    found.add_argument("--step", type=int, default=1)
    found.add_argument("--all-bones", action="store_true", help="use control bones too")
    found.add_argument("-o", "--gltf", help="write the character with its skin as plain glTF (.glb)")
    found.add_argument("--skin", help="write the skin (.pelt)")
    found.add_argument("--examples", help="write the examples (.glb, with a point cache per clip)")
    found.add_argument("--cache", help="write the frames as the skin deforms them (.pc2)")
    found.add_argument("--make-rig", action="store_true", help="make a native Blender rig")
    found.add_argument("--bake-keys", action="store_true", help="make objects with a shape key for every frame")
    found.add_argument("--preview", action="store_true", help="make the preview")
    found.add_argument("--save", help="save the .blend with the results")
    return found


def main(arguments=None):
    """Returns the exit status."""
    import bpy

    if not hasattr(bpy.types.Scene, "pelt"):
        import addon_utils

        if addon_utils.enable("pelt_addon") is None:
            print("pelt: the add-on pelt_addon is not installed: install its zip in Blender's preferences first")
            return 1
    if arguments is None:
        arguments = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []
    given = words().parse_args(arguments)
    try:
        return _work(bpy, given)
    except RuntimeError as problem:  # what an operator reported
        print(f"pelt: {str(problem).strip().removeprefix('Error: ')}")
        return 1


def _work(bpy, given):
    names = given.object or [o.name for o in bpy.context.view_layer.objects if o.type == "ARMATURE" and o.visible_get()]
    for thing in bpy.context.view_layer.objects:
        thing.select_set(thing.name in names)
    missing = [name for name in names if name not in bpy.context.view_layer.objects]
    if missing:
        raise RuntimeError(f"there is no object '{missing[0]}': the scene has {', '.join(o.name for o in bpy.context.view_layer.objects)}")
    if given.frames:
        first, _, last = given.frames.partition(":")
        if not first.lstrip("-").isdigit() or not last.lstrip("-").isdigit():
            raise RuntimeError(f"--frames {given.frames}: write FIRST:LAST, such as 1:250")
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = int(first), int(last)
    from pelt_addon.settings import METHODS

    if given.method not in (method for method, _, _ in METHODS):
        raise RuntimeError(f"--method: there is no '{given.method}': choose from {', '.join(method for method, _, _ in METHODS)}")
    actions = "" if given.actions in (None, "all") else given.actions
    bpy.ops.pelt.fit(
        method=given.method, options=given.options, holdout=given.holdout, source="SCENE" if given.actions is None else "ACTIONS",
        actions=actions, step=given.step, bones="ALL" if given.all_bones else "DEFORM",
    )  # fmt: skip
    for path, work in (
        (given.skin, bpy.ops.pelt.save_skin), (given.examples, bpy.ops.pelt.save_examples), (given.cache, bpy.ops.pelt.point_cache),
        (given.gltf, bpy.ops.pelt.export_gltf),
    ):  # fmt: skip
        if path:
            work(filepath=path)
    for wanted, work in (
        (given.preview, bpy.ops.pelt.preview), (given.make_rig, bpy.ops.pelt.make_rig), (given.bake_keys, bpy.ops.pelt.bake_keys),
    ):  # fmt: skip
        if wanted:
            work()
    if given.save:
        bpy.ops.wm.save_as_mainfile(filepath=os.path.abspath(given.save), copy=True)
    return 0


if __name__ == "__main__":
    status = main()
    if status:
        sys.exit(status)
