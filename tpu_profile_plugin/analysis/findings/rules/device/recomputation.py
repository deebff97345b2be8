"""The backward pass computes values of the forward pass a second time to save memory (rematerialisation).

Fires if recomputed ops take at least {RECOMPUTED_SHARE:.0%} of the time from step to step and the program's peak is
less than {NEEDED_SHARE:.0%} of the device's memory, as far as that is known: above, memory may need it.

Keep the values that are costly to recompute, and recompute only what takes much memory.
"""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import OpWork, ProgramOp, time_ps, work_of
from tpu_profile_plugin.analysis.findings.evidence.device.programs_run import layout_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.memory.allocations import device_memory
from tpu_profile_plugin.analysis.ops.op_tables import is_rematerialized
from tpu_profile_plugin.units import MIB

RECOMPUTED_SHARE = 0.1
"""Recomputed ops, as a share of the time from step to step: elementwise ops are recomputed in many good programs and
take less."""
NEEDED_SHARE = 0.5
"""A program that recomputes and still needs half of the memory may not fit without: values kept for the backward pass
commonly double the peak."""

_CHOICE = PARTS["recomputation"]
_COMPILER = PARTS["recomputation by the compiler"]


_TELLING = Telling(
    "Recomputation takes {share:.1%} of the {base}{most}",
    "Recomputed ops take {share:.1%} of the {base}.",
    "Recomputed ops, of the time of all ops",
    "device compute times the share of recomputed ops in the ops' time",
    RECOMPUTED_SHARE,
)


def recomputed(work: OpWork) -> list[ProgramOp]:
    """The ops that compute a value of the forward pass again: the framework or the compiler adds to their names."""
    return [op for op in work.in_programs if _by_the_compiler(op) or is_rematerialized("", op.rows.own_op_name(op.at))]


def _by_the_compiler(op: ProgramOp) -> bool:
    """XLA's own rematerialisation adds to the instruction's name, the framework's to that of its op."""
    return is_rematerialized(op.rows.program.names[op.at], "")


def gather(host: HostView) -> OpKind | Silence:
    """The recomputed ops of one host."""
    work = work_of(host)
    ops = recomputed(work)
    found = op_kind(host, ops, RECOMPUTED_SHARE)
    if not ops or found.ops_ps < RECOMPUTED_SHARE * found.counted_ps:
        return found if work.in_programs else UNREAD
    by_compiler = 2 * time_ps([op for op in ops if _by_the_compiler(op)]) >= found.ops_ps
    evidence = [Evidence("Recomputed by", "the compiler" if by_compiler else "the program")]
    number = ops[0].rows.program.program_id
    layout, capacity = layout_of(host, number), device_memory(host.space).bytes
    peak = 0 if layout is None else layout.peak_bytes
    full = peak / capacity if capacity else 0.0
    if peak:
        page = {"host": host.name, "module_name": host.hlo.programs.names.get(number, "")}
        evidence.append(Evidence("Peak memory of the program", peak / MIB, "MiB", "memory_viewer", page))
    if full:
        evidence.append(Evidence("That peak, of the device's memory", 100 * full, "%"))
    excuse = f"their program fills {full:.0%} of the device's memory with them" if full >= NEEDED_SHARE else ""
    advice = _COMPILER if by_compiler else _CHOICE
    return replace(found, evidence=tuple(evidence), advice=advice, confidence="medium", excuse=excuse)


RULE = kind_rule("recomputation", "Values computed twice to save memory", gather, _TELLING)
