"""Messages of the profiler's gRPC services, built at run time from the facts of the wire.

Generated code pins a protobuf runtime; classes made from descriptors load beside every protobuf from 4.25 on. They
live in a descriptor pool of their own, so that they never clash with those of a TensorFlow in the same process.
"""

from __future__ import annotations

import functools
from typing import Any

_PACKAGE = "tensorflow"

# message: field type number; "*T" is repeated, "<T>" a map from string to T, "name.field" a member of the oneof `name`.
_SCHEMA = """
ToolRequestOptions: output_formats string 2, save_to_repo bool 3
TraceOptions: host_traceme_filter_mask uint64 1
AdvancedConfigValue: value.string_value string 1, value.bool_value bool 2, value.int64_value int64 3
ProfileOptions: include_dataset_ops bool 1, host_tracer_level uint32 2, device_tracer_level uint32 3, python_tracer_level uint32 4, version uint32 5, device_type int32 6, enable_hlo_proto bool 7, start_timestamp_ns uint64 8, duration_ms uint64 9, repository_path string 10, trace_options TraceOptions 11, advanced_configuration <AdvancedConfigValue> 12, raise_error_on_start_failure bool 13, session_id string 14, override_hostname string 15
ProfileRequest: duration_ms uint64 1, max_events uint64 2, tools *string 3, opts ProfileOptions 4, repository_root string 5, session_id string 6, host_name string 7, tool_options <ToolRequestOptions> 8, emit_xspace bool 9
TerminateRequest: session_id string 1
MonitorRequest: duration_ms uint64 1, monitoring_level int32 2, timestamp bool 3
ProfilerServiceMonitorResult: response_type int32 1, device_idle_time_percent double 2, matrix_unit_utilization_percent double 3, step_time_ms_avg double 4, step_time_ms_min double 5, step_time_ms_max double 6, infeed_percent_avg double 7, infeed_percent_min double 8, infeed_percent_max double 9
MonitorResponse: data string 1, monitor_result ProfilerServiceMonitorResult 10
GetSnapshotRequest: snapshot_session_id string 1
NewProfileSessionRequest: request ProfileRequest 1, repository_root string 2, hosts *string 3, session_id string 4
NewProfileSessionResponse: error_message string 1, empty_trace bool 2
Empty:
"""  # noqa: E501


@functools.cache
def message(name: str) -> Any:
    """The class of a message, e.g. `message("ProfileRequest")`; KeyError for one that is not known."""
    return _classes()[name]


@functools.cache
def _classes() -> dict[str, Any]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="profiler_service.proto", package=_PACKAGE, syntax="proto3")
    for text in _SCHEMA.strip().splitlines():
        name, _, fields = text.partition(":")
        made = file.message_type.add(name=name)
        for declaration in filter(None, fields.strip().split(", ")):
            _add_field(made, declaration, descriptor_pb2.FieldDescriptorProto)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    names = [made.name for made in file.message_type]
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in names}


def _add_field(made: Any, declaration: str, kinds: Any) -> None:
    name, kind, number = declaration.split()
    oneof, _, name = name.rpartition(".")
    field = made.field.add(name=name, number=int(number), label=kinds.LABEL_OPTIONAL)
    if kind[0] in "*<":
        field.label = kinds.LABEL_REPEATED
    if kind[0] == "<":
        entry = made.nested_type.add(name="".join(part.title() for part in name.split("_")) + "Entry")
        entry.options.map_entry = True
        for position, (key, value) in enumerate((("key", "string"), ("value", kind.strip("<>"))), start=1):
            _set_type(entry.field.add(name=key, number=position, label=kinds.LABEL_OPTIONAL), value, kinds)
        kind = f"{made.name}.{entry.name}"
    _set_type(field, kind.lstrip("*"), kinds)
    if oneof:
        if not made.oneof_decl:
            made.oneof_decl.add(name=oneof)
        field.oneof_index = 0


def _set_type(field: Any, kind: str, kinds: Any) -> None:
    if kind[0].islower():
        field.type = getattr(kinds, f"TYPE_{kind.upper()}")
    else:
        field.type, field.type_name = kinds.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
