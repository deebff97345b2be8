"""Reads damaged messages: protobuf refuses a message for one bad byte, this keeps its sound fields."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from tpu_profile_plugin.protos import message, parse
from tpu_profile_plugin.protos.wire import LENGTH, MalformedMessage, fields

_DEEPEST = 32
"""Nesting up to which damaged messages are searched for sound parts."""
_LARGEST = 1 << 18
"""Larger damaged messages read as empty."""


def read(name: str, data: bytes | memoryview) -> Any:
    """The message of this type with all sound fields; bytes that are not UTF-8 are replaced in texts."""
    return _read(name, memoryview(data), 0)


def _read(name: str, data: memoryview, depth: int) -> Any:
    whole = parse(name, data)
    if whole is not None:
        return whole
    target = message(name)()
    if len(data) > _LARGEST or depth > _DEEPEST:
        return target
    known = target.DESCRIPTOR.fields_by_number
    with suppress(MalformedMessage):
        for number, wire, start, begin, end in fields(data):
            part = parse(name, data[start:end])
            if part is not None:
                target.MergeFrom(part)
            elif wire == LENGTH and number in known:
                _add_sound_part(target, known[number], data[begin:end], depth)
    return target


def _add_sound_part(target: Any, field: Any, data: memoryview, depth: int) -> None:
    """Adds the sound parts of a damaged field; damaged packed numbers and map entries are dropped."""
    value = getattr(target, field.name)
    if field.type == field.TYPE_STRING:
        text = bytes(data).decode("utf-8", "replace")
        if isinstance(value, str):
            setattr(target, field.name, text)
        else:
            value.append(text)
    elif field.type == field.TYPE_MESSAGE and not field.message_type.GetOptions().map_entry:
        part = _read(field.message_type.full_name, data, depth + 1)
        if hasattr(value, "append"):
            value.append(part)
        else:
            value.MergeFrom(part)
