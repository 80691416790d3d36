"""pelt: real-time skins from examples.

    import pelt

    body = pelt.Character.read("body.glb")
    skin = pelt.fit(body, body.clip("train"), method="kernel")
    print(skin.report.holdout.rel_err)                # what is left of the blend's error in poses it has not seen
    print(skin.measure(body.clip("walk")).rms)
    shapes = skin.evaluate(body.clip("walk").poses)   # [frames, vertices, 3]
    skin.save("body.pelt")

Characters come from files (`Character.read`) or from arrays (`Character`). Whatever is wrong with what is passed is an
`Error` with the library's own sentence. Python's lock is released while the library works, so other threads go on.
"""

from ._library import VERSION as __version__
from ._library import ArgumentError, Cancelled, Error
from .character import Character, Clip, Finding, FrameList, Part, Weights, transforms
from .fitting import DriveRule, FitReport, fit
from .keys import Filled, Keys, KeysMeasure, KeysReport, SoftCache, train_keys
from .skin import ExportReport, Measure, Skin
from .viewer import view_html

__all__ = [
    "ArgumentError", "Cancelled", "Character", "Clip", "DriveRule", "Error", "ExportReport", "Filled", "Finding", "FitReport",
    "FrameList", "Keys", "KeysMeasure", "KeysReport", "Measure", "Part", "Skin", "SoftCache", "Weights", "__version__", "fit",
    "train_keys", "transforms", "view_html",
]  # fmt: skip
