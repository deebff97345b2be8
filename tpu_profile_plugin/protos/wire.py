"""The protobuf wire format: where the fields of a message begin and end, without decoding what is in them."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Wire types. Groups, an obsolete encoding, are refused."""


class MalformedMessage(Exception):
    """The bytes are not a valid protobuf message; `offset` is the byte where parsing failed."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(f"{what} at byte {offset}")
        self.offset = offset


def fields(view: memoryview, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, int, int, int, int]]:
    """(field number, wire type, start, begin, end) of the fields of one message; raises MalformedMessage.

    `start` is where the tag begins, `begin` where the value does; `end` is behind it.
    """
    stop = len(view) if end is None else end
    position = begin
    while position < stop:
        start = position
        tag, position = _varint(view, position, stop)
        number, wire = tag >> 3, tag & 7
        begin = position
        if number == 0:
            raise MalformedMessage("a field without a number", start)
        if wire == VARINT:
            position = _varint(view, position, stop)[1]
        elif wire == LENGTH:
            length, begin = _varint(view, position, stop)
            position = begin + length
        elif wire in (FIXED64, FIXED32):
            position += 8 if wire == FIXED64 else 4
        else:
            raise MalformedMessage("an unknown wire type", start)
        if position > stop:
            raise MalformedMessage("a field longer than the message", start)
        yield number, wire, start, begin, position


def _varint(view: memoryview, position: int, stop: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position + shift // 7 >= stop:
            raise MalformedMessage("a truncated varint", position)
        byte = view[position + shift // 7]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + shift // 7 + 1
    raise MalformedMessage("a varint longer than 10 bytes", position)


def tag(number: int, wire: int) -> int:
    """The number that precedes a field."""
    return number << 3 | wire
