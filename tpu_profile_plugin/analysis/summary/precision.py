"""Time of device computation by the width of its data: at most 16 bits, or more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.attribution import named_ops
from tpu_profile_plugin.analysis.common.op_names import kernel_collective, memcpy_kind
from tpu_profile_plugin.analysis.common.planes import on_recorded_line
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.op_tables import OpTable, computes
from tpu_profile_plugin.analysis.ops.torch_inputs import TYPES, dtype_of
from tpu_profile_plugin.analysis.ops.tpu_ops import OpMetadata
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read

_FLOAT = re.compile(r"\b(bf|f|c)(\d+)(?!\d)\w*\[([0-9,<=]*)\]")
_OPCODE = re.compile(r"\s[a-z][\w-]*\(")
_NARROW = ("fp16", "bf16", "fp8", "fp4")
_MOVES = ("memset", "copybuffer", "fillbuffer")
_HALF_NAMES = re.compile(r"half|bf16|fp16|bfloat16|(?<![a-z0-9])f16|_bf8|fp8")


@dataclass(frozen=True, slots=True)
class Precision:
    """Time of ops or kernels on data of at most 16 bits and of more, in ps; without waits, copies and communication."""

    narrow_ps: int = 0
    wide_ps: int = 0

    def __add__(self, other: Precision) -> Precision:
        return Precision(self.narrow_ps + other.narrow_ps, self.wide_ps + other.wide_ps)


NO_COMPUTE = Precision()


def float_bits(expression: str) -> int:
    """Width of the widest floating-point operand of an HLO instruction, scalars only if there is no array.

    An instruction without floating-point operands goes by its result; 0 without any floating-point data.
    """
    _, _, right = expression.partition(" = ")
    call = _OPCODE.search(right)
    if call is None:
        return 0
    result, operands = right[: call.start()], right[call.end() :]
    for text in (operands, result):
        floats = [(int(bits) // (2 if kind == "c" else 1), dims) for kind, bits, dims in _FLOAT.findall(text)]
        for choice in ([bits for bits, dims in floats if dims], [bits for bits, _ in floats]):
            if choice:
                return max(choice)
    return 0


def tpu_precision(plane: Plane, op_meta: OpMetadata, table: OpTable, widths: dict[str, int]) -> Precision:
    """Precision of a core's ops from their HLO texts, the names of its event metadata.

    Args:
      plane: the core.
      op_meta: program and op of each row of the event metadata.
      table: self time of the ops.
      widths: results of `float_bits`, shared by the cores of a host.
    """
    rows = np.flatnonzero(op_meta.counted).tolist()
    programs, texts = op_meta.program.tolist(), plane.event_metadata.names
    text = {(programs[row], op_meta.name[row]): texts[row] for row in reversed(rows)}
    times = {False: 0, True: 0}
    for program, name, category, ps in zip(
        table.module, table.name, table.category, table.self_ps.tolist(), strict=True
    ):
        if not computes(category) or (expression := text.get((program, name))) is None:
            continue
        if expression not in widths:
            widths[expression] = float_bits(expression)
        if bits := widths[expression]:
            times[bits <= 16] += ps
    return Precision(times[True], times[False])


def gpu_precision(space: XSpace, planes: Sequence[Plane], hlo: HloOps) -> Precision:
    """Precision of kernels inside and outside of steps, from the operands of the HLO op or the kernel's name."""
    return sum((_of_gpu(space, plane, hlo) for plane in planes), NO_COMPUTE)


def _of_gpu(space: XSpace, plane: Plane, hlo: HloOps) -> Precision:
    events = np.flatnonzero(on_recorded_line(plane))
    named = named_ops(space, plane).hlo()
    types, type_texts = read.strings(space, plane, plane.events.stats, TYPES)
    columns = [column[events].astype(np.int64) for column in (named.op, plane.events.metadata, types)]
    where, first = row_codes(*columns)
    time = np.bincount(where, weights=plane.events.duration_ps[events], minlength=len(first))
    times = {False: 0, True: 0}
    for code, row, typed, ps in zip(*(column[first].tolist() for column in columns), time.tolist(), strict=True):
        kernel = plane.event_metadata.names[row]
        if (
            memcpy_kind(kernel, short=True)
            or kernel_collective(kernel)
            or any(word in kernel.lower() for word in _MOVES)
        ):
            continue
        op = named.at(code)
        instruction = hlo.find(*op.key) if op.path else None
        bits = 0 if instruction is None else float_bits(hlo.text(op.program or 0, instruction))
        narrow = bool(_HALF_NAMES.search(kernel.lower()))
        if typed >= 0 and (dtype := dtype_of(type_texts[typed], kernel)):
            narrow = dtype in _NARROW
        times[0 < bits <= 16 or (bits == 0 and narrow)] += int(ps)
    return Precision(times[True], times[False])
