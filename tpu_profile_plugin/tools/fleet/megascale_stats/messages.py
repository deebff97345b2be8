"""Writes columns as protobuf messages: one message per row, fields in the order in which they are given.

Varints, 64-bit numbers, bytes and nested messages; a field may be repeated, or missing in some rows. A `Packed` holds
the finished messages of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin.columns.arrays import I64, U8, U64

_LIMITS = np.array([1 << (7 * digits) for digits in range(1, 10)], np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """Finished messages, one after the other.

    Attributes:
      data: their bytes.
      size: int64[n], bytes of each.
    """

    data: U8
    size: I64

    @staticmethod
    def of(texts: Sequence[bytes]) -> Packed:
        """The given byte strings."""
        return Packed(
            np.frombuffer(b"".join(texts), np.uint8), np.fromiter((len(text) for text in texts), np.int64, len(texts))
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Field:
    """One field: the rows that have it, ascending, its tag, its varint (of the value or its length), and its bytes."""

    rows: I64
    tag: int
    number: U64 | None
    body: Packed | None

    def sizes(self) -> I64:
        """Bytes of each, with the tag."""
        out: I64 = np.full(len(self.rows), len(varint(self.tag)), np.int64)
        if self.number is not None:
            out += varint_sizes(self.number)
        if self.body is not None:
            out += self.body.size
        return out


class Rows:
    """Messages under construction."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._fields: list[_Field] = []

    def varint(self, tag: int, values: NDArray[np.integer], rows: I64 | None = None) -> None:
        """Adds an integer to the given rows (ascending; equal ones repeat the field), to all without any."""
        self._fields.append(_Field(self._rows(rows), tag, np.asarray(values).astype(np.int64).view(np.uint64), None))

    def fixed64(self, tag: int, values: U64, rows: I64 | None = None) -> None:
        """Adds eight bytes, such as the bits of a double."""
        body = Packed(
            np.ascontiguousarray(values, "<u8").view(np.uint8), np.full(len(values), values.itemsize, np.int64)
        )
        self._fields.append(_Field(self._rows(rows), tag, None, body))

    def bytes(self, tag: int, body: Packed, rows: I64 | None = None) -> None:
        """Adds bytes, a text or a nested message, with its length."""
        self._fields.append(_Field(self._rows(rows), tag, body.size.view(np.uint64), body))

    def packed(self) -> Packed:
        """The finished messages."""
        total: I64 = np.zeros(self._count, np.int64)
        for field in self._fields:
            total += np.bincount(field.rows, field.sizes(), self._count).astype(np.int64)
        out = np.empty(int(total.sum()), np.uint8)
        cursor = np.cumsum(total) - total
        for field in self._fields:
            _write(out, cursor, field)
        return Packed(out, total)

    def _rows(self, rows: I64 | None) -> I64:
        return np.arange(self._count) if rows is None else rows


def _write(out: U8, cursor: I64, field: _Field) -> None:
    """Writes a field of all its rows at each row's cursor, and advances the cursors."""
    sizes = field.sizes()
    before = np.cumsum(sizes) - sizes
    first = np.searchsorted(field.rows, field.rows, side="left")
    position = cursor[field.rows] + before - (before[first] if len(first) else 0)
    cursor += np.bincount(field.rows, sizes, len(cursor)).astype(np.int64)
    for byte in varint(field.tag):
        out[position] = byte
        position = position + 1
    if field.number is not None:
        length = varint_sizes(field.number)
        _write_varints(out, position, field.number, length)
        position = position + length
    if field.body is not None and len(field.body.data):
        size = field.body.size
        shift = position - (np.cumsum(size) - size)
        out[np.repeat(shift, size) + np.arange(len(field.body.data))] = field.body.data


def _write_varints(out: U8, position: I64, values: U64, sizes: I64) -> None:
    for digit in range(int(sizes.max(initial=0))):
        chosen = sizes > digit
        value = (values[chosen] >> np.uint64(7 * digit)) & np.uint64(0x7F)
        more = np.where(sizes[chosen] > digit + 1, 0x80, 0).astype(np.uint64)
        out[position[chosen] + digit] = (value | more).astype(np.uint8)


def varint_sizes(values: U64) -> I64:
    """Bytes of each number as a varint."""
    return np.searchsorted(_LIMITS, values, side="right") + 1


def varint(value: int) -> bytes:
    """A non-negative number as a varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))
