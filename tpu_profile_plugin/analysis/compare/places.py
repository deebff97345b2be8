"""The parts of a run's average step by place, and the places of two runs that correspond."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.blame.places import HostPlaces, Place
from tpu_profile_plugin.analysis.blame.stacks import AFTER
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_HOST, IDLE_OTHER, IDLE_PEER, LABELS
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.op_names import shown_event
from tpu_profile_plugin.analysis.compare.host_work import program_name
from tpu_profile_plugin.analysis.compare.run_work import PlacedTime, RunWork, Sample, few_steps, sample

LEAST_KNOWN = 0.5
"""Least share of a part of the step that must have a place for the part to be compared place by place."""
LEAST_PART = 0.1
"""Below this share of the other run's time a part may consist of anything: hardly any of it differs."""


def with_places(work: RunWork, hosts: Sequence[HostPlaces], budget: RunBudget, late: Mapping[str, float]) -> RunWork:
    """A run's work with the parts of its average step, and of the time to the next, by place.

    Each host's part of the time budget is shared out among its places. Idle time that no single event explains is
    waiting for host code where the host runs functions of the program.

    Args:
      work: the work of the hosts.
      hosts: all of the run.
      budget: its time budget.
      late: devices that others wait for, by name, and which share of all waits in collectives each has caused.
    """
    chosen = [(hosts[i], budget.host_columns[i]) for i in budget.hosts]
    found: dict[Place, list[PlacedTime]] = defaultdict(list)
    within = Sample(0.0, 0.0, work.parts[IDLE_OTHER].count)
    for placed in (*_in_steps(work, chosen, budget), *_between(work, chosen, budget)):
        place = placed.place
        if place.part == IDLE_OTHER and place.function:
            place, within = replace(place, part=IDLE_HOST), within.plus(placed.time)
        found[place].append(replace(placed, place=place))
    waits = work.parts[IDLE_PEER]
    for name, share in (*late.items(), ("", 1 - sum(late.values()))):
        if share > 0:
            place = Place(IDLE_PEER, name)
            found[place] = [PlacedTime(place, waits.divided(1 / share))]
    return replace(work, places=tuple(map(_together, found.values())), in_functions=within)


def _together(parts: Sequence[PlacedTime]) -> PlacedTime:
    """A place on several hosts."""
    most = max(parts, key=lambda one: one.time.mean)
    time = most.time
    for one in parts:
        time = time if one is most else time.plus(one.time)
    return replace(most, time=time)


def _in_steps(work: RunWork, hosts: Sequence[tuple[HostPlaces, slice]], budget: RunBudget) -> Iterator[PlacedTime]:
    kept = few_steps([host.by_step.shape[1] for host, _ in hosts], budget.rows, len(budget))
    count = np.maximum(budget.takes_part.sum(axis=1), 1)
    single = np.zeros(len(budget), np.bool_)
    single[work.outliers.rows] = True
    for (host, columns), rows in zip(hosts, budget.rows, strict=True):
        of = np.array([place.part for place in host.places], np.int64)
        by_step = host.by_step[:, rows[kept]]
        weight = by_step.sum(axis=1) if len(rows) < host.by_step.shape[1] else host.ps.astype(np.float64)
        for number in np.unique(of[(of < BETWEEN) & (of != IDLE_PEER)]).tolist():
            mine = np.flatnonzero(of == number)
            spent = budget.counted_ps(number)[:, columns].sum(axis=1).astype(np.float64)
            shares, whole = weight[mine] / max(weight[mine].sum(), 1.0), by_step[mine].sum(axis=0)
            of_step = np.where(whole > 0, by_step[mine] / np.maximum(whole, 1.0), shares[:, None])
            values = of_step * (spent / count)[kept]
            for row, share, times in zip(mine.tolist(), shares.tolist(), values, strict=True):
                time = sample(share * float(spent.sum()) / max(budget.cells, 1), times, single[kept], len(budget))
                yield _placed(host, row, time)


def _between(work: RunWork, hosts: Sequence[tuple[HostPlaces, slice]], budget: RunBudget) -> Iterator[PlacedTime]:
    """Of the time between steps no place is known step by step: each varies as the whole."""
    some = np.flatnonzero(budget.takes_part.any(axis=0))
    for host, columns in hosts:
        devices = np.intersect1d(some, np.arange(len(budget.devices))[columns])
        of = np.array([place.part for place in host.places], np.int64)
        for number in np.unique(of[of >= BETWEEN]).tolist():
            mine = np.flatnonzero(of == number)
            spent = int(budget.between_time_ps[devices, number - BETWEEN].sum()) / max(budget.gaps, 1)
            whole = max(int(host.ps[mine].sum()), 1)
            for row in mine.tolist():
                mean = spent * int(host.ps[row]) / whole
                if mean and work.gap.mean:
                    yield _placed(host, row, work.gap.divided(work.gap.mean / mean))


def _placed(host: HostPlaces, row: int, time: Sample) -> PlacedTime:
    place = host.places[row]
    return PlacedTime(replace(place, module=program_name(place.module)), time, host.op[row])


