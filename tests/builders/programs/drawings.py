"""What a DOT drawing of an HLO program shows: nodes, edges and marks by name, for comparison with recorded sets."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

_NODE = re.compile(r"^(n\d+|root) \[label=<(.*?)>, (.*)\];$", re.M)
_EDGE = re.compile(r"^(n\d+) -> (n\d+|root) \[(.*)\];$", re.M)


def sets_of(dot: str) -> dict[str, Any]:
    """Names of nodes and of those with a dashed frame, (from, to, kind) of edges, and operands written into a node.

    The kind is the number of the operand, `control`, `call` or `root`.
    """
    names: dict[str, str] = {}
    cut, inline = [], {}
    for key, label, style in _NODE.findall(dot):
        names[key] = unescape(label.split("</b>")[0].removeprefix("<b>"))
        if "dashed" in style:
            cut.append(names[key])
        if key != "root" and (written := len(re.findall(r"<br/>operand \d+: ", label))):
            inline[names[key]] = written
    edges = [(names[one], names[other], _kind(other, style)) for one, other, style in _EDGE.findall(dot)]
    nodes = sorted(name for key, name in names.items() if key != "root")
    return {"nodes": nodes, "cut": sorted(cut), "edges": sorted(edges), "inline": inline}


def _kind(target: str, style: str) -> str:
    if target == "root":
        return "root"
    found = re.search(r'headlabel="(\d+)"|style="(dotted|dashed)"', style)
    assert found, style
    return found[1] or {"dotted": "control", "dashed": "call"}[found[2]]


def digest(sets: dict[str, Any]) -> str:
    """A short name of sets that are equal."""
    text = json.dumps(sets, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def together(digests: list[str]) -> str:
    """A short name of several answers in their order."""
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


def requests(computations: list[str], names: list[str]) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Groups of (node_name, graph_width, merge_fusion) that are asked of a module, each group with its label."""
    for merge in ("true", "false"):
        merged = "fusions merged" if merge == "true" else "fusions open"
        yield f"computations, {merged}", [(name, "1", merge) for name in computations]
        for width in ("1", "3"):
            yield f"width {width}, {merged}", [(name, width, merge) for name in names[::5]]
