"""MLIR bytecode, typed in: tables of texts, dialects, ops, attributes and types, and nested ops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MAGIC = b"ML\xefR"
BUILTIN, OTHER = 0, 1
"""Dialects of `module`; ops are of the second one."""

Entry = tuple[int, bool, bytes]
"""Of an attribute or a type: its dialect, whether it has a form of its own (else it is text), its bytes."""


def number(value: int) -> bytes:
    """A variable-length number."""
    for more in range(8):
        if value < 1 << 7 * (more + 1):
            return ((value << 1 | 1) << more).to_bytes(more + 1, "little")
    return b"\0" + value.to_bytes(8, "little")


def numbers(values: Iterable[int]) -> bytes:
    """Their count, and the numbers."""
    listed = list(values)
    return number(len(listed)) + b"".join(map(number, listed))


def module(
    body: bytes,
    *,
    attributes: Sequence[Entry] = (),
    types: Sequence[Entry] = (),
    texts: Sequence[bytes] = (b"builtin", b"d", b"o"),
    dialects: Sequence[int] = (0, 1),
    ops: Sequence[int] = (2,),
    version: int = 0,
) -> bytes:
    """A file; `dialects` and `ops` are numbers of texts.

    From version 1 on dialects may have versions of their own, from 4 on ops are counted, from 5 on they may be
    registered.
    """
    sizes = b"".join(number(len(text) + 1) for text in reversed(texts))
    strings = number(len(texts)) + sizes + b"".join(text + b"\0" for text in texts)
    named = numbers(one << (version >= 1) for one in dialects) + (number(len(ops)) if version >= 4 else b"")
    named += number(OTHER) + numbers(one << (version >= 5) for one in ops)
    offsets = number(len(attributes)) + number(len(types))
    data = b""
    for dialect, own_form, entry in (*attributes, *types):
        offsets += number(dialect) + number(1) + number(len(entry) << 1 | own_form)
        data += entry
    sections = (strings, named, data, offsets, body)
    return MAGIC + number(version) + b"p\0" + b"".join(bytes([i]) + number(len(s)) + s for i, s in enumerate(sections))


def op(
    name: int = 0, *, attributes: int | None = None, results: Sequence[int] = (), operands: Sequence[int] = (),
    regions: Sequence[bytes] = (),
) -> bytes:  # fmt: skip
    """An op: numbers of its attributes, of the types of its results, and of the values that it uses."""
    parts = (attributes is not None) | 2 * bool(results) | 4 * bool(operands) | 16 * bool(regions)
    out = number(name) + bytes([parts]) + number(0)
    out += b"" if attributes is None else number(attributes)
    out += numbers(results) if results else b""
    out += numbers(operands) if operands else b""
    return out + (number(len(regions) << 1) + b"".join(regions) if regions else b"")


def region(values: int, *blocks: bytes) -> bytes:
    """A region of blocks that define so many values."""
    return number(len(blocks)) + number(values) + b"".join(blocks)


def block(*ops: bytes) -> bytes:
    """A block without arguments."""
    return number(len(ops) << 1) + b"".join(ops)


def integer(bits: int) -> Entry:
    """The type of an integer."""
    return BUILTIN, True, number(0) + number(bits << 2)


def tensor(shape: Sequence[int], element: int) -> Entry:
    """A type of a tensor; `element` is the number of its element's type."""
    return BUILTIN, True, number(13) + numbers(size << 1 for size in shape) + number(element)


def dense(of: int, data: bytes) -> Entry:
    """A constant of the type of a number."""
    return BUILTIN, True, number(18) + number(of) + number(len(data)) + data


def dense_array(of: int, size: int, data: bytes) -> Entry:
    """An array of numbers."""
    return BUILTIN, True, number(17) + number(of) + number(size) + number(len(data)) + data


def text(content: bytes) -> Entry:
    """An attribute or type that is text already."""
    return OTHER, False, content + b"\0"
