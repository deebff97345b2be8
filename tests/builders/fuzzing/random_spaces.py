"""Hypothesis strategies: random XSpace messages, and other encodings of the same kind of bytes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from builders.messages import XSpace
from tpu_profile_plugin.protos.wire import fields

_EDGES = [0, 1, 127, 128, 2**31, 2**32 + 5, 2**56 - 1, 2**62, 2**63 - 1, -1, -128, -(2**63)]
ints = st.sampled_from(_EDGES) | st.integers(-(2**63), 2**63 - 1)
ids = st.integers(0, 6) | st.sampled_from([5000, 2**40, -1, -(2**63)])
texts = st.sampled_from(["", "a", "fusion.1", "naïve ☃"]) | st.text(max_size=12)
timestamps = st.integers(0, 2**40) | st.sampled_from([0, 1_700_000_000_000_000_000, 1_700_000_000_000_000_777, -5])


@st.composite
def _fill_stats(draw: Any, owner: Any, most: int = 4) -> None:
    for _ in range(draw(st.integers(0, most))):
        stat = owner.stats.add(metadata_id=draw(ids))
        match draw(st.sampled_from(["double", "uint64", "int64", "str", "bytes", "ref", "compressed_str", None])):
            case "double":
                stat.double_value = draw(st.floats(allow_nan=True))
            case "int64":
                stat.int64_value = draw(ints)
            case "uint64":
                stat.uint64_value = draw(ints) % 2**64
            case "ref":
                stat.ref_value = draw(ids) % 2**64
            case "str":
                stat.str_value = draw(texts)
            case "bytes":
                stat.bytes_value = draw(st.binary(max_size=12))
            case "compressed_str":
                stat.compressed_str_value = draw(st.binary(max_size=12))


@st.composite
def _fill_line(draw: Any, line: Any) -> None:
    line.id, line.display_id = draw(ids), draw(ids)
    line.name, line.display_name = draw(texts), draw(texts)
    line.timestamp_ns, line.duration_ps = draw(timestamps), draw(ints)
    for _ in range(draw(st.integers(0, 5))):
        event = line.events.add(metadata_id=draw(ids), duration_ps=draw(ints))
        member = draw(st.sampled_from(["offset_ps", "offset_ps", "num_occurrences", None]))
        if member:
            setattr(event, member, draw(ints))
        draw(_fill_stats(event))


@st.composite
def spaces(draw: Any) -> Any:
    """A random XSpace message: every field, ids with and without metadata, extreme numbers."""
    space = XSpace()
    for strings in (space.errors, space.warnings, space.hostnames):
        strings.extend(draw(st.lists(texts, max_size=2)))
    for _ in range(draw(st.integers(0, 3))):
        plane = space.planes.add(id=draw(ids), name=draw(texts))
        draw(_fill_stats(plane))
        for _ in range(draw(st.integers(0, 3))):
            draw(_fill_line(plane.lines.add()))
        for key in draw(st.lists(ids, max_size=4)):
            metadata = plane.event_metadata[key]
            metadata.id, metadata.name, metadata.display_name = key, draw(texts), draw(texts)
            metadata.metadata = draw(st.binary(max_size=6))
            metadata.child_id.extend(draw(st.lists(ids, max_size=3)))
            if not metadata.stats:
                draw(_fill_stats(metadata, 2))
        for key in draw(st.lists(ids, max_size=4)):
            metadata = plane.stat_metadata[key]
            metadata.id, metadata.name, metadata.description = key, draw(texts), draw(texts)
    return space


# ---- The same fields in another order, with unknown fields between them.

# A varint, bytes, a fixed32, a fixed64 and nested groups, all with numbers that no message uses.
_UNKNOWN = [
    b"\xf8\x07\x05",
    b"\xfa\x07\x03abc",
    b"\xfd\x07\x01\x02\x03\x04",
    b"\xf9\x07" + bytes(8),
    b"\xfb\x07\x0b\x08\x01\x0c\xfc\x07",
    b"\x88\x80\x80\x00\x07",  # field 1, its tag longer than needed
]


def _varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


@st.composite
def shuffled(draw: Any, data: bytes, kind: Any = XSpace.DESCRIPTOR) -> bytes:
    """The fields of `data` in random order, some twice, unknown ones between them, at every level."""
    parts = []
    for number, _, start, begin, end in fields(memoryview(data)):
        child = kind.fields_by_number[number].message_type
        if child:
            inner = draw(shuffled(data[begin:end], child))
            # Tags of these messages take one byte.
            parts.append(data[start : start + 1] + _varint(len(inner)) + inner)
        else:
            parts.append(data[start:end])
    for part in list(parts):
        if len(part) < 64 and draw(st.integers(0, 9)) == 0:
            parts.append(part)
    if draw(st.integers(0, 3)) == 0:
        parts.append(draw(st.sampled_from(_UNKNOWN)))
    return b"".join(draw(st.permutations(parts)))
