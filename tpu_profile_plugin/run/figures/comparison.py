"""The comparison of two runs: the work of each by op, what matches, and what contributes to the difference."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tpu_profile_plugin.analysis.budget.categories import label_of
from tpu_profile_plugin.analysis.budget.run import RunBudget, merge_budgets
from tpu_profile_plugin.analysis.common.planes import device_planes, host_plane
from tpu_profile_plugin.analysis.compare.contributions import Contribution, contributions
from tpu_profile_plugin.analysis.compare.described import DescribedWork, describe
from tpu_profile_plugin.analysis.compare.facts import host_ops
from tpu_profile_plugin.analysis.compare.match import Match, match_by_ops, match_ops, match_programs
from tpu_profile_plugin.analysis.compare.noise import LEAST_ACCELERATOR, LEAST_CPU
from tpu_profile_plugin.analysis.compare.run import RunWork, run_work
from tpu_profile_plugin.analysis.compare.shared import matched_share
from tpu_profile_plugin.analysis.compare.sources import in_lines_of
from tpu_profile_plugin.analysis.compare.work import HostWork, host_work
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.environment.environment import Environment, Hardware, combine_environments, environment
from tpu_profile_plugin.analysis.memory.layout import DEFAULT_SPACE, MemoryLayout
from tpu_profile_plugin.analysis.summary.framework import frameworks
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.run.figures.budget import budget, run_budget, whole_budget
from tpu_profile_plugin.run.figures.devices import host_devices
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.html_text import bold, paragraphs, plain, rows
from tpu_profile_plugin.units import duration

_MOST_SHOWN = 10


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
    """A side of a comparison: a run's average step, and what is known of its hosts together; `hosts` counts them."""

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


@per_host(prefetch=(budget,))
def host_side(host: HostProfile) -> HostSide:
    """One host's part, from its columns."""
    return _host_side(host, budget(host).steps)


@per_host()
def whole_side(host: HostProfile) -> HostSide:
    """One host's part with the recording as one step."""
    return _host_side(host, whole_budget(host).steps)


def _host_side(host: HostProfile, steps: StepWindows | None) -> HostSide:
    space, hlo, devices = host.lazy, hlo_ops(host), host_devices(host)
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
    peaks = {}
    for number in sorted(programs):
        program = hlo_ops(host).programs.program(number)
        with contextlib.suppress(CorruptProfile):
            if program is not None and (peak := MemoryLayout(program, DEFAULT_SPACE).peak_bytes):
                peaks[program.module.name] = peak
    return peaks


def run_sides(*runs: RunHosts) -> list[RunSide]:
    """The sides of runs: at once where each has one host, which alone does not keep all cores busy."""
    if any(len(run.profiles) > 1 for run in runs):
        return [run_side(run) for run in runs]
    with ThreadPoolExecutor(len(runs), "profile-sides") as pool:
        return list(pool.map(run_side, runs))


def run_side(run: RunHosts) -> RunSide:
    """The side of a run; other comparisons with the run share it."""
    parts, of_run = run.map_hosts(host_side), run_budget(run)
    return run.once("side", lambda: _together(parts, of_run))


def _whole(run: RunHosts) -> RunSide:
    """The side of a run with the recording as one step."""
    parts, of_run = run.map_hosts(whole_side), run.merged(whole_budget, merge_budgets)
    return run.once("whole side", lambda: _together(parts, of_run))


def _comparable(*runs: RunHosts) -> list[RunSide]:
    """The sides of runs. Steps inferred from host code are no match for marked ones: most work may lie outside them.

    Such a recording counts as a whole if both have a program by whose executions it can be divided.
    """
    sides = run_sides(*runs)
    guessed = [one.budget.evidence is not None and one.budget.evidence.source == "host event" for one in sides]
    if not any(guessed) or all(guessed):
        return sides
    whole = [_whole(run) if unsure else side for run, side, unsure in zip(runs, sides, guessed, strict=True)]
    return whole if _most_executed([one.work for one in whole]) else sides


