"""The time budget of a run: the hosts' budgets side by side, for the steps that all of them have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tpu_profile_plugin.analysis.budget.budget import HostBudget, HostCause
from tpu_profile_plugin.analysis.budget.categories import (
    BETWEEN,
    CATEGORIES,
    EXPOSED_COMMUNICATION,
    IDLE_PEER,
    NOT_RECORDED,
    PARTS,
    PEER_TRANSFER,
    UNKNOWN,
    members,
)
from tpu_profile_plugin.analysis.common.spans import PartTimes, exact_sum, side_by_side
from tpu_profile_plugin.analysis.devices.across_hosts import clock_offsets, match_hosts, sums_of_cells
from tpu_profile_plugin.analysis.devices.model import RunDevice, of_hosts
from tpu_profile_plugin.analysis.devices.windows import Source, StartUp, common_rows
from tpu_profile_plugin.analysis.steps.host_steps import is_explicit_marker
from tpu_profile_plugin.analysis.steps.inferred import KERAS, Evidence
from tpu_profile_plugin.analysis.steps.step_table import step_labels
from tpu_profile_plugin.columns.arrays import F64, I64, Bools

LEAST_BETWEEN = 0.01
"""Least share of the time between steps to be a part of its own: with less, the step is what everybody understands."""


@dataclass(frozen=True, eq=False)
class RunBudget:
    """The time budget of one or more hosts.

    Attributes:
      hosts: positions of the hosts with devices in the given order.
      devices: host after host.
      number, names: int64[s] and the names of the steps, those of the first host.
      begin_ps, duration_ps: int64[s, d], on each host's own axis.
      time_ps: what the steps are spent on, by index in `CATEGORIES`; adds up to `duration_ps`.
      takes_part: bool[s, d], the device works in the step; averages leave out the others. In a step without any
        work all devices count that work in another step, else all.
      between_ps, between_time_ps: int64[d] and int64[d, c], the time between successive steps.
      causes, between_causes: (position of the host, cause) in steps and between them, most time first.
      sources: where the steps of each host come from.
      evidence: of the first host whose steps are inferred.
      traced: per host, whether Python functions were recorded; None if that was not looked for.
      rows: int64[s] per host, which of its own steps these are.
      left_out: number of marked steps that are not among these because the recording may have cut them.
      start_up: (position of the host, step) of those that are left out for what happens once.
    """

    hosts: tuple[int, ...]
    devices: tuple[RunDevice, ...]
    number: I64
    names: tuple[str, ...]
    begin_ps: I64
    duration_ps: I64
    time_ps: PartTimes
    takes_part: Bools
    between_ps: I64
    between_time_ps: I64
    causes: tuple[tuple[int, HostCause], ...] = ()
    sources: tuple[Source, ...] = ()
    evidence: Evidence | None = None
    traced: tuple[bool | None, ...] = ()
    rows: tuple[I64, ...] = ()
    between_causes: tuple[tuple[int, HostCause], ...] = ()
    left_out: int = 0
    start_up: tuple[tuple[int, StartUp], ...] = ()

    def __len__(self) -> int:
        return len(self.number)

    @property
    def labels(self) -> list[str]:
        """The steps' names, or numbers where they have none."""
        return step_labels(self.names, self.number)

    @cached_property
    def host_columns(self) -> dict[int, slice]:
        """By position of the host, the columns of its devices."""
        return of_hosts(self.devices)

    @cached_property
    def cells(self) -> int:
        """Pairs of a step and a device that takes part in it: what averages are over."""
        return int(self.takes_part.sum())

    @property
    def gaps(self) -> int:
        """Pairs of successive steps of the devices that take part in any: what averages between steps are over."""
        return int(self.takes_part.any(axis=0).sum()) * max(len(self) - 1, 0)

    @cached_property
    def step_ps(self) -> float:
        """The average step, over steps and the devices that take part; 0 without steps."""
        return self._mean(self.duration_ps)

    @cached_property
    def parts_ps(self) -> F64:
        """The parts of the average step, float64[c]; they add up to `step_ps`."""
        return np.array([self._mean(self.time_ps[i]) for i in PARTS])

    @cached_property
    def between_parts_ps(self) -> F64:
        """The parts of the average time between steps, float64[c]."""
        return np.array([self._mean_gap(self.between_time_ps[:, i]) for i in PARTS])

    @cached_property
    def between_step_ps(self) -> float:
        """The average time between steps; 0 if it is too little to be shown (`LEAST_BETWEEN`)."""
        return self.gap_ps if self.gap_ps >= LEAST_BETWEEN * (self.step_ps + self.gap_ps) else 0.0

    @cached_property
    def gap_ps(self) -> float:
        """The average time between steps, however little; 0 with one step."""
        return self._mean_gap(self.between_ps)

    @cached_property
    def base_ps(self) -> float:
        """The whole of shares: the average time from step to step, or the average step if nothing is between steps.

        Time that was not recorded is left out.
        """
        return self.step_ps + self.between_step_ps - self.not_recorded_ps

    @cached_property
    def not_recorded_ps(self) -> float:
        """The part of the average step, and of the time until the next, of which events of the device are missing."""
        between = float(self.between_parts_ps[NOT_RECORDED]) if self.between_step_ps else 0.0
        return float(self.parts_ps[NOT_RECORDED]) + between

    @property
    def base(self) -> str:
        """Name of `base_ps` in sentences: "step", "time from step to step" or "recording"."""
        if "recording" in self.sources:
            return "recording"
        return "time from step to step" if self.between_step_ps else "step"

    @property
    def inferred(self) -> bool:
        """Whether steps are inferred from an event that does not mark them."""
        return (
            self.evidence is not None and self.evidence.event != KERAS and not is_explicit_marker(self.evidence.event)
        )

    def part_ps(self, name: str) -> float:
        """A part, a group of parts or `BETWEEN` of the average step, by id; `BETWEEN` without what was not recorded."""
        if name == UNKNOWN:
            return self.not_recorded_ps
        if name == BETWEEN:
            return self.between_step_ps - (self.not_recorded_ps - float(self.parts_ps[NOT_RECORDED]))
        return float(self.parts_ps[list(members(name))].sum())

    def share(self, name: str) -> float:
        """A part, group or `BETWEEN` as a share of `base_ps`, 0 to 1; 0 without steps, and of what is `UNKNOWN`."""
        return self.part_ps(name) / self.base_ps if self.base_ps and name != UNKNOWN else 0.0

    @cached_property
    def of_steps_ps(self) -> tuple[F64, F64]:
        """Length float64[s] and parts float64[s, c] of each step, averaged over the devices that take part."""
        return self._averages(axis=1)

    @cached_property
    def of_devices_ps(self) -> tuple[F64, F64]:
        """Length float64[d] and parts float64[d, c] of each device's average step; NaN if it takes part in none."""
        return self._averages(axis=0)

    def _averages(self, axis: int) -> tuple[F64, F64]:
        count = self.takes_part.sum(axis=axis)
        parts = np.zeros((len(count), len(CATEGORIES)))
        with np.errstate(invalid="ignore"):
            for part, ps in self.time_ps.arrays.items():
                parts[:, part] = self._counted(ps).sum(axis=axis)
            return self._counted(self.duration_ps).sum(axis=axis) / count, parts / count[:, None]

    def between_of_devices_ps(self) -> F64:
        """float64[d], each device's average time between steps, as far as recorded; 0 if too little to be shown."""
        known = self.between_ps - self.between_time_ps[:, NOT_RECORDED]
        return known / max(len(self) - 1, 1) * bool(self.between_step_ps)

    def causes_per_step(self) -> list[tuple[int, HostCause, float]]:
        """(position of the host, host code, ps per step on average over its devices that take part), as `causes`."""
        cells = {i: max(int(self.takes_part[:, columns].sum()), 1) for i, columns in self.host_columns.items()}
        return [(i, cause, sum(cause.time_ps) / cells[i]) for i, cause in self.causes]

    def counted_ps(self, part: int) -> I64:
        """int64[s, d], a part by index in `CATEGORIES`: 0 where the device takes no part."""
        return self._counted(self.time_ps[part])

    def _counted(self, ps: I64) -> I64:
        """int64[s, d]: 0 where the device takes no part."""
        return ps if self.cells == self.takes_part.size else np.where(self.takes_part, ps, 0)

    def _mean(self, ps: I64) -> float:
        return exact_sum(self._counted(ps)) / self.cells if self.cells else 0.0

    def _mean_gap(self, ps: I64) -> float:
        """The mean over pairs of successive steps, of which there is one less than steps, so that runs compare."""
        return exact_sum(ps[self.takes_part.any(axis=0)]) / max(self.gaps, 1)


