"""Attributes of HLO instructions of any opcode: sharding, order, source, compiler notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpu_profile_plugin.analysis.hlo.instructions import Instruction
from tpu_profile_plugin.analysis.hlo.shapes import is_tuple
from tpu_profile_plugin.analysis.hlo.text.sharding import sharding
from tpu_profile_plugin.protos import enum_values

_METADATA = (
    "op_type", "op_name", "source_file", "source_line", "source_end_line", "source_column", "source_end_column",
    "profile_type", "deduplicated_name", "scheduling_name", "stack_frame_id",
)  # fmt: skip
_ESCAPES = {code: f"\\{code:03o}" for code in (*range(32), 127)}
_ESCAPES |= {ord("\\"): "\\\\", ord('"'): '\\"', ord("'"): "\\'", ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
"""As in C; letters of other scripts stay readable."""


def quoted(value: str) -> str:
    """A text in quotes, as in HLO text."""
    return f'"{value.translate(_ESCAPES)}"'


def backend_config(instruction: Instruction) -> str:
    """The backend configuration of the instruction; "" if absent."""
    raw: bytes = instruction.backend_config
    return raw.decode("utf-8", "replace")


def notes(instruction: Instruction, name_of: Callable[[int], str], *, order: bool = True) -> list[str]:
    """Compiler notes on an instruction of any opcode.

    `name_of` spells an instruction by its id; `order` includes instructions that must run earlier.
    """
    out = [f"sharding={sharding(instruction.sharding)}"] if instruction.HasField("sharding") else []
    if attributes := instruction.frontend_attributes.map:
        out.append(frontend_attributes(attributes))
    if order and (before := instruction.control_predecessor_ids):
        out.append(f"control-predecessors={{{', '.join(map(name_of, before))}}}")
    if accuracy := _accuracy(instruction.result_accuracy):
        out.append(f"result_accuracy={{{accuracy}}}")
    if instruction.HasField("original_value"):
        out.append(f"origin={{{_original(instruction.original_value, instruction.shape)}}}")
    return out


def frontend_attributes(values: Mapping[str, str]) -> str:
    """Framework notes on an instruction or a module."""
    return f"frontend_attributes={{{','.join(f'{key}={_spelled(value)}' for key, value in sorted(values.items()))}}}"


def origins(instruction: Instruction, name_of: Callable[[int], str], *, order: bool, metadata: bool) -> list[str]:
    """Compiler notes, the instruction's origin if `metadata`, and the backend configuration."""
    out = notes(instruction, name_of, order=order)
    if metadata and (source := _metadata(instruction.metadata)):
        out.append(f"metadata={{{source}}}")
    if config := backend_config(instruction):
        out.append(f"backend_config={_spelled(config)}")
    return out


def _spelled(value: str) -> str:
    """A text in quotes, unless it is in braces."""
    return value if value.startswith("{") else quoted(value)


def _accuracy(accuracy: Any) -> str:
    if accuracy.HasField("tolerance"):
        tolerance = accuracy.tolerance
        return f"tolerance={{atol={tolerance.atol:g},rtol={tolerance.rtol:g},ulps={tolerance.ulps}}}"
    return f"mode={enum_values('xla.ResultAccuracy.Mode').get(accuracy.mode, '').lower()}" if accuracy.mode else ""


def _original(value: Any, shape: Any) -> str:
    """The value before optimization that each part of a result represents."""
    if value.is_synthetic_call:
        return "()"
    known = {tuple(one.shape_index): one.original_array for one in value.elements if one.HasField("original_array")}

    def part(shape: Any, shape_index: tuple[int, ...]) -> str:
        if is_tuple(shape):
            return f"({', '.join(part(inner, (*shape_index, i)) for i, inner in enumerate(shape.tuple_shapes))})"
        if shape_index not in known:
            return "{}"
        index = ",".join(map(str, known[shape_index].shape_index))
        return f'{{"{known[shape_index].instruction_name}"{f" {{{index}}}" if index else ""}}}'

    return part(shape, ())


def _metadata(metadata: Any) -> str:
    """As in XLA, "" where only a name shared by equal instructions or a stack frame is known."""
    if not (metadata.op_type or metadata.op_name or metadata.source_file or metadata.scheduling_name):
        return ""
    values = ((name, getattr(metadata, name)) for name in _METADATA)
    return " ".join(f"{name}={_value(one)}" for name, one in values if one)


def _value(value: Any) -> str:
    if isinstance(value, (str, int)):
        return quoted(value) if isinstance(value, str) else str(value)
    return f"{{{','.join(map(str, value))}}}"
