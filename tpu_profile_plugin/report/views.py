"""Which requests the pages make at first sight, beyond run, tool and host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TRACE = "trace_viewer@"

MOST_HOSTS = 4
"""Hosts whose timelines are stored."""

MOST_MODULES = 3
"""HLO modules whose memory is stored, those with the largest peaks."""

_OP_PAGES = ("op_profile", "hlo_stats", "kernel_stats", "roofline_model")
"""Tools whose pages show the ops of the CPU where no device ran any (`frontend/src/page/op_request.ts`)."""
_OF_OPS = {"backend": "auto", "near_sources": "true"}

_ASKED: dict[str, dict[str, str]] = {"pod_viewer": {"compact": "true"}}

_NEED_SERVER = {
    "graph_viewer": "HLO graphs are drawn by a server: open the profile with tpu-profile serve.",
    "query": "Queries are answered by a server: open the profile with tpu-profile serve.",
    "compare": "This report was saved without a base to compare with.",
}


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a page; `host` is "" for none."""

    run: str
    tag: str
    host: str = ""
    more: Mapping[str, str] = field(default_factory=dict)

    def params(self) -> dict[str, str]:
        """The parameters as the page sends them."""
        host = {"host": self.host} if self.host else {}
        return {"run": self.run, "tag": self.tag, **host, **self.more}


def left_out(tool: str, *, compared: bool) -> str | None:
    """Why a report has no page of a tool; None if it has."""
    return None if tool == "compare" and compared else _NEED_SERVER.get(tool)


def views(tool: Mapping[str, Any]) -> list[dict[str, str]]:
    """The further parameters of each view of a tool that is stored; `tool` as the route `run_info` describes it."""
    choices = {param["name"]: param.get("choices") for param in tool["params"]}
    asked = dict(_ASKED.get(tool["id"], {}))
    if tool["id"] in _OP_PAGES:
        asked |= {name: value for name, value in _OF_OPS.items() if name in choices}
    if tool["id"] == "compare":
        return []  # asked once for the pair
    groups = choices.get("group_by") or [None]
    return [asked if group is None else {**asked, "group_by": group} for group in groups]
