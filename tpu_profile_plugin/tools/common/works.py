"""The work of a run by op: per host, computed in parallel, and the hosts' work as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.compare.run import DescribedWork, RunWork, describe, run_work
from tpu_profile_plugin.analysis.compare.work import HostWork, host_work
from tpu_profile_plugin.analysis.devices.host import devices_of
from tpu_profile_plugin.analysis.memory.layout import DEFAULT_SPACE, MemoryLayout
from tpu_profile_plugin.toolkit.host import PerHost
from tpu_profile_plugin.tools.common.host_summaries import SUMMARY
from tpu_profile_plugin.tools.common.op_summaries import CPU_SUMMARY, DEVICE_OPS, hlo_ops_of
from tpu_profile_plugin.tools.common.time_budgets import BUDGET, run_budget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tpu_profile_plugin.toolkit.host import HostProfile
    from tpu_profile_plugin.toolkit.inputs import Inputs


@dataclass(frozen=True, slots=True)
class HostPrograms:
    """One host's work, and the most memory that each program in it needs, in bytes by its name with id."""

    work: DescribedWork
    memory: Mapping[str, int]


def make_work(host: HostProfile) -> HostPrograms:
    """The work of one host, from its columns."""
    steps = host.compute(BUDGET).steps
    if steps is None:
        return HostPrograms(DescribedWork(HostWork(), (), (), ()), {})
    hlo = hlo_ops_of(host)
    summary = host.compute(DEVICE_OPS)
    if not summary.environment.device_cores:
        summary = host.compute(CPU_SUMMARY)
    work = describe(host_work(devices_of(host.lazy, hlo.programs), steps), summary.records, hlo)
    return HostPrograms(work, _memory(host, {program for program, _ in work.work.keys}))


def _memory(host: HostProfile, programs: set[int]) -> dict[str, int]:
    """The peak of each program that has a buffer assignment."""
    found = {}
    for number in sorted(programs):
        program = hlo_ops_of(host).programs.program(number)
        if program is not None and (peak := MemoryLayout(program, DEFAULT_SPACE).peak_bytes):
            found[program.module.name] = peak
    return found


WORK = PerHost(make_work, prefetch=(BUDGET, SUMMARY))


def run_works(inputs: Inputs) -> tuple[RunWork, dict[str, int]]:
    """The average step of a run, and the most memory that each of its programs needs on any host."""
    parts, budget = inputs.map_hosts(WORK), run_budget(inputs)
    memory: dict[str, int] = {}
    for part in parts:
        for name, peak in part.memory.items():
            memory[name] = max(peak, memory.get(name, 0))
    return inputs.derive("work", lambda _: run_work([part.work for part in parts], budget)), memory
