"""Message classes and method paths from `protos/`, whose compiled form is part of the native core.

Generated code pins a protobuf runtime; classes made from descriptors load beside every protobuf from 4.25 on. They live
in a private descriptor pool, so that they never clash with the classes of a TensorFlow in the same process.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from tpu_profile_plugin.protos.wire import FIXED64, LENGTH, VARINT, MalformedMessage, fields
from tpu_profile_plugin.protos.wire import tag as field_tag

_DEEPEST = 32
"""Nesting up to which damaged messages are searched for sound parts."""
_LARGEST = 1 << 18
"""Larger damaged messages read as empty."""


def load() -> None:
    """Imports protobuf and compiles the descriptors (about 25 ms), which the first message needs otherwise."""
    message("xla.HloProto")


@functools.cache
def message(name: str) -> Any:
    """The class of a message, e.g. `message("xla.HloProto")`; KeyError if it is unknown."""
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(name))


def parse(name: str, data: bytes | memoryview) -> Any | None:
    """The message of this type in these bytes; None if protobuf refuses them."""
    from google.protobuf.message import DecodeError

    try:
        return message(name).FromString(data)
    except (DecodeError, ValueError):  # the implementation in Python raises the latter for text that is not UTF-8
        return None


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
    by_number = target.DESCRIPTOR.fields_by_number
    with suppress(MalformedMessage):
        for number, wire, start, begin, end in fields(data):
            part = parse(name, data[start:end])
            if part is not None:
                target.MergeFrom(part)
            elif wire == LENGTH and number in by_number:
                _add_sound_part(target, by_number[number], data[begin:end], depth)
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


@functools.cache
def enum_values(name: str) -> Mapping[int, str]:
    """Number -> name of the values of an enum, e.g. `enum_values("xla.FftType")`."""
    return {value.number: value.name for value in _pool().FindEnumTypeByName(name).values}


@functools.cache
def enum_number(name: str, value: str) -> int:
    number: int = _pool().FindEnumTypeByName(name).values_by_name[value].number
    return number


@functools.cache
def tag(name: str, field: str) -> int:
    """The tag of a field of a message, not packed, e.g. `tag("perfetto.protos.Trace", "packet")`."""
    from google.protobuf.descriptor import FieldDescriptor

    descriptor = message(name).DESCRIPTOR.fields_by_name[field]
    wires = {FieldDescriptor.CPPTYPE_STRING: LENGTH, FieldDescriptor.CPPTYPE_MESSAGE: LENGTH}
    fixed = {FieldDescriptor.TYPE_DOUBLE: FIXED64, FieldDescriptor.TYPE_FIXED64: FIXED64}
    return field_tag(descriptor.number, wires.get(descriptor.cpp_type, fixed.get(descriptor.type, VARINT)))


class Method(NamedTuple):
    """A method of a gRPC service: the path by which it is called, and the classes of request and response."""

    path: str
    request: Any
    response: Any


@functools.cache
def method(name: str) -> Method:
    """A method by its full name, e.g. `method("tensorflow.ProfilerService.Profile")`; KeyError for an unknown one."""
    service, _, short = name.rpartition(".")
    descriptor = _pool().FindServiceByName(service).methods_by_name[short]
    request, response = (message(kind.full_name) for kind in (descriptor.input_type, descriptor.output_type))
    return Method(f"/{service}/{short}", request, response)


@functools.cache
def _pool() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool

    from tpu_profile_plugin import _native  # late: capture is loaded at start, and needs no messages before it is used

    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(_native.descriptor_set()).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool
