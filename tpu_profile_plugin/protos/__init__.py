"""Message classes and method paths from `protos/`, whose compiled form is part of the native core.

Generated code pins a protobuf runtime; classes made from descriptors load beside every protobuf from 4.25 on. They live
in a private descriptor pool, so that they never clash with the classes of a TensorFlow in the same process.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from tpu_profile_plugin.protos import wire


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


@functools.cache
def enum_values(name: str) -> Mapping[int, str]:
    """Number -> name of the values of an enum, e.g. `enum_values("xla.FftType")`."""
    return {value.number: value.name for value in _pool().FindEnumTypeByName(name).values}


@functools.cache
def enum_number(name: str, value: str) -> int:
    """The number of a value of an enum."""
    number: int = _pool().FindEnumTypeByName(name).values_by_name[value].number
    return number


@functools.cache
def tag(name: str, field: str) -> int:
    """The tag of a field of a message, not packed, e.g. `tag("perfetto.protos.Trace", "packet")`."""
    from google.protobuf.descriptor import FieldDescriptor

    descriptor = message(name).DESCRIPTOR.fields_by_name[field]
    wires = {FieldDescriptor.CPPTYPE_STRING: wire.LENGTH, FieldDescriptor.CPPTYPE_MESSAGE: wire.LENGTH}
    fixed = {FieldDescriptor.TYPE_DOUBLE: wire.FIXED64, FieldDescriptor.TYPE_FIXED64: wire.FIXED64}
    return wire.tag(descriptor.number, wires.get(descriptor.cpp_type, fixed.get(descriptor.type, wire.VARINT)))


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
