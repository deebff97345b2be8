"""Annotated lines as an HTML page, a heat view of each file, without scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape

from tpu_profile_plugin.export.annotations.lines import about, saving_of, shown_lines, source_of, sums_of
from tpu_profile_plugin.logdir.source_files import SourceRoot
from tpu_profile_plugin.run.figures.annotations import Annotation, Annotations
from tpu_profile_plugin.run.figures.findings import Cause
from tpu_profile_plugin.units import size

_STYLE = """
:root{color-scheme:light dark;--bg:light-dark(#fff,#14181e);--text:light-dark(#1b2430,#e4e9ef);
--dim:light-dark(#566273,#9eabba);--line:light-dark(#d8dee6,#2e3742);--time:light-dark(#c9dcf7,#244874);
--memory:light-dark(#ffe1b8,#5a4012);--warn:light-dark(#8a5300,#f2bf6b);--warn-bg:light-dark(#fff5e0,#362709);
--accent:light-dark(#1f5fbf,#7fb0f5)}
body{margin:0 auto;max-width:1200px;padding:16px;background:var(--bg);color:var(--text);
font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
h1{font-size:18px;margin:0 0 4px}h2{font-size:14px;margin:24px 0 4px;overflow-wrap:anywhere}
p{margin:4px 0}.dim{color:var(--dim)}a{color:var(--accent)}
table{border-collapse:collapse;width:100%;border:1px solid var(--line)}
th{text-align:right;font-weight:600;padding:2px 8px;color:var(--dim)}th:last-child{text-align:left}
td{padding:0 8px;vertical-align:top;white-space:pre;font:12px/20px ui-monospace,"SF Mono",Menlo,Consolas,monospace}
td.n{text-align:right;width:1%;font-variant-numeric:tabular-nums}
td.code{white-space:pre-wrap;overflow-wrap:anywhere}
.gap td{border-top:1px dashed var(--line)}
.finding td{white-space:normal;background:var(--warn-bg);font:13px/20px system-ui,sans-serif;padding:4px 8px}
.finding b{color:var(--warn)}
"""
_HEATS = 20
"""Steps of the heat of a line, each a class: styles of elements are not allowed."""


def _style() -> str:
    steps = (
        f".t{i}{{background:linear-gradient(to left,var(--time) {100 * i // _HEATS}%,transparent 0)}}"
        f".m{i}{{background:linear-gradient(to left,var(--memory) {100 * i // _HEATS}%,transparent 0)}}"
        for i in range(1, _HEATS + 1)
    )
    return _STYLE + "\n".join(steps)


def html(found: Annotations, sources: SourceRoot) -> str:
    """A page that needs no other file."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = "\n".join(_html_lines(found, sources))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(found.run)}: source lines</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _html_lines(found: Annotations, sources: SourceRoot) -> Iterator[str]:
    yield f"<h1>{escape(found.headline or found.run)}</h1>"
    yield f'<p class="dim">Run {escape(found.run)}; {escape(about(found))}.</p>'
    most = max((one.share for one in found.lines), default=0.0)
    most_memory = max((one.memory_share for one in found.lines), default=0.0)
    files = found.files
    if len(files) > 1:
        links = (f'<a href="#f{at}">{escape(_short(file))}</a>' for at, file in enumerate(files))
        yield f"<p>{' · '.join(links)}</p>"
    for at, (file, lines) in enumerate(files.items()):
        text = source_of(sources, file)
        yield f'<h2 id="f{at}">{escape(file)}</h2>'
        missing = "" if text is not None or not sources.path else "; its text is not below the directory of sources"
        yield f'<p class="dim">{escape(sums_of(lines, found) + missing)}</p>'
        yield '<table><thead><tr><th scope="col">Time</th><th scope="col">Memory</th><th scope="col">Line</th>'
        yield '<th scope="col">Code</th></tr></thead><tbody>'
        before = 0
        for number, code, one in shown_lines(lines, text):
            gap = ' class="gap"' if before and number > before + 1 else ""
            before = number
            yield f"<tr{gap}>{_cells(one, most, most_memory)}"
            yield f'<td class="n dim">{number}</td><td class="code">{escape(code)}</td></tr>'
            yield from _html_causes(() if one is None else one.causes, found.base)
        yield "</tbody></table>"
    if found.others:
        yield "<h2>Findings without a line</h2><table><tbody>"
        yield from _html_causes(found.others, found.base)
        yield "</tbody></table>"


def _short(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


def _cells(one: Annotation | None, most: float, most_memory: float) -> str:
    if one is None:
        return '<td class="n"></td><td class="n"></td>'
    time = f"{one.share:.1%}" if one.self_ps else ""
    memory = size(one.memory_bytes) if one.memory_bytes else ""
    heats = _heat("t", one.share, most), _heat("m", one.memory_share, most_memory)
    return f'<td class="n{heats[0]}">{time}</td><td class="n{heats[1]}">{memory}</td>'


def _heat(kind: str, share: float, most: float) -> str:
    step = round(_HEATS * share / most) if most else 0
    return f" {kind}{max(1, step)}" if share else ""


def _html_causes(causes: Iterable[Cause], base: str) -> Iterator[str]:
    for cause in causes:
        yield (
            f'<tr class="finding"><td colspan="4"><b>{escape(cause.title)}</b> '
            f"({escape(saving_of(cause, base))}). {escape(cause.advice)}</td></tr>"
        )
