#!/usr/bin/env python3
"""Makes the add-on as a zip that Blender's own dialog installs: the add-on, the Python package, and the library for this platform.

    python3 blender/make_zip.py [-o pelt_addon.zip] [--library LIBRARY]

Without --library it is built by python/backend.py, with all that it loads; with one, that file is taken as it is."""

import argparse
import os
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "python"


def libraries(given):
    if given:
        return {"pelt-fit.dll" if given.suffix == ".dll" else f"libpelt-fit{given.suffix}": given}
    sys.path.insert(0, str(PACKAGE))
    import backend

    built = backend._build()
    found = {file.name: file for file in built}
    return {**{name: file for name, file in backend._needed(built).items() if name not in found}, **found}


def files(given):
    for file in sorted((HERE / "pelt_addon").glob("*.py")):
        yield f"pelt_addon/{file.name}", file
    for file in sorted((PACKAGE / "pelt").iterdir()):
        if file.suffix == ".py" or file.name == "py.typed":
            yield f"pelt_addon/pelt/{file.name}", file
    yield "pelt_addon/LICENSE", HERE.parent / "LICENSE"
    for name, file in sorted(libraries(given).items()):
        yield f"pelt_addon/pelt/_lib/{name}", file.resolve()


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("-o", "--output", type=Path, default=Path("pelt_addon.zip"))
    words.add_argument("--library", type=Path, help="a libpelt-fit that is there already")
    given = words.parse_args()
    if given.library and not given.library.is_file():
        raise SystemExit(f"{given.library} does not exist")
    temporary = given.output.with_suffix(".unfinished")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in files(given.library):
            entry = zipfile.ZipInfo(name)  # the same bytes whenever it is made
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, file.read_bytes())
    os.replace(temporary, given.output)
    print(given.output)


if __name__ == "__main__":
    main()
