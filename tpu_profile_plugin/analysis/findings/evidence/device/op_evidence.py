"""The evidence of findings about ops: numbers of one op as the pages show them, and where it takes longest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.devices.collectives import CollectiveKey
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, OpOf
from tpu_profile_plugin.analysis.findings.places import TIMELINE, cell, timeline
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_US

Place = tuple[int, int]
"""Begin and end in ps on the host's axis."""


@dataclass(frozen=True, slots=True)
class NamedOp:
    """An op of the op table as findings name it.

    Attributes:
      name, program_id: of the HLO instruction and of its program, 0 if unknown.
      self_ps: over all runs on all cores; percent: of the observed time of all cores, as HLO statistics have it.
      framework: name of the framework op; "" if unknown.
      place: `file:line`; "" if unknown.
    """

    name: str
    program_id: int
    self_ps: int
    percent: float
    framework: str
    place: str

    @property
    def label(self) -> str:
        """The op with its place in the user's program."""
        return f"{self.name} ({self.place})" if self.place else self.name


def named_op(host: HostView, row: int) -> NamedOp:
    """The op of a row of the host's op table."""
    table = host.ops
    self_ps, framework, place = int(table.self_ps[row]), table.provenance[row].partition(":")[0], ""
    rows = host.program(table.module[row])
    at = None if rows is None else rows.row(table.name[row])
    if rows is not None and at is not None:
        framework, place = framework or rows.op_name(at), rows.place(at)
    percent = 100.0 * self_ps / table.total_ps if table.total_ps else 0.0
    return NamedOp(table.name[row], table.module[row], self_ps, percent, framework, place)


def longest_run(host: HostView, program: int, name: str) -> Place | None:
    """Begin and end of the longest run of an op on any device; None if there is none."""
    longest: Place | None = None
    for device in host.devices:
        numbers = [i for i, op in enumerate(device.ops) if op.name == name and op.program == program]
        rows = np.flatnonzero(np.isin(device.runs.op, numbers))
        begin, end = device.runs.begin_ps[rows], device.runs.end_ps[rows]
        if len(rows):
            at = int((end - begin).argmax())
            found = int(begin[at]), int(end[at])
            longest = max(longest or found, found, key=lambda one: one[1] - one[0])
    return longest


def of_op(host: str, op: NamedOp, longest: Place | None) -> list[Evidence]:
    """Name, time and source of an op of a host, and its longest run."""
    row = {"host": host, "row": f"{cell('hlo_op_name', op.name)};{cell('program_id', str(op.program_id))}"}
    of = OpOf(op.name, op.program_id)
    numbers: list[tuple[str, str | float, str]] = [
        ("Most of it in", op.name, ""),
        (f"Self time of {op.name}, all runs", op.self_ps / PS_PER_US, "us"),
        (f"Self time of {op.name}, of the observed time of all cores", op.percent, "%"),
    ]
    numbers += [("Its framework op", op.framework, "")] if op.framework else []
    numbers += [("Its source line", op.place, "")] if op.place else []
    evidence = [Evidence(label, value, unit, "hlo_stats", row, of) for label, value, unit in numbers]
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
