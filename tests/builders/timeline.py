"""Answers of the trace viewer for profiles in the text notation, decoded."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np

from builders.xspace_text import build
from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.inputs import Inputs
from tpu_profile_plugin.tools.time.trace_viewer import tool as trace_viewer

_TYPES = {"u32": np.uint32, "u16": np.uint16, "f64": np.float64}


def inputs_of(*texts: str | bytes, tool=trace_viewer.TOOL, **params: Any) -> Inputs:
    """Inputs of hosts h0, h1, ... with profiles in the text notation or bytes; parameters as in a query string."""
    cache = ProfileCache(1 << 24)

    def host(index: int, text: str | bytes) -> HostProfile:
        data = np.frombuffer(build(text) if isinstance(text, str) else text, np.uint8)
        return HostProfile(f"h{index}", index, f"h{index}.xplane.pb", index, lambda: data, cache)

    values = {
        param.name: param.parse(None if params.get(param.name) is None else str(params[param.name]))
        for param in tool.params
    }
    return Inputs("run", tuple(host(i, text) for i, text in enumerate(texts)), values)


def streaming(*texts: str | bytes, **params: Any) -> dict[str, Any]:
    """The streaming answer."""
    raw = trace_viewer.TOOL.build(inputs_of(*texts, **params))
    return json.loads(gzip.decompress(raw.body) if raw.encoding else raw.body)


def events(*texts: str | bytes, **params: Any) -> list[dict[str, Any]]:
    """The events of the streaming answer without metadata events."""
    return [event for event in streaming(*texts, **params)["traceEvents"] if event["ph"] != "M"]


def legacy(*texts: str | bytes) -> dict[str, Any]:
    """The whole answer in the older form."""
    return json.loads(trace_viewer.LEGACY.build(inputs_of(*texts, tool=trace_viewer.LEGACY)).body)


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
    return read_container(trace_viewer.TOOL.build(inputs_of(*texts, **{"format": "columns", **params})).body)


def event(text: str, pid: int, tid: int, index: int) -> dict[str, Any]:
    """The answer about one event."""
    return trace_viewer.TOOL.build(inputs_of(text, format="event", pid=pid, tid=tid, event=index)).value
