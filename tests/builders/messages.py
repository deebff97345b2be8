"""XSpace message classes, built at run time from the facts of the wire (works with protobuf 4.25 to 7)."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "test.xspace"

# message: field number type; "*T" repeated, "<T>" a map from int64 to T, "name.field" a member of the oneof `name`.
_SCHEMA = """
XSpace: planes 1 *XPlane, errors 2 *string, warnings 3 *string, hostnames 4 *string
XPlane: id 1 int64, name 2 string, lines 3 *XLine, event_metadata 4 <XEventMetadata>, stat_metadata 5 <XStatMetadata>, stats 6 *XStat
XLine: id 1 int64, display_id 10 int64, name 2 string, display_name 11 string, timestamp_ns 3 int64, duration_ps 9 int64, events 4 *XEvent
XEvent: metadata_id 1 int64, data.offset_ps 2 int64, data.num_occurrences 5 int64, duration_ps 3 int64, stats 4 *XStat
XStat: metadata_id 1 int64, value.double_value 2 double, value.uint64_value 3 uint64, value.int64_value 4 int64, value.str_value 5 string, value.bytes_value 6 bytes, value.ref_value 7 uint64, value.compressed_str_value 8 bytes
XEventMetadata: id 1 int64, name 2 string, metadata 3 bytes, display_name 4 string, stats 5 *XStat, child_id 6 *int64
XStatMetadata: id 1 int64, name 2 string, description 3 string
"""  # noqa: E501

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "int64": _FIELD.TYPE_INT64,
    "uint64": _FIELD.TYPE_UINT64,
    "double": _FIELD.TYPE_DOUBLE,
    "string": _FIELD.TYPE_STRING,
    "bytes": _FIELD.TYPE_BYTES,
}


def _set_type(field: Any, name: str) -> None:
    if name in _SCALARS:
        field.type = _SCALARS[name]
    else:
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, f".{_PACKAGE}.{name}"


def _add_map_entry(message: Any, field_name: str, value: str) -> str:
    entry = message.nested_type.add(name="".join(part.title() for part in field_name.split("_")) + "Entry")
    entry.options.map_entry = True
    for number, (name, kind) in enumerate((("key", "int64"), ("value", value)), start=1):
        _set_type(entry.field.add(name=name, number=number, label=_FIELD.LABEL_OPTIONAL), kind)
    return f"{message.name}.{entry.name}"


def _add_field(message: Any, declaration: str) -> None:
    name, number, kind = declaration.split()
    oneof, _, name = name.rpartition(".")
    field = message.field.add(name=name, number=int(number), label=_FIELD.LABEL_OPTIONAL)
    if kind[0] in "*<":
        field.label = _FIELD.LABEL_REPEATED
    if kind.startswith("<"):
        kind = _add_map_entry(message, name, kind.strip("<>"))
    _set_type(field, kind.lstrip("*"))
    if oneof:
        if not message.oneof_decl:
            message.oneof_decl.add(name=oneof)
        field.oneof_index = 0


def _build() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="test/xspace.proto", package=_PACKAGE, syntax="proto3")
    for text in _SCHEMA.strip().splitlines():
        name, _, fields = text.partition(": ")
        message = file.message_type.add(name=name)
        for declaration in fields.split(", "):
            _add_field(message, declaration)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    names = [message.name for message in file.message_type]
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{n}")) for n in names}


_CLASSES = _build()
XSpace: Any = _CLASSES["XSpace"]
XPlane: Any = _CLASSES["XPlane"]
XLine: Any = _CLASSES["XLine"]
XEvent: Any = _CLASSES["XEvent"]
XStat: Any = _CLASSES["XStat"]
XEventMetadata: Any = _CLASSES["XEventMetadata"]
XStatMetadata: Any = _CLASSES["XStatMetadata"]
