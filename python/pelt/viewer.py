"""A character with its skins in a notebook: the page of `pelt view`, exported as files and put into one HTML text.

Nothing is served and nothing is loaded from elsewhere, so the cell still works in a notebook that was saved and sent.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Optional, Sequence, Union

from ._arrays import integers, list_of
from ._library import FOLDER, ArgumentError, Error
from .character import Character, a_character
from .skin import Skin

MOST_BYTES = 64 << 20
"""A larger page is not put into a cell."""

_ORIGIN = "https://pelt.invalid/"
_TYPES = {".json": "application/json", ".wasm": "application/wasm", ".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg"}


def program() -> Optional[str]:
    """The program `pelt`: what PELT_PROGRAM names, that of this package, or that of the PATH; None: not found."""
    named = os.environ.get("PELT_PROGRAM")
    beside = FOLDER / "pelt"
    return named or (str(beside) if beside.exists() else shutil.which("pelt"))


def view_html(character: Character, skins: Union[Skin, Sequence[Skin]] = (), *, height: int = 560) -> str:
    """An iframe with the viewer inside, for `IPython.display.HTML`. Skins and characters show themselves this way.

    Args:
        character: from a file, or from arrays.
        skins: of this character.
        height: in pixels.

    Raises:
        Error: the program `pelt` is not there, or the page is larger than `MOST_BYTES`.
    """
    a_character(character)
    shown = [skins] if isinstance(skins, Skin) else list_of(skins, "skins")
    for skin in shown:
        if not isinstance(skin, Skin):
            raise ArgumentError(f"skins: expected skins, not {type(skin).__name__}", option="skins")
    pixels = int(integers(height, (), "height"))
    with tempfile.TemporaryDirectory(prefix="pelt-") as folder:
        site = Path(folder) / "site"
        _export(character, shown, Path(folder), site)
        size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
        if size > MOST_BYTES:
            raise Error(f"the page has {size >> 20} MiB, too large for a cell; show it with `pelt view`, or use fewer frames")
        page = _one_file(site)
    source = html.escape(page, quote=True)
    return f'<iframe srcdoc="{source}" style="width: 100%; height: {pixels}px; border: 0" allow="fullscreen" title="pelt"></iframe>'


def html_or_none(character: Character, skin: Optional[Skin]) -> Optional[str]:
    """For `_repr_html_`: where there is nothing to show, the cell falls back to text."""
    try:
        return view_html(character, () if skin is None else skin)
    except Error as problem:
        what = repr(character) if skin is None else repr(skin)
        return f"<pre>{html.escape(what)}\n{html.escape(str(problem))}</pre>"


def _export(character: Character, skins: Sequence[Skin], folder: Path, site: Path) -> None:
    found = program()
    if found is None:
        raise Error("the program pelt, which makes the page, was not found; install it, or name it in PELT_PROGRAM", "file")
    scene = Path(character.path)
    if character.is_from_arrays:
        scene = folder / "character.glb"
        character.save(scene)
    words = [found, "view", str(scene)]
    for i, skin in enumerate(skins):
        name = skin.report.method if skin.report else "skin"
        file = folder / (f"{name}{i + 1}.pelt" if len(skins) > 1 else f"{name}.pelt")
        skin.save(file)
        words.append(str(file))
    try:
        done = subprocess.run([*words, "--export", str(site), "--quiet"], capture_output=True, text=True, check=False)
    except OSError as problem:
        raise Error(f"{found}: cannot be run: {problem.strerror}; name the program pelt in PELT_PROGRAM", "file") from None
    if done.returncode:
        raise Error(done.stderr.strip() or f"{found} ended with {done.returncode}", "data")


def _one_file(site: Path) -> str:
    """The site as one page: scripts and styles in line, everything else in a table that stands in for the server."""
    page = (site / "index.html").read_text("utf-8")
    script = _asset(site, page, r'<script[^>]*\ssrc="\./([^"]+)"[^>]*></script>')
    style = _asset(site, page, r'<link[^>]*rel="stylesheet"[^>]*\shref="\./([^"]+)"[^>]*>')
    files = {
        file.relative_to(site).as_posix(): [_TYPES.get(file.suffix, "application/octet-stream"), _base64(file)]
        for file in sorted(site.rglob("*"))
        if file.is_file() and file.suffix not in (".html", ".js", ".css")
    }
    code = (site / script).read_text("utf-8").replace("import.meta.url", json.dumps(_ORIGIN + script))
    shown = re.sub(r"<(meta http-equiv|link|script)[^>]*>(</script>)?", "", page)
    head = (
        f'<base href="{_ORIGIN}"><style>{(site / style).read_text("utf-8")}</style>'
        f'<script type="application/json" id="pelt-files">{json.dumps(files)}</script><script>{_SERVER}</script>'
    )
    body = f'<script type="module">{_safe(code)}</script>'
    return shown.replace("</head>", head + "</head>").replace("</body>", body + "</body>")


def _asset(site: Path, page: str, pattern: str) -> str:
    found = re.search(pattern, page)
    if not found or not (site / found.group(1)).is_file():
        raise Error("this pelt was built without its page; build it where npm is installed", "unsupported")
    return found.group(1)


def _base64(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode("ascii")


def _safe(code: str) -> str:
    """A script ends at the first closing tag, also inside its texts."""
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")


# Answers what the page asks of its server from the table. A frame without an origin has no history and no storage: both are
# given a substitute, because pages remember where one was.
_SERVER = r"""
const files = JSON.parse(document.getElementById('pelt-files').textContent), real = window.fetch.bind(window);
window.fetch = async (what, options) => {
  const url = new URL(what instanceof Request ? what.url : what, document.baseURI);
  if (url.origin !== 'https://pelt.invalid') return real(what, options);
  const file = files[decodeURIComponent(url.pathname.slice(1))];
  if (!file) return new Response('not found', {status: 404});
  const bytes = Uint8Array.from(atob(file[1]), (letter) => letter.charCodeAt(0));
  return new Response(bytes, {headers: {'content-type': file[0], 'content-length': String(bytes.length)}});
};
for (const name of ['pushState', 'replaceState']) history[name] = () => undefined;
for (const name of ['localStorage', 'sessionStorage']) {
  try { window[name].getItem(''); } catch {
    const kept = new Map();
    Object.defineProperty(window, name, {value: {
      getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, String(value)),
      removeItem: (key) => void kept.delete(key), clear: () => kept.clear(), key: () => null, length: 0}});
  }
}
"""

__all__ = ["program", "view_html"]