@dataclass(frozen=True, slots=True)
class PlacePair:
    """A place of the base and the same of the run; None on a side that has no such place."""

    base: PlacedTime | None
    run: PlacedTime | None

    @property
    def either(self) -> PlacedTime:
        """That of the run, else of the base."""
        one = self.run or self.base
        assert one is not None
        return one

    @property
    def text(self) -> str:
        """The place in words."""
        return place_text(self.either.place)

    @property
    def line(self) -> str:
        """The line of an op, or the function; "" if it is unknown."""
        place = self.either.place
        return shown_event(place.name).removeprefix("$") if place.function else place.line

    @property
    def events(self) -> tuple[str, str]:
        """What the recordings of the base and the run call it, "" where they do not have it."""
        old, new = ("" if one is None else one.op or one.place.name for one in (self.base, self.run))
        return old.removeprefix(AFTER), new.removeprefix(AFTER)


def place_text(place: Place) -> str:
    """A place in words: "loader.py:12 load", "all-reduce in jit_step (train.py:41)"; "" if it is unknown."""
    if place.part >= BETWEEN:
        of = place.part - BETWEEN
        label = LABELS[CATEGORIES[of]].name
        here = place_text(replace(place, part=of))
        part = "" if place.function or of == IDLE_OTHER else label[0].lower() + label[1:]
        return ", ".join(filter(None, (part, here)))
    name = shown_event(place.name).removeprefix("$")
    words = (name, f"in {place.module}" if place.module else "", f"({place.line})" if place.line else "")
    return " ".join(filter(None, words))


def place_pairs(base: RunWork, run: RunWork, programs: Mapping[str, str]) -> dict[int, list[PlacePair]]:
    """The known places of both runs by part of the time budget; `BETWEEN` has those between steps.

    A part that has too few known places, or functions of the program in one run and other calls in the other, is not
    there: different recordings would look like different programs.

    Args:
      base, run: the runs.
      programs: names of programs of the run with those of their counterparts.
    """
    old, new = (_by_part(work) for work in (base, run))
    found = {}
    for part in sorted(old.keys() | new.keys()):
        before, after = old.get(part, []), new.get(part, [])
        if part == IDLE_PEER or _comparable(before, after):
            found[part] = list(_paired(before, after, programs))
    return found


def _by_part(work: RunWork) -> dict[int, list[PlacedTime]]:
    found: dict[int, list[PlacedTime]] = defaultdict(list)
    for one in work.places:
        found[min(one.place.part, BETWEEN)].append(one)
    return found


def _comparable(base: Sequence[PlacedTime], run: Sequence[PlacedTime]) -> bool:
    sides = [(sum(one.time.mean for one in side), _kinds(side)) for side in (base, run)]
    large = max(whole for whole, _ in sides)
    told = [kinds for whole, kinds in sides if whole > LEAST_PART * large]
    return all(kinds[0] + kinds[1] >= LEAST_KNOWN for kinds in told) and (
        all(kinds[0] >= kinds[1] for kinds in told) or all(kinds[0] <= kinds[1] for kinds in told)
    )


def _kinds(side: Sequence[PlacedTime]) -> tuple[float, float]:
    """Shares of time in functions of the program and in other places."""
    whole = sum(one.time.mean for one in side) or 1.0
    functions = sum(one.time.mean for one in side if one.place.function)
    known = sum(one.time.mean for one in side if place_text(one.place))
    return functions / whole, (known - functions) / whole


def _paired(base: Iterable[PlacedTime], run: Iterable[PlacedTime], programs: Mapping[str, str]) -> Iterator[PlacePair]:
    """Places of the same name; lines move when a program is edited."""

    def key(one: PlacedTime, module: str) -> tuple[Hashable, ...]:
        return one.place.part, _without_line(one.place.name), module

    sides: dict[tuple[Hashable, ...], tuple[list[PlacedTime], list[PlacedTime]]] = defaultdict(lambda: ([], []))
    for one in base:
        sides[key(one, one.place.module)][0].append(one)
    for one in run:
        sides[key(one, programs.get(one.place.module, one.place.module))][1].append(one)
    for old, new in sides.values():
        same = {one.place.line: one for one in old}
        left = [one for one in new if one.place.line not in same]
        for one in new:
            if one.place.line in same:
                yield PlacePair(same.pop(one.place.line), one)
        gone = sorted(same.values(), key=_line_number)
        fresh = sorted(left, key=_line_number)
        for i in range(max(len(gone), len(fresh))):
            yield PlacePair(gone[i] if i < len(gone) else None, fresh[i] if i < len(fresh) else None)


def _without_line(name: str) -> str:
    """`$file.py function` of a Python function, else the name."""
    file, found, rest = name.partition(".py:")
    return f"{file}.py {rest.partition(' ')[2]}" if found else name


def _line_number(one: PlacedTime) -> tuple[str, int]:
    file, _, number = one.place.line.rpartition(":")
    return file, int(number) if number.isdecimal() else 0
