"""The comparison of two runs: the work of each by op, what matches, what contributes to the difference, in words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

from tpu_profile_plugin.analysis.blame.places import HostPlaces
from tpu_profile_plugin.analysis.budget.categories import (
    BETWEEN,
    BETWEEN_LABEL,
    CATEGORIES,
    GROUP_OF,
    GROUPS,
    IDLE_OTHER,
    IDLE_PEER,
    IDLE_TRANSFER,
    LABELS,
    Label,
)
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget, merge_budgets
from tpu_profile_plugin.analysis.common.planes import device_planes, host_plane
from tpu_profile_plugin.analysis.compare.contributions import Contribution, by_place, contributions, principal
from tpu_profile_plugin.analysis.compare.host_work import (
    CONTAINERS,
    DescribedWork,
    HostWork,
    describe,
    host_ops,
    host_work,
)
from tpu_profile_plugin.analysis.compare.match import (
    Match,
    in_layers_of,
    in_lines_of,
    match_by_ops,
    match_ops,
    match_programs,
    matched_share,
)
from tpu_profile_plugin.analysis.compare.places import place_pairs, with_places
from tpu_profile_plugin.analysis.compare.run_work import (
    LEAST_ACCELERATOR,
    LEAST_CPU,
    LEAST_RANKED,
    RunWork,
    Sample,
    WorkedOp,
    run_work,
    shift,
    welch,
)
from tpu_profile_plugin.analysis.devices.model import device_names
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.environment.environment import Environment, Hardware, combine_environments, environment
from tpu_profile_plugin.analysis.memory.buffers import DEFAULT_SPACE, MemoryLayout
from tpu_profile_plugin.analysis.summary.framework import frameworks
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.run.figures.blame import places, whole_places
from tpu_profile_plugin.run.figures.budget import budget, host_devices, run_budget, run_communication, whole_budget
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.html_text import bold, paragraphs, plain, rows
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_NS, PS_PER_S, PS_PER_US

_MOST_SHOWN = 10
_MOST_CHANGES, _MOST_NAMES = 200, 20
LEAST_MATCHED = 0.5
"""Runs with less of their time in programs that both have are hardly comparable."""
LABELS_BY_ID: dict[str, Label] = {**{group.id: group.label for group in GROUPS}, **LABELS, BETWEEN: BETWEEN_LABEL}
"""Of categories, their parts and the time between steps."""
_SIDES = ("base", "run")
_UNITS = ((PS_PER_S, "s"), (PS_PER_MS, "ms"), (PS_PER_US, "us"), (PS_PER_NS, "ns"))
_FROM_STEP = {"time from step to step": " from step to step"}
_LENGTHS = {"recording": {"slower": "longer recording", "faster": "shorter recording"}}
_UNEVEN = 2.0
"""A difference of more than as many floors of noise that is no more than noise is due to uneven steps, or too few."""
_SKEWED = 1.1
"""Least ratio of the mean step to the median for a note."""
_NOUNS = {
    BETWEEN: "time between steps",
    CATEGORIES[IDLE_OTHER]: "unexplained idle time",
    CATEGORIES[IDLE_TRANSFER]: "the host's wait for results",
}
_MORE_OFTEN = {
    "more_often": ("runs more often", "run more often"),
    "fewer_often": ("runs less often", "run less often"),
}


@dataclass(frozen=True, slots=True)
class HostSide:
    """One host's part of a side of a comparison.

    Attributes:
      work: its work by op.
      places: where its devices wait.
      memory: the most memory that each program in it needs, in bytes by its name with id.
      environment, frameworks: where it ran, and keys of `analysis.summary.framework.NAMES`.
    """

    work: DescribedWork
    places: HostPlaces
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


@per_host()
def host_side(host: HostProfile) -> HostSide:
    """One host's part, from its columns."""
    return _host_side(host, budget(host).steps, places(host))


@per_host()
def whole_side(host: HostProfile) -> HostSide:
    """One host's part with the recording as one step."""
    return _host_side(host, whole_budget(host).steps, whole_places(host))


