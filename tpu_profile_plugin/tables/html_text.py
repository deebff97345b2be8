"""Tables as HTML for notebooks: the first rows, without script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Protocol

from tpu_profile_plugin.tables.column import Column

_MOST_ROWS = 20
_MOST_LETTERS = 120


class Rows(Protocol):
    """The parts of a `Table` that are shown."""

    @property
    def columns(self) -> Sequence[Column]: ...
    def __len__(self) -> int: ...
    def take(self, rows: Sequence[int], /) -> Iterable[Mapping[str, Any]]: ...


def html_text(table: Rows, *, whole: bool = True) -> str:
    """The first rows with ids and units as headers; the line below counts the rows if the table is `whole`."""
    first = list(table.take(range(min(len(table), _MOST_ROWS))))
    names = "".join(f'<th title="{escape(c.sentence)}">{escape(c.id + _unit(c.unit))}</th>' for c in table.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in first)
    count = f"{len(table):,} rows" if whole else "more rows may follow"
    below = "" if whole and len(table) == len(first) else f"<p>The first {len(first)}; {count}.</p>"
    return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>{below}"


def _unit(unit: str) -> str:
    return f" ({unit})" if unit else ""


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    text = f"{value:,.6g}" if isinstance(value, float) else str(value)
    shown = text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"
    side = ' style="text-align:left"' if isinstance(value, str) else ""
    return f"<td{side}>{escape(shown)}</td>"
