"""The evidence of findings about ops: numbers of one op as the pages show them, and where it takes longest."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.devices.collectives import CollectiveKey
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, OpOf
from tpu_profile_plugin.analysis.findings.places import TIMELINE, cell, most_label, timeline
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_US

Place = tuple[int, int]
"""Begin and end in ps on the host's axis."""


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


def place_of(host: HostView, row: int) -> str:
    """`file:line` of an op of the host's op table, "" if its program does not tell."""
    rows = host.program(host.ops.module[row])
    at = None if rows is None else rows.row(host.ops.name[row])
    return "" if rows is None or at is None else rows.place(at)


def of_op(host: HostView, row: int, *, longest: bool, share: float) -> tuple[str, tuple[Evidence, ...]]:
    """An op of the host's op table: its name with its line, and name, time and source as HLO statistics have them.

    With its longest run, if that is asked for and known; `share`: its part of what the finding is about.
    """
    table = host.ops
    name, program, self_ps = table.name[row], table.module[row], int(table.self_ps[row])
    framework, place, rows = table.provenance[row].partition(":")[0], place_of(host, row), host.program(program)
    at = None if rows is None else rows.row(name)
    if rows is not None and at is not None:
        framework = framework or rows.op_name(at)
    page = {"host": host.name, "row": f"{cell('hlo_op_name', name)};{cell('program_id', str(program))}"}
    of, percent = OpOf(name, program), 100.0 * self_ps / table.total_ps if table.total_ps else 0.0
    numbers: list[tuple[str, str | float, str]] = [
        (most_label(share), name, ""),
        (f"Self time of {name}, all runs", self_ps / PS_PER_US, "us"),
        (f"Self time of {name}, of the observed time of all cores", percent, "%"),
    ]
    numbers += [("Its framework op", framework, "")] if framework else []
    numbers += [("Its source line", place, "")] if place else []
    run = in_timeline(host.name, of, longest_run(host, program, name)) if longest else []
    evidence = [Evidence(label, value, unit, "hlo_stats", page, of) for label, value, unit in numbers]
    return (f"{name} ({place})" if place else name), (*evidence, *run)


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