def merge_budgets(parts: Sequence[HostBudget]) -> RunBudget:
    """The hosts that have devices, for the steps that they have in common.

    Steps whose markers have the same names on all hosts are matched by name, others by time since the begin of each
    host's recording.
    """
    hosts = [i for i, part in enumerate(parts) if part.steps is not None]
    if not hosts:
        return _empty()
    rows = common_rows([windows for i in hosts if (windows := parts[i].steps) is not None])
    if not len(rows[0]):
        return _empty()
    lead = parts[hosts[0]].steps
    assert lead is not None
    chosen = [(parts[i], _selection(row)) for i, row in zip(hosts, rows, strict=True)]
    begin = np.concatenate([part.steps.begin_ps[row] for part, row in chosen if part.steps], axis=1)
    end = np.concatenate([part.steps.end_ps[row] for part, row in chosen if part.steps], axis=1)
    steps = [part.steps for part, _ in chosen if part.steps]
    time = side_by_side([part.time_ps.where(row) for part, row in chosen])
    return RunBudget(
        hosts=tuple(hosts),
        devices=tuple(RunDevice(name, i, kind) for i in hosts for name, kind in parts[i].devices),
        number=lead.number[rows[0]],
        names=tuple(lead.names[row] for row in rows[0].tolist()),
        begin_ps=begin,
        duration_ps=end - begin,
        takes_part=_taking_part(np.concatenate([part.busy[row] for part, row in chosen], axis=1)),
        time_ps=_with_peer_waits([part for part, _ in chosen], time, (begin, end)),
        between_ps=np.concatenate([part.between_ps for part, _ in chosen]),
        between_time_ps=np.concatenate([part.between_time_ps for part, _ in chosen]),
        causes=_most_first([(i, cause) for i in hosts for cause in parts[i].causes]),
        sources=tuple(windows.source for windows in steps),
        evidence=next((windows.evidence for windows in steps if windows.evidence), None),
        traced=tuple(part.traced for part, _ in chosen),
        rows=tuple(rows),
        between_causes=_most_first([(i, cause) for i in hosts for cause in parts[i].between_causes]),
        left_out=max(windows.left_out for windows in steps),
        start_up=tuple((i, step) for i, windows in zip(hosts, steps, strict=True) for step in windows.start_up),
    )


