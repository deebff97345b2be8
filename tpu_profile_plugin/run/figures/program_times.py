"""The programs of a run by the time of their ops, as the op profile shows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS
from tpu_profile_plugin.analysis.ops.tree import NO_PROGRAM, PROGRAM, op_tree
from tpu_profile_plugin.run.figures.ops import op_summary
from tpu_profile_plugin.run.figures.programs import programs_of
from tpu_profile_plugin.run.hosts import RunHosts

_NO_PROGRAMS = NO_PROGRAMS.said("The profile contains no HLO module, and no op names a program.")


@dataclass(frozen=True, slots=True)
class ProgramTime:
    """A program: `module(program id)`, time of its ops on all devices, None if none ran, and their number.

    `in_profile`: its HLO text is in the profile.
    """

    name: str
    time_ps: int | None
    ops: int
    in_profile: bool


@dataclass(frozen=True, slots=True)
class ProgramTimes:
    """The programs, most time first, then those of which no op ran, by name.

    Attributes:
      total_ps: time of the devices in the recording, idle time included; 0 if no op ran.
      compiled_again: names of modules of which several programs ran or are in the profile, with their number.
    """

    programs: tuple[ProgramTime, ...]
    total_ps: int
    compiled_again: dict[str, int]


def run_program_times(run: RunHosts) -> ProgramTimes:
    """The programs of the chosen hosts. Raises NoData without any."""
    known = {name for _, programs in run.iterate_hosts(programs_of) for name in programs.names.values()}
    records = op_summary(run, "auto").records
    if not known and not any(records.table.module):
        raise _NO_PROGRAMS.error()
    return run.once("program_times", lambda: _times(run, known))


def _times(run: RunHosts, known: set[str]) -> ProgramTimes:
    records = op_summary(run, "auto").records
    root = op_tree(records, PROGRAM, with_idle=True)
    ran = np.flatnonzero(records.table.occurrences > 0).tolist()
    ops: dict[str, int] = {}
    for row in ran:
        name = records.programs.get(records.table.module[row], NO_PROGRAM)
        ops[name] = ops.get(name, 0) + 1
    timed = [
        ProgramTime(node.name, node.metrics.time_ps, ops[node.name], node.name in known)
        for node in root.children
        if node.name in ops and not node.is_idle
    ]
    silent = sorted(known - {one.name for one in timed})
    programs = (*timed, *(ProgramTime(name, None, 0, True) for name in silent))
    modules: dict[str, int] = {}
    for one in programs:
        modules[one.name.rpartition("(")[0]] = modules.get(one.name.rpartition("(")[0], 0) + 1
    again = {name: count for name, count in modules.items() if name and count > 1}
    return ProgramTimes(programs, root.metrics.time_ps if timed else 0, again)
