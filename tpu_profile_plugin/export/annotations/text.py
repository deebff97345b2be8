"""Annotated lines as plain text with a gutter, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tpu_profile_plugin.export.annotations.lines import about, saving_of, shown_lines, source_of, sums_of
from tpu_profile_plugin.logdir.source_files import SourceRoot
from tpu_profile_plugin.run.figures.annotations import Annotation, Annotations
from tpu_profile_plugin.run.figures.findings import Cause
from tpu_profile_plugin.system.terminal import one_line
from tpu_profile_plugin.units import size

_GUTTER = f"{'time':>7} {'memory':>10} {'line':>6}  "


def text(found: Annotations, sources: SourceRoot) -> str:
    """Lines of the sources with their costs before them, and findings below."""
    return "\n".join(map(one_line, _text_lines(found, sources))) + "\n"


def _text_lines(found: Annotations, sources: SourceRoot) -> Iterator[str]:
    yield found.run if not found.headline else f"{found.run}: {found.headline}"
    yield about(found)
    for file, lines in found.files.items():
        yield ""
        yield f"{file}: {sums_of(lines, found)}"
        yield _GUTTER.rstrip()
        before = 0
        for number, code, one in shown_lines(lines, source_of(sources, file)):
            if before and number > before + 1:
                yield f"{'':>7} {'':>10} {'...':>6}"
            before = number
            share = "" if one is None or not one.self_ps else f"{one.share:.1%}"
            memory = "" if one is None or not one.memory_bytes else size(one.memory_bytes)
            yield f"{share:>7} {memory:>10} {number:>6}  {code}".rstrip()
            for cause in () if one is None else one.causes:
                yield f"{'':>25}^ {cause.title} ({saving_of(cause, found.base)}) [{cause.id}]"
    if found.others:
        yield ""
        yield "Without a line:"
        yield from (f"  {cause.title} ({saving_of(cause, found.base)}) [{cause.id}]" for cause in found.others)


def json_text(found: Annotations, sources: SourceRoot) -> str:
    """All that is known of each line."""
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
                "source": None if (text := source_of(sources, file)) is None else "/".join(text.parts),
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
