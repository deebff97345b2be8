"""Arithmetic in more bits than needed: float64, or float32 products beside units for 16 bits.

Fires if float64 takes at least {DOUBLE_SHARE:.0%} of the ops' time, or float32 products that would gain take
{WIDE_SHARE:.0%}, and fewer bits could save at least {LEAST_SHARE:.0%} of the step.

Convert inputs and constants to float32, and compute matrix products in 16 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import PYTORCH, parse_op, shown_event
from tpu_profile_plugin.analysis.common.planes import device_planes, host_plane
from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS, NO_TYPES
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.environment.matrix_units import matrix_unit
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import OpKind, Telling, op_kind, run_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ProgramOp, ReadOp, roof, time_ps, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import TIMELINE, cell, most_in, most_label
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.hlo.products import HIGH, HIGHEST, Product, products_of
from tpu_profile_plugin.analysis.ops.gpu_kernels import is_eligible
from tpu_profile_plugin.analysis.ops.op_nature import Nature
from tpu_profile_plugin.analysis.ops.torch_inputs import OpInputs, dtype_of, op_inputs, records_inputs
from tpu_profile_plugin.units import PS_PER_US

DOUBLE_SHARE, WIDE_SHARE = 0.1, 0.2
"""Least share of the ops' time in float64, and in float32 products: float64 is rarely meant, float32 often is."""

_HALF = 0.5
_ON_CPUS = 0.65
"""What float32 saves of float64 in programs of XLA's CPU backend: 60 to 86% in nine programs and their twins, up to 65%
in five of them."""
_PASSES = {HIGH: 3, HIGHEST: 6}
"""16-bit products that a TPU needs for one of float32 with this precision."""
_NAMED = 3


DOUBLE = PARTS["float64"]
SINGLE = PARTS["float32 products"]


_OF_ALL = "These ops, of the time of all ops of known work"
_DOUBLE = Telling(
    "float64 takes {ops:.1%} of the ops' time{most}",
    "float64 takes {ops:.1%} of the ops' time",
    _OF_ALL,
    "time of computation times the share of these ops, of which half the bytes and half the arithmetic remain; on "
    "XLA's CPU backend 35% of their time, as measured",
    DOUBLE_SHARE,
    moves=False,
)
_SINGLE = Telling(
    "Matrix products in float32 take {ops:.1%} of the ops' time{most}",
    "matrix products in float32 that could be faster in 16 bits {ops:.1%}",
    _OF_ALL,
    "time of computation times the share of these ops, less what 16-bit products take: half on GPUs, one pass of "
    "several through the unit on TPUs",
    WIDE_SHARE,
    moves=False,
)


Widths = tuple[OpKind, OpKind]
"""Ops of one host in float64, and products in float32 on a device that is faster in 16 bits."""


def gather(host: HostView) -> Widths | None:
    """What is computed in more bits than the hardware is fast at; None if no types are known."""
    work = work_of(host)
    threads = host_plane(host.space)
    if not work.in_programs:
        return _of_pytorch(host) if threads is not None and records_inputs(threads) else None
    double = [op for op in work.in_programs if _bits(op) == 64]
    arguments = _arguments(double[0]) if double else ""
    program = host.hlo.programs.names.get(host.ops.module[double[0].index], "") if double else ""
    told = (Evidence(f"Arguments of {program} that are float64", arguments),) if arguments else ()
    kind = _kind(host, double, [_ON_CPUS if host.on_cpus else _HALF] * len(double), DOUBLE)
    kind = replace(kind, of_op=(*kind.of_op, *told))
    products = [op for op in work.in_programs if op.nature is Nature.MATRIX] if _is_faster(host) else []
    gains = [_gain(host, op, products_of(op.rows, op.at)) for op in products]
    wide = [(op, gain) for op, gain in zip(products, gains, strict=True) if gain]
    return kind, _kind(host, [op for op, _ in wide], [gain for _, gain in wide], SINGLE)


def _is_faster(host: HostView) -> bool:
    """Whether a device of the host has units for 16 bits."""
    return matrix_unit(host.space, host.summary.environment) is not None


def _kind(host: HostView, ops: Sequence[ReadOp], gains: Sequence[float], advice: Advice) -> OpKind:
    """Ops that fewer bits would make shorter by these shares."""
    saving = sum(op.self_ps * gain for op, gain in zip(ops, gains, strict=True))
    kind = op_kind(host, ops, _HALF * DOUBLE_SHARE, saving)
    return replace(kind, advice=advice, confidence="high" if advice is DOUBLE else "medium")


def _bits(op: ProgramOp) -> int:
    """Width of the widest floating-point array that an op reads or writes, complex128 counted as float64."""
    around = [op.at, *(row for row in op.rows.links.operands(op.at) if row >= 0)]
    return max(map(op.rows.float_bits, around))


