"""A slow decoder: XSpace bytes to plain Python values by google.protobuf.

`decode(data)` gives dicts and lists that `plain(space)` gives for columns too, so that a test can compare them.
It shares no code with the native decoder.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns import Kind, Plane, Stats, XSpace

_FIELD = descriptor_pb2.FieldDescriptorProto


class WireError(ValueError):
    """The bytes are not a valid message."""


@cache
def _space_class() -> Any:
    """The class of XSpace, which takes more than protobuf would, as columns do.

    Texts are bytes, because protobuf refuses what is not UTF-8. Maps are lists of entries, because Python's protobuf
    drops an entry with an unknown field in it.
    """
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(_native.descriptor_set()).file:
        if file.name == "xplane.proto":
            for made in file.message_type:
                for field in made.field:
                    field.type = _FIELD.TYPE_BYTES if field.type == _FIELD.TYPE_STRING else field.type
                for entry in made.nested_type:
                    entry.options.ClearField("map_entry")
            pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.profiler.XSpace"))


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def _bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


_VALUES: dict[str, Callable[[Any], Any]] = {"double_value": _bits, "str_value": _text, "ref_value": _signed}


def _stats(owner: Any) -> list[tuple[int, str, Any]]:
    found = []
    for stat in owner.stats:
        field = stat.WhichOneof("value")
        value = _VALUES.get(field, lambda value: value)(getattr(stat, field)) if field else 0
        found.append((stat.metadata_id, (field or "unset").removesuffix("_value").upper(), value))
    return found


def decode(data: bytes) -> dict[str, Any]:
    """The space as plain values; raises WireError."""
    try:
        space = _space_class().FromString(bytes(data))
    except DecodeError as error:
        raise WireError(str(error)) from error
    stamps = [line.timestamp_ns for plane in space.planes for line in plane.lines]
    origin = min((stamp for stamp in stamps if _is_far(stamp)), default=0)
    return {
        "errors": list(map(_text, space.errors)),
        "warnings": list(map(_text, space.warnings)),
        "hostnames": list(map(_text, space.hostnames)),
        "origin_ns": origin,
        "planes": [_plane(plane, origin) for plane in space.planes],
    }


def _is_far(stamp: int) -> bool:
    return abs(stamp) > (2**63 - 1) // 1000


def _plane(plane: Any, origin: int) -> dict[str, Any]:
    return {
        "id": plane.id,
        "name": _text(plane.name),
        "event_metadata": {
            entry.key: {
                "id": entry.key,
                "name": _text(entry.value.name),
                "metadata": entry.value.metadata,
                "display_name": _text(entry.value.display_name),
                "children": list(entry.value.child_id),
                "stats": _stats(entry.value),
            }
            for entry in plane.event_metadata
        },
        "stat_metadata": {
            entry.key: {
                "id": entry.key,
                "name": _text(entry.value.name),
                "description": _text(entry.value.description),
            }
            for entry in plane.stat_metadata
        },
        "lines": [_line(line, origin) for line in plane.lines],
        "stats": _stats(plane),
    }


def _line(line: Any, origin: int) -> dict[str, Any]:
    begin_ns = line.timestamp_ns - (origin if _is_far(line.timestamp_ns) else 0)
    events = []
    for event in line.events:
        begin = _signed((begin_ns * 1000 + event.offset_ps) % 2**64)
        events.append((event.metadata_id, begin, event.duration_ps, event.num_occurrences, _stats(event)))
    return {
        "id": line.id,
        "display_id": line.display_id,
        "name": _text(line.name),
        "display_name": _text(line.display_name),
        "timestamp_ns": line.timestamp_ns,
        "duration_ps": line.duration_ps,
        "filled": bool(line.events),
        "events": events,
    }


# ---- The same values from columns.


def plain(space: XSpace) -> dict[str, Any]:
    """The result of `decode`, from columns. Rows appended for missing ids are omitted, but must be empty."""
    return {
        "errors": list(space.errors),
        "warnings": list(space.warnings),
        "hostnames": list(space.hostnames),
        "origin_ns": space.origin_ns,
        "planes": [_plain_plane(space, plane) for plane in space.planes],
    }


def _plain_stats(space: XSpace, plane: Plane, stats: Stats) -> list[list[tuple[int, str, Any]]]:
    keys = plane.stat_metadata.id[stats.key].tolist()
    flat = []
    for key, kind, value in zip(keys, stats.kind.tolist(), stats.value.tolist(), strict=True):
        name = Kind(kind).name
        if name == "INT64":
            value = _signed(value)
        elif name == "REF":
            value = int(plane.stat_metadata.id[value])
        elif name == "STR":
            value = space.blob(value).decode(errors="replace")
        elif name in ("BYTES", "COMPRESSED_STR"):
            value = space.blob(value)
        flat.append((key, name, value))
    start = stats.start.tolist()
    return [flat[begin:end] for begin, end in itertools.pairwise(start)]


def _plain_plane(space: XSpace, plane: Plane) -> dict[str, Any]:
    events, lines, table = plane.events, plane.lines, plane.event_metadata
    stats = _plain_stats(space, plane, events.stats)
    occurrences = [0] * len(events) if events.occurrences is None else events.occurrences.tolist()
    ids = table.id[events.metadata].tolist()
    rows = list(zip(ids, events.begin_ps.tolist(), events.duration_ps.tolist(), occurrences, stats, strict=True))
    line_columns = ("id", "display_id", "name", "display_name", "timestamp_ns", "duration_ps", "filled")
    start, child = lines.event_start.tolist(), table.child_start.tolist()
    children = [table.child_id[begin:end].tolist() for begin, end in itertools.pairwise(child)]
    event_rows = zip(
        table.id.tolist(),
        table.names,
        [space.blob(value) for value in table.metadata.tolist()],
        table.display_names,
        children,
        _plain_stats(space, plane, table.stats),
        strict=True,
    )
    stat_rows = zip(
        plane.stat_metadata.id.tolist(), plane.stat_metadata.names, plane.stat_metadata.descriptions, strict=True
    )
    names = ("id", "name", "metadata", "display_name", "children", "stats")
    return {
        "id": plane.id,
        "name": plane.name,
        "event_metadata": {row[0]: dict(zip(names, row, strict=True)) for row in event_rows},
        "stat_metadata": {row[0]: dict(zip(("id", "name", "description"), row, strict=True)) for row in stat_rows},
        "lines": [
            {
                **{column: _item(getattr(lines, column), i) for column in line_columns},
                "events": rows[start[i] : start[i + 1]],
            }
            for i in range(len(lines))
        ],
        "stats": _plain_stats(space, plane, plane.stats)[0],
    }


def _item(column: Any, i: int) -> Any:
    return column[i] if isinstance(column, tuple) else int(column[i])


def with_missing(space: dict[str, Any]) -> dict[str, Any]:
    """Adds to a decoded space the empty metadata rows that columns append for ids without an entry."""
    for plane in space["planes"]:
        events = [event for line in plane["lines"] for event in line["events"]]
        owners = [plane["stats"], *(e[4] for e in events), *(m["stats"] for m in plane["event_metadata"].values())]
        keys = {stat[0] for stats in owners for stat in stats}
        keys |= {stat[2] for stats in owners for stat in stats if stat[1] == "REF"}
        for key in {event[0] for event in events} - set(plane["event_metadata"]):
            empty = {"id": key, "name": "", "metadata": b"", "display_name": "", "children": [], "stats": []}
            plane["event_metadata"][key] = empty
        for key in keys - set(plane["stat_metadata"]):
            plane["stat_metadata"][key] = {"id": key, "name": "", "description": ""}
    return space
