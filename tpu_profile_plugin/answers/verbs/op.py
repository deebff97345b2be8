"""The verb `op`: one op with its times, rates, nearest limit, source line and what is fused into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from tpu_profile_plugin.analysis.common.reasons import OPS
from tpu_profile_plugin.analysis.ops.rates import Resource
from tpu_profile_plugin.answers.answer import Answer, Next
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.answers.verbs.ops import BASES, link_to, next_source
from tpu_profile_plugin.run.catalogue.ops import FUSED
from tpu_profile_plugin.run.figures.op import Op
from tpu_profile_plugin.tables.table import Table

_STACK = 6
"""Calls of the stack, innermost first, that are sent."""


def op(
    asked: Asked,
    *,
    name: Annotated[str, "The op: an id that ops gives, NAME@PROGRAM, or its name if one program has it."],
) -> Answer:
    """One op: its time, rates, nearest limit, HLO text, source line, and the instructions fused into it."""
    found = asked.run.op(name)
    ops, at = found.ops, found.at
    facts: dict[str, Any] = {
        "op": ops.id[at],
        "category": ops.category[at],
        "share_percent": 100 * float(ops.share[at]),
        "self_ps": int(ops.self_ps[at]),
        "time_ps": int(ops.time_ps[at]),
        "occurrences": int(ops.occurrences[at]),
        "average_self_ps": float(ops.average_ps[at]),
        "rank": at + 1,
        **{id_: text for id_, text in (("bound_by", ops.bound_by[at]), ("source", ops.source[at])) if text},
        **({"source_of": found.source_of} if found.source_of else {}),
        **({"stack": list(found.stack[:_STACK])} if found.stack else {}),
        **({"framework_op": ops.framework_op[at]} if ops.framework_op[at] else {}),
        **_rates(found),
        **({"hlo": found.expression} if found.expression else {}),
    }
    base = {"share_percent": BASES[ops.place]}
    if "dma_stall_percent" in facts:
        base["dma_stall_percent"] = "of the op's time"
    fused = found.fused
    rows = [
        [one.name for one in fused],
        [one.category for one in fused],
        [one.provenance.rstrip(":") for one in fused],
        [one.expression for one in fused],
    ]
    table = Table(FUSED, rows, name="fused") if fused else None
    return Answer(link_to(ops, found.shown_name, found.program_id), facts, table, base, tuple(_next(found)))


def _rates(found: Op) -> Mapping[str, float]:
    """What is known of FLOPs and bytes per second, beside the peaks; a figure that is 0 is unknown, or nothing."""
    ops, at = found.ops, found.at
    if ops.rates is None or ops.summary is None:
        return {}
    rates, row = ops.rates, int(ops.rows[at])
    figures = {
        "rate_gflops_per_s": rates.flops[at],
        "model_rate_gflops_per_s": rates.model_flops[at],
        "memory_gib_per_s": rates.bandwidth[at],
        "hbm_gib_per_s": rates.memory[Resource.HBM][at],
        "flops_per_byte": rates.intensity[at],
        "dma_stall_percent": 100 * ops.summary.records.stall_ps[row] / max(1, int(ops.time_ps[at])),
    }
    if figures["model_rate_gflops_per_s"] == figures["rate_gflops_per_s"]:
        del figures["model_rate_gflops_per_s"]
    known = {id_: float(value) for id_, value in figures.items() if value > 0}
    if ops.summary.threads:
        return known
    peaks = ops.summary.peaks
    of_core = {"peak_gflops_per_s": peaks.gflops_per_s, "peak_hbm_gib_per_s": peaks.hbm_gib_per_s}
    return known | {id_: peak for id_, peak in of_core.items() if peak is not None}


def _next(found: Op) -> list[Next]:
    ops, at = found.ops, found.at
    further = []
    if ops.source[at]:
        further.append(next_source(ops.source[at]))
    if ops.program[at]:
        further.append(Next("hlo", {"op": ops.id[at]}, "its operands and users"))
    further.append(Next("timeline", {"find": found.shown_name}, "when it runs, beside what"))
    if ops.category[at]:
        further.append(Next("ops", {"find": ops.category[at]}, "ops of this category"))
    return further


VERB = verb(op, needs=OPS)
