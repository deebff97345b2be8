"""Drawings of HLO programs as pictures: for Graphviz, and as an HTML page for any browser, offline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import pairwise

from tpu_profile_plugin.analysis.hlo.drawing import HEAD, ROOT, Box, Drawing, Drawn, Edge, Placement, Rect, place
from tpu_profile_plugin.analysis.hlo.graph import CUT, Links, Mark, Selection
from tpu_profile_plugin.analysis.hlo.programs import Program, source_of
from tpu_profile_plugin.analysis.hlo.text import HloText, backend_config, own_value

# Opcodes by kind of work, which determines the colour of a node in page and drawing.
_GROUPS = {
    "communication": "all-gather all-reduce all-to-all collective-permute reduce-scatter collective-broadcast infeed "
    "outfeed send send-done recv recv-done partition-id replica-id ragged-all-to-all all-gather-start all-gather-done "
    "all-reduce-start all-reduce-done collective-permute-start collective-permute-done",
    "asynchronous": "async-start async-update async-done copy-start copy-done",
    "matrix": "dot convolution fft triangular-solve cholesky ragged-dot",
    "call": "call conditional while custom-call",
    "fusion": "fusion map",
    "parameter": "parameter",
    "movement": "concatenate slice dynamic-slice reshape dynamic-reshape reverse copy transpose pad bitcast "
    "bitcast-convert get-tuple-element tuple",
    "reduction": "reduce reduce-window select-and-scatter gather scatter batch-norm-training batch-norm-inference "
    "batch-norm-grad sort",
    "broadcast": "broadcast dynamic-update-slice",
    "constant": "constant iota",
}
_GROUP_OF = {opcode: group for group, opcodes in _GROUPS.items() for opcode in opcodes.split()}
NODE_WIDTH, LINE, FRAME = 172, 14, 12
"""Size of a node in pixels: its width, a line of its text, its borders and padding."""
MOST_INLINE = 3
"""Maximum number of operands listed in a node."""


def group_of(opcode: str) -> str:
    """The kind of work of an opcode."""
    return _GROUP_OF.get(opcode, "elementwise")


@dataclass(frozen=True)
class InlineOperand:
    """An operand that is written into a node.

    Attributes:
      operand: its number.
      id: row of the program.
      text: its shape and value, or where it comes from.
    """

    operand: int
    id: int
    text: str


@dataclass(frozen=True)
class Picture:
    """A drawing and its program; `left_out`: number of nodes omitted beyond the limit."""

    program: Program
    links: Links
    drawing: Drawing
    selection: Selection
    left_out: int = 0

    @cached_property
    def boxes(self) -> dict[int, Box]:
        """The boxes that contain a node, at any depth."""
        used: dict[int, Box] = {}
        for node in self.drawing.nodes:
            box = node.box
            while box is not None and box not in used:
                used[box] = self.drawing.boxes[box]
                box = used[box].parent
        return dict(sorted(used.items()))

    @property
    def title(self) -> str:
        """The title of the drawing."""
        name = self.program.computation_names[self.drawing.computation]
        if self.drawing.center is not None:
            return f"Around {self.program.names[self.drawing.center]} in {name}"
        return f"{'Entry computation' if self.drawing.computation == self.program.entry else 'Computation'} {name}"

    def name(self, row: int) -> str:
        """The name of a row, or of the result's tag for ROOT."""
        return "ROOT" if row == ROOT else self.program.names[row]

    @cached_property
    def spelled(self) -> HloText:
        """The program's text without metadata."""
        return HloText(self.program, full=False, metadata=False)

    def inline(self, node: Drawn) -> list[InlineOperand]:
        """The operands written into a node."""
        return [InlineOperand(number, row, self._inline_text(row)) for number, row in node.inline]

    def _inline_text(self, row: int) -> str:
        opcode, shape = self.program.opcodes[row], self.spelled.shape(row).text
        message = self.links.message(row)
        if opcode == "constant":
            return f"{shape} {own_value(message)}".strip()
        if opcode == "get-tuple-element":
            source = next(iter(self.links.operands(row)), ROOT)
            return f"part {message.tuple_index} of {self.name(source)}"
        return f"parameter {message.parameter_number}"

    def applies(self, row: int) -> list[str]:
        """The operations of the simple computations that an instruction calls, e.g. `add`."""
        if self.program.opcodes[row] == "fusion":
            return []
        return [word for called in self.links.called(row) if (word := self.links.simple(called))]

    @cached_property
    def placed(self) -> Placement:
        """The positions of nodes, boxes and edges."""
        lines = {node.row: min(MOST_INLINE, len(node.inline)) for node in self.drawing.nodes}
        return place(self.drawing, lambda row: (NODE_WIDTH, FRAME + LINE * (3 + lines[row])))


