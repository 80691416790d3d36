"""Fits: examples in, a skin out."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass, field
from typing import Mapping, Optional, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import address, floats, integers, texts
from ._library import ArgumentError, Failure, check_layout, done, good, lib, text_of, word
from ._structs import ControlScale, DriveRuleInput, DriveRules, Example, Examples
from ._work import ProgressFunction, Watch
from .character import Character, ExampleList, ExamplesLike, Finding, findings_of
from .skin import Measure, Skin, measure_of, skin_of

Option = Union[str, float, int, bool, None]


@dataclass(frozen=True)
class DriveRule:
    """Which driven joints to add for some joints (blend "joints").

    Attributes:
        joints: a name; * matches any letters.
        turns: fractions of the rotation, -4 to 4.
        twists: fractions of its part about the bone.
        bends: fractions of the rest.
        upstream: bulges and dents in the bone before the joint.
        downstream: in the bone after it.
        k: their strength.
    """

    joints: str
    turns: Sequence[float] = ()
    twists: Sequence[float] = ()
    bends: Sequence[float] = ()
    upstream: bool = False
    downstream: bool = False
    k: float = 8.0


@dataclass(frozen=True)
class FitReport:
    """What a fit found out.

    Attributes:
        method, blend, corrective: what was fitted, by name.
        has_corrective: False: none was asked for, or there was nothing to correct.
        seconds, cpu_seconds: of the fit to all examples, without measuring.
        train: error on the examples it was fitted to; None without examples.
        holdout: error of a second fit on examples that it has not seen, `holdout.frames`: what to expect in new poses; None: none.
        findings: notes and warnings for people.
        condition: of the matrix that the corrective inverted; 0: none.
        bound: no pose displaces a vertex farther than this.
        damped: (example, point) pairs whose blend is nearly singular.
        storage_error: the largest error of 16-bit storage at the examples.
    """

    method: str
    blend: str
    corrective: str
    has_corrective: bool
    seconds: float
    cpu_seconds: float
    condition: float
    bound: float
    damped: int
    storage_error: float
    train: Optional[Measure]
    holdout: Optional[Measure]
    findings: tuple[Finding, ...] = field(repr=False)

    @property
    def warnings(self) -> list[str]:
        """The sentences of findings that are more than a note."""
        return [finding.text for finding in self.findings if finding.severity != "note"]


def fit(
    character: Character,
    examples: ExamplesLike = (),
    *,
    method: str = "kernel",
    blend: Optional[str] = None,
    corrective: Optional[str] = None,
    holdout: Optional[float] = None,
    report: bool = True,
    progress: Optional[ProgressFunction] = None,
    drop_joints: Sequence[str] = (),
    lock_joints: Sequence[str] = (),
    lock_vertices: ArrayLike = (),
    control_scale: Optional[Mapping[str, float]] = None,
    drive: Optional[Sequence[DriveRule]] = None,
    **options: Option,
) -> Skin:
    """Fits a skin to examples.

    Args:
        character: whose skin it will be.
        examples: its clips with true positions, or some of their frames.
        method: "ssd", "joints", "psd", "wpsd", "eigen" or "kernel".
        blend: instead of the method's: "file", "distance", "fit" or "joints".
        corrective: instead of the method's: "none", "psd", "wpsd", "eigen" or "kernel".
        holdout: the fraction of the examples that a second fit does not see, for the report; None: 0.2, 0: none.
        report: False: nothing is measured or held out, which is faster.
        progress: called with the task and the fraction that is done; if it returns something true, the fit stops with
            `Cancelled`, and if it raises, with what it raises. Ctrl-C stops a fit too.
        drop_joints: joints that no vertex may follow; * matches any letters.
        lock_joints: joints that keep the character's weights.
        lock_vertices: vertices that keep them.
        control_scale: controls that count more or less than others, by name.
        drive: driven joints to add (blend "joints"); None: automatic.
        options: further options of fit.h by their names, such as per_vertex=20, influences=4, rbf="gaussian", seed=3, threads=1.

    Returns:
        the skin, with a `report`.
    """
    if not isinstance(character, Character):
        raise ArgumentError(f"character: expected a Character, not {type(character).__name__}", option="character")
    given = ExampleList(character, examples)
    watch, failure = Watch(progress), Failure()
    memory = c.create_string_buffer(lib.pelt_sizeof_fit_options())
    _set(memory, {"method": method, "blend": blend, "corrective": corrective, "holdout": holdout, **options})
    kept = _set_lists(memory, drop_joints, lock_joints, lock_vertices, control_scale, drive)
    lib.pelt_fit_options_set_progress(memory, watch.step, None)
    found = c.create_string_buffer(lib.pelt_sizeof_fit_report()) if report else None
    with character._guard.reading(), watch.interruptible():
        made = lib.pelt_fit(character._bundle, given.struct, memory, found, failure.buffer)
    try:
        if not made:
            watch.check()
        pointer = good(made, failure)
        return skin_of(pointer, character, None if found is None else _report_of(found, given))
    finally:
        del kept
        if made and found is not None:
            lib.pelt_fit_report_free(found)


def _set(memory: "c.Array[c.c_char]", options: Mapping[str, Option]) -> None:
    failure = Failure()
    for name, value in options.items():
        if value is None:
            continue
        done(lib.pelt_fit_options_set(memory, text_of(name, "name"), text_of(_text(name, value), name), failure.buffer), failure)


def _text(name: str, value: object) -> str:
    """An option as people write it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int)):
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    raise ArgumentError(f"{name}: expected a number or a text, not {type(value).__name__}", option=name)


