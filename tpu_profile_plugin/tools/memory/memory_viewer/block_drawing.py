"""Draws memory over time: one rectangle per buffer, from its first to its last event, at its offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tpu_profile_plugin.units import MIB

_WIDTH, _HEIGHT = 1600, 900


def drawing(title: str, blocks: Sequence[Mapping[str, Any]]) -> bytes:
    """An HTML page with one SVG, without scripts and styles; `blocks` are the `bufferBlocks` of the memory viewer."""
    last = max((block.get("endStep", 0) for block in blocks), default=0) + 1
    height = max((block.get("offset", 0) + block.get("size", 0) for block in blocks), default=0) or 1
    body = "".join(_rectangle(block, last, height) for block in blocks)
    note = "" if blocks else "<p>The program has no heap simulator trace, hence no temporary buffers to show.</p>"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head><body>'
        f"<h1>{escape(title)}: memory over time</h1>{note}"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img">{body}</svg></body></html>'
    ).encode("utf-8", "replace")


def _rectangle(block: Mapping[str, Any], steps: int, height: int) -> str:
    begin, end = block.get("startStep", 0), block.get("endStep", 0)
    size, offset = block.get("size", 0), block.get("offset", 0)
    text = f"{block.get('name', '')}: {size / MIB:.3f} MiB at {offset}, events {begin} to {end}"
    for key in ("shapeString", "tfOpName"):
        text += f"\n{block[key]}" if key in block else ""
    return (
        f'<rect x="{begin * _WIDTH / steps:.2f}" y="{offset * _HEIGHT / height:.2f}" '
        f'width="{(end - begin + 1) * _WIDTH / steps:.2f}" height="{size * _HEIGHT / height:.2f}" '
        f'fill="{escape(block["color"])}" stroke="#888888" stroke-width="0.5"><title>{escape(text)}</title></rect>'
    )
