#!/usr/bin/env python3
"""docs.py BUILD PAGE.md [--keep DIR] [--pictures DIR]: does what a page of docs/ says, in an empty folder.

A reader types the blocks marked `sh` one after the other, and saves those that have a file name after their language
(```c play.c). So does this. What a command prints is checked against a block marked `text` that follows it: each of its lines
must be among the lines printed; numbers may be off by a tenth, and `…` stands for anything. Comments of the page, which
readers do not see, stand before a block:

    <!-- needs: blender three ict_face.glb -->   skip it where one is missing: a program, an npm module of test/js, a file of PELT_DATA
    <!-- instead: COMMAND -->                    run this in its place (the block needs the network, a window, an hour)
    <!-- test: COMMAND -->                       run this too, after what came before

PELT is the checkout, with the program in $PELT/build. --pictures copies pictures that the page made and shows to DIR.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

FENCE = re.compile(r"^```(\S*) *(\S*)$")
COMMENT = re.compile(r"^<!-- (needs|instead|test):(?: (.*?))? *(-->)?$")
NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[-+]?\d+)?|\.\d+")


def steps_of(page):
    """What a page asks for: (line number, kind, name, text, needs), in its order."""
    steps, needs, instead, lines = [], [], None, open(page, encoding="utf-8").read().split("\n")
    at = 0
    while at < len(lines):
        comment, fence = COMMENT.match(lines[at]), FENCE.match(lines[at])
        first = at
        if comment:
            kind, text = comment.group(1), comment.group(2) or ""
            while not comment.group(3) and not lines[at].endswith("-->"):
                at += 1
                text += "\n" + lines[at]
            text = re.sub(r" *-->$", "", text)
            if kind == "needs":
                needs = text.split()
            elif kind == "instead":
                instead = text
            else:
                steps.append((first + 1, "sh", "", text, needs))
                needs = []
        elif fence:
            body = []
            at += 1
            while lines[at] != "```":
                body.append(lines[at])
                at += 1
            kind, name = fence.groups()
            text = "\n".join(body) + "\n"
            if kind in ("sh", "text") or name:
                steps.append((first + 1, kind, name, instead if instead is not None else text, needs))
            if kind != "text":
                needs, instead = [], None
        at += 1
    return steps


def missing(need, source):
    """What a reader would have to get first; None if it is here."""
    data = os.environ.get("PELT_DATA", "")
    if "." in need:
        found = [os.path.join(folder, need) for folder, _, files in os.walk(data) if need in files]
        return None if found else "%s of the test data" % need
    if need == "chromium":
        return None if os.access(os.environ.get("CHROMIUM", "/usr/bin/chromium"), os.X_OK) else "chromium"
    if os.path.isdir(os.path.join(source, "test/js/node_modules", need)) or shutil.which(need):
        return None
    return need


def agrees(expected, line):
    """Whether a printed line is the one on the page: numbers within a tenth, the rest word for word."""
    pattern = "".join(".*" if part == "…" else re.escape(part) for part in re.split("(…)", NUMBER.sub("\0", expected.strip())))
    pattern = re.sub(r"(\\ )+", r"\\s+", pattern).replace(re.escape("\0"), "\0").replace("\0", "(" + NUMBER.pattern + ")")
    match = re.fullmatch(pattern, line.strip())
    if not match:
        return False
    for wanted, found in zip(NUMBER.findall(expected), match.groups()):
        wanted, found = float(wanted.replace(",", "")), float(found.replace(",", ""))
        if abs(wanted - found) > 0.1 * abs(wanted) + 1e-12:
            return False
    return True


def png_of_pgm(path, out):
    """Pictures that programs of the pages write (PGM, PPM) are shown as PNG."""
    data = open(path, "rb").read()
    kind, width, height, _, pixels = data.split(maxsplit=4) if data[:2] in (b"P5", b"P6") else sys.exit("%s: not a picture" % path)
    width, height, step = int(width), int(height), 1 if kind == b"P5" else 3
    pixels = data[len(data) - width * height * step :]
    rows = b"".join(b"\0" + pixels[y * width * step : (y + 1) * width * step] for y in range(height))
    chunk = lambda name, body: struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    head = struct.pack(">IIBBBBB", width, height, 8, 0 if step == 1 else 2, 0, 0, 0)
    open(out, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def keep_pictures(page, folder, out):
    shown = re.findall(r"\]\(pictures/([a-z0-9_-]+)\.(png|webp)\)", open(page, encoding="utf-8").read())
    for name, kind in shown:
        for made in (name + "." + kind, name + ".pgm", name + ".ppm"):
            path = os.path.join(folder, made)
            if os.path.exists(path):
                target = os.path.join(out, name + "." + kind)
                shutil.copy(path, target) if made.endswith(kind) else png_of_pgm(path, target)
                print("%s: %s" % (os.path.basename(page), target))
                break


def lay_out(source, build, root):
    """A checkout with this build in it, an empty folder to work in, and a home of its own."""
    checkout, work, home = (os.path.join(root, name) for name in ("pelt", "work", "home"))
    for folder in (checkout, work, home):
        os.mkdir(folder)
    for name in os.listdir(source):
        if not name.startswith("build"):
            os.symlink(os.path.join(source, name), os.path.join(checkout, name))
    os.symlink(build, os.path.join(checkout, "build"))
    # Blender takes the first Python of the path for its own: not one that this script alone was started by.
    others = [part for part in os.environ["PATH"].split(":") if part != os.path.dirname(os.path.realpath(sys.executable)) or part == "/usr/bin"]
    path = ":".join([os.path.join(checkout, "build")] + others)
    environment = dict(os.environ, PELT=checkout, PATH=path, HOME=home, OMP_WAIT_POLICY="passive")
    for name in ("PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH"):
        environment.pop(name, None)
    return work, environment


def run(page, source, build, root, pictures):
    work, environment = lay_out(source, build, root)
    said, ran, skipped = "", 0, []
    state = os.path.join(root, "state")  # exports and the current folder go on from block to block, as in a shell
    open(state, "w").write("cd '%s'\n" % work)
    absent = set()
    for line, kind, name, text, needs in steps_of(page):
        lacking = [what for what in (missing(need, source) for need in needs) if what]
        if kind == "text":
            for expected in text.strip().split("\n") if said is not None else []:
                if expected.strip() not in ("", "…") and not any(agrees(expected, other) for other in said.split("\n")):
                    sys.exit("%s:%d: not printed: %s\nprinted:\n%s" % (page, line, expected, said))
            continue
        if name:
            open(os.path.join(work, name), "w", encoding="utf-8").write(text)
            if kind != "sh":
                continue
        if lacking:
            absent.update(lacking)
            skipped.append(line)
            said = None
            continue
        script = ". '%s'\nset -euo pipefail\n%s\n{ set +x; export -p; printf 'cd %%q\\n' \"$PWD\"; } > '%s'\n" % (state, text, state)
        done = subprocess.run(["bash", "-c", script], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=900)
        said = done.stdout.decode("utf-8", "replace")
        ran += 1
        if done.returncode:
            sys.exit("%s:%d: failed with %d:\n%s\n%s" % (page, line, done.returncode, text, said))
    if pictures:
        keep_pictures(page, work, pictures)
    if not ran:
        print("skipped: there is no %s" % ", ".join(sorted(absent)))
        sys.exit(77)
    print("%s: %d blocks run%s" % (os.path.basename(page), ran, ", %d skipped: no %s" % (len(skipped), ", ".join(sorted(absent))) if skipped else ""))


def main(words):
    keep = pictures = None
    while len(words) > 3:
        option = words.pop(2)
        value = os.path.abspath(words.pop(2))
        if option == "--keep":
            keep = value
        elif option == "--pictures":
            pictures = value
        else:
            sys.exit(__doc__)
    if len(words) != 2:
        sys.exit(__doc__)
    build, page = os.path.abspath(words[0]), os.path.abspath(words[1])
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if keep:
        shutil.rmtree(keep, ignore_errors=True)
        os.makedirs(keep)
        return run(page, source, build, keep, pictures)
    with tempfile.TemporaryDirectory() as root:
        run(page, source, build, root, pictures)


main(sys.argv[1:])
