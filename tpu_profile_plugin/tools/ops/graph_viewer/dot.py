"""A drawing of an HLO program for Graphviz: XLA's nodes, boxes and edges, with our labels."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tpu_profile_plugin.analysis.hlo.drawing import ROOT, Drawn, Edge
from tpu_profile_plugin.analysis.hlo.graph import CUT, Mark
from tpu_profile_plugin.analysis.hlo.programs import source_of
from tpu_profile_plugin.analysis.hlo.text import backend_config
from tpu_profile_plugin.tools.ops.graph_viewer.output import Picture, group_of

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
    lines += _members(picture, metadata)
    if any(edge.target == ROOT for edge in picture.drawing.edges):
        lines.append("root [label=<<b>ROOT</b>>, shape=circle];")
    lines += [_edge(picture, edge) for edge in picture.drawing.edges]
    return "\n".join([*lines, "}", ""])


def _members(picture: Picture, metadata: bool) -> Iterator[str]:
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
                yield _node(picture, member, metadata)
            else:
                yield from _box_head(picture, member, metadata)
                yield from walk(member)
                yield "}"

    return walk(None)


def _box_head(picture: Picture, position: int, metadata: bool) -> Iterator[str]:
    box = picture.boxes[position]
    caller, opcode = picture.name(box.caller), picture.program.opcodes[box.caller]
    what = "" if box.fusion else f"<br/>{escape(picture.program.computation_names[box.computation])}"
    yield f"subgraph cluster_{position} {{"
    yield f"label = <<b>{escape(caller)}</b><br/>{escape(opcode)}{what}{_config(picture, box.caller, metadata)}>;"
    center = box.caller == picture.drawing.center
    yield 'style = "rounded,bold"; color = "#c62828";' if center else 'style = "rounded";'


def _node(picture: Picture, node: Drawn, metadata: bool) -> str:
    program, row = picture.program, node.row
    opcode = program.opcodes[row]
    facts = [f"<b>{escape(program.names[row])}</b>", escape(opcode), escape(_cut(picture.spelled.shape(row).text))]
    facts += [f"applies {escape(word)}" for word in picture.applies(row)]
    facts += [f"operand {one['operand']}: {escape(_cut(one['text']))}" for one in picture.inline(node)]
    label = "<br/>".join(facts) + _config(picture, row, metadata)
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


def _config(picture: Picture, row: int, metadata: bool) -> str:
    """The backend's configuration as a last line of a label, on request."""
    config = backend_config(picture.links.message(row)) if metadata else ""
    return f"<br/>{escape(config[:_LONGEST_CONFIG])}" if config else ""


def _edge(picture: Picture, edge: Edge) -> str:
    target = "root" if edge.target == ROOT else f"n{edge.target}"
    style = [f"tooltip={_quoted(f'{picture.name(edge.source)} -> {picture.name(edge.target)}')}"]
    if edge.kind == "data":
        style.append(f'headlabel="{edge.operand}", labeldistance=2, fontsize=9')
    elif edge.kind == "control":
        style.append('style="dotted", label="before"')
    elif edge.kind == "call":
        style.append('style="dashed"')
    return f"n{edge.source} -> {target} [{', '.join(style)}];"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
