"""Graph viewer: the compiled program as text, as bytes, or as a drawing of the whole or a part."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
from collections.abc import Iterable
from typing import Any

from tpu_profile_plugin.analysis.hlo.drawing import draw_around, draw_computation, excerpt
from tpu_profile_plugin.analysis.hlo.graph import Links, adjacent, everything, find
from tpu_profile_plugin.analysis.hlo.mlir import Unreadable, generic_text, summary
from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.hlo.text import HloText, backend_config
from tpu_profile_plugin.errors import BadRequest, NotFound
from tpu_profile_plugin.protos.text import text_form
from tpu_profile_plugin.run.figures.programs import program_with
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.hlo_modules import PARAMS, lacks_modules, requested_program
from tpu_profile_plugin.tools.ops.graph_viewer.dot import dot
from tpu_profile_plugin.tools.ops.graph_viewer.output import Picture, picture_json
from tpu_profile_plugin.tools.ops.graph_viewer.page import page
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import BINARY_TYPE, Json, Payload, Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

_TYPES = ("graph", "short_txt", "long_txt", "pb", "pbtxt", "json", "adj_nodes", "custom_call", "me_graph")
_NODE_TYPES = ("graph", "adj_nodes", "custom_call")
_TEXT = "text/plain; charset=utf-8"
_HTML = "text/html; charset=utf-8"
_LARGEST_TEXT = 32 << 20
"""Size limit in bytes of protos with a text form, which is many times larger."""
_MOST_NODES = 20_000
_BYTECODE = b"ML\xefR"
"""First bytes of an MLIR module in its binary form."""


def build(run: Run, query: Query) -> Payload:
    """The answer in the form `type`; see docs/developer/formats.md."""
    kind, name = query.text("type"), query.text("node_name")
    _check(query, kind, name)
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


def _check(query: Query, kind: str, name: str) -> None:
    """Raises BadRequest with the reason if the request has no answer."""
    if not kind:
        raise BadRequest("Graph viewer must provide a type option.", parameter="type", choices=list(_TYPES))
    if kind == "me_graph":
        raise BadRequest(
            "The adapter that makes a graph for Model Explorer (type=me_graph) is not public; type=json answers the "
            "graph as JSON, type=graph&format=dot for Graphviz.",
            parameter="type",
        )
    if kind in _NODE_TYPES and not name:
        raise BadRequest("node_name should not be empty", parameter="node_name")
    if kind == "graph" and query.text("format") == "url":
        raise BadRequest(
            "No service is registered that draws a graph and answers its URL; format=html answers the drawing itself, "
            "format=dot the graph for Graphviz.",
            parameter="format",
        )


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


def _graph(query: Query, program: Program, name: str) -> Payload:
    metadata, most = query.flag("show_metadata"), query.integer("max_nodes")
    if query.text("type") == "json":
        return Json(picture_json(_picture(query, program, name, keep_center=True, most=most), metadata))
    if query.text("format") == "dot":
        picture = _picture(query, program, name, keep_center=False, most=None)
        return Raw(dot(picture, metadata).encode("utf-8", "replace"), _TEXT)
    picture = _picture(query, program, name, keep_center=False, most=most)
    return Raw(page(picture).encode("utf-8", "replace"), _HTML)


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
            "",
            "Form of the answer: a graph, text or proto of the program, or the neighbours of a node.",
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
        Param(
            "format",
            "string",
            "html",
            "Of type=graph: `html` or `dot`; `url` is refused, because no drawing service is registered.",
            ("html", "dot", "url"),
        ),
        Param("expand", "string", "", "Fusions to open despite merge_fusion=true; comma-separated names."),
        Param("max_nodes", "int", 2000, "Maximum number of nodes in JSON and HTML.", minimum=1, maximum=_MOST_NODES),
    ),
    lacks=lacks_modules,
)
