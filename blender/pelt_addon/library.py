"""Finds the Python package `pelt`, which this add-on carries in its own folder, with the library for this platform."""

import platform
import sys

_found = None
_missing = ""


class Problem(Exception):
    """One sentence for the user: what is wrong with what, and what to do. Operators report it and cancel."""


def pelt():
    """The package. It is loaded when it is first needed, so that the add-on installs where the library is absent."""
    global _found, _missing
    if _found is None and not _missing:
        try:
            from . import pelt as package  # as the zip has it

            _found = package
        except ImportError as carried:
            try:
                import pelt as package  # installed for this Python, or on its path

                _found = package
            except ImportError:
                _missing = (
                    f"pelt's library for {platform.system()} on {platform.machine()} is not in this add-on: build the zip on such a "
                    f"machine (python3 blender/make_zip.py), or name the library in PELT_LIBRARY, and restart Blender ({carried})"
                )
                sys.modules.pop(f"{__package__}.pelt", None)
    if _found is None:
        raise Problem(_missing)
    return _found


def missing():
    """Why there is no library; "" where there is one."""
    try:
        pelt()
    except Problem as problem:
        return str(problem)
    return ""
