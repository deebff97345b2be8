"""Graph viewer: the compiled program as a drawing of the whole or a part, as text, or as bytes."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.analysis.hlo.drawing import ROOT, Box, Drawn, Rect, draw_around, draw_computation, excerpt
from tpu_profile_plugin.analysis.hlo.graph import CUT, Links, adjacent, everything, find
from tpu_profile_plugin.analysis.hlo.mlir import Unreadable, generic_text, summary
from tpu_profile_plugin.analysis.hlo.programs import Program, source_of
from tpu_profile_plugin.analysis.hlo.text import HloText, backend_config
from tpu_profile_plugin.errors import BadRequest, NotFound
from tpu_profile_plugin.protos.text import text_form
from tpu_profile_plugin.run.figures.programs import program_with
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tools.common.hlo_modules import PARAMS, lacks_modules, requested_program
from tpu_profile_plugin.tools.ops.graph_pictures import InlineOperand, Picture, dot, group_of, page
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import BINARY_TYPE, Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

_TYPES = ("json", "graph", "short_txt", "long_txt", "pb", "pbtxt", "adj_nodes", "custom_call")
_TEXT = "text/plain; charset=utf-8"
_HTML = "text/html; charset=utf-8"
_LARGEST_TEXT = 32 << 20
"""Size limit in bytes of protos with a text form, which is many times larger."""
_MOST_NODES = 20_000
_BYTECODE = b"ML\xefR"
"""First bytes of an MLIR module in its binary form."""


@dataclass(frozen=True, kw_only=True)
class ShownInstruction:
    """An instruction, drawn as a node or open as a box; places and sizes are pixels.

    Attributes:
      op_name: the framework op; "" if unknown.
      source: `file:line` in the program's source; "" if unknown.
      stack: the calls that led there, innermost first.
      text: the HLO text of the instruction.
      x: of the left edge.
      y: of the upper edge.
    """

    name: str
    opcode: str
    shape: str
    op_name: str
    source: str
    stack: Sequence[str]
    text: str
    computation: str
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, kw_only=True)
class GraphNode(ShownInstruction):
    """An instruction drawn as a node.

    Attributes:
      id: row of the program.
      group: kind of work, which determines the colour.
      computation: the one that contains it.
      calls: computations that it calls.
      applies: what simple computations that it calls do, e.g. "add".
      root: it is the result of its computation.
      distance: hops from the center.
      parent: row of the instruction that is open around it; null for none.
      box: its box; null for none.
      mark: why it is drawn as it is.
      boundary: some neighbours are not shown.
      inline: operands that are written into it.
    """

    id: int
    group: str
    calls: Sequence[str]
    applies: Sequence[str]
    root: bool
    distance: int
    parent: int | None
    box: int | None
    mark: str
    boundary: bool
    inline: Sequence[InlineOperand]


@dataclass(frozen=True, kw_only=True)
class GraphBox(ShownInstruction):
    """An open computation, with the instruction that calls it.

    Attributes:
      id: number of the box.
      parent: the box around it; null for none.
      caller: row of the instruction.
      computation: the one that is open.
      fusion: it is the body of a fusion.
      center: the drawing is about the instruction.
    """

    id: int
    parent: int | None
    caller: int
    fusion: bool
    center: bool


@dataclass(frozen=True)
class GraphEdge:
    """An edge between nodes.

    Attributes:
      source: `id` of the operand.
      target: `id` of its user; -1 for the tag of the result.
      operand: number of the operand.
      kind: "data", "control", "call" or "root".
      points: of its line, x and y.
    """

    source: int
    target: int
    operand: int
    kind: str
    points: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class PlacedRect:
    """Upper left corner and size, in pixels."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class HloGraph(Document):
    """A drawing of a computation, or of what is around an instruction; ids are rows of the program.

    Attributes:
      module: `name(program id)`.
      computation: the one that is drawn.
      is_entry: it is the entry computation.
      center: the instruction that the drawing is about; null for a computation.
      omitted: nodes that are not drawn because there are too many.
      width: in pixels.
      height: in pixels.
      root: the tag of the result; null if it is not shown.
      boxes: open computations, outer ones before what is in them.
    """

    module: str
    computation: str
    is_entry: bool
    center: str | None
    omitted: int
    width: int
    height: int
    root: PlacedRect | None
    nodes: Sequence[GraphNode]
    boxes: Sequence[GraphBox]
    edges: Sequence[GraphEdge]


