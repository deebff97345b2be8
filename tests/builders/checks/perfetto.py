"""Reads a trace of Perfetto: its tracks with slices, arguments, flows and counters, for comparison."""

from __future__ import annotations

import gzip
from typing import Any

from tpu_profile_plugin.protos import message

_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4


def read(data: bytes) -> dict[str, Any]:
    """`{"tracks": {path: [slice]}, "counters": {path: [unit, share, samples]}, "flows": [[from, to]]}`.

    A slice is [begin ns, end ns or None, name, {argument: value or list}]; numbers of flows are left out of the
    arguments, only how many there are is kept. An end of a flow is "path/name@begin".
    """
    trace = message("perfetto.protos.Trace").FromString(gzip.decompress(data))
    texts: dict[tuple[str, int], str] = {}
    paths: dict[int, str] = {}
    counters: dict[str, list[Any]] = {}
    tracks: dict[str, list[list[Any]]] = {}
    open_slices: dict[int, list[list[Any]]] = {}
    ends: dict[int, list[tuple[int, str]]] = {}
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        for kind in ("event_names", "debug_annotation_names", "debug_annotation_string_values"):
            texts.update(((kind, one.iid), one.text.decode()) for one in getattr(packet.interned_data, kind))
        if packet.HasField("track_descriptor"):
            made = packet.track_descriptor
            path = f"{paths[made.parent_uuid]}/{made.name}" if made.parent_uuid else made.name
            while path in tracks:
                path += "'"
            paths[made.uuid] = path
            if made.HasField("counter"):
                counters[path] = [made.counter.unit_name, made.counter.y_axis_share_key, []]
            else:
                tracks[path] = []
        if not packet.HasField("track_event"):
            continue
        event, time = packet.track_event, packet.timestamp
        path = paths[event.track_uuid]
        if event.type == _COUNTER:
            value = event.double_counter_value or event.counter_value
            counters[path][2].append([time, value])
            continue
        if event.type == _END:
            one = open_slices[event.track_uuid].pop()
            one[1] = time
        else:
            one = [time, None, texts["event_names", event.name_iid], _arguments(event, texts)]
            tracks[path].append(one)
            if event.type == _BEGIN:
                open_slices.setdefault(event.track_uuid, []).append(one)
        for flow in event.flow_ids:
            ends.setdefault(flow, []).append((time, f"{path}/{one[2]}@{one[0]}"))
    assert not any(open_slices.values())
    flows = sorted([where for _, where in sorted(found, key=lambda one: one[0])] for found in ends.values())
    return {"tracks": tracks, "counters": counters, "flows": flows}


def _arguments(event: Any, texts: dict[tuple[str, int], str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for one in event.debug_annotations:
        name = texts["debug_annotation_names", one.name_iid]
        assert name not in out
        value = [_value(part, texts) for part in one.array_values] if one.array_values else _value(one, texts)
        out[name] = max(1, len(one.array_values)) if name in ("flow_in", "flow_out") else value
    return out


def _value(one: Any, texts: dict[tuple[str, int], str]) -> Any:
    which = one.WhichOneof("value")
    if which == "string_value_iid":
        return texts["debug_annotation_string_values", one.string_value_iid]
    return [which[:-6], getattr(one, which)]
