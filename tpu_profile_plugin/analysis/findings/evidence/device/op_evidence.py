"""The evidence of findings about ops: numbers of one op as the pages show them."""

from __future__ import annotations

from tpu_profile_plugin.analysis.devices.collectives import CollectiveKey
from tpu_profile_plugin.analysis.findings.evidence.device.op_places import Place
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import NamedOp
from tpu_profile_plugin.analysis.findings.model import Evidence, OpOf
from tpu_profile_plugin.analysis.findings.places import TIMELINE, cell, timeline
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_US


def of_op(host: str, op: NamedOp, longest: Place | None) -> list[Evidence]:
    """Name, time and source of an op of a host, and its longest run."""
    row = {"host": host, "row": f"{cell('hlo_op_name', op.name)};{cell('program_id', str(op.program_id))}"}
    of = OpOf(op.name, op.program_id)
    evidence = [
        Evidence("Most of it in", op.name, "", "hlo_stats", row, of),
        Evidence(f"Self time of {op.name}, all runs", op.self_ps / PS_PER_US, "us", "hlo_stats", row, of),
        Evidence(f"Self time of {op.name}, of the observed time of all cores", op.percent, "%", "hlo_stats", row, of),
    ]
    if op.framework:
        evidence.append(Evidence("Its framework op", op.framework, "", "hlo_stats", row, of))
    if op.place:
        evidence.append(Evidence("Its source line", op.place, "", "hlo_stats", row, of))
    return [*evidence, *in_timeline(host, of, longest)]


def in_timeline(host: str, op: OpOf, longest: Place | None) -> list[Evidence]:
    """The longest run of an op or a collective, if it is known."""
    if longest is None:
        return []
    duration = (longest[1] - longest[0]) / PS_PER_MS
    return [Evidence(f"Longest run of {op.name}", duration, "ms", TIMELINE, timeline(host, *longest, op.name), op)]


def of_collective(key: CollectiveKey, label: str, value: float | str, unit: str = "") -> Evidence:
    """What the page Communication tells of a collective."""
    return Evidence(label, value, unit, "communication", {"t1.row": cell("op", key.name)}, op_of(key))


def op_of(key: CollectiveKey) -> OpOf:
    """The op that a collective is."""
    return OpOf(key.name, key.program)
