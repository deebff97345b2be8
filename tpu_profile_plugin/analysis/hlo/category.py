"""The category of an HLO instruction, for profiles that do not record it."""

from __future__ import annotations

from tpu_profile_plugin.analysis.hlo.elementwise import is_elementwise
from tpu_profile_plugin.analysis.hlo.instructions import Instruction

_FORMATTING = frozenset(("transpose", "copy", "reshape"))
_FUSIONS = {"kLoop": "loop fusion", "kInput": "input fusion", "kOutput": "output fusion", "kCustom": "custom fusion"}


def category(instruction: Instruction) -> str:
    """The category by opcode and kind, named as in recorded profiles."""
    if instruction.is_host_transfer and instruction.opcode in ("send", "send-done", "recv", "recv-done"):
        return f"host {instruction.opcode}"
    if instruction.opcode == "fusion":
        return _FUSIONS.get(instruction.fusion_kind, "fusion")
    if instruction.opcode in _FORMATTING:
        return "data formatting"
    if instruction.opcode == "convolution":
        return _convolution(instruction)
    return "non-fusion elementwise" if is_elementwise(instruction) else str(instruction.opcode)


def _convolution(instruction: Instruction) -> str:
    base = any(dimension.base_dilation > 1 for dimension in instruction.window.dimensions)
    window = any(dimension.window_dilation > 1 for dimension in instruction.window.dimensions)
    return "convolution" + (" base-dilated" if base else "") + (" window-dilated" if window else "")
