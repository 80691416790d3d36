"""Finds and loads libpelt-fit, and turns its errors into exceptions.

The library is looked for in this order: the file that the environment variable PELT_LIBRARY names, the folder `_lib` of this
package (where `pip install` puts what it has built), and what is installed on the machine.
"""

from __future__ import annotations

import ctypes as c
import ctypes.util
import os
import sys
from pathlib import Path
from typing import Any, Iterator, Optional

VERSION = "0.2.0"

FOLDER = Path(__file__).resolve().parent / "_lib"

_CODES = (
    "ok", "argument", "memory", "file", "format", "unsupported", "alignment", "truncated", "version", "number", "index",
    "data", "cancelled", "device",
)  # fmt: skip


class Error(Exception):
    """What the library refused or could not do; the text is its own sentence.

    Attributes:
        code: the kind of failure, such as "file", "data" or "number".
        option: the option that is wrong or that would help, "" if there is none.
    """

    def __init__(self, text: str, code: str = "data", option: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.option = option


class ArgumentError(Error, ValueError):
    """An argument has the wrong shape, type or range, or was closed."""

    def __init__(self, text: str, code: str = "argument", option: str = "") -> None:
        super().__init__(text, code, option)


class Cancelled(Error):
    """The work was stopped by its progress function."""


def _places() -> Iterator[str]:
    named = os.environ.get("PELT_LIBRARY")
    if named:
        yield named
        return
    name = "pelt-fit.dll" if sys.platform == "win32" else "libpelt-fit.dylib" if sys.platform == "darwin" else "libpelt-fit.so"
    yield str(FOLDER / name)
    found = ctypes.util.find_library("pelt-fit")
    if found:
        yield found
    for prefix in (sys.prefix, "/usr/local"):
        yield str(Path(prefix) / "lib" / name)


def _open() -> c.CDLL:
    problems = []
    for place in _places():
        if os.sep in place and not Path(place).exists():
            problems.append(f"{place} does not exist")
            continue
        try:
            library = c.CDLL(place)
            library.pelt_version.restype = c.c_char_p
            version: str = library.pelt_version().decode()
            library.pelt_sizeof  # noqa: B018  (the newest function: older libraries of this version lack it)
        except (OSError, AttributeError) as problem:
            problems.append(f"{place}: {problem}")
            continue
        if version.split(".")[:2] == VERSION.split(".")[:2]:
            return library
        problems.append(f"{place} is version {version}, but this package needs {VERSION}")
    raise ImportError(
        "libpelt-fit was not found; build it with `pip install ./python` in pelt's folder, or name it in the environment "
        "variable PELT_LIBRARY (" + "; ".join(problems) + ")"
    )


def _declare(library: c.CDLL) -> None:
    """Results that are not int, and arguments that ctypes would not pass in the right width."""
    from ._structs import Examples, Findings, PoseInput, Range

    pointer, text, size, number = c.c_void_p, c.c_char_p, c.c_size_t, c.c_uint32
    results: dict[Any, str] = {
        pointer: "bundle_read bundle_new bundle_clip bundle_add_clip bundle_add_poses bundle_mirror motion_range_of bundle_clip_at bundle_positions bundle_normals "
        "bundle_uvs bundle_triangles bundle_rest_pose bundle_inverse_bind bundle_influences bundle_object_at bundle_notes "
        "clip_times clip_positions clip_normals clip_example_weights fit fit_convex fit_report_findings fit_report_train "
        "fit_report_holdout measure_examples measure_array bytes_data skin_read skin_vertex_slots skin_joint_rest player_new "
        "keys_read keys_train keys_key_points keys_measure_frames",
        text: "version result_text error_text error_option bundle_path bundle_joint_name bundle_control_name clip_name "
        "finding_what finding_text fit_report_choice skin_joint_name skin_control_name skin_about confidence_region_name keys_about "
        "soft_cache_problem isa_name",
        size: "sizeof sizeof_error sizeof_fit_options sizeof_fit_report sizeof_skin sizeof_keys finding_count bytes_size "
        "scratch_size output_size keys_scratch_size soft_cache_size",
        number: "bundle_vertex_count bundle_triangle_count bundle_joint_count bundle_object_count bundle_control_count "
        "bundle_clip_count clip_frame_count skin_vertex_count skin_block_count skin_joint_count skin_control_count confidence_region_count "
        "keys_point_count keys_component_count keys_block_count keys_key_count keys_basis_count keys_region_count "
        "keys_engine_point_count keys_control_count",
        c.c_int32: "bundle_joint_parent skin_joint_parent",
        c.c_double: "bundle_diagonal measure_number fit_report_number",
        c.c_float: "confidence bundle_control_rest skin_control_rest keys_diagonal",
        None: "bundle_free motion_range_free bytes_free fit_report_free measure_free player_free player_frame keys_measure_free pose_from "
        "deform_to slot_vertices bundle_pose bundle_set_cache fit_options_set_progress keys_solve keys_fill soft_cache_cut "
        "soft_cache_regions",
        Examples: "fit_report_held fit_report_kept",
        Findings: "diagnose",
    }
    for result, names in results.items():
        for name in names.split():
            getattr(library, "pelt_" + name).restype = result
    arguments: dict[str, list[Any]] = {
        "fit": [pointer, Examples, pointer, pointer, pointer],
        "fit_convex": [pointer, pointer, Examples, number, pointer],
        "measure_examples": [pointer, pointer, Examples, number, pointer],
        "diagnose": [pointer, pointer, size],
        "bundle_mirror": [pointer, pointer, c.c_int, pointer],
        "motion_range_of": [pointer, pointer, pointer],
        "bundle_add_poses": [pointer, pointer, number, number, text, pointer],
        "choose_examples": [pointer, Examples, size, c.c_int, number, pointer, pointer, pointer],
        "export_poses": [pointer, pointer, text, pointer],
        "deform_poses": [pointer, number, pointer, pointer, pointer, number, pointer, pointer, pointer],
        "pose_from": [pointer, c.POINTER(PoseInput), pointer],
        "deform_to": [pointer, pointer, Range, pointer],
        "keys_fill": [pointer, pointer, number, Range, pointer],
        "open": [pointer, size, pointer],
        "keys_open": [pointer, size, pointer],
    }
    for name, types in arguments.items():
        getattr(library, "pelt_" + name).argtypes = types


lib = _open()
_declare(lib)


def check_layout(*structs: type[c.Structure]) -> None:
    """Refuses a library whose structs are not those of this package, instead of passing it garbage."""
    for struct in structs:
        name = struct.__dict__["c_name"]
        if c.sizeof(struct) != lib.pelt_sizeof(name.encode()):
            raise ImportError(f"the {name} of this library differs from that of this package; install both from the same version")


class Failure:
    """A pelt_error: pass `buffer` to a call, then raise `exception()` if it failed."""

    def __init__(self) -> None:
        self.buffer = c.create_string_buffer(lib.pelt_sizeof_error())

    def exception(self) -> Error:
        code = _CODES[c.c_int.from_buffer(self.buffer).value]
        text: str = lib.pelt_error_text(self.buffer).decode("utf-8", "replace")
        option: str = lib.pelt_error_option(self.buffer).decode("utf-8", "replace")
        kind = {"argument": ArgumentError, "cancelled": Cancelled}.get(code, Error)
        return kind(text, code, option)


def good(value: Any, failure: Failure) -> Any:
    """The pointer that a call returned, as c_void_p; its exception if it is NULL."""
    if not value:
        raise failure.exception()
    return c.c_void_p(value)


def done(result: int, failure: Failure) -> None:
    """Raises unless a pelt_result is PELT_OK."""
    if result:
        raise failure.exception()


def result_error(result: int) -> Error:
    """The exception of calls that have no pelt_error."""
    code = _CODES[result] if 0 <= result < len(_CODES) else "data"
    return Error(lib.pelt_result_text(result).decode(), code)


class Handle:
    """Owns memory of the library, and frees it when nothing refers to it any more, arrays included."""

    def __init__(self, pointer: c.c_void_p, free: str, *keep: object) -> None:
        self.pointer = pointer
        self._free = getattr(lib, free)
        self._keep = keep

    def __del__(self) -> None:
        free = getattr(self, "_free", None)
        if free is not None and self.pointer:
            free(self.pointer)


def text_of(value: str, name: str) -> bytes:
    """A name for C, which ends at the first zero."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name}: expected a text, not {type(value).__name__}")
    if "\0" in value:
        raise ArgumentError(f"{name}: the text contains a zero byte")
    return value.encode("utf-8", "surrogateescape")


def path_of(value: "str | os.PathLike[str]", name: str = "path") -> bytes:
    """A path for C."""
    try:
        path = os.fsencode(value)
    except (TypeError, UnicodeEncodeError):
        raise ArgumentError(f"{name}: expected a path, not {value!r}") from None
    if b"\0" in path or not path:
        raise ArgumentError(f"{name}: {value!r} is not a path")
    return path


def word(value: Optional[bytes]) -> str:
    """A text of the library."""
    return value.decode("utf-8", "replace") if value else ""
