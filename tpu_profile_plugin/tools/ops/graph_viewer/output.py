"""A drawing of an HLO program as JSON: nodes, open computations, edges and their positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tpu_profile_plugin.analysis.hlo.drawing import ROOT, Box, Drawing, Drawn, Placement, place
from tpu_profile_plugin.analysis.hlo.graph import CUT, Links, Selection
from tpu_profile_plugin.analysis.hlo.programs import Program, source_of
from tpu_profile_plugin.analysis.hlo.text import HloText, own_value

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

    def inline(self, node: Drawn) -> list[dict[str, Any]]:
        """The operands written into a node."""
        return [{"operand": number, "id": row, "text": self._inline_text(row)} for number, row in node.inline]

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


def picture_json(picture: Picture, metadata: bool) -> dict[str, Any]:
    """Nodes, boxes and edges; ids are rows of the program, -1 is the tag of the result."""
    program, drawing, placed = picture.program, picture.drawing, picture.placed
    spelled = HloText(program, metadata, metadata)
    root = placed.nodes.get(ROOT)
    return {
        "module": program.module.name,
        "computation": program.computation_names[drawing.computation],
        "isEntry": drawing.computation == program.entry,
        "center": None if drawing.center is None else program.names[drawing.center],
        "truncated": picture.left_out > 0,
        "leftOut": picture.left_out,
        "width": placed.width,
        "height": placed.height,
        "root": None if root is None else [root.x, root.y, root.width, root.height],
        "nodes": [_node(picture, node, spelled) for node in drawing.nodes],
        "boxes": [_box(picture, position, box, spelled) for position, box in picture.boxes.items()],
        "edges": [
            {"from": edge.source, "to": edge.target, "operand": edge.operand, "kind": edge.kind, "points": points}
            for edge, points in zip(drawing.edges, placed.lines, strict=True)
        ],
    }


def _node(picture: Picture, node: Drawn, spelled: HloText) -> dict[str, Any]:
    program, links, row = picture.program, picture.links, node.row
    rect = picture.placed.nodes[row]
    box = None if node.box is None else picture.drawing.boxes[node.box]
    return {
        "id": row,
        "name": program.names[row],
        "opcode": program.opcodes[row],
        "group": group_of(program.opcodes[row]),
        "shape": spelled.shape(row).text,
        **_origin(program, row),
        "computation": program.computation_names[links.home(row)],
        "calls": [program.computation_names[one] for one in links.called(row)],
        "applies": picture.applies(row),
        "root": links.root(links.home(row)) == row,
        "distance": picture.selection.distance.get(row, 0),
        "parent": None if box is None else box.caller,
        "box": node.box,
        "mark": node.mark.value,
        "boundary": node.mark in CUT or _users_hidden(picture, row),
        "inline": picture.inline(node),
        "text": spelled.instruction(row),
        "at": [rect.x, rect.y, rect.width, rect.height],
    }


def _origin(program: Program, row: int) -> dict[str, Any]:
    """The framework op of an instruction, and its place in the program's source."""
    source = source_of(program, row)
    return {
        "opName": program.op_names[row],
        "source": "" if source is None else f"{source.file}:{source.line}",
        "stack": [] if source is None else list(source.stack),
    }


def _users_hidden(picture: Picture, row: int) -> bool:
    shows = picture.selection.shows
    return picture.selection.home is not None and not all(map(shows, picture.links.users(row)))


def _box(picture: Picture, position: int, box: Box, spelled: HloText) -> dict[str, Any]:
    program, rect = picture.program, picture.placed.boxes[position]
    return {
        "id": position,
        "parent": box.parent,
        "caller": box.caller,
        "name": program.names[box.caller],
        "opcode": program.opcodes[box.caller],
        "shape": picture.spelled.shape(box.caller).text,
        **_origin(program, box.caller),
        "text": spelled.instruction(box.caller),
        "computation": program.computation_names[box.computation],
        "fusion": box.fusion,
        "center": box.caller == picture.drawing.center,
        "at": [rect.x, rect.y, rect.width, rect.height],
    }
