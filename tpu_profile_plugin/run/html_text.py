"""Findings and comparisons as HTML for notebooks: a few lines, without script, with all texts escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_MOST_LETTERS = 400


def bold(text: str) -> str:
    """A text in bold letters."""
    return f"<b>{plain(text)}</b>"


def plain(text: str) -> str:
    """A text, shortened if it is long."""
    return escape(text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…")


def paragraphs(*parts: str) -> str:
    """Paragraphs of HTML, without the empty ones."""
    return "".join(f"<p>{part}</p>" for part in parts if part)


def numbered(items: Iterable[Sequence[str]]) -> str:
    """A list of entries of HTML, each of several lines; "" without any."""
    entries = "".join(f"<li>{'<br>'.join(filter(None, lines))}</li>" for lines in items)
    return f"<ol>{entries}</ol>" if entries else ""


def rows(headers: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    head = "".join(f"<th>{plain(text)}</th>" for text in headers)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in cells)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    return f'<td style="text-align:left">{plain(text)}</td>'
