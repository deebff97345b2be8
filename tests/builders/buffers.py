"""Buffer assignments for tests: `assignment(...)` is appended to what `builders.hlo.program` makes."""

from __future__ import annotations

from collections.abc import Sequence

from builders.hlo import block, number, varint

FLAGS = {"thread_local": 3, "parameter": 5, "live_out": 7, "tuple": 11, "constant": 12}
KINDS = {"alloc": 0, "free": 1, "share": 2}


def buffer(id_: int, size: int, instruction: int, *index: int, color: int = 0) -> bytes:
    """A logical buffer, defined by an instruction (its id) at a shape index."""
    place = number(4, instruction) + (block(3, b"".join(map(varint, index))) if index else b"")
    return block(1, number(1, id_) + number(2, size) + block(3, place) + number(4, color))


def allocation(index: int, size: int, assigned: Sequence[tuple[int, int, int]], *flags: str, color: int = 0) -> bytes:
    """An allocation with its buffers as (id, offset, size)."""
    body = number(1, index) + number(2, size) + number(8, color)
    body += b"".join(number(FLAGS[flag], 1) for flag in flags)
    body += b"".join(block(9, number(1, a) + number(2, b) + number(3, c)) for a, b, c in assigned)
    return block(3, body)


def trace(*events: str) -> bytes:
    """A heap trace from events like "alloc 1 add", "share 2 1 mul", "free 1 mul"."""
    body = b""
    for event in events:
        kind, buffer_id, *rest = event.split()
        canonical = int(rest.pop(0)) if kind == "share" else 0
        name = rest[0] if rest else ""
        body += block(1, number(1, KINDS[kind]) + number(2, int(buffer_id)) + block(4, name) + number(5, canonical))
    return block(4, body)


def assignment(*parts: bytes) -> bytes:
    """The buffer assignment, to be appended to a HloProto."""
    return block(3, b"".join(parts))


def instruction_id(position: int, computation: int = 1) -> int:
    """The id that `builders.hlo.program` gives to an instruction; the entry is computation 1."""
    return (computation << 32) + position


def profile(**protos: bytes) -> str:
    """A profile whose metadata plane holds these modules, numbered from 1."""
    entries = (
        f'metadata "{name}({i})" id={i} {{"Hlo Proto"=0x{proto.hex()}}}'
        for i, (name, proto) in enumerate(protos.items(), 1)
    )
    return 'plane 1 "/host:metadata"\n' + "\n".join(entries)
