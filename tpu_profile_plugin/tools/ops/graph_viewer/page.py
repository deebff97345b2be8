"""A drawing of an HLO program as an HTML page for any browser, offline: a picture and a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from tpu_profile_plugin.analysis.hlo.drawing import HEAD, ROOT, Drawn, Rect
from tpu_profile_plugin.analysis.hlo.graph import CUT, Mark
from tpu_profile_plugin.tools.ops.graph_viewer.dot import FILL
from tpu_profile_plugin.tools.ops.graph_viewer.output import FRAME, LINE, MOST_INLINE, Picture, group_of

_LETTERS = 25
"""Characters that fit into a line of a node."""
_LINES = {"control": ' stroke-dasharray="2 3"', "call": ' stroke-dasharray="6 4"'}


def page(picture: Picture) -> str:
    """The HTML page, without scripts and styles: the same from a server, from a file and in print."""
    title = escape(picture.title)
    note = f"<p>{picture.left_out:,} further nodes are not shown.</p>" if picture.left_out else ""
    head = "<tr><th>Instruction</th><th>Opcode</th><th>Shape</th><th>Operands</th></tr>"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>'
        f"<h1>{title}</h1><p>{escape(picture.program.module.name)}</p>{note}{svg(picture)}"
        f"<table>{head}{''.join(_rows(picture))}</table></body></html>"
    )


def svg(picture: Picture) -> str:
    """The picture; colours and sizes are attributes, because strict content policies forbid styles."""
    placed = picture.placed
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{placed.width}" height="{placed.height}" '
        f'viewBox="0 0 {placed.width} {placed.height}" font-family="monospace" font-size="11" role="img" '
        f'aria-label="{escape(picture.title)}">',
        f'<rect width="{placed.width}" height="{placed.height}" fill="#fafafa"/>',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8Z" fill="#616161"/></marker></defs>',
        *(_box(picture, position) for position in picture.boxes),
    ]
    for edge, line in zip(picture.drawing.edges, placed.lines, strict=True):
        dash = _LINES.get(edge.kind, "")
        parts.append(f'<path d="{_path(line)}" fill="none" stroke="#616161"{dash} marker-end="url(#head)"/>')
    parts += [_node(picture, node) for node in picture.drawing.nodes]
    if ROOT in placed.nodes:
        rect = placed.nodes[ROOT]
        parts += [_rect(rect, "#d7ccc8", "#616161"), _text(rect.x + 14, rect.y + 18, "ROOT")]
    return "".join([*parts, "</svg>"])


def _box(picture: Picture, position: int) -> str:
    box, rect = picture.boxes[position], picture.placed.boxes[position]
    name = f"{picture.name(box.caller)}: {picture.program.opcodes[box.caller]}"
    center = box.caller == picture.drawing.center
    frame = _rect(rect, "#ffffff", "#c62828" if center else "#9e9e9e", 3 if center else 1)
    fits = max(8, rect.width // 7 - 2)
    return frame + _text(rect.x + 10, rect.y + HEAD // 2 + 2, _cut(name, fits), bold=True)


def _node(picture: Picture, node: Drawn) -> str:
    program, row, rect = picture.program, node.row, picture.placed.nodes[node.row]
    fill, center, cut = FILL[group_of(program.opcodes[row])], node.mark is Mark.CENTER, node.mark in CUT
    inline = [f"{one['operand']}: {one['text']}" for one in picture.inline(node)]
    if len(inline) > MOST_INLINE:
        inline[MOST_INLINE - 1 :] = [f"{len(inline) - MOST_INLINE + 1} more operands"]
    lines = [program.names[row], program.opcodes[row], picture.spelled.shape(row).text, *inline]
    texts = (
        _text(rect.x + 8, rect.y + FRAME + 2 + LINE * i, _cut(line, _LETTERS), bold=not i)
        for i, line in enumerate(lines)
    )
    frame = _rect(rect, fill, "#c62828" if center else "#757575", 3 if center else 1, dashed=cut)
    tip = f"<title>{escape(picture.spelled.instruction(row)[:2000])}</title>"
    return f'<a href="#n{row}">{tip}{frame}{"".join(texts)}</a>'


def _rect(rect: Rect, fill: str, stroke: str, width: int = 1, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<rect x="{rect.x}" y="{rect.y}" width="{rect.width}" height="{rect.height}" rx="4" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{width}"{dash}/>'
    )


def _text(x: int, y: int, text: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}"{weight}>{escape(text)}</text>'


def _path(line: Sequence[tuple[int, int]]) -> str:
    parts = [f"M{line[0][0]} {line[0][1]}"]
    for (x, y), (to_x, to_y) in pairwise(line):
        middle = (y + to_y) // 2
        parts.append(f"C{x} {middle} {to_x} {middle} {to_x} {to_y}" if x != to_x else f"V{to_y}")
    return "".join(parts)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most - most // 2 - 1) :]}"


def _rows(picture: Picture) -> Iterator[str]:
    """The table: each instruction with links to its operands."""
    operands: dict[int, list[int]] = {}
    for edge in picture.drawing.edges:
        operands.setdefault(edge.target, []).append(edge.source)
    for node in picture.drawing.nodes:
        row = node.row
        links = [f'<a href="#n{one}">{escape(picture.name(one))}</a>' for one in operands.get(row, ())]
        links += [escape(one["text"]) for one in picture.inline(node)]
        opcode, shape = picture.program.opcodes[row], picture.spelled.shape(row).text
        cells = (f"<b>{escape(picture.name(row))}</b>", escape(opcode), escape(shape), ", ".join(links))
        yield f'<tr id="n{row}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