def _together(parts: Sequence[HostSide], of_run: RunBudget) -> RunSide:
    memory: dict[str, int] = {}
    for part in parts:
        for name, peak in part.memory.items():
            memory[name] = max(peak, memory.get(name, 0))
    return RunSide(
        work=run_work([part.work for part in parts], of_run),
        budget=of_run,
        memory=memory,
        environment=combine_environments([part.environment for part in parts]),
        frameworks=tuple(dict.fromkeys(name for part in parts for name in part.frameworks)),
        hosts=len(parts),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """What changed between two runs; times are picoseconds per step and device that takes part.

    Attributes:
      base_side, run_side: what was recorded on each side.
      base, run: the work of each side as it is compared.
      floor_ps: differences below this are noise whatever the steps say.
      programs: names of programs of the run with those of their counterparts.
      matches: ops of the base and the run that correspond.
      matched: share of each side's time of ops that is in programs that both have, 0 to 1; None without ops.
      contributions: what adds up to the difference of the compared length, the rest last; empty if a side has no steps.
      execution: the program by whose executions the work is divided, as a side has no steps; "" for steps.
      warnings: hosts of either run that are left out.
    """

    base_side: RunSide
    run_side: RunSide
    base: RunWork
    run: RunWork
    floor_ps: float
    programs: Mapping[str, str]
    matches: Sequence[Match]
    matched: tuple[float | None, float | None]
    contributions: Sequence[Contribution]
    execution: str
    warnings: tuple[str, ...]

    def _repr_html_(self) -> str:
        return paragraphs(bold(self._headline), *map(plain, self.warnings)) + rows(
            ("What", "Change", "Base", "Run", "Detail"),
            map(_cells, self.contributions[:_MOST_SHOWN]),
        )

    @property
    def _headline(self) -> str:
        """The compared length of both runs, in a sentence."""
        if not self.contributions:
            return "A side has no steps: times cannot be compared."
        base, run = self.base.length.mean, self.run.length.mean
        what = f"An execution of {self.execution}" if self.execution else "The average step"
        return f"{what} took {duration(base)} in the base and takes {duration(run)} ({_signed(run - base)})."


def _cells(one: Contribution) -> tuple[str, ...]:
    """A row of the table that notebooks show."""
    what = label_of(one.part).name if one.part else one.what
    sure = "" if one.certain else " (may be noise)"
    return f"{what}{sure}", _signed(one.delta_ps), duration(one.base_ps), duration(one.run_ps), one.detail


def _signed(ps: float) -> str:
    """A difference with its sign."""
    return f"{'+' if ps > 0 else '-' if ps < 0 else ''}{duration(abs(ps))}"


def compare_runs(base: RunHosts, run: RunHosts) -> Comparison:
    """What changed from `base` to `run`."""
    sides = _comparable(base, run)
    works, execution = _compared(sides)
    # What two captures of one program differ by anyway.
    accelerator = all(side.environment.hardware in (Hardware.TPU, Hardware.GPU) for side in sides)
    floor = (LEAST_ACCELERATOR if accelerator else LEAST_CPU) * works[0].length.mean
    old, new = in_lines_of(works[0].ops, works[1].ops), works[1].ops
    programs = match_programs(old, new)
    matches = match_ops(old, new, programs)
    programs |= match_by_ops(matches, programs)
    both = all(work.steps > 0 for work in works)
    return Comparison(
        base_side=sides[0],
        run_side=sides[1],
        base=works[0],
        run=works[1],
        floor_ps=floor,
        programs=programs,
        matches=matches,
        matched=(
            matched_share(old, new, [(before, after) for after, before in programs.items()], matches),
            matched_share(new, old, programs.items(), matches),
        ),
        contributions=contributions(works[0], works[1], matches, floor) if both else [],
        execution=execution,
        warnings=(*base.warnings, *run.warnings),
    )


def _compared(sides: Sequence[RunSide]) -> tuple[list[RunWork], str]:
    """The work of each side, and the program by whose executions it is divided.

    If a side has no steps, that is the program of both with most time, so that a step, or a recording, of several
    executions compares with one of a single execution. Without such a program, a recording is no step to compare steps
    of the other side with.
    """
    between = any(side.budget.between_step_ps for side in sides)
    works = [side.work.from_step_to_step() if between else side.work for side in sides]
    missing = [side.recorded_steps is None for side in sides]
    if not any(missing):
        return works, ""
    if execution := _most_executed(works):
        return [work.divided(work.executions[execution]) for work in works], execution
    if all(missing):
        return works, ""
    return [work.without_steps() if lacks else work for work, lacks in zip(works, missing, strict=True)], ""


def _most_executed(works: Sequence[RunWork]) -> str:
    """The program of both sides with the largest share of their time of ops; "" without any."""
    shares: dict[str, float] = {}
    for name in works[0].executions.keys() & works[1].executions.keys():
        times = [sum(op.ps for op in work.ops if op.program == name) for work in works]
        totals = [sum(op.ps for op in work.ops) for work in works]
        if all(work.executions[name] for work in works) and all(totals):
            shares[name] = min(time / total for time, total in zip(times, totals, strict=True))
    return max(sorted(shares), key=lambda name: shares[name], default="") if any(shares.values()) else ""
