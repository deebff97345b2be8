"""The head of HLO text: attributes of the module, and the tables of stack frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.hlo.shapes import laid_out, marked_list
from tpu_profile_plugin.analysis.hlo.text.attributes import frontend_attributes, quoted
from tpu_profile_plugin.protos import message
from tpu_profile_plugin.protos.lenient import read
from tpu_profile_plugin.protos.wire import MalformedMessage, fields

_MODULE, _BIG = "hlo_module", frozenset(("computations", "payloads", "profile_info"))
"""Field number in an HloProto; fields of its module that are skipped."""


def module_header(program: Program) -> Any:
    """The HloModuleProto of a program without its computations; only the sound fields if it is damaged."""
    proto = memoryview(program.space.blob(program.module.proto))
    outer = message("xla.HloProto").DESCRIPTOR.fields_by_name[_MODULE].number
    known = message("xla.HloModuleProto").DESCRIPTOR.fields_by_number
    parts: list[memoryview] = []
    with suppress(MalformedMessage):
        for number, _, _, begin, end in fields(proto):
            if number == outer:
                parts += [
                    proto[start:stop]
                    for field, _, start, _, stop in fields(proto, begin, end)
                    if field in known and known[field].name not in _BIG
                ]
    return read("xla.HloModuleProto", b"".join(parts))


def header_line(name: str, header: Any) -> str:
    """`HloModule name, attribute=value, ...`, as XLA prints it."""
    parts = [f"HloModule {name}"]
    if header.HasField("schedule"):
        parts.append("is_scheduled=true")
    if entries := header.input_output_alias.entries:
        aliases = map(_alias, sorted(entries, key=lambda one: tuple(one.output_shape_index)))
        parts.append(f"input_output_alias={{ {', '.join(aliases)} }}")
    if donors := header.buffer_donor.entries:
        listed = sorted((one.parameter_number, tuple(one.parameter_shape_index)) for one in donors)
        parts.append(f"buffer_donor={{ {', '.join(f'({number}, {_index(at)})' for number, at in listed)} }}")
    if header.HasField("host_program_shape"):
        shape = header.host_program_shape
        parameters = marked_list([laid_out(one).text for one in shape.parameters])
        parts.append(f"entry_computation_layout={{({parameters})->{laid_out(shape.result).text}}}")
    if attributes := header.frontend_attributes.map:
        parts.append(frontend_attributes(attributes))
    return ", ".join(parts)


def _index(shape_index: Sequence[int]) -> str:
    return f"{{{','.join(map(str, shape_index))}}}"


_MUST_ALIAS = 2


def _alias(entry: Any) -> str:
    kind = "must-alias" if entry.kind == _MUST_ALIAS else "may-alias"
    where = _index(entry.parameter_shape_index)
    return f"{_index(entry.output_shape_index)}: ({entry.parameter_number}, {where}, {kind})"


_LOCATION = ("file_name_id", "function_name_id", "line", "end_line", "column", "end_column")


def frame_tables(header: Any) -> Iterator[str]:
    """The lines of the four tables that `stack_frame_id` refers to, each with its title; empty without stack frames.

    Rows are numbered from 1. XLA prints the parent of a frame plus one, so that 1 is a frame without a caller.
    """
    index = header.stack_frame_index
    if not index.stack_frames:
        return
    locations = (" ".join(f"{name}={getattr(one, name)}" for name in _LOCATION) for one in index.file_locations)
    frames = (
        f"file_location_id={one.file_location_id} parent_frame_id={one.parent_frame_id + 1}"
        for one in index.stack_frames
    )
    yield from _table("FileNames", map(quoted, index.file_names))
    yield from _table("FunctionNames", map(quoted, index.function_names))
    yield from _table("FileLocations", (f"{{{one}}}" for one in locations))
    yield from _table("StackFrames", (f"{{{one}}}" for one in frames))


def _table(title: str, rows: Iterator[str]) -> Iterator[str]:
    yield f"\n{title}\n"
    for number, row in enumerate(rows, start=1):
        yield f"{number} {row}\n"


def sequences(header: Any) -> Mapping[int, Sequence[int]]:
    """The order of execution: ids of instructions by the id of their computation; only computations with a schedule."""
    return {id_: list(one.instruction_ids) for id_, one in header.schedule.sequences.items()}