def build(run: Run, query: Query) -> HloGraph | Raw:
    """The answer in the form `type`; see docs/developer/formats.md."""
    kind, name = query.text("type"), query.text("node_name")
    if kind in ("adj_nodes", "custom_call") and not name:
        raise BadRequest("node_name should not be empty", parameter="node_name")
    program = _program(run, query, name)
    if kind in ("short_txt", "long_txt"):
        return _text(_listing(program, name, kind == "long_txt", query.flag("show_metadata")))
    if kind == "pb":
        return Raw(program.space.blob(program.module.proto), BINARY_TYPE)
    if kind == "pbtxt":
        proto = program.space.blob(program.module.proto)
        if len(proto) > _LARGEST_TEXT:
            raise BadRequest(
                "This module is too large for the text form; use type=pb or type=long_txt.", parameter="type"
            )
        return _text(text_form("xla.HloProto", proto))
    if kind == "adj_nodes":
        return _adjacent(program, name)
    if kind == "custom_call":
        return _config(program, name)
    return _graph(query, program, name)


def _program(run: Run, query: Query, name: str) -> Program:
    """The named program; without a match, the first program that contains the node."""
    node, module = name.removeprefix("%"), query.text("module_name")
    if node and not module and not query.text("program_id"):
        return program_with(run, node)
    try:
        return requested_program(run, query)[1]
    except NotFound as unknown:
        if not node:
            raise
        try:
            # XProf's trace viewer knows modules by their name without the id.
            return program_with(run, node, called=module)
        except NotFound:
            raise unknown from None


def _missing(name: str) -> NotFound:
    return NotFound(f"Couldn't find HloInstruction or HloComputation named {name[:200]}.", code="node_not_found")


def _text(parts: Iterable[str]) -> Raw:
    """A possibly large text, encoded part by part."""
    return Raw(b"".join(part.encode("utf-8", "replace") for part in parts), BINARY_TYPE)


def _listing(program: Program, name: str, full: bool, metadata: bool) -> Iterable[str]:
    """The text of the program, or of the named computation, or of the named instruction's computation."""
    spelled = HloText(program, full, metadata)
    if not name:
        return spelled.module()
    row, computation = find(program, name)
    if row is not None:
        computation = Links(program).home(row)
    if computation is None:
        raise _missing(name)
    return [spelled.computation(computation), "\n"]


def _instruction(program: Program, name: str) -> int:
    """The row of the instruction with this name.

    Raises:
      BadRequest: the name belongs to a computation.
      NotFound: the name is unknown.
    """
    row, computation = find(program, name)
    if row is None and computation is not None:
        raise BadRequest(f"{name[:200]} is a computation; this request needs an instruction.", parameter="node_name")
    if row is None:
        raise _missing(name)
    return row


def _adjacent(program: Program, name: str) -> Raw:
    users, operands = adjacent(program, _instruction(program, name))
    body = json.dumps({"consumer_names": users, "operand_names": operands}, separators=(",", ":"))
    return Raw(body.encode(), _TEXT)


def _config(program: Program, name: str) -> Raw:
    """The backend configuration of a custom call; only the kernel's body if that is text."""
    config = backend_config(program.instruction(_instruction(program, name)))
    if not config:
        raise NotFound(f"{name[:200]} has no backend configuration.", code="no_custom_call")
    try:
        facts: Any = json.loads(config)
        call = facts["custom_call_config"]
        body = base64.b64decode(call["body"], validate=True)
    except (ValueError, TypeError, KeyError, RecursionError, binascii.Error):
        return Raw(config.encode("utf-8", "replace"), _TEXT)
    if not body.startswith(_BYTECODE):
        return Raw(body.decode("utf-8", "replace").encode(), _TEXT)
    try:
        return Raw(generic_text(body).encode("utf-8", "replace"), _TEXT)
    except Unreadable as error:
        call["body"] = f"{len(body)} bytes of MLIR bytecode, which mlir-opt can print; not read here: {error}"
    with contextlib.suppress(Unreadable):
        call["holds"] = summary(body).splitlines()
    with contextlib.suppress(RecursionError):  # lists in lists that newer Pythons read but do not write
        config = json.dumps(facts, indent=2)
    return Raw(config.encode("utf-8", "replace"), _TEXT)


def _picture(query: Query, program: Program, name: str, *, keep_center: bool, most: int | None) -> Picture:
    """Draws the requested node or computation, by default the entry computation."""
    links, merge = Links(program), query.flag("merge_fusion")
    row, computation = find(program, name) if name else (None, program.entry)
    opened = [program.row_of[one] for one in query.text("expand").split(",") if one in program.row_of]
    selection = everything()
    if computation is not None:
        drawing = draw_computation(links, computation, merge_fusion=merge, opened=opened)
    elif row is not None:
        drawing, selection = draw_around(
            links, row, query.integer("graph_width"), merge_fusion=merge, opened=opened, keep_center=keep_center
        )
    else:
        raise _missing(name)
    drawing, left_out = excerpt(drawing, len(drawing.nodes) if most is None else most)
    return Picture(program, links, drawing, selection, left_out)


