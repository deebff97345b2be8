"""Messages in protobuf's text form, written piece by piece so that memory stays small whatever their size."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress

from tpu_profile_plugin.protos import message, read
from tpu_profile_plugin.protos.wire import MalformedMessage, fields

_WHOLE = 1 << 16
"""Bytes up to which a message is decoded whole; larger ones field by field."""
_DEEPEST = 16
"""Levels of large messages in each other."""


def text_form(name: str, data: bytes | memoryview) -> Iterator[str]:
    """The text form of a serialized message: enum values by name, unknown fields by number, UTF-8 as it is.

    Damaged parts are left out.
    """
    return _lines(name, memoryview(data), 0)


def _lines(name: str, data: memoryview, depth: int) -> Iterator[str]:
    if len(data) <= _WHOLE or depth == _DEEPEST:
        yield _whole(name, data, depth)
        return
    by_number = message(name).DESCRIPTOR.fields_by_number
    places: dict[int, list[tuple[int, int, int]]] = {}
    with suppress(MalformedMessage):
        for number, _, start, begin, end in fields(data):
            places.setdefault(number, []).append((start, begin, end))
    for number, occurrences in sorted(places.items()):
        field = by_number.get(number)
        inner = None if field is None else field.message_type
        if inner is None or inner.GetOptions().map_entry:
            yield _whole(name, b"".join(data[start:end] for start, _, end in occurrences), depth)
            continue
        for places_of_some in _portions(occurrences):
            start, begin, end = places_of_some[0]
            if end - start > _WHOLE:
                yield f"{'  ' * depth}{field.name} {{\n"
                yield from _lines(inner.full_name, data[begin:end], depth + 1)
                yield f"{'  ' * depth}}}\n"
            else:
                yield _whole(name, b"".join(data[start:end] for start, _, end in places_of_some), depth)


def _portions(places: list[tuple[int, int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    """Neighbouring fields that together are not large; a large one is alone."""
    portion: list[tuple[int, int, int]] = []
    size = 0
    for place in places:
        size += place[2] - place[0]
        if portion and size > _WHOLE:
            yield portion
            portion, size = [], place[2] - place[0]
        portion.append(place)
    yield portion


def _whole(name: str, data: bytes | memoryview, depth: int) -> str:
    from google.protobuf import text_format

    made, out = read(name, data), io.StringIO()
    text_format.PrintMessage(made, out, indent=2 * depth, as_utf8=True, print_unknown_fields=True)
    return out.getvalue()