# For Graphviz: XLA's nodes, boxes and edges, with our labels.

FILL = {
    "communication": "#d7ccc8", "asynchronous": "#bbdefb", "matrix": "#90caf9", "call": "#a5d6a7", "fusion": "#e0e0e0",
    "parameter": "#ffe0b2", "movement": "#c8e6c9", "reduction": "#e1bee7", "broadcast": "#fff9c4",
    "constant": "#eceff1", "elementwise": "#ffffff",
}  # fmt: skip
_LONGEST = 80
_DEEPEST = 32
"""Maximum nesting of boxes; deeper nodes are drawn in the innermost allowed box."""
_LONGEST_CONFIG = 2000


def dot(picture: Picture, metadata: bool) -> str:
    """The graph in Graphviz's DOT language; `metadata` adds the backend configurations, as XLA does."""
    lines = ["digraph G {", "rankdir = TB;", "compound = true;", f"label = {_quoted(picture.title)};"]
    lines += ["labelloc = t;", 'node [shape=box, style="filled,rounded", fontname="sans-serif", fontsize=11];']
    lines += _dot_members(picture, metadata)
    if any(edge.target == ROOT for edge in picture.drawing.edges):
        lines.append("root [label=<<b>ROOT</b>>, shape=circle];")
    lines += [_dot_edge(picture, edge) for edge in picture.drawing.edges]
    return "\n".join([*lines, "}", ""])


def _dot_members(picture: Picture, metadata: bool) -> Iterator[str]:
    """Nodes and the boxes around them; a box stands at the position of its first node."""
    depth: dict[int | None, int] = {None: 0}
    flat: dict[int | None, int | None] = {None: None}
    inside: dict[int | None, list[Drawn | int]] = {None: []}
    for position, box in picture.boxes.items():
        depth[position] = depth[box.parent] + 1
        drawn = depth[position] <= _DEEPEST
        flat[position] = position if drawn else flat[box.parent]
        if drawn:
            inside[position] = []
            inside[flat[box.parent]].append(position)
    for node in picture.drawing.nodes:
        inside[flat[node.box]].append(node)

    def walk(box: int | None) -> Iterator[str]:
        for member in inside[box]:
            if isinstance(member, Drawn):
                yield _dot_node(picture, member, metadata)
            else:
                yield from _cluster_head(picture, member, metadata)
                yield from walk(member)
                yield "}"

    return walk(None)


def _cluster_head(picture: Picture, position: int, metadata: bool) -> Iterator[str]:
    box = picture.boxes[position]
    caller, opcode = picture.name(box.caller), picture.program.opcodes[box.caller]
    what = "" if box.fusion else f"<br/>{escape(picture.program.computation_names[box.computation])}"
    yield f"subgraph cluster_{position} {{"
    yield f"label = <<b>{escape(caller)}</b><br/>{escape(opcode)}{what}{_config_line(picture, box.caller, metadata)}>;"
    center = box.caller == picture.drawing.center
    yield 'style = "rounded,bold"; color = "#c62828";' if center else 'style = "rounded";'


def _dot_node(picture: Picture, node: Drawn, metadata: bool) -> str:
    program, row = picture.program, node.row
    opcode = program.opcodes[row]
    facts = [
        f"<b>{escape(program.names[row])}</b>",
        escape(opcode),
        escape(_label_text(picture.spelled.shape(row).text)),
    ]
    facts += [f"applies {escape(word)}" for word in picture.applies(row)]
    facts += [f"operand {used.operand}: {escape(_label_text(used.text))}" for used in picture.inline(node)]
    label = "<br/>".join(facts) + _config_line(picture, row, metadata)
    source = source_of(program, row)
    origin = [program.op_names[row], *(source.stack if source else ())]
    style = [f"label=<{label}>", f'fillcolor="{FILL[group_of(opcode)]}"']
    style.append(f"tooltip={_quoted(chr(10).join(filter(None, origin)))}")
    if node.mark is Mark.CENTER:
        style += ["penwidth=3", 'color="#c62828"']
    elif node.mark in CUT:
        style += ['style="filled,rounded,dashed"', 'color="#9e9e9e"', 'fontcolor="#616161"']
    if opcode == "while":
        style.append("shape=ellipse")
    return f"n{row} [{', '.join(style)}];"


def _config_line(picture: Picture, row: int, metadata: bool) -> str:
    """The backend's configuration as a last line of a label, on request."""
    config = backend_config(picture.links.message(row)) if metadata else ""
    return f"<br/>{escape(config[:_LONGEST_CONFIG])}" if config else ""


