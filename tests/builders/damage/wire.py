"""XSpace messages byte by byte: anything may be written, also what no protobuf library would."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Suffix = Literal[".xplane.pb", ".trace.json.gz"]


def varint(value: int) -> bytes:
    """An integer as the wire has it."""
    value %= 1 << 64
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    """An integer field."""
    return varint(field << 3) + varint(value)


def text(field: int, value: str | bytes) -> bytes:
    """A length-delimited field: text, bytes or a message."""
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field: int, values: Iterable[int]) -> bytes:
    """Repeated integers in one field."""
    return text(field, b"".join(map(varint, values)))


@dataclass(frozen=True)
class Case:
    """One file of the corpus; `others` are files of further hosts, `requests` some in addition: route and query."""

    name: str
    data: bytes
    suffix: Suffix = ".xplane.pb"
    others: tuple[bytes, ...] = ()
    requests: tuple[tuple[str, dict[str, str]], ...] = ()


varint_of = lru_cache(1 << 16)(varint)


def stat(key: int, value: int | float | bytes | str, kind: int = 0) -> bytes:
    """The fields of an XStat; the kind (wire field number) follows the type of the value unless given."""
    head = number(1, key)
    if isinstance(value, float):
        return head + bytes([2 << 3 | 1]) + struct.pack("<d", value)
    if isinstance(value, int):
        return head + number(kind or 4, value)
    return head + text(kind or 5, value)


def event(metadata: int, offset_ps: int, duration_ps: int, *stats: bytes) -> bytes:
    """The fields of an XEvent."""
    head = number(1, metadata) + number(2, offset_ps) + number(3, duration_ps)
    return head + b"".join(text(4, one) for one in stats)


def line(name: str | bytes, events: Iterable[bytes] = (), *, id: int = 0, timestamp_ns: int = 0) -> bytes:
    """The fields of an XLine."""
    head = number(1, id) + text(2, name) + number(3, timestamp_ns)
    return head + b"".join(text(4, one) for one in events)


def named(id: int, name: str | bytes, *stats: bytes, more: bytes = b"") -> bytes:
    """The fields of an XEventMetadata."""
    return number(1, id) + text(2, name) + more + b"".join(text(5, one) for one in stats)


def entry(id: int, value: bytes) -> bytes:
    """An entry of a map."""
    return number(1, id) + text(2, value)


def plane(
    name: str | bytes,
    lines: Iterable[bytes] = (),
    events: Iterable[tuple[int, bytes]] = (),
    stats: Iterable[tuple[int, str | bytes]] = (),
    own: Iterable[bytes] = (),
    id: int = 0,
) -> bytes:
    """A plane as a field of an XSpace: event metadata as (key, fields), stat metadata as (key, name)."""
    parts = [number(1, id), text(2, name)]
    parts += [text(3, one) for one in lines]
    parts += [text(4, entry(key, fields)) for key, fields in events]
    parts += [text(5, entry(key, number(1, key) + text(2, name))) for key, name in stats]
    parts += [text(6, one) for one in own]
    return text(1, b"".join(parts))


_CHILDREN = {
    "XSpace": {1: "XPlane"},
    "XPlane": {3: "XLine", 4: "Entry", 5: "StatEntry", 6: "XStat"},
    "XLine": {4: "XEvent"},
    "XEvent": {4: "XStat"},
    "Entry": {2: "XEventMetadata"},
    "StatEntry": {2: "XStatMetadata"},
    "XEventMetadata": {5: "XStat", 3: "Hlo"},
    "Hlo": {1: "HloModule", 3: "Any"},
    "HloModule": {3: "HloComputation"},
    "HloComputation": {2: "HloInstruction"},
    "HloInstruction": {3: "Any", 7: "Any", 8: "Any"},
    "Any": {},
}
"""Messages inside messages by field number; a serialized program stands in a stat or in the metadata's bytes."""


@dataclass(frozen=True)
class Field:
    """One field on the wire: bytes `start`..`end`, the value from `body` on."""

    message: str
    number: int
    wire: int
    start: int
    body: int
    end: int


def fields(data: bytes, message: str = "XSpace", start: int = 0, end: int | None = None) -> list[Field]:
    """All fields of a sound message and of the messages in it, outer ones first."""
    found = []
    at, end = start, len(data) if end is None else end
    while at < end:
        begin = at
        tag, at = _varint(data, at)
        wire, field = tag & 7, tag >> 3
        body = at
        if wire == 0:
            at = _varint(data, at)[1]
        elif wire == 2:
            size, body = _varint(data, at)
            at = body + size
        else:
            at += {1: 8, 5: 4}[wire]
        found.append(Field(message, field, wire, begin, body, at))
        child = _CHILDREN.get(message, {}).get(field)
        # A program is the bytes of a stat; what is not one is not looked into.
        if message == "XStat" and field == 6 and at - body > 20:
            child = "Hlo"
        if wire == 2 and child:
            found += fields(data, child, body, at)
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
        shift += 7
