"""Time of ops that compute in float64, and of float32 matrix products on devices that are faster in 16 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.on_device.matrix_units import matrix_unit, roof
from tpu_profile_plugin.analysis.findings.on_device.op_nature import Nature
from tpu_profile_plugin.analysis.findings.on_device.op_places import Place, longest_run
from tpu_profile_plugin.analysis.findings.on_device.op_work import NamedOp, ReadOp
from tpu_profile_plugin.analysis.findings.on_device.products import HIGH, HIGHEST, Product, products_of
from tpu_profile_plugin.analysis.findings.thresholds import DOUBLE_SHARE, WIDE_SHARE

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.host_view import HostView

_HALF = 0.5
_PASSES = {HIGH: 3, HIGHEST: 6}
"""16-bit products that a TPU needs for one of float32 with this precision."""
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Wide:
    """Ops that compute in more bits than the hardware is fast at.

    Attributes:
      time_ps, saving_ps: self time, and what of it fewer bits would save at most.
      most: the op with most of it; None if there is none.
      arguments: the float64 arguments of its program, in words; "" without any.
      longest: its longest run; None if unknown.
    """

    time_ps: int = 0
    saving_ps: int = 0
    most: NamedOp | None = None
    arguments: str = ""
    longest: Place | None = None


def double_ops(host: HostView) -> Wide:
    """The ops whose operands or result are float64 (complex128 included)."""
    work = host.work
    found = [one for one in work.read if _bits(one) == 64]
    if not found:
        return Wide()
    time = work.time_ps(found)
    longest = _longest(host, found[0], time)
    return Wide(time, round(_HALF * time), work.named(found[0]), _arguments(found[0]), longest)


def _longest(host: HostView, one: ReadOp, time: float) -> Place | None:
    """The op's longest run, which is read only if the ops take enough time for a finding."""
    work = host.work
    if time < min(DOUBLE_SHARE, WIDE_SHARE) * work.counted_ps:
        return None
    return longest_run(host, work.table.module[one.index], work.table.name[one.index])


def _bits(one: ReadOp) -> int:
    """Width of the widest floating-point array that an op reads or writes; 0 if unknown."""
    if one.rows is None or one.at is None:
        return 0
    around = [one.at, *(row for row in one.rows.links.operands(one.at) if row >= 0)]
    return max(map(one.rows.float_bits, around))


def _arguments(one: ReadOp) -> str:
    """Which of the program's floating-point arguments are float64: at most three by name."""
    rows = one.rows
    if rows is None or rows.program.entry is None:
        return ""
    inside = rows.links.rows_of(rows.program.entry)
    floats = [row for row in inside if rows.opcodes[row] == "parameter" and rows.float_bits(row)]
    double = [row for row in floats if rows.float_bits(row) == 64]
    if not double:
        return ""
    names = [rows.program.op_names[row] or rows.program.names[row] for row in double[:_NAMED]]
    return f"{', '.join(names)}{', ...' if len(double) > _NAMED else ''} ({len(double)} of {len(floats)})"


def wide_products(host: HostView) -> Wide:
    """The products of float32 operands whose precision nothing prescribes, and that would gain by 16 bits."""
    if matrix_unit(host) is None:
        return Wide()
    work, time, saving = host.work, 0, 0.0
    most: ReadOp | None = None
    for one in work.of(Nature.MATRIX):
        if one.rows is None or one.at is None:
            continue
        gain = _gain(host, one, products_of(one.rows, one.at))
        if gain:
            own = int(work.table.self_ps[one.index])
            time, saving = time + own, saving + gain * own
            most = most or one
    if most is None:
        return Wide()
    return Wide(time, round(saving), work.named(most), longest=_longest(host, most, time))


def _gain(host: HostView, one: ReadOp, products: Sequence[Product]) -> float:
    """The share of an op's time that 16-bit operands would save at most.

    TPUs compute products of float32 operands in one pass of 16 bits unless more precision is asked for; what remains
    is half the bytes, if these take the time.
    """
    wide = [product for product in products if product.bits == 32 and not product.algorithm]
    if not wide or len(wide) < len(products):
        return 0.0
    if host.summary.environment.hardware is not Hardware.TPU:
        return _HALF
    passes = _PASSES.get(max(product.precision for product in wide), 1)
    if passes > 1:
        return 1 - 1 / passes
    limits = roof(host, one, sum(product.flops for product in wide))
    return _HALF if limits is not None and limits.memory_ps > limits.compute_ps else 0.0