def _host_side(host: HostProfile, steps: StepWindows | None, of: HostPlaces) -> HostSide:
    space, hlo, devices = host.lazy, hlo_ops(host), host_devices(host)
    ops = host_ops(space, devices, hlo)
    work = HostWork() if steps is None else host_work(devices, steps)
    threads = host_plane(space)
    return HostSide(
        describe(work, ops, hlo),
        of,
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
    return run.once("side", lambda: _together(parts, of_run, _late(run, of_run)))


def _whole(run: RunHosts) -> RunSide:
    """The side of a run with the recording as one step."""
    parts, of_run = run.map_hosts(whole_side), run.merged(whole_budget, merge_budgets)
    return run.once("whole side", lambda: _together(parts, of_run, {}))


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


_LEAST_LATE = 0.005
"""Late devices are asked for if waits for them have at least this share of the step."""


def _late(run: RunHosts, of_run: RunBudget) -> dict[str, float]:
    """The devices that others wait for, by name, and the share of all waits that each has caused."""
    if not of_run.step_ps or of_run.parts_ps[IDLE_PEER] < _LEAST_LATE * of_run.step_ps:
        return {}
    found, hosts = run_communication(run), run.readable
    if found.late_host is not None:
        return {hosts[found.late_host].name: sum(one.share for one in found.stragglers)}
    names = device_names(found.devices, [host.name for host in hosts], several=len(found.hosts) > 1)
    late: dict[str, float] = {}
    for one in found.stragglers:
        late[names[one.index]] = one.share
    return late


def _together(parts: Sequence[HostSide], of_run: RunBudget, late: Mapping[str, float]) -> RunSide:
    memory: dict[str, int] = {}
    for part in parts:
        for name, peak in part.memory.items():
            memory[name] = max(peak, memory.get(name, 0))
    return RunSide(
        work=with_places(
            run_work([part.work for part in parts], of_run), [part.places for part in parts], of_run, late
        ),
        budget=of_run,
        memory=memory,
        environment=combine_environments([part.environment for part in parts]),
        frameworks=tuple(dict.fromkeys(name for part in parts for name in part.frameworks)),
        hosts=len(parts),
    )


class Headline(NamedTuple):
    """The difference in a sentence, and the tone of the run."""

    text: str
    tone: Literal["slower", "faster", "same", "unknown"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A time of both runs in whole ps per step; null if a side has no steps.

    Attributes:
      delta: run minus base.
      low: lower end of the interval of `delta`; null with too few steps.
      high: upper end.
    """

    base: int | None
    run: int | None
    delta: int | None
    low: int | None
    high: int | None


def difference(old: Sample, new: Sample, has: tuple[bool, bool]) -> Difference:
    """The difference of two times; `has`: whether the base and the run have any."""
    interval = welch(old, new)
    low, high = (round(interval[0]), round(interval[1])) if interval else (None, None)
    start, end = (round(one.mean) if known else None for one, known in ((old, has[0]), (new, has[1])))
    return Difference(start, end, None if start is None or end is None else end - start, low, high)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What changed between two runs; times are picoseconds per step and device that takes part.

    Attributes:
      base_side, run_side: what was recorded on each side.
      base, run: the work of each side as it is compared.
      floor_ps: differences below this are noise whatever the steps say.
      programs: names of programs of the run with those of their counterparts.
      matches: ops of the base and the run that correspond.
      matched: share of each side's time of ops that is in programs that both have, 0 to 1; None without ops.
      contributions: what adds up to the difference of the compared length, place by place, the rest last; empty if a
        side has no steps.
      causes: the same with parts of the step as a whole.
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
    causes: Sequence[Contribution]
    execution: str
    warnings: tuple[str, ...]

    @property
    def sides(self) -> tuple[RunSide, RunSide]:
        """The base and the run."""
        return self.base_side, self.run_side

    @property
    def works(self) -> tuple[RunWork, RunWork]:
        """Their work."""
        return self.base, self.run

    @property
    def compared(self) -> str:
        """What is compared: "step", "time from step to step", "recording" or, with a program, "execution"."""
        if self.execution:
            return "execution"
        bases = {side.budget.base for side in self.sides if len(side.budget)}
        return next((base for base in ("recording", "time from step to step") if base in bases), "step")

    @property
    def length(self) -> Difference:
        """The time that is compared."""
        return difference(self.base.length, self.run.length, (self.base.steps > 0, self.run.steps > 0))

    @cached_property
    def changes(self) -> list[Contribution]:
        """The contributions that are shown; smaller ones become part of the rest."""
        if not self.contributions:
            return []
        *changes, rest = self.contributions
        left = rest.delta_ps + sum(change.delta_ps for change in changes[_MOST_CHANGES:])
        return [*changes[:_MOST_CHANGES], Contribution(rest.what, rest.kind, left, 0.0, 0.0, "")]

    @cached_property
    def headline(self) -> Headline:
        """The difference in a sentence, with the largest change in its direction."""
        return _headline(self)

    @property
    def caution(self) -> str | None:
        """Why the runs are hardly comparable; None if most of their time is in programs that both have."""
        return _caution(self.matched)

    @property
    def notes(self) -> list[str]:
        """What limits the comparison, in sentences."""
        return [*_notes(self), *self.warnings]

    def percent(self, change: Contribution) -> float | None:
        """A change as a share of the difference of the compared time; None if that is no more than noise."""
        whole = self.length.delta
        return 100 * change.delta_ps / whole if whole and abs(whole) > self.floor_ps else None

    def texts(self, most: int = _MOST_SHOWN) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The heads and rows of a table of the largest changes; its last row is the rest."""
        if not self.changes:
            return HEADS, []
        *changes, rest = self.changes
        left = replace(rest, delta_ps=sum(change.delta_ps for change in changes[most:]) + rest.delta_ps)
        more = f"{len(changes) - most} more" if len(changes) > most else ""
        return HEADS, [*map(self._row, changes[:most]), ("Rest", more, *self._row(left)[2:4], "", "", "", "")]

    def _row(self, change: Contribution) -> tuple[str, ...]:
        kind: str = change.kind
        if change.part:  # Parts of the step take more or less time, ops are slower or faster.
            kind = {"slower": "more time", "faster": "less time"}.get(kind, kind)
        base, run = (f"{round(ps) / PS_PER_MS:.3f}" for ps in (change.base_ps, change.run_ps))
        delta, percent = f"{round(change.delta_ps / PS_PER_MS, 3) + 0.0:+.3f}", self.percent(change)
        share = "" if percent is None else f"{percent:.1f}%"
        line = "" if change.place is not None else change.line.rpartition("/")[2]
        certain = "yes" if change.certain else "no"
        return what(change), kind.replace("_", " "), delta, share, base, run, certain, line

    def _repr_html_(self) -> str:
        return paragraphs(bold(self.headline.text), *map(plain, self.warnings)) + rows(*self.texts())


HEADS = ("What changed", "How", "ms per step", "Share", "Base, ms", "Run, ms", "Beyond noise", "Line")


def compare_runs(base: RunHosts, run: RunHosts) -> Comparison:
    """What changed from `base` to `run`."""
    sides = _comparable(base, run)
    works, execution = _compared(sides)
    # What two captures of one program differ by anyway.
    accelerator = all(side.environment.hardware in (Hardware.TPU, Hardware.GPU) for side in sides)
    floor = (LEAST_ACCELERATOR if accelerator else LEAST_CPU) * works[0].length.mean
    new = works[1].ops
    old = in_layers_of(in_lines_of(works[0].ops, new), new)
    programs = match_programs(old, new)
    matches = match_ops(old, new, programs)
    programs |= match_by_ops(matches, programs)
    both = all(work.steps > 0 for work in works)
    pairs = place_pairs(works[0], works[1], programs)
    causes = contributions(works[0], works[1], matches, floor, pairs) if both else []
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
        contributions=by_place(causes, works[0], works[1], floor, pairs) if both else [],
        causes=causes,
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


def longest_first(ops: Iterable[WorkedOp]) -> list[WorkedOp]:
    """The ops with most time first."""
    return sorted(ops, key=lambda op: -op.ps)


def op_names(change: Contribution) -> list[str]:
    """The instructions of a change with most time: of the run, or of the base if none is left."""
    ops = [op for match in change.matches for op in match.run] or [op for match in change.matches for op in match.base]
    return [*dict.fromkeys(op.name for op in longest_first(ops) if op.name != CONTAINERS)][:_MOST_NAMES]


def what(contribution: Contribution) -> str:
    """The name of a contribution: of a part with its category, as "Waits for input (Input)", and what is behind it."""
    part, detail = contribution.part, _detail(contribution)
    name = LABELS_BY_ID[part].name if part else contribution.what
    if part in GROUP_OF:
        name = f"{name} ({LABELS_BY_ID[GROUP_OF[part]].name})"
    if contribution.kind == "single_steps":
        name = f"{name}, in single steps"
    return f"{name}: {detail}" if detail else name


def _detail(contribution: Contribution) -> str:
    """What is behind a contribution; parts of the time between steps by name."""
    label = LABELS_BY_ID.get(contribution.detail)
    return contribution.detail if label is None else label.name[0].lower() + label.name[1:]


def _headline(found: Comparison) -> Headline:
    """The difference in a sentence, with the largest change in its direction."""
    works, floor_ps, execution = found.works, found.floor_ps, found.execution
    base, run = works
    if not base.steps or not run.steps:
        empty = 0 if not base.steps else 1
        lacks = "no steps" if found.sides[empty].work.steps else "no device with steps"
        return Headline(f"The {_SIDES[empty]} has {lacks}, so step times cannot be compared.", "unknown")
    old, new = base.length.mean, run.length.mean
    of = found.compared
    unit = f" per execution of {execution}" if execution else _FROM_STEP.get(of, "")
    delta, times = new - old, _from_to(old, new)
    change = principal(found.causes, delta)
    cause = f": {_cause(change, works)}" if change else ""
    if abs(delta) <= floor_ps:
        return Headline(f"No difference beyond noise{unit} ({times}).", "same")
    if not _beyond_noise(works, floor_ps):
        few = (
            "No difference beyond noise" if abs(delta) <= _UNEVEN * floor_ps else "Steps too uneven or too few to tell"
        )
        return Headline(f"{few}{unit} ({times}){cause if abs(delta) > _UNEVEN * floor_ps else ''}.", "same")
    tone: Literal["slower", "faster"] = "slower" if delta > 0 else "faster"
    difference = _change(old, new, _LENGTHS.get(of, {}).get(tone, tone))
    return Headline(f"{difference[0].upper()}{difference[1:]}{unit} ({times}){cause}.", tone)


def _beyond_noise(works: Sequence[RunWork], floor_ps: float) -> bool:
    """Whether the steps differ by more than they vary.

    With enough steps most of one run's must be longer than the other's: a few that take somewhat longer move a mean.
    Single long steps, if they make a difference of their own, need only be several.
    """
    base, run = works
    interval = welch(base.length, run.length)
    apart = interval is None or interval[0] > 0 or interval[1] < 0
    # Nothing follows the last step: how long it is from begin to begin is unknown.
    old, new = base.outliers.length_ps[:-1], run.outliers.length_ps[:-1]
    if min(len(old), len(new)) < LEAST_RANKED:
        return apart
    single = abs(run.length.excess - base.length.excess) > floor_ps
    return shift(old, new) * (run.length.mean - base.length.mean) > 0 or (single and apart)


def _change(old: float, new: float, tone: str) -> str:
    """How much longer or shorter: in percent, from twice as long on as a multiple."""
    if not old:
        return tone
    return f"{new / old:.1f} times as long" if new >= 2 * old else f"{abs(new - old) / old:.1%} {tone}"


def _cause(change: Contribution, works: Sequence[RunWork]) -> str:
    """A change as a clause."""
    longer, time = change.delta_ps > 0, _time_text(abs(change.delta_ps))
    detail = _detail(change)
    behind = f" ({detail})" if detail else ""
    if change.part:
        where = ""
        if change.kind == "single_steps":
            side = works[longer]
            where = f" in {len(side.outliers)} of {side.steps} steps"
        return f"{_noun(change.part)} {'rose' if longer else 'fell'} by {time}{where}{behind}"
    if change.kind in ("machine", "more_executions", "fewer_executions"):
        own = f"; {_speed(change)}" if change.kind == "machine" else ""
        return f"{what(change)}, {time} {'more' if longer else 'less'}{own}"
    several = len(change.matches) > 1
    takes, name = ("take" if several else "takes"), what(change)
    if change.kind == "added":
        return f"{name} {'are' if several else 'is'} new and {takes} {time}"
    if change.kind == "removed":
        return f"{name}, which took {time}, {'are' if several else 'is'} gone"
    often = _MORE_OFTEN.get(change.kind)
    runs = f" {often[several]} and" if often else ""
    return f"{name}{runs} {takes} {time} {'more' if longer else 'less'}"


def _noun(part: str) -> str:
    """A part within a sentence: "waiting for input"."""
    name = LABELS_BY_ID[part].name
    if part in _NOUNS:
        return _NOUNS[part]
    return name.replace("Waits for", "waiting for") if name.startswith("Waits for") else name[0].lower() + name[1:]


def _caution(matched: Sequence[float | None]) -> str | None:
    shares = [share for share in matched if share is not None]
    if not shares or min(shares) >= LEAST_MATCHED:
        return None
    least = min(shares)
    text = "No time" if least == 0 else f"Only {least:.0%} of the time" if least >= 0.01 else "Less than 1% of the time"
    of = "" if len({round(share, 2) for share in shares}) == 1 else f" of the {_SIDES[list(matched).index(least)]}"
    return f"{text}{of} is in programs that both runs have: the runs are hardly comparable."


def _notes(found: Comparison) -> list[str]:
    """What limits the comparison."""
    sides, execution = found.sides, found.execution
    facts = [
        ("type of device", [one.environment.device_type or "none" for one in sides]),
        ("number of devices", [str(one.environment.device_cores) for one in sides]),
        ("number of hosts", [str(one.hosts) for one in sides]),
    ]
    sentences = [f"The {name} differs: {base} in the base, {run} here." for name, (base, run) in facts if base != run]
    for name, side in zip(_SIDES, sides, strict=True):
        if side.recorded_steps is None and side.work.steps:
            count = side.work.executions[execution] if execution else 1
            each = f"is divided by its {count:,.0f} executions of {execution}" if execution else "counts as one"
            sentences.append(f"The {name} has no steps: its whole recording {each}.")
        elif side.work.steps == 1:
            sentences.append(f"The {name} has one step: how far its steps vary is unknown.")
    return [*sentences, *_typical(found.works), *_of_machine(found.changes)]


def _typical(works: Sequence[RunWork]) -> list[str]:
    """Medians where means mislead, and how many steps are far above them."""
    known = [one.outliers for one in works]
    if not any(one.median_ps and (len(one) or one.mean_ps > _SKEWED * one.median_ps) for one in known):
        return []
    if not all(one.median_ps for one in known):
        return []
    counts = [f"{len(one)} of {len(one.length_ps)}" for one in known]
    long = f"; far longer are {counts[0]} steps of the base and {counts[1]} here" if any(map(len, known)) else ""
    return [f"Median step: {_from_to(known[0].median_ps, known[1].median_ps)}{long}."]


def _of_machine(contributions: Sequence[Contribution]) -> list[str]:
    """That the machine differs, if unchanged ops tell."""
    return [
        f"{one.what} all take {one.detail}, {_time_text(abs(one.delta_ps))} in sum: {_speed(one)} than for the base."
        for one in contributions
        if one.kind == "machine" and one.certain
    ]


def _speed(change: Contribution) -> str:
    return f"the machine is {'busier or slower' if change.delta_ps > 0 else 'less busy or faster'}"


def _from_to(old: float, new: float) -> str:
    """Two times: "36.35 to 23.76 ms", with both units if they differ."""
    before, after = _time_text(old), _time_text(new)
    value, _, unit = before.partition(" ")
    return f"{value if after.endswith(f' {unit}') else before} to {after}"


def _time_text(ps: float) -> str:
    """A time with four significant digits, in the largest unit of which it is at least 1."""
    scale, unit = next((one for one in _UNITS if ps >= 0.99995 * one[0]), _UNITS[-1])
    value = ps / scale
    digits = next((places for places, most in ((3, 9.9995), (2, 99.995), (1, 999.95)) if value < most), 0)
    return f"{value:,.{digits}f} {unit}"
