"""The work of a run by op: per host, computed in parallel, and the hosts' work as one."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.common.planes import device_planes, host_plane
from tpu_profile_plugin.analysis.compare.facts import host_ops
from tpu_profile_plugin.analysis.compare.run import DescribedWork, RunWork, describe, run_work
from tpu_profile_plugin.analysis.compare.work import HostWork, host_work
from tpu_profile_plugin.analysis.environment.environment import Environment, combine_environments, environment
from tpu_profile_plugin.analysis.memory.layout import DEFAULT_SPACE, MemoryLayout
from tpu_profile_plugin.analysis.summary.framework import frameworks
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.run.budget import BUDGET, run_budget
from tpu_profile_plugin.run.devices import host_devices
from tpu_profile_plugin.run.host import PerHost
from tpu_profile_plugin.run.ops import hlo_ops_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tpu_profile_plugin.analysis.budget.run import RunBudget
    from tpu_profile_plugin.run.host import HostProfile
    from tpu_profile_plugin.run.inputs import Inputs


@dataclass(frozen=True, slots=True)
class HostSide:
    """One host's part of a side of a comparison.

    Attributes:
      work: its work by op.
      memory: the most memory that each program in it needs, in bytes by its name with id.
      environment, frameworks: where it ran, and keys of `analysis.summary.framework.NAMES`.
    """

    work: DescribedWork
    memory: Mapping[str, int]
    environment: Environment
    frameworks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunSide:
    """A side of a comparison: a run's average step, and the same of its hosts as one; `hosts` counts them."""

    work: RunWork
    budget: RunBudget
    memory: Mapping[str, int]
    environment: Environment
    frameworks: tuple[str, ...]
    hosts: int

    @property
    def recorded_steps(self) -> int | None:
        """The steps of the recording; None without any, though then the recording as a whole counts as one."""
        sources = self.budget.sources
        return len(self.budget) if sources and "recording" not in sources else None


def make_side(host: HostProfile) -> HostSide:
    """One host's part, from its columns."""
    steps = host.compute(BUDGET).steps
    space, hlo, devices = host.lazy, hlo_ops_of(host), host_devices(host)
    ops = host_ops(space, devices, hlo)
    work = HostWork() if steps is None else host_work(devices, steps)
    threads = host_plane(space)
    return HostSide(
        describe(work, ops, hlo),
        _memory(host, {program for program, _ in work.keys}),
        environment(space, False),
        frameworks(space, [*device_planes(space), *([] if threads is None else [threads])], ops.provenances),
    )


def _memory(host: HostProfile, programs: set[int]) -> dict[str, int]:
    """The peak of each program that has a buffer assignment, and one that decodes."""
    found = {}
    for number in sorted(programs):
        program = hlo_ops_of(host).programs.program(number)
        with contextlib.suppress(CorruptProfile):
            if program is not None and (peak := MemoryLayout(program, DEFAULT_SPACE).peak_bytes):
                found[program.module.name] = peak
    return found


SIDE = PerHost(make_side, prefetch=(BUDGET,))


def run_sides(*runs: Inputs) -> list[RunSide]:
    """The sides of runs: at once where each has one host, which alone does not keep all cores busy."""
    if any(len(run.hosts) > 1 for run in runs):
        return [run_side(run) for run in runs]
    with ThreadPoolExecutor(len(runs), "profile-sides") as pool:
        return list(pool.map(run_side, runs))


def run_side(inputs: Inputs) -> RunSide:
    """The side of a run; other comparisons with the run share it."""
    parts, budget = inputs.map_hosts(SIDE), run_budget(inputs)
    return inputs.derive("side", lambda _: _together(parts, budget))


def _together(parts: Sequence[HostSide], budget: RunBudget) -> RunSide:
    memory: dict[str, int] = {}
    for part in parts:
        for name, peak in part.memory.items():
            memory[name] = max(peak, memory.get(name, 0))
    return RunSide(
        work=run_work([part.work for part in parts], budget),
        budget=budget,
        memory=memory,
        environment=combine_environments([part.environment for part in parts]),
        frameworks=tuple(dict.fromkeys(name for part in parts for name in part.frameworks)),
        hosts=len(parts),
    )
