"""An envelope as text for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.system.terminal import one_line, visible

_BACKTICKS = re.compile("`+")
_WIDTH = 100
_WIDEST = 80
_WHOLE = ("id", "source")
"""Columns to copy into further questions: a line number is at the end of a long path."""


def as_text(envelope: Mapping[str, Any]) -> str:
    """Facts, rows as a table, the base of percentages, the page, and what to ask next."""
    return "\n".join(map(one_line, _lines(envelope))) + "\n"


def _lines(envelope: Mapping[str, Any]) -> Iterator[str]:
    if envelope["cannot_answer"] is not None:
        yield from textwrap.wrap(f"The profile does not tell: {envelope['cannot_answer']['reason']}", _WIDTH)
        yield from textwrap.wrap(f"To record it: {envelope['cannot_answer']['how_to_record']}", _WIDTH)
    for sentence in envelope["from"].get("left_out", ()):
        yield from textwrap.wrap(sentence, _WIDTH)
    units = envelope["units"]
    tables: list[list[dict[str, Any]]] = []
    for id_, value in envelope["answer"].items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            tables.append(value)
        elif isinstance(value, Mapping):
            inner = (f"{_label(name)} {_cell(one, units.get(name))}" for name, one in value.items())
            yield f"{_label(id_)}: {', '.join(inner)}"
        else:
            text = " ".join(value.split()) if isinstance(value, str) else _cell(value, units.get(id_), whole=True)
            yield from textwrap.wrap(f"{_label(id_)}: {text}", _WIDTH, subsequent_indent="  ", break_long_words=False)
    for rows in tables:
        yield ""
        yield from _table(rows, units)
    shown = envelope["rows"]
    if shown is not None and shown["of"]:
        yield f"Rows {shown['from'] + 1} to {shown['to']} of {shown['of']:,}."
    base = envelope["base"]
    yield ""
    if base:
        told = base if isinstance(base, str) else "; ".join(f"{_label(id_)}: {text}" for id_, text in base.items())
        yield from textwrap.wrap(f"Percentages: {told}", _WIDTH)
    yield f"Page: {envelope['link']}"
    if envelope["next"]:
        yield "Next:"
        yield from (f"  {command}" for command in envelope["next"])
    if envelope["cursor"]:
        yield f"More rows: --cursor {envelope['cursor']}"
    yield from _losses(envelope["from"])


def _losses(about: Mapping[str, Any]) -> Iterator[str]:
    """What was left out of the run, beyond the hosts that are named already."""
    told = " ".join(about.get("left_out", ()))
    for problem in about.get("problems", ()):
        if problem["message"] not in told:
            yield from textwrap.wrap(f"Problem: {Problem(**problem).sentence}", _WIDTH, subsequent_indent="  ")
    if more := about.get("more_problems"):
        yield f"{more} more problem{'' if more == 1 else 's'}: `tpu-profile doctor` lists all."


def _table(rows: list[dict[str, Any]], units: Mapping[str, str]) -> Iterator[str]:
    columns = []
    for id_ in dict.fromkeys(id_ for row in rows for id_ in row):
        unit = units.get(id_)
        head = f"{_label(id_)}, {unit}" if unit and unit != id_ else _label(id_)
        cells = [head, *(_cell(row.get(id_), whole=id_ in _WHOLE) for row in rows)]
        columns.append((cells, any(isinstance(row.get(id_), (int, float)) for row in rows)))
    return aligned(columns)


def in_markdown(text: str) -> str:
    """Text without meaning for Markdown, on one line; `@name` in it is no mention."""
    line = visible(" ".join(text.split()))
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|&~" else char for char in line).replace("@", "@<!-- -->")


def in_code(text: str) -> str:
    """A code span of Markdown with the text, on one line."""
    line = visible(" ".join(text.split()))
    fence = "`" * (max(map(len, _BACKTICKS.findall(line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"`{line}`"


def aligned(columns: Iterable[tuple[Sequence[str], bool]]) -> Iterator[str]:
    """The lines of a table: of each column the cells, the head first, and whether they are aligned to the right."""
    padded = []
    for cells, right in columns:
        cells = list(map(one_line, cells))
        width = max(map(len, cells))
        padded.append([cell.rjust(width) if right else cell.ljust(width) for cell in cells])
    for line in zip(*padded, strict=True):
        yield "  ".join(line).rstrip()


def _label(id_: str) -> str:
    for end in ("_ms", "_bytes", "_percent"):
        id_ = id_.removesuffix(end)
    return id_.replace("_", " ")


def _cell(value: Any, unit: str | None = None, *, whole: bool = False) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        cells = [_cell(one, whole=whole) for one in value]
        return (" " if cells and cells[0].endswith(".") else ", ").join(cells) or "none"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}" if isinstance(value, float) else str(value)
    shown = " ".join(shown.split())
    if isinstance(value, str) and len(shown) > _WIDEST and unit is None and not whole:
        shown = f"{shown[: _WIDEST - 1]}…"
    return f"{shown} {unit}" if unit else shown
