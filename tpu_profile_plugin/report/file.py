"""The HTML file of a report: the script and styles of the page, and the stored answers, compressed one by one."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from tpu_profile_plugin.errors import NotAvailable
from tpu_profile_plugin.export.write import write_file
from tpu_profile_plugin.report.collector import Ask, Collector, Stored, Window, defaults
from tpu_profile_plugin.report.redact import LEFT, REPLACED, Redactor
from tpu_profile_plugin.system.process import available_cores
from tpu_profile_plugin.version import __version__

STATIC = Path(__file__).resolve().parents[1] / "static" / "report"

_LEVEL = 6
_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Profile</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<noscript>This report is drawn by JavaScript, which is off or not allowed here. Open the file in a browser.</noscript>
<div id="app"></div>
<script type="application/json" id="report-index">{index}</script>
<script type="application/octet-stream" id="report-data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def _page(about: Mapping[str, Any], answers: Iterable[Stored]) -> bytes:
    """The file; the same bytes for the same answers. `about`: what the report says about itself."""
    script, style = _part("report.js"), _part("report.css")
    stored = list({one.key: one for one in answers}.values())
    with ThreadPoolExecutor(available_cores(), "profile-report") as pool:  # zlib releases the GIL
        packed = list(pool.map(lambda one: zlib.compress(one.body, _LEVEL), stored))
    places: dict[str, tuple[int, int, int]] = {}
    offset = 0
    for one, data in zip(stored, packed, strict=True):
        places[one.key] = offset, len(data), one.status
        offset += len(data)
    index = json.dumps({"report": dict(about), "defaults": defaults(), "answers": places}, separators=(",", ":"))
    text = _PAGE.format(
        policy=_policy(script, style),
        style=style,
        index=index.translate(_ESCAPED),
        data=base64.b64encode(b"".join(packed)).decode(),
        script=script,
    )
    return text.encode()


def _part(name: str) -> str:
    """A file of the built frontend, which must not end the element that it is put into."""
    try:
        text = (STATIC / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotAvailable("The page of reports is not built: run `npm run build` in frontend/.") from None
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("</style", "<\\/style")


def _policy(script: str, style: str) -> str:
    """Nothing is requested, and nothing runs but the script of this file; elements have styles of their own."""
    digests = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (script, style)]
    return (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def make(
    ask: Ask,
    run: str,
    base: str | None = None,
    window: Window | None = None,
    redactor: Redactor | None = None,
    trend: Mapping[str, Any] | None = None,
) -> bytes:
    """The HTML file of a run, compared with `base` if it is given.

    Args:
      ask: the server's answers.
      run, base: names of runs.
      window: what the timeline shows; None: the slowest step and its neighbours, without steps the recording.
      redactor: changes every answer before it is stored.
      trend: the answer of the server's route `trend`, which is stored; None: the report has no such page.

    Raises NotFound for an unknown run, and NotAvailable if the frontend is not built.
    """
    answers = Collector(ask, run, base, window, trend).answers()
    about = {"run": run, "base": base, "trend": trend is not None, "version": __version__, "redacted": None}
    if redactor is None:
        return _page(about, answers)
    names = {"run": redactor.text(run), "base": base and redactor.text(base)}
    return _page({**about, **names, "redacted": f"{REPLACED}; {LEFT}"}, map(redactor, answers))


_HEIGHT = 800


@dataclass(frozen=True)
class SavedReport:
    """A run in one HTML file, which needs no server.

    Attributes:
      data: the file.
      logdir: where the run is; reports are not written there.
      left: what redaction replaced and left; "" without it.
      height: of its frame in a notebook, in pixels.
    """

    data: bytes = field(repr=False)
    logdir: str = field(default="", repr=False)
    left: str = ""
    height: int = _HEIGHT

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes the file; raises BadRequest if it exists and `force` is false, or cannot be written."""
        path = Path(path)
        write_file(path, lambda place: place.write_bytes(self.data), logdir=self.logdir, force=force)
        return path

    def _repr_html_(self) -> str:
        # A frame with an origin of its own: the scripts of the report reach nothing of the notebook.
        return (
            f'<iframe srcdoc="{escape(self.data.decode())}" sandbox="allow-scripts allow-downloads allow-popups" '
            f'width="100%" height="{self.height}" frameborder="0" allowfullscreen></iframe>'
            "<p>Shown by a report: the first view of every page, and the timeline of one window.</p>"
        )
