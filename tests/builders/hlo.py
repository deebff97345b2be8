"""Serialized HLO programs from a few words, for tests that need costs, categories and names.

`program(entry, **fused)` takes computations as lists of instructions; `op(...)` makes one. Operands and called
computations are given by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TYPES = {"pred": 1, "s8": 2, "s32": 4, "s64": 5, "f16": 10, "f32": 11, "f64": 12, "bf16": 16, "s4": 21}


@dataclass(frozen=True)
class Op:
    """One instruction; `shape` is e.g. "f32[2,3]" or a list of them for a tuple."""

    name: str
    opcode: str
    shape: str | Sequence[str]
    operands: Sequence[str] = ()
    called: Sequence[str] = ()
    op_name: str = ""
    op_type: str = ""
    target: str = ""
    kind: str = ""
    more: Mapping[int, Any] = field(default_factory=dict)


def op(name: str, opcode: str, shape: str | Sequence[str], *operands: str, **facts: Any) -> Op:
    """An instruction with its operands."""
    return Op(name, opcode, shape, operands, **facts)


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field_number: int, value: int) -> bytes:
    return varint(field_number << 3) + varint(value)


def block(field_number: int, data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return varint(field_number << 3 | 2) + varint(len(data)) + data


def shape(text: str | Sequence[str]) -> bytes:
    if not isinstance(text, str):
        return number(2, 13) + b"".join(block(4, shape(part)) for part in text)
    kind, _, rest = text.partition("[")
    sizes = [int(size) for size in rest.rstrip("]").split(",") if size]
    return number(2, TYPES[kind]) + (block(3, b"".join(varint(s) for s in sizes)) if sizes else b"")


def program(entry: Sequence[Op], **computations: Sequence[Op]) -> bytes:
    """A HloProto whose entry computation is `entry`; the last instruction of each computation is its root."""
    everything = {"entry": entry, **computations}
    ids = {name: i for i, name in enumerate(everything, start=1)}
    place = {one.name: (ids[c] << 32) + i for c, ops in everything.items() for i, one in enumerate(ops)}
    module = block(1, "test")
    for name, ops in everything.items():
        body = block(1, name) + number(5, ids[name]) + number(6, place[ops[-1].name])
        body += b"".join(block(2, _instruction(one, place, ids)) for one in ops)
        module += block(3, body)
    return block(1, module + number(6, ids["entry"]))


def _instruction(one: Op, place: Mapping[str, int], ids: Mapping[str, int]) -> bytes:
    out = block(1, one.name) + block(2, one.opcode) + block(3, shape(one.shape)) + number(35, place[one.name])
    if one.op_name:
        out += block(7, (block(1, one.op_type) if one.op_type else b"") + block(2, one.op_name))
    if one.operands:
        out += block(36, b"".join(varint(place[name]) for name in one.operands))
    if one.called:
        out += block(38, b"".join(varint(ids[name]) for name in one.called))
    out += block(28, one.target) if one.target else b""
    out += block(11, one.kind) if one.kind else b""
    for field_number, value in one.more.items():
        out += number(field_number, value) if isinstance(value, int) else block(field_number, value)
    return out
