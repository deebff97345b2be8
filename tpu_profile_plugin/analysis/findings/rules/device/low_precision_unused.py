"""Arithmetic in more bits than needed: float64, or float32 products beside units for 16 bits.

Fires if float64 takes at least {DOUBLE_SHARE:.0%} of the ops' time, or float32 products that would gain take
{WIDE_SHARE:.0%}, and fewer bits could save at least {LEAST_SHARE:.0%} of the step.

Convert inputs and constants to float32, and compute matrix products in 16 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.blame.op_nature import Nature
from tpu_profile_plugin.analysis.common.op_names import PYTORCH, parse_op
from tpu_profile_plugin.analysis.common.planes import host_plane
from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS, NO_TYPES
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.evidence.device.matrix_units import matrix_unit, roof
from tpu_profile_plugin.analysis.findings.evidence.device.op_evidence import in_timeline, of_op
from tpu_profile_plugin.analysis.findings.evidence.device.op_places import Place, longest_run
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import NamedOp, ReadOp, named_op, work_of
from tpu_profile_plugin.analysis.findings.evidence.device.products import HIGH, HIGHEST, Product, products_of
from tpu_profile_plugin.analysis.findings.evidence.device.torch_ops import typed_ops
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, OpOf, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import cell
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.ops.torch_inputs import records_inputs
from tpu_profile_plugin.units import PS_PER_US

DOUBLE_SHARE, WIDE_SHARE = 0.1, 0.2
"""Least share of the ops' time in float64, and in float32 products: float64 is rarely meant, float32 often is."""

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
      pytorch: the op is PyTorch's, not an HLO instruction.
    """

    time_ps: int = 0
    saving_ps: int = 0
    most: NamedOp | None = None
    arguments: str = ""
    longest: Place | None = None
    pytorch: bool = False


def double_ops(host: HostView) -> Wide:
    """The ops whose operands or result are float64 (complex128 included)."""
    work = work_of(host)
    ops = [one for one in work.read if _bits(one) == 64]
    if not ops:
        return Wide()
    time = work.time_ps(ops)
    longest = _longest(host, ops[0], time)
    return Wide(time, round(_HALF * time), work.named(ops[0]), _arguments(ops[0]), longest)


def _longest(host: HostView, op: ReadOp, time: float) -> Place | None:
    """The op's longest run, which is read only if the ops take enough time for a finding."""
    work = work_of(host)
    if time < min(DOUBLE_SHARE, WIDE_SHARE) * work.counted_ps:
        return None
    return longest_run(host, work.table.module[op.index], work.table.name[op.index])


def _bits(op: ReadOp) -> int:
    """Width of the widest floating-point array that an op reads or writes; 0 if unknown."""
    if op.rows is None or op.at is None:
        return 0
    around = [op.at, *(row for row in op.rows.links.operands(op.at) if row >= 0)]
    return max(map(op.rows.float_bits, around))


def _arguments(op: ReadOp) -> str:
    """Which of the program's floating-point arguments are float64: at most three by name."""
    rows = op.rows
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
    work, time, saving = work_of(host), 0, 0.0
    most: ReadOp | None = None
    for op in work.of(Nature.MATRIX):
        if op.rows is None or op.at is None:
            continue
        gain = _gain(host, op, products_of(op.rows, op.at))
        if gain:
            spent = int(work.table.self_ps[op.index])
            time, saving = time + spent, saving + gain * spent
            most = most or op
    if most is None:
        return Wide()
    return Wide(time, round(saving), work.named(most), longest=_longest(host, most, time))


def _gain(host: HostView, op: ReadOp, products: Sequence[Product]) -> float:
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


DOUBLE = Advice(
    "Compute in float32 unless the result needs 15 digits: convert inputs and constants where they are made. One "
    "float64 argument makes everything float64 that is computed from it.",
    jax="Turn jax_enable_x64 off, or convert NumPy inputs (float64 by default) and parameters to float32 with "
    ".astype(np.float32). One float64 argument makes everything float64 that is computed from it.",
    tensorflow="Cast inputs with tf.cast(x, tf.float32) and set tf.keras.backend.set_floatx('float32'); NumPy arrays "
    "are float64 by default. One float64 tensor makes everything float64 that is computed from it.",
    pytorch="Convert inputs with .float() and leave torch.set_default_dtype at torch.float32; tensors made of NumPy "
    "arrays are float64 by default.",
)
SINGLE = Advice(
    "Compute the matrix products in bfloat16 or float16 and keep sums and parameters in float32. The matrix units do "
    "16-bit products at least twice as fast, and half the bytes are read.",
    jax="Cast the operands of the products to jnp.bfloat16 (preferred_element_type=jnp.float32 keeps sums in float32) "
    "and leave jax_default_matmul_precision at its default. The matrix units are at least twice as fast.",
    tensorflow="Use mixed precision: tf.keras.mixed_precision.set_global_policy('mixed_bfloat16') or, with loss "
    "scaling on GPUs, 'mixed_float16'. The matrix units are at least twice as fast.",
    pytorch="Run the forward pass under torch.autocast(device_type, dtype=torch.bfloat16). The matrix units are at "
    "least twice as fast.",
)