def _graph(query: Query, program: Program, name: str) -> HloGraph | Raw:
    metadata, most = query.flag("show_metadata"), query.integer("max_nodes")
    if query.text("type") == "json":
        return _document(_picture(query, program, name, keep_center=True, most=most), metadata)
    if query.text("format") == "dot":
        picture = _picture(query, program, name, keep_center=False, most=None)
        return Raw(dot(picture, metadata).encode("utf-8", "replace"), _TEXT)
    picture = _picture(query, program, name, keep_center=False, most=most)
    return Raw(page(picture).encode("utf-8", "replace"), _HTML)


def _document(picture: Picture, metadata: bool) -> HloGraph:
    program, drawing, placed = picture.program, picture.drawing, picture.placed
    spelled = HloText(program, metadata, metadata)
    root = placed.nodes.get(ROOT)
    return HloGraph(
        module=program.module.name,
        computation=program.computation_names[drawing.computation],
        is_entry=drawing.computation == program.entry,
        center=None if drawing.center is None else program.names[drawing.center],
        omitted=picture.left_out,
        width=placed.width,
        height=placed.height,
        root=None if root is None else PlacedRect(root.x, root.y, root.width, root.height),
        nodes=[_node(picture, node, spelled) for node in drawing.nodes],
        boxes=[_box(picture, position, box, spelled) for position, box in picture.boxes.items()],
        edges=[
            GraphEdge(edge.source, edge.target, edge.operand, edge.kind, points)
            for edge, points in zip(drawing.edges, placed.lines, strict=True)
        ],
    )


def _instruction_facts(picture: Picture, row: int, rect: Rect, spelled: HloText) -> dict[str, Any]:
    """An instruction as nodes and boxes show it."""
    program = picture.program
    source = source_of(program, row)
    return {
        "name": program.names[row],
        "opcode": program.opcodes[row],
        "shape": picture.spelled.shape(row).text,
        "op_name": program.op_names[row],
        "source": "" if source is None else f"{source.file}:{source.line}",
        "stack": () if source is None else source.stack,
        "text": spelled.instruction(row),
        **{"x": rect.x, "y": rect.y, "width": rect.width, "height": rect.height},
    }


def _node(picture: Picture, node: Drawn, spelled: HloText) -> GraphNode:
    program, links, row = picture.program, picture.links, node.row
    return GraphNode(
        **_instruction_facts(picture, row, picture.placed.nodes[row], spelled),
        id=row,
        group=group_of(program.opcodes[row]),
        computation=program.computation_names[links.home(row)],
        calls=[program.computation_names[called] for called in links.called(row)],
        applies=picture.applies(row),
        root=links.root(links.home(row)) == row,
        distance=picture.selection.distance.get(row, 0),
        parent=None if node.box is None else picture.drawing.boxes[node.box].caller,
        box=node.box,
        mark=node.mark.value,
        boundary=node.mark in CUT or _users_hidden(picture, row),
        inline=picture.inline(node),
    )


def _users_hidden(picture: Picture, row: int) -> bool:
    shows = picture.selection.shows
    return picture.selection.home is not None and not all(map(shows, picture.links.users(row)))


def _box(picture: Picture, position: int, box: Box, spelled: HloText) -> GraphBox:
    return GraphBox(
        **_instruction_facts(picture, box.caller, picture.placed.boxes[position], spelled),
        id=position,
        parent=box.parent,
        caller=box.caller,
        computation=picture.program.computation_names[box.computation],
        fusion=box.fusion,
        center=box.caller == picture.drawing.center,
    )


TOOL = Tool(
    id="graph_viewer",
    title="Graph Viewer",
    group="Ops",
    summary="The compiled HLO program as text and as a graph, whole or around an instruction.",
    build=build,
    needs_server="HLO graphs are drawn by a server: open the profile with tpu-profile serve.",
    params=(
        *PARAMS,
        Param(
            "type",
            "string",
            "json",
            "Form of the answer: a drawing, text or proto of the program, or the neighbours of a node.",
            _TYPES,
        ),
        Param("node_name", "string", "", "Name of an instruction or a computation."),
        Param("graph_width", "int", 3, "Number of hops around the instruction.", minimum=0, maximum=100),
        Param(
            "show_metadata",
            "bool",
            False,
            "Include the metadata of instructions in the text: framework op and source.",
        ),
        Param("merge_fusion", "bool", False, "Show a fusion as one node instead of its instructions."),
        Param("format", "string", "html", "Of type=graph: `html` or `dot`.", ("html", "dot")),
        Param("expand", "string", "", "Fusions to open despite merge_fusion=true; comma-separated names."),
        Param("max_nodes", "int", 2000, "Maximum number of nodes in JSON and HTML.", minimum=1, maximum=_MOST_NODES),
    ),
    lacks=lacks_modules,
)
