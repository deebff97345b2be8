"""The backward pass computes values of the forward pass a second time to save memory (rematerialisation).

Fires if recomputed ops take at least {RECOMPUTED_SHARE:.0%} of the time from step to step and the program's peak is
less than {NEEDED_SHARE:.0%} of the device's memory, as far as that is known: above, memory may need it.

Keep the values that are costly to recompute, and recompute only what takes much memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS
from tpu_profile_plugin.analysis.findings.evidence.device.op_shares import OpShare, op_share, run_share
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import work_of
from tpu_profile_plugin.analysis.findings.evidence.device.programs_run import layout_of
from tpu_profile_plugin.analysis.findings.evidence.device.recomputed import by_the_compiler, recomputed
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.memory.allocations import device_memory
from tpu_profile_plugin.units import MIB

RECOMPUTED_SHARE = 0.1
"""Recomputed ops, as a share of the time from step to step: elementwise ops are recomputed in many good programs and
take less."""
NEEDED_SHARE = 0.5
"""A program that recomputes and still needs half of the memory may not fit without: values kept for the backward pass
commonly double the peak."""

_CHOICE = Advice(
    "Recompute less: keep the results of matrix products, recompute only cheap values that take much memory, or none "
    "if memory suffices without. Every recomputed op runs twice.",
    jax="Let jax.checkpoint (jax.remat) keep costly values: policy=jax.checkpoint_policies.dots_saveable or "
    "dots_with_no_batch_dims_saveable, or wrap fewer layers, or none if memory suffices. Every recomputed op runs "
    "twice.",
)
_COMPILER = Advice(
    "The compiler recomputes because it estimates that the program does not fit into memory otherwise. Reduce what is "
    "live at the peak: a smaller batch, 16-bit activations, donated arguments, sharded parameters."
)


@dataclass(frozen=True, slots=True)
class Recomputed:
    """One host: recomputed ops, how much of their time the compiler chose, and memory in bytes (0: unknown)."""

    share: OpShare
    compiler_ps: int = 0
    peak: int = 0
    capacity: int = 0


def gather(host: HostView) -> Recomputed | None:
    """The recomputed ops of one host; None if no program is known."""
    work = work_of(host)
    if not any(op.rows is not None for op in work.read):
        return None
    by_compiler = [op for op in work.read if by_the_compiler(op)]
    ops = recomputed(work)
    share = op_share(host, ops, RECOMPUTED_SHARE)
    if share.most is None or share.ops_ps < RECOMPUTED_SHARE * share.counted_ps:
        return Recomputed(share)
    layout = layout_of(host, share.most.program_id)
    peak = 0 if layout is None else layout.peak_bytes
    return Recomputed(share, work.time_ps(by_compiler), peak, device_memory(host.space).bytes)


def judge(run: RunView, parts: Sequence[Recomputed | None]) -> Finding | Silence:
    """The verdict on the recomputed ops of all hosts."""
    known = run.present(parts)
    if not known:
        return lacks(NO_PROGRAMS, "No ops with known programs recorded.")
    found = run_share(run, [None if part is None else part.share for part in parts])
    if found is None or found.lost.share < RECOMPUTED_SHARE:
        share = found.lost.share if found else 0.0
        return Silence(f"Recomputed ops take {share:.1%} of the {run.base}.")
    part = next(part for part, host in known if host == found.host)
    full = part.peak / part.capacity if part.capacity else 0.0
    if full >= NEEDED_SHARE:
        return Silence(
            f"Recomputed ops take {found.lost.share:.1%} of the {run.base}; their program fills {full:.0%} of the "
            "device's memory with them."
        )
    by_compiler = 2 * part.compiler_ps >= part.share.ops_ps
    evidence = [
        Evidence("Recomputed ops, of the time of all ops", 100 * found.of_ops, "%"),
        Evidence("Recomputed by", "the compiler" if by_compiler else "the program"),
    ]
    if part.peak:
        page = {"host": found.host, "module_name": found.most.program}
        evidence.append(Evidence("Peak memory of the program", part.peak / MIB, "MiB", "memory_viewer", page))
    if part.peak and part.capacity:
        evidence.append(Evidence("That peak, of the device's memory", 100 * full, "%"))
    return Finding(
        f"Recomputation takes {found.lost.share:.1%} of the {run.base}, most of it in {found.most.label}",
        found.lost.ps,
        "device compute times the share of recomputed ops in the ops' time",
        "medium",
        (*evidence, *found.evidence()),
        _COMPILER if by_compiler else _CHOICE,
        found.hosts,
        found.lost.segments,
    )


RULE = Rule("recomputation", "Values computed twice to save memory", judge, gather)