@dataclass(frozen=True, slots=True)
class Widths:
    """One host: time of all ops whose types are known, and what is wider than it has to be."""

    counted_ps: int
    double: Wide
    products: Wide


def gather(host: HostView) -> Widths:
    """What is computed in float64, and in float32 on a device that is faster in 16 bits."""
    work = work_of(host)
    known = work.counted_ps if any(one.rows is not None for one in work.read) else 0
    threads = host_plane(host.space)
    if not known and threads is not None and records_inputs(threads):
        return _of_pytorch(host)
    return Widths(known, double_ops(host), wide_products(host))


def _of_pytorch(host: HostView) -> Widths:
    """The same of PyTorch's ops, by the data types of their operands; tf32 is as fast as it gets without autocast."""
    ops = typed_ops(host)
    table = host.ops

    def wide(rows: Sequence[int]) -> Wide:
        if not rows:
            return Wide()
        time = int(table.self_ps[rows].sum())
        op = parse_op(table.provenance[rows[0]])
        most = named_op(table, host.hlo, rows[0], op.type, op.name, "")
        longest = longest_run(host, table.module[rows[0]], table.name[rows[0]])
        return Wide(time, round(_HALF * time), most, longest=longest, pytorch=True)

    has_units = matrix_unit(host) is not None
    double = wide([row for row, dtype, _ in ops if dtype == "fp64"])
    single = wide([row for row, dtype, eligible in ops if dtype == "fp32" and eligible and has_units])
    return Widths(int(table.self_ps[[row for row, *_ in ops]].sum()), double, single)


def judge(run: RunView, parts: Sequence[Widths]) -> Finding | Silence:
    """The verdict on float64, then on float32 products."""
    counted = sum(part.counted_ps for part in parts)
    if not counted:
        is_pytorch = list(run.frameworks[:1]) == [PYTORCH]
        return lacks(NO_TYPES if is_pytorch else NO_PROGRAMS.said("No HLO program recorded."))
    double, single = ([getattr(part, name) for part in parts] for name in ("double", "products"))
    shares = [sum(one.time_ps for one in found) / counted for found in (double, single)]
    for wide, share, least in ((double, shares[0], DOUBLE_SHARE), (single, shares[1], WIDE_SHARE)):
        ps = run.part_ps("compute") * sum(one.saving_ps for one in wide) / counted
        lost = run.lost_in("compute", ps=ps)
        if share >= least and lost.share >= LEAST_SHARE:
            return _finding(run, parts, wide, share, lost, is_double=wide is double)
    what = f"float64 takes {shares[0]:.1%} of the ops' time"
    if run.hardware in (Hardware.TPU, Hardware.GPU):
        what += f", matrix products in float32 that could be faster in 16 bits {shares[1]:.1%}"
    return Silence(f"Computation in {what}.")


def _finding(
    run: RunView, parts: Sequence[Widths], wide: Sequence[Wide], share: float, lost: Lost, *, is_double: bool
) -> Finding:
    host = max(range(len(wide)), key=lambda i: wide[i].time_ps)
    most = wide[host].most
    assert most is not None
    what = "float64" if is_double else "Matrix products in float32"
    title = f"{what} take{'s' if is_double else ''} {share:.1%} of the ops' time, most of it in {most.label}"
    formula = "time of computation times the share of these ops, of which half the bytes and half the arithmetic remain"
    if not is_double:
        formula = "time of computation times the share of these ops, less what 16-bit products take: half on GPUs, one "
        formula += "pass of several through the unit on TPUs"
    return Finding(
        title,
        lost.ps,
        formula,
        "high" if is_double else "medium",
        _evidence(run.hosts[host], parts[host], wide[host], most, share),
        DOUBLE if is_double else SINGLE,
        tuple(run.hosts[i] for i, one in enumerate(wide) if one.time_ps),
        lost.segments,
    )


def _of_torch_op(host: str, op: NamedOp, longest: Place | None) -> list[Evidence]:
    row = {"host": host, "t1.row": cell("operation", op.framework)}
    of = OpOf(op.name, op.program_id)
    return [
        Evidence("Most of it in", op.framework, "", "framework_op_stats", row),
        Evidence("Its time on the device, all runs", op.self_ps / PS_PER_US, "us", "framework_op_stats", row),
        *in_timeline(host, of, longest),
    ]


def _evidence(host: str, part: Widths, wide: Wide, most: NamedOp, share: float) -> tuple[Evidence, ...]:
    evidence = [
        Evidence("These ops, of the time of all ops of known work", 100 * share, "%"),
        *(_of_torch_op(host, most, wide.longest) if wide.pytorch else of_op(host, most, wide.longest)),
    ]
    if wide.arguments:
        evidence.append(Evidence(f"Arguments of {most.program} that are float64", wide.arguments))
    return tuple(evidence)


RULE = Rule("low_precision_unused", "More precision than needed", judge, gather)
