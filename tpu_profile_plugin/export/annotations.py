"""Source lines with their time, memory and findings: plain text with a gutter, JSON, SARIF 2.1.0, an HTML page.

Editors and code hosts show SARIF beside the code; the other forms need none.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from tpu_profile_plugin.errors import Forbidden, NotAvailable, NotFound
from tpu_profile_plugin.logdir.source_files import SourceRoot, SourceText
from tpu_profile_plugin.run.figures.annotations import Annotation, Annotations
from tpu_profile_plugin.run.figures.findings import Cause
from tpu_profile_plugin.system.terminal import one_line
from tpu_profile_plugin.units import GIB, KIB, MIB, duration
from tpu_profile_plugin.version import __version__

LEAST_SHARE = 0.01
"""Lines with less than this share of time, and of memory, and without a finding are no results of SARIF."""
_AROUND = 2
"""Lines of the source that are shown before and behind an annotated one."""
_ROOT = "SRCROOT"
_TIME, _MEMORY = "time_of_line", "memory_of_line"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES = {
    _TIME: ("Time of a line", "Self time of the ops that are compiled from the line or launched there."),
    _MEMORY: ("Memory of a line", "What buffers or allocations of the line hold at the peak."),
}
_PLACES = {"cpu": "CPU", "device": "device", "framework device": "device", "framework host": "host"}
_LEVELS = {"high": "warning", "medium": "warning", "low": "note"}


def written(found: Annotations, form: str, sources: SourceRoot) -> str:
    """The annotations in one of `FORMS`; `sources`: where the texts of the files are, if anywhere."""
    return FORMS[form](found, sources)


def _source(sources: SourceRoot, file: str) -> SourceText | None:
    """The text of a file; None if it is not below the directory, or cannot be shown."""
    try:
        return sources.read(file)
    except (Forbidden, NotAvailable, NotFound):
        return None


def _size(count: float) -> str:
    unit, size = next(
        ((name, size) for name, size in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)) if count >= size), ("B", 1)
    )
    return f"{count / size:.4g} {unit}"


def _saving(cause: Cause, base: str) -> str:
    if not cause.saving_ps:
        return "no direct cost"
    return f"up to {duration(cause.saving_ps)}, {cause.share:.1%} of the {base}"


def _costs(one: Annotation, found: Annotations) -> str:
    """The sentence about a line."""
    parts = []
    if one.self_ps:
        parts.append(
            f"{one.share:.1%} of the self time of all ops on the {_PLACES[found.place]} ({duration(one.self_ps)})"
        )
    if one.memory_bytes:
        parts.append(f"{_size(one.memory_bytes)} at the peak of {found.memory_of} ({one.memory_share:.1%} of it)")
    return ", ".join(parts)


def _sums(lines: Sequence[Annotation], found: Annotations) -> str:
    """What a file costs."""
    time = f"{sum(one.share for one in lines):.1%} of the time" if found.total_ps else ""
    size = sum(one.memory_bytes for one in lines)
    return ", ".join(filter(None, (time, f"{_size(size)} at the peak" if size else ""))) or "findings"


def _shown_lines(lines: Sequence[Annotation], text: SourceText | None) -> list[tuple[int, str, Annotation | None]]:
    """Numbers and texts of the lines that are shown, with their annotations; without the source those alone."""
    by_line = {one.line: one for one in lines}
    if text is None:
        return [(one.line, one.function, one) for one in lines]
    all_lines = text.text.splitlines()
    near = {line + step for line in by_line for step in range(-_AROUND, _AROUND + 1)}
    numbers = sorted(line for line in near if 1 <= line <= len(all_lines) or line in by_line)
    return [(at, all_lines[at - 1] if at <= len(all_lines) else "", by_line.get(at)) for at in numbers]


# Plain text.

_GUTTER = f"{'time':>7} {'memory':>10} {'line':>6}  "


def _text(found: Annotations, sources: SourceRoot) -> str:
    return "\n".join(map(one_line, _text_lines(found, sources))) + "\n"


def _text_lines(found: Annotations, sources: SourceRoot) -> Iterator[str]:
    yield found.run if not found.headline else f"{found.run}: {found.headline}"
    yield _about(found)
    for file, lines in found.files.items():
        yield ""
        yield f"{file}: {_sums(lines, found)}"
        yield _GUTTER.rstrip()
        before = 0
        for number, code, one in _shown_lines(lines, _source(sources, file)):
            if before and number > before + 1:
                yield f"{'':>7} {'':>10} {'...':>6}"
            before = number
            share = "" if one is None or not one.self_ps else f"{one.share:.1%}"
            memory = "" if one is None or not one.memory_bytes else _size(one.memory_bytes)
            yield f"{share:>7} {memory:>10} {number:>6}  {code}".rstrip()
            for cause in () if one is None else one.causes:
                yield f"{'':>25}^ {cause.title} ({_saving(cause, found.base)}) [{cause.id}]"
    if found.others:
        yield ""
        yield "Without a line:"
        yield from (f"  {cause.title} ({_saving(cause, found.base)}) [{cause.id}]" for cause in found.others)


def _about(found: Annotations) -> str:
    parts = []
    if found.total_ps:
        located = found.located_ps / found.total_ps
        whole = f"{duration(found.total_ps)} in all, {located:.1%} with a line"
        parts.append(f"time: self time of ops on the {_PLACES[found.place]}, {whole}")
    if found.memory_of:
        parts.append(f"memory: at the peak of {found.memory_of}, {_size(found.peak_bytes)}")
    return "; ".join(parts) or "neither time nor memory has lines"


# JSON.


def _json(found: Annotations, sources: SourceRoot) -> str:
    document = {
        "run": found.run,
        "headline": found.headline,
        "place": found.place,
        "total_ps": found.total_ps,
        "located_ps": found.located_ps,
        "memory_of": found.memory_of,
        "peak_bytes": found.peak_bytes,
        "saving_base": found.base,
        "files": [
            {
                "file": file,
                "source": None if (text := _source(sources, file)) is None else "/".join(text.parts),
                "lines": [_line_of(one) for one in lines],
            }
            for file, lines in found.files.items()
        ],
        "findings_without_line": [_cause(cause) for cause in found.others],
    }
    return json.dumps(document, indent=1) + "\n"


def _line_of(one: Annotation) -> dict[str, Any]:
    return {
        "line": one.line,
        "function": one.function,
        "self_ps": one.self_ps,
        "share_percent": 100 * one.share,
        "ops": one.ops,
        "occurrences": one.occurrences,
        "memory_bytes": one.memory_bytes,
        "memory_percent": 100 * one.memory_share,
        "findings": [_cause(cause) for cause in one.causes],
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "id": cause.id,
        "title": cause.title,
        "saving_ps": cause.saving_ps,
        "saving_percent": 100 * cause.share,
        "confidence": cause.confidence,
        "advice": cause.advice,
    }


# SARIF 2.1.0.


def _sarif(found: Annotations, sources: SourceRoot) -> str:
    causes = [*(cause for one in found.lines for cause in one.causes), *found.others]
    rules: dict[str, dict[str, Any]] = {}
    for id_, (name, about) in _RULES.items():
        rules[id_] = _rule(id_, name, about)
    for cause in causes:
        about = " ".join(cause.rule.documentation)
        rules.setdefault(cause.id, _rule(cause.id, cause.rule.looks_for, about))
    number = {id_: at for at, id_ in enumerate(rules)}
    results: list[dict[str, Any]] = []
    for file, lines in found.files.items():
        text = _source(sources, file)
        where = _artifact(file, text)
        for one in lines:
            results += _results(one, found, where, number)
    results += [_finding(cause, found, number, []) for cause in found.others]
    driver = {
        "name": "tpu-profile",
        "version": __version__,
        "rules": list(rules.values()),
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"{quote(found.run)}/"},
        "columnKind": "utf16CodeUnits",
        "results": results,
    }
    if sources.path:
        run["originalUriBaseIds"] = {_ROOT: {"uri": PurePath(sources.path).as_uri().rstrip("/") + "/"}}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(id_: str, name: str, about: str) -> dict[str, Any]:
    return {"id": id_, "shortDescription": {"text": name}, "fullDescription": {"text": about}, "help": {"text": about}}


def _artifact(file: str, text: SourceText | None) -> dict[str, Any]:
    """Where a file is: below the directory of sources, else as it was recorded."""
    if text is not None:
        return {"uri": quote("/".join(text.parts)), "uriBaseId": _ROOT}
    windows = PureWindowsPath(file)
    if windows.drive and windows.is_absolute():
        return {"uri": windows.as_uri()}
    if file.startswith("/"):
        return {"uri": PurePosixPath(file).as_uri()}
    return {"uri": quote(file.replace("\\", "/"))}


def _results(
    one: Annotation, found: Annotations, where: Mapping[str, Any], number: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    place = {"physicalLocation": {"artifactLocation": dict(where), "region": {"startLine": max(1, one.line)}}}
    for cause in one.causes:
        yield _finding(cause, found, number, [place])
    costs = {
        _TIME: (one.self_ps, one.share, {"selfPs": one.self_ps, "sharePercent": 100 * one.share}),
        _MEMORY: (
            one.memory_bytes,
            one.memory_share,
            {"memoryBytes": one.memory_bytes, "sharePercent": 100 * one.memory_share},
        ),
    }
    for rule, (amount, share, properties) in costs.items():
        if amount and (share >= LEAST_SHARE or one.causes):
            alone = Annotation(one.file, one.line, **_only(one, rule))
            yield _result(rule, "note", _costs(alone, found), number, [place], 100 * share, properties)


def _only(one: Annotation, rule: str) -> dict[str, Any]:
    if rule == _TIME:
        return {"self_ps": one.self_ps, "share": one.share}
    return {"memory_bytes": one.memory_bytes, "memory_share": one.memory_share}


def _finding(
    cause: Cause, found: Annotations, number: Mapping[str, int], places: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    text = f"{cause.title} ({_saving(cause, found.base)}). {cause.advice}"
    properties = {
        "savingPs": cause.saving_ps,
        "savingPercent": 100 * cause.share,
        "savingBase": found.base,
        "confidence": cause.confidence,
    }
    level = _LEVELS[cause.confidence] if cause.saving_ps else "note"
    return _result(cause.id, level, text, number, places, 100 * cause.share, properties)


def _result(
    rule: str,
    level: str,
    text: str,
    number: Mapping[str, int],
    places: Sequence[Mapping[str, Any]],
    rank: float,
    properties: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "ruleId": rule,
        "ruleIndex": number[rule],
        "level": level,
        "message": {"text": text},
        "locations": list(places),
        "rank": min(100.0, max(0.0, rank)),
        "properties": dict(properties),
    }


# HTML.

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


def _html(found: Annotations, sources: SourceRoot) -> str:
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
    yield f'<p class="dim">Run {escape(found.run)}; {escape(_about(found))}.</p>'
    most = max((one.share for one in found.lines), default=0.0)
    most_memory = max((one.memory_share for one in found.lines), default=0.0)
    files = found.files
    if len(files) > 1:
        links = (f'<a href="#f{at}">{escape(_short(file))}</a>' for at, file in enumerate(files))
        yield f"<p>{' · '.join(links)}</p>"
    for at, (file, lines) in enumerate(files.items()):
        text = _source(sources, file)
        yield f'<h2 id="f{at}">{escape(file)}</h2>'
        missing = "" if text is not None or not sources.path else "; its text is not below the directory of sources"
        yield f'<p class="dim">{escape(_sums(lines, found) + missing)}</p>'
        yield '<table><thead><tr><th scope="col">Time</th><th scope="col">Memory</th><th scope="col">Line</th>'
        yield '<th scope="col">Code</th></tr></thead><tbody>'
        before = 0
        for number, code, one in _shown_lines(lines, text):
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
    memory = _size(one.memory_bytes) if one.memory_bytes else ""
    heats = _heat("t", one.share, most), _heat("m", one.memory_share, most_memory)
    return f'<td class="n{heats[0]}">{time}</td><td class="n{heats[1]}">{memory}</td>'


def _heat(kind: str, share: float, most: float) -> str:
    step = round(_HEATS * share / most) if most else 0
    return f" {kind}{max(1, step)}" if share else ""


def _html_causes(causes: Iterable[Cause], base: str) -> Iterator[str]:
    for cause in causes:
        yield (
            f'<tr class="finding"><td colspan="4"><b>{escape(cause.title)}</b> '
            f"({escape(_saving(cause, base))}). {escape(cause.advice)}</td></tr>"
        )


FORMS: Mapping[str, Callable[[Annotations, SourceRoot], str]] = {
    "sarif": _sarif,
    "json": _json,
    "text": _text,
    "html": _html,
}
"""The forms by name."""
