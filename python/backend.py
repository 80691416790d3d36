#!/usr/bin/env python3
"""Builds the wheel of this package (PEP 517), with the standard library alone.

`pip install ./python` comes here. Where libpelt-fit of this version is installed the wheel is the Python files; otherwise cmake
builds the library from the sources around this folder, into the package.

    python3 backend.py DIR           a wheel for other Linux machines: with the library and what it needs inside
"""

from __future__ import annotations

import base64
import ctypes
import ctypes.util
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any, Iterator, Optional

HERE = Path(__file__).resolve().parent
BUILD = HERE / "build"

# Part of every Linux; all others travel in the wheel. What needs a newer glibc is told by the wheel's name.
_SYSTEM = re.compile(r"^(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|util))\.so")


def _version() -> str:
    found = re.search(r'^VERSION = "(.+)"$', (HERE / "pelt/_library.py").read_text("utf-8"), re.MULTILINE)
    assert found
    return found.group(1)


def _is_installed() -> bool:
    """Whether the package will find a library of its version without having one inside."""
    name = ctypes.util.find_library("pelt-fit")
    if not name:
        return False
    try:
        library = ctypes.CDLL(name)
        library.pelt_version.restype = ctypes.c_char_p
        installed = library.pelt_version().decode()
        library.pelt_sizeof
    except (OSError, AttributeError):
        return False
    return bool(installed.split(".")[:2] == _version().split(".")[:2])


def _build() -> list[Path]:
    """Builds the shared libraries; they find each other, and what lies beside them, wherever they are."""
    source = HERE.parent
    if not (source / "CMakeLists.txt").exists():
        raise SystemExit("pelt's sources were not found around this folder; install libpelt-fit first, or build in a copy of the project")
    if not shutil.which("cmake"):
        raise SystemExit("cmake was not found; install it with jansson, OpenBLAS and LAPACKE, or install libpelt-fit first")
    words = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DPELT_PROGRAM=OFF", "-DPELT_TESTS=OFF", "-DPELT_CUDA=OFF",
             "-DCMAKE_INSTALL_RPATH=$ORIGIN", "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
             "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags"]  # fmt: skip
    if shutil.which("ninja"):
        words += ["-G", "Ninja"]
    subprocess.run(["cmake", "-S", str(source), "-B", str(BUILD), *words], check=True)
    subprocess.run(["cmake", "--build", str(BUILD), "--target", "pelt-fit-shared", "--parallel"], check=True)
    soname = re.compile(r"^libpelt\.so\.\d+(\.\d+)?$")
    run_time = [file for file in BUILD.iterdir() if soname.match(file.name)]
    return [BUILD / "libpelt-fit.so", *run_time]


def _needed(libraries: list[Path]) -> dict[str, Path]:
    """What the libraries load besides the system, by the name they load it by."""
    found: dict[str, Path] = {}
    for library in libraries:
        for line in subprocess.run(["ldd", str(library)], check=True, capture_output=True, text=True).stdout.splitlines():
            words = re.match(r"\s*(\S+) => (/\S+)", line)
            if words and not _SYSTEM.match(words.group(1)):
                found[words.group(1)] = Path(words.group(2))
    return found


def _platform(libraries: list[Path], portable: bool) -> str:
    plain = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if not portable:
        return plain
    newest = (2, 17)
    for library in libraries:
        symbols = subprocess.run(["objdump", "-T", str(library)], check=True, capture_output=True, text=True).stdout
        for version in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols):
            newest = max(newest, (int(version[0]), int(version[1])))
    return plain.replace("linux", f"manylinux_{newest[0]}_{newest[1]}")


def _files(libraries: dict[str, Path]) -> Iterator[tuple[str, Path]]:
    for file in sorted((HERE / "pelt").iterdir()):
        if file.suffix == ".py" or file.name == "py.typed":
            yield f"pelt/{file.name}", file
    for name, file in sorted(libraries.items()):
        yield f"pelt/_lib/{name}", file.resolve()


def _metadata() -> str:
    words = (HERE / "README.md").read_text("utf-8")
    return (
        f"Metadata-Version: 2.1\nName: pelt\nVersion: {_version()}\nSummary: Real-time skins from examples\n"
        f"Requires-Python: >=3.9\nRequires-Dist: numpy\nDescription-Content-Type: text/markdown\n\n{words}"
    )


def _write_wheel(path: Path, tag: str, libraries: dict[str, Path]) -> None:
    info = f"pelt-{_version()}.dist-info"
    record: list[str] = []
    temporary = path.with_suffix(".unfinished")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as wheel:

        def put(name: str, data: bytes) -> None:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
            entry = zipfile.ZipInfo(name)  # the same bytes whenever it is built
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            wheel.writestr(entry, data)

        for name, file in _files(libraries):
            put(name, file.read_bytes())
        put(f"{info}/METADATA", _metadata().encode())
        pure = "false" if libraries else "true"
        put(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: pelt\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode())
        record.append(f"{info}/RECORD,,")
        wheel.writestr(f"{info}/RECORD", "\n".join(record) + "\n")
    os.replace(temporary, path)


def make_wheel(folder: str, portable: bool) -> str:
    """Writes the wheel into a folder and gives its name."""
    libraries: dict[str, Path] = {}
    if portable or not _is_installed():
        built = _build()
        libraries = {file.name: file for file in built}
        if portable:
            libraries.update({name: file for name, file in _needed(built).items() if name not in libraries})
    tag = f"py3-none-{_platform(list(libraries.values()), portable)}" if libraries else "py3-none-any"
    name = f"pelt-{_version()}-{tag}.whl"
    Path(folder).mkdir(parents=True, exist_ok=True)
    _write_wheel(Path(folder) / name, tag, libraries)
    return name


# -- PEP 517 -------------------------------------------------------------------------------------------------------------


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    return make_wheel(wheel_directory, portable=False)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    raise NotImplementedError("a source package would be the whole project: the library is built from it")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit("usage: backend.py DIR: writes a wheel with the library inside")
    print(Path(sys.argv[1]) / make_wheel(sys.argv[1], portable=True))