def _set_lists(
    memory: "c.Array[c.c_char]",
    drop_joints: Sequence[str],
    lock_joints: Sequence[str],
    lock_vertices: ArrayLike,
    control_scale: Optional[Mapping[str, float]],
    drive: Optional[Sequence[DriveRule]],
) -> list[object]:
    """Lists among the options, which the library does not copy: the result keeps them."""
    check_layout(ControlScale, DriveRuleInput, DriveRules)
    failure, kept, rules = Failure(), [], DriveRules()

    def put(name: str, count: int, values: object) -> None:
        place = values if isinstance(values, int) else c.addressof(values)  # type: ignore[arg-type]
        kept.append(values)
        done(
            lib.pelt_fit_options_set_list(memory, name.encode(), c.c_size_t(count), c.c_void_p(place), c.byref(rules), failure.buffer),
            failure,
        )

    for name, names in (("drop_joints", drop_joints), ("lock_joints", lock_joints)):
        if isinstance(names, str):
            raise ArgumentError(f"{name}: expected a list of names, not one text", option=name)
        if len(names):
            put(name, len(names), texts([text_of(each, name) for each in names]))
    vertices = integers(lock_vertices if np.size(lock_vertices) else np.zeros(0, np.uint32), ("vertices",), "lock_vertices")
    if vertices.size:
        kept.append(vertices)
        put("lock_vertices", vertices.size, vertices.ctypes.data)
    if control_scale:
        scales = [ControlScale(text_of(each, "control_scale"), float(value)) for each, value in control_scale.items()]
        put("control_scale", len(scales), (ControlScale * len(scales))(*scales))
    if drive is not None:
        inputs = (DriveRuleInput * len(drive))(*(_rule(rule, kept) for rule in drive))
        put("drive", len(drive), inputs)
        kept.append(rules)
    return kept


def _rule(rule: DriveRule, kept: list[object]) -> DriveRuleInput:
    lists = [floats(values, ("n",), "drive") for values in (rule.turns, rule.twists, rule.bends)]
    kept.extend(lists)
    return DriveRuleInput(
        text_of(rule.joints, "drive"), *(len(each) for each in lists), *(address(each) for each in lists),
        int(bool(rule.upstream)), int(bool(rule.downstream)), float(rule.k),
    )  # fmt: skip


def _frames_of(examples: Examples) -> list[tuple[str, int]]:
    rows = (Example * examples.count).from_address(examples.list) if examples.count else ()
    return [(word(lib.pelt_clip_name(c.c_void_p(row.clip))), int(row.frame)) for row in rows]


def _report_of(found: "c.Array[c.c_char]", given: ExampleList) -> FitReport:
    def number(name: str) -> float:
        return float(lib.pelt_fit_report_number(found, name.encode()))

    def choice(name: str) -> str:
        return word(lib.pelt_fit_report_choice(found, name.encode()))

    return FitReport(
        method=choice("method"), blend=choice("blend"), corrective=choice("corrective"),
        has_corrective=bool(number("has_corrective")), seconds=number("seconds"), cpu_seconds=number("cpu_seconds"),
        condition=number("condition"), bound=number("bound"), damped=int(number("damped")), storage_error=number("storage_error"),
        train=measure_of(lib.pelt_fit_report_train(found), given.frames),
        holdout=measure_of(lib.pelt_fit_report_holdout(found), _frames_of(lib.pelt_fit_report_held(found))),
        findings=findings_of(lib.pelt_fit_report_findings(found)),
    )  # fmt: skip


__all__ = ["DriveRule", "FitReport", "fit"]
