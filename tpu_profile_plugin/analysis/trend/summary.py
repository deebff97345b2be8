"""What is kept of a run to follow it over time: about 20 KB of plain numbers and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES
from tpu_profile_plugin.analysis.compare.places import place_text
from tpu_profile_plugin.analysis.compare.run_work import PlacedTime, RunWork, Sample, WorkedOp

FORMAT = 1
"""Summaries of another format are made anew, or refused where they cannot be."""
MOST_PLACES = 120
LEAST_SHARE = 0.0003
"""Places below this share of the step are told together."""
_OP = "op"


class PlaceTime(NamedTuple):
    """Ops of one kind, or one part of the time budget at one place of the program; equal over runs by `key`.

    Attributes:
      part: "op", or the id of the part of the time budget.
      program: its program without id, "" if unknown.
      name: the framework op or kind of the instruction without numbers; of waits the function or call.
      line: `file:line` of the one with most time, "" if unknown.
      sizes: dimensions of its results, for a look at shapes; "" if unknown.
      ps: time per ordinary step and device.
      runs: executions per step and device, 0 where nothing is counted.
    """

    part: str
    program: str
    name: str
    line: str
    sizes: str
    ps: float
    runs: float = 0.0

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays equal over runs."""
        return self.part, self.program, self.name


KEY: Callable[[PlaceTime], tuple[str, str, str]] = itemgetter(0, 1, 2)
"""`key` for many places: a trend asks for those of thousands of runs."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What has to be equal for runs to be compared.

    Attributes:
      program: the one with most time, without id; "" if there are no programs.
      device: type of the devices, "" if unknown.
      devices, hosts: how many.
      frameworks: their keys.
      unit: what a step is: "time from step to step"; "step" in a recording of one.
    """

    program: str
    device: str
    devices: int
    hosts: int
    frameworks: tuple[str, ...]
    unit: str


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in small; times in picoseconds per step.

    Attributes:
      run: its name.
      written_ms: when its profiles were written, since 1970; 0 if unknown.
      labels: by key, such as "commit".
      problem: why it has no figures; "" if it has.
      conditions: None without figures.
      step_ps: mean of the ordinary steps, those not far above the median, with the time until the next.
      step_sd_ps: their standard deviation.
      steps: how many steps.
      single_ps: what single long steps add to the mean of all.
      parts: time per ordinary step by part of the time budget, with that between steps.
      places: the largest places, the largest first.
      memory: peak in bytes by program with a known allocation.
      note: what is odd about it, as a sentence; "" if nothing is.
    """

    run: str
    written_ms: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    conditions: Conditions | None = None
    step_ps: float = 0.0
    step_sd_ps: float = 0.0
    steps: int = 0
    single_ps: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    places: tuple[PlaceTime, ...] = ()
    memory: Mapping[str, int] = field(default_factory=dict)
    note: str = ""

    @property
    def memory_peak(self) -> int:
        """The largest peak of a program, in bytes; 0 if none is known."""
        return max(self.memory.values(), default=0)

    def share(self, *parts: str) -> float:
        """The share of the step that parts of the time budget have."""
        return sum(self.parts.get(part, 0.0) for part in parts) / self.step_ps if self.step_ps else 0.0


def parts_of(work: RunWork) -> dict[str, float]:
    """The time per ordinary step by part of the time budget."""
    parts = {CATEGORIES[row]: sample.ordinary for row, sample in enumerate(work.parts)}
    parts[BETWEEN] = work.between.ordinary
    return {part: ps for part, ps in parts.items() if ps > 0}


def places_of(work: RunWork) -> tuple[PlaceTime, ...]:
    """The largest places of a run."""
    found: dict[tuple[str, str, str], list[PlaceTime]] = {}
    for one in (*(_of_op(op, work) for op in work.ops), *map(_of_wait, work.places)):
        found.setdefault(one.key, []).append(one)
    together = sorted(map(_together, found.values()), key=lambda one: -one.ps)
    least = LEAST_SHARE * work.length.ordinary
    return tuple(one for one in together[:MOST_PLACES] if one.ps >= least)


def _of_op(op: WorkedOp, work: RunWork) -> PlaceTime:
    by_step = op.by_step[~work.single[: len(op.by_step)]] if len(op.by_step) else op.by_step
    ps = float(by_step.mean()) if len(by_step) else op.ps
    sizes = op.print.sizes[0] if op.print.sizes else ""
    return PlaceTime(_OP, op.program, op.print.unnumbered, op.source, sizes, ps, op.runs)


def _of_wait(one: PlacedTime) -> PlaceTime:
    part = CATEGORIES[one.place.part] if one.place.part < len(CATEGORIES) else BETWEEN
    return PlaceTime(part, one.place.module, place_text(one.place) or "unknown", one.place.line, "", one.time.ordinary)


def _together(places: Sequence[PlaceTime]) -> PlaceTime:
    most = max(places, key=lambda one: one.ps)
    ps, runs = (float(np.sum([getattr(one, name) for one in places])) for name in ("ps", "runs"))
    return PlaceTime(most.part, most.program, most.name, most.line, most.sizes, ps, runs)


def deviation(sample: Sample) -> float:
    """The standard deviation of the ordinary steps."""
    return float(np.sqrt(sample.variance))
