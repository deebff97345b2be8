"""The table cell that links an op to its source line, as other clients of these tables expect it: HTML."""

from __future__ import annotations

from html import escape

from tpu_profile_plugin.analysis.ops.records import OpText


def source_cell(text: OpText) -> str:
    """HTML of source file and line, with the stack as tooltip; "" without a source."""
    if not text.source_file or text.source_line == -1:
        return ""
    stack, location = _escaped(text.source_stack), _escaped(f"{text.source_file}:{text.source_line}")
    return f"<div class='source-info-cell' title='{stack}'>{location}</div>"


def _escaped(text: str) -> str:
    return escape(text, quote=True).replace("&#x27;", "&#39;")
