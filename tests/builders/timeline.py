"""Answers of the trace viewer for profiles in the text notation, decoded."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np

from builders.answers import run_of
from tpu_profile_plugin.compat.xprof import trace_viewer
from tpu_profile_plugin.tools.tool import Tool

_TYPES = {"u32": np.uint32, "u16": np.uint16, "f64": np.float64}


def build_trace(*texts: str | bytes, tool: Tool = trace_viewer.TOOL, **params: Any) -> Any:
    """What a tool builds for hosts h0, h1, ... with these profiles; parameters as in a query string."""
    given = {name: None if value is None else str(value) for name, value in params.items()}
    return tool.build(run_of(*texts), tool.query(given))


def streaming(*texts: str | bytes, **params: Any) -> dict[str, Any]:
    """The streaming answer."""
    raw = build_trace(*texts, **params)
    return json.loads(gzip.decompress(raw.body) if raw.encoding else raw.body)


def events(*texts: str | bytes, **params: Any) -> list[dict[str, Any]]:
    """The events of the streaming answer without metadata events."""
    return [event for event in streaming(*texts, **params)["traceEvents"] if event["ph"] != "M"]


def legacy(*texts: str | bytes) -> dict[str, Any]:
    """The whole answer in the older form."""
    return json.loads(build_trace(*texts, tool=trace_viewer.LEGACY).body)


def read_container(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a binary answer."""
    assert body[:4] == b"TPC1"
    length = int.from_bytes(body[4:8], "little")
    assert (8 + length) % 8 == 0
    header = json.loads(body[8 : 8 + length])
    arrays = {}
    for name, facts in header["arrays"].items():
        assert facts["offset"] % 8 == 0
        arrays[name] = np.frombuffer(body, _TYPES[facts["type"]], facts["length"], 8 + length + facts["offset"])
    return header, arrays


def canvas(*texts: str, **params: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of `format=columns`, or of another binary form."""
    return read_container(build_trace(*texts, **{"format": "columns", **params}).body)


def event(text: str, pid: int, tid: int, index: int) -> dict[str, Any]:
    """The answer about one event."""
    return build_trace(text, format="event", pid=pid, tid=tid, event=index).value