def _arguments(op: ProgramOp) -> str:
    """Which of the program's floating-point arguments are float64: at most three by name."""
    rows = op.rows
    floats = [row for row in rows.arguments() if rows.float_bits(row)]
    double = [row for row in floats if rows.float_bits(row) == 64]
    if not double:
        return ""
    names = [rows.program.op_names[row] or rows.program.names[row] for row in double[:_NAMED]]
    return f"{', '.join(names)}{', ...' if len(double) > _NAMED else ''} ({len(double)} of {len(floats)})"


def _gain(host: HostView, op: ProgramOp, products: Sequence[Product]) -> float:
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
    limits = roof(host, op, sum(product.flops for product in wide))
    return _HALF if limits is not None and limits.memory_ps > limits.compute_ps else 0.0


def _of_pytorch(host: HostView) -> Widths:
    """The same of PyTorch's ops, by the data types of their operands; tf32 is as fast as it gets without autocast."""
    if host.on_cpus:
        return _on_cpus(host), OpKind(0)
    ops = _typed_ops(host)
    single = [op for op in ops if op.does == "fp32" and op.nature is Nature.MATRIX] if _is_faster(host) else []
    kinds = []
    for wide, advice in (([op for op in ops if op.does == "fp64"], DOUBLE), (single, SINGLE)):
        kind = replace(_kind(host, wide, [_HALF] * len(wide), advice), counted_ps=time_ps(ops))
        if wide:
            name = parse_op(host.ops.provenance[wide[0].index]).name
            page = "framework_op_stats", {"host": host.name, "t1.row": cell("operation", name)}
            time = Evidence("Its time on the device, all runs", wide[0].self_ps / PS_PER_US, "us", *page)
            longest = (one for one in kind.of_op if one.tool == TIMELINE)
            kind = replace(kind, of_op=(Evidence(kind.of_op[0].label, name, "", *page), time, *longest))
        kinds.append(kind)
    return kinds[0], kinds[1]


def _on_cpus(host: HostView) -> OpKind:
    """Float64 among PyTorch's ops on CPUs."""
    blame, inputs = host.blame, op_inputs(host.space, [plane for plane in (host.plane,) if plane is not None])
    of_ops = blame.op >= 0
    times = np.bincount(blame.op[of_ops], blame.ps[of_ops], len(blame.ops))
    types = [dtype_of(inputs.get(parse_op(op.name).name, OpInputs()).types) for op in blame.ops]
    double = np.where(np.array(types) == "fp64", times, 0)
    counted, ps = int(times[np.array(types) != ""].sum()), int(double.sum())
    if not ps:
        return OpKind(counted)
    name, share = shown_event(blame.ops[int(double.argmax())].name), double.max() / ps
    op = (Evidence(most_label(share), name),)
    return OpKind(counted, ps, _HALF * ps, ps / times.sum(), most_in(name, share), op, advice=DOUBLE)


def _typed_ops(host: HostView) -> list[ReadOp]:
    """The host's device ops whose data type is recorded, most time first; `does` is the type.

    It is that of the first tensor in most runs of the op. Those that matrix units could run are products.
    """
    table = host.ops
    inputs = op_inputs(host.space, device_planes(host.space))
    found = []
    for row in table.by_self_time():
        op = parse_op(table.provenance[row])
        if op.category != PYTORCH:
            continue
        kernel = table.name[row].removeprefix(f"{op.name}/")
        if dtype := dtype_of(inputs.get(op.name, OpInputs()).types, kernel):
            nature = Nature.MATRIX if is_eligible(op.type) else Nature.OTHER
            found.append(ReadOp(row, nature, dtype, int(table.self_ps[row])))
    return found


def judge(run: RunView, parts: Sequence[Widths | None]) -> Finding | Silence:
    """The verdict on float64, then on float32 products."""
    known = [None if part is None or not part[0].counted_ps else part for part in parts]
    if not any(known):
        is_pytorch = list(run.frameworks[:1]) == [PYTORCH]
        return lacks(NO_TYPES if is_pytorch else NO_PROGRAMS.said("No HLO program recorded."))
    told = []
    for i, telling in enumerate((_DOUBLE, _SINGLE)):
        found = run_kind(run, [None if part is None else part[i] for part in known], moves=False)
        assert not isinstance(found, Silence)
        if found.of_ops >= telling.least and found.lost.share >= LEAST_SHARE:
            return found.finding(run, telling)
        told.append(found.told(run, telling.silence))
    shown = told if run.hardware in (Hardware.TPU, Hardware.GPU) else told[:1]
    return Silence(f"Computation in {', '.join(shown)}.")


RULE = Rule("low_precision_unused", "More precision than needed", judge, gather)
