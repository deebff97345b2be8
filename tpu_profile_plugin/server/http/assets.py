"""Serves the built frontend: names are looked up in a directory listing, never joined to a path from a request."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tpu_profile_plugin.cache.bodies import Body
from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.server.http.answer import HTML, IMMUTABLE, NEVER, REVALIDATE, Answer

STATIC = Path(__file__).resolve().parents[2] / "static"

_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".html": HTML,
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
_HASHED = re.compile(r"-[A-Za-z0-9_-]{8,}\.[a-z0-9.]+$")

_ENTRY = b"""// Used when the frontend is not built: TensorBoard calls render() in the plugin's frame.
export function render() {
  document.location.href = new URL("index.html", import.meta.url).href;
}
"""
_MISSING = b"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Profile: the page is not built</title></head>
<body>
<h1>The Profile page is not built yet</h1>
<p>The plugin is running, but its web page is missing from the installation.
In a source checkout, build it once and reload:</p>
<pre>cd frontend
npm ci
npm run build</pre>
<p>or install the package with <code>pip install .</code>, which builds it too.
A wheel always contains the page; if you see this with an installed wheel, reinstall it.</p>
</body>
</html>
"""


class Assets:
    """Files of the static directory, cached in memory until they change."""

    def __init__(self, directory: Path = STATIC) -> None:
        self._directory = directory
        self._cached: dict[str, tuple[tuple[int, int], Body]] = {}

    def page(self) -> Answer:
        """index.html, or a page with instructions for building it."""
        body = self._find(self._directory, "index.html")
        return Answer(Body(_MISSING, HTML), 503, cache=NEVER) if body is None else Answer(body)

    def entry(self) -> Answer:
        """index.js, the module that TensorBoard loads."""
        return Answer(self._find(self._directory, "index.js") or Body(_ENTRY, _TYPES[".js"]))

    def static(self, name: str) -> Answer:
        """A file below static/; files with a content hash in their name are immutable."""
        directory = self._directory / "static"
        *parents, last = name.split("/")
        for parent in parents:
            if parent not in _names(directory, directories=True):
                raise _absent(name)
            directory = directory / parent
        body = self._find(directory, last)
        if body is None:
            raise _absent(name)
        return Answer(body, cache=IMMUTABLE if _HASHED.search(last) else REVALIDATE)

    def _find(self, directory: Path, name: str) -> Body | None:
        if name not in _names(directory, directories=False):
            return None
        path = directory / name
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            cached = self._cached.get(str(path))
            if cached is not None and cached[0] == stamp:
                return cached[1]
            content_type = _TYPES.get(path.suffix, "application/octet-stream")
            body = Body(path.read_bytes(), content_type)
        except OSError:
            return None
        self._cached[str(path)] = (stamp, body)
        return body


def _names(directory: Path, *, directories: bool) -> set[str]:
    try:
        with os.scandir(directory) as entries:
            return {entry.name for entry in entries if entry.is_dir(follow_symlinks=False) == directories}
    except OSError:
        return set()


def _absent(name: str) -> NotFound:
    return NotFound(f"There is no static file {name[:80]!r}.")