def _dot_edge(picture: Picture, edge: Edge) -> str:
    target = "root" if edge.target == ROOT else f"n{edge.target}"
    style = [f"tooltip={_quoted(f'{picture.name(edge.source)} -> {picture.name(edge.target)}')}"]
    if edge.kind == "data":
        style.append(f'headlabel="{edge.operand}", labeldistance=2, fontsize=9')
    elif edge.kind == "control":
        style.append('style="dotted", label="before"')
    elif edge.kind == "call":
        style.append('style="dashed"')
    return f"n{edge.source} -> {target} [{', '.join(style)}];"


def _label_text(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# As an HTML page: a picture and a table.

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
        f"<table>{head}{''.join(_table_rows(picture))}</table></body></html>"
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
        *(_svg_box(picture, position) for position in picture.boxes),
    ]
    for edge, line in zip(picture.drawing.edges, placed.lines, strict=True):
        dash = _LINES.get(edge.kind, "")
        parts.append(f'<path d="{_svg_path(line)}" fill="none" stroke="#616161"{dash} marker-end="url(#head)"/>')
    parts += [_svg_node(picture, node) for node in picture.drawing.nodes]
    if ROOT in placed.nodes:
        rect = placed.nodes[ROOT]
        parts += [_svg_rect(rect, "#d7ccc8", "#616161"), _svg_text(rect.x + 14, rect.y + 18, "ROOT")]
    return "".join([*parts, "</svg>"])


def _svg_box(picture: Picture, position: int) -> str:
    box, rect = picture.boxes[position], picture.placed.boxes[position]
    name = f"{picture.name(box.caller)}: {picture.program.opcodes[box.caller]}"
    center = box.caller == picture.drawing.center
    frame = _svg_rect(rect, "#ffffff", "#c62828" if center else "#9e9e9e", 3 if center else 1)
    fits = max(8, rect.width // 7 - 2)
    return frame + _svg_text(rect.x + 10, rect.y + HEAD // 2 + 2, _shortened(name, fits), bold=True)


def _svg_node(picture: Picture, node: Drawn) -> str:
    program, row, rect = picture.program, node.row, picture.placed.nodes[node.row]
    fill, center, cut = FILL[group_of(program.opcodes[row])], node.mark is Mark.CENTER, node.mark in CUT
    inline = [f"{used.operand}: {used.text}" for used in picture.inline(node)]
    if len(inline) > MOST_INLINE:
        inline[MOST_INLINE - 1 :] = [f"{len(inline) - MOST_INLINE + 1} more operands"]
    lines = [program.names[row], program.opcodes[row], picture.spelled.shape(row).text, *inline]
    texts = (
        _svg_text(rect.x + 8, rect.y + FRAME + 2 + LINE * i, _shortened(line, _LETTERS), bold=not i)
        for i, line in enumerate(lines)
    )
    frame = _svg_rect(rect, fill, "#c62828" if center else "#757575", 3 if center else 1, dashed=cut)
    tip = f"<title>{escape(picture.spelled.instruction(row)[:2000])}</title>"
    return f'<a href="#n{row}">{tip}{frame}{"".join(texts)}</a>'


def _svg_rect(rect: Rect, fill: str, stroke: str, width: int = 1, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<rect x="{rect.x}" y="{rect.y}" width="{rect.width}" height="{rect.height}" rx="4" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{width}"{dash}/>'
    )


def _svg_text(x: int, y: int, text: str, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}"{weight}>{escape(text)}</text>'


def _svg_path(line: Sequence[tuple[int, int]]) -> str:
    parts = [f"M{line[0][0]} {line[0][1]}"]
    for (x, y), (to_x, to_y) in pairwise(line):
        middle = (y + to_y) // 2
        parts.append(f"C{x} {middle} {to_x} {middle} {to_x} {to_y}" if x != to_x else f"V{to_y}")
    return "".join(parts)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most - most // 2 - 1) :]}"


def _table_rows(picture: Picture) -> Iterator[str]:
    """The table: each instruction with links to its operands."""
    operands: dict[int, list[int]] = {}
    for edge in picture.drawing.edges:
        operands.setdefault(edge.target, []).append(edge.source)
    for node in picture.drawing.nodes:
        row = node.row
        links = [f'<a href="#n{one}">{escape(picture.name(one))}</a>' for one in operands.get(row, ())]
        links += [escape(used.text) for used in picture.inline(node)]
        opcode, shape = picture.program.opcodes[row], picture.spelled.shape(row).text
        cells = (f"<b>{escape(picture.name(row))}</b>", escape(opcode), escape(shape), ", ".join(links))
        yield f'<tr id="n{row}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
