"""XProf's graph viewer: our answers, with the requests that XProf refuses, and how."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.ops import graph_viewer
from tpu_profile_plugin.tools.payload import Payload
from tpu_profile_plugin.tools.query import Query

_TYPES = ("graph", "short_txt", "long_txt", "pb", "pbtxt", "json", "adj_nodes", "custom_call", "me_graph")
_NODE_TYPES = ("graph", "adj_nodes", "custom_call")


def build(run: Run, query: Query) -> Payload:
    """The answer in the form `type`, which has no default."""
    kind = query.text("type")
    if not kind:
        raise BadRequest("Graph viewer must provide a type option.", parameter="type", choices=list(_TYPES))
    if kind == "me_graph":
        raise BadRequest(
            "The adapter that makes a graph for Model Explorer (type=me_graph) is not public; type=json answers the "
            "graph as JSON, type=graph&format=dot for Graphviz.",
            parameter="type",
        )
    if kind in _NODE_TYPES and not query.text("node_name"):
        raise BadRequest("node_name should not be empty", parameter="node_name")
    if kind == "graph" and query.text("format") == "url":
        raise BadRequest(
            "No service is registered that draws a graph and answers its URL; format=html answers the drawing itself, "
            "format=dot the graph for Graphviz.",
            parameter="format",
        )
    return graph_viewer.build(run, query)


_CHANGED: dict[str, dict[str, Any]] = {
    "type": {"default": "", "choices": _TYPES},
    "format": {"choices": ("html", "dot", "url")},
}
TOOL = replace(
    graph_viewer.TOOL,
    build=build,
    params=tuple(replace(param, **_CHANGED.get(param.name, {})) for param in graph_viewer.TOOL.params),
)