def _selection(rows: I64) -> slice | I64:
    """The rows as a slice if they stand together, which selects them without a copy."""
    return slice(int(rows[0]), int(rows[-1]) + 1) if bool((np.diff(rows) == 1).all()) else rows


def _most_first(causes: Sequence[tuple[int, HostCause]]) -> tuple[tuple[int, HostCause], ...]:
    return tuple(sorted(causes, key=lambda cause: -sum(cause[1].time_ps) / len(cause[1].time_ps)))


def _taking_part(busy: Bools) -> Bools:
    """Which devices count in which step."""
    some = busy.any(axis=0)
    idle = ~busy.any(axis=1)
    takes_part: Bools = busy.copy()
    takes_part[idle] = some if bool(some.any()) else True
    return takes_part


def _with_peer_waits(parts: Sequence[HostBudget], time_ps: PartTimes, window: tuple[I64, I64]) -> PartTimes:
    """Waits for devices of other hosts moved from communication to waits.

    A single host counts them as communication. A wait counts to the step in which the collective begins.
    """
    runs = [part.runs for part in parts if part.runs is not None]
    if len(runs) < 2:
        return time_ps
    matched = match_hosts(runs, clock_offsets(runs))
    matched_runs, row = matched.runs, matched.runs.source
    begin = matched_runs.begin_ps - matched.moved_ps[row]
    *cells, extra = sums_of_cells(*window, matched_runs.device, begin, matched.extra_ps[row])
    for category in (EXPOSED_COMMUNICATION, PEER_TRANSFER):
        waits = np.minimum(extra, time_ps[category][tuple(cells)])
        if waits.any():
            time_ps, extra = time_ps.moved(waits, category, IDLE_PEER, tuple(cells)), extra - waits
    return time_ps


def _empty() -> RunBudget:
    steps, count = np.zeros((0, 0), np.int64), len(CATEGORIES)
    devices, none = np.zeros((0, count), np.int64), np.zeros(0, np.int64)
    return RunBudget((), (), none, (), steps, steps, PartTimes(), np.zeros((0, 0), np.bool_), none, devices)
