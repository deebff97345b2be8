"""What if: the average step without some of what it does, and what would limit it then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, UNKNOWN
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.op_names import shown_event
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICES, NO_LAUNCHES, NO_STEPS
from tpu_profile_plugin.analysis.replay.edits import Edit
from tpu_profile_plugin.analysis.replay.what_if import Confidence, WhatIf
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.catalogue.steps import LIMITS
from tpu_profile_plugin.run.facts import frameworks_of, lacks_devices
from tpu_profile_plugin.run.figures.budget import run_budget
from tpu_profile_plugin.run.figures.findings import gathered
from tpu_profile_plugin.run.figures.replay import (
    Replay,
    Suggestion,
    edit_of,
    factors_in,
    keys_of,
    places_in,
    run_replay,
    suggestions,
)
from tpu_profile_plugin.run.figures.spending import run_notes
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.steps import CATEGORY_LABELS, BudgetCategory
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import MIB

_MOST_AT_ONCE = 16 * MIB
"""Planes of as many bytes are replayed, with what findings suggest, in half a second."""
_LABELS = {
    "input_free": "Waits for input, and copies to devices, take no time",
    "hide_collectives": "Collectives take no time beyond waits for late devices",
    "ranks_equal": "What devices do is spread evenly over them",
}


@dataclass(frozen=True)
class StepParts:
    """A step by its parts; times are picoseconds.

    Attributes:
      length_ps: with the time until the next step where the time budget counts that.
      median_ps: median of the steps, averaged over the devices that take part; null if nothing is replayed.
      base_ps: `length_ps` without what was not recorded.
      average_ps: by id of the part; without those that are 0.
    """

    length_ps: float
    median_ps: float | None
    base_ps: float
    average_ps: dict[str, float]


@dataclass(frozen=True)
class ReplayedStep:
    """The step with the changes.

    Attributes:
      low_ps: of the interval of its length, as is `high_ps`; all three are equal but where devices share a CPU.
      confidence: "high", "medium" or "low": how far the recording tells.
      reasons: what it lacks, as sentences.
      limits: the largest parts of the chain that determines how long the step takes, most time first.
    """

    parts: StepParts
    low_ps: float
    high_ps: float
    confidence: Confidence
    reasons: Sequence[str]
    limits: Table


@dataclass(frozen=True)
class UnknownPlace:
    """A place of the address that nothing in the recording is called.

    Attributes:
      near: names that are.
    """

    place: str
    near: Sequence[str]


@dataclass(frozen=True)
class TriedChange:
    """A change that a finding or a large part of the step suggests, tried alone.

    Attributes:
      finding: id of the finding; "" for a part of the step.
      title: of the finding; "" for a part of the step.
      label: what changes, in words; "" if no change stands for the finding.
      keys: the change as keys of the page's address; empty if none does.
      part_ps: time that the finding says could be gained at most; null for a part of the step.
      gain_ps: what the average step gains with this change alone; null if that is unknown.
      low_ps: of the interval of the gain, as is `high_ps`.
      confidence: "" if the gain is unknown.
      cannot: why it is; "" if it is known.
    """

    finding: str
    title: str
    label: str
    keys: Mapping[str, str]
    part_ps: float | None
    gain_ps: float | None
    low_ps: float | None
    high_ps: float | None
    confidence: str
    cannot: str


@dataclass(frozen=True)
class StepWhatIf(Document):
    """The average step without some of what it does; times are picoseconds.

    Attributes:
      base: what shares are of: "step", "time from step to step" or "recording".
      groups: the categories of the parts, in the order of display.
      before: the step as recorded.
      large: to replay the recording takes seconds, which a page does when it is asked to.
      after: the step with all changes; null if it cannot be told, or nothing is replayed.
      cannot: why it cannot be told; "" if it can.
      remedy: how to record what would tell.
      unknown: places that are left out of the changes.
      tried: changes worth a try, findings first; empty if nothing is replayed.
      notes: sentences.
    """

    base: str
    groups: Sequence[BudgetCategory]
    before: StepParts
    large: bool
    after: ReplayedStep | None
    cannot: str
    remedy: str
    unknown: Sequence[UnknownPlace]
    tried: Sequence[TriedChange]
    notes: Sequence[str]


def build(run: Run, query: Query) -> StepWhatIf:
    """The step before and after the changes of the query. Raises NoData without devices or steps, BadRequest."""
    if query.flag("recorded_only"):
        return _recorded(run)
    flags = (query.flag("hide_collectives"), query.flag("ranks_equal"), query.flag("input_free"))
    edit = edit_of(places_in(query.text("without")), factors_in(query.text("scale")), *flags)
    replay = run_replay(run)
    budget = replay.graph.budget
    missing = replay.unknown(edit)
    edit = replace(edit, scale=tuple(one for one in edit.scale if one[0] not in missing))
    after, cannot = _after(replay, edit)
    return StepWhatIf(
        base=budget.base,
        groups=CATEGORY_LABELS,
        before=_before(budget, replay.median_ps),
        large=_is_large(run),
        after=after,
        cannot=cannot,
        remedy=NO_LAUNCHES.remedy.of(frameworks_of(run)) if cannot else "",
        unknown=[UnknownPlace(place, near) for place, near in missing.items()],
        tried=[_tried(one) for one in suggestions(run)],
        notes=[*run_notes(run, budget), *run.warnings],
    )


def _recorded(run: Run) -> StepWhatIf:
    """The step as recorded alone, which takes a third of the time. Raises as `build`."""
    budget = run_budget(run)
    if not budget.devices:
        raise NO_DEVICES.error()
    if not len(budget):
        raise NO_STEPS.error()
    notes = [*run_notes(run, budget), *run.warnings]
    return StepWhatIf(budget.base, CATEGORY_LABELS, _before(budget, None), _is_large(run), None, "", "", [], [], notes)


def _is_large(run: Run) -> bool:
    return sum(plane.bytes for plane in run.facts.planes) > _MOST_AT_ONCE


def _before(budget: RunBudget, median_ps: float | None) -> StepParts:
    average = {name: ps for name in (BETWEEN, *CATEGORIES) if (ps := budget.part_ps(name))}
    return StepParts(budget.step_ps + budget.between_step_ps, median_ps, budget.base_ps, average)


def _after(replay: Replay, edit: Edit) -> tuple[ReplayedStep | None, str]:
    """The step with an edit, or why it is unknown."""
    try:
        found = replay.what_if(edit, parts=True)
    except NoData as error:
        return None, str(error)
    average = {key: ps for key, ps in zip((*CATEGORIES, BETWEEN), found.parts_ps, strict=True) if ps}
    parts = StepParts(found.after_ps, found.after_median_ps, found.after_ps - average.get(UNKNOWN, 0.0), average)
    return ReplayedStep(parts, found.low_ps, found.high_ps, found.confidence, found.reasons, _limits(found)), ""


def _limits(found: WhatIf) -> Table:
    """What limits the step with an edit."""
    limits = found.limits
    columns = [
        [one.what for one in limits],
        [shown_event(one.name) for one in limits],
        [one.time_ps for one in limits],
        [100 * one.time_ps / found.after_ps if found.after_ps else 0.0 for one in limits],
    ]
    return Table(LIMITS[1:], columns, name="limits")


def _tried(one: Suggestion) -> TriedChange:
    found, rule = one.found, one.finding
    return TriedChange(
        finding="" if rule is None else rule.id,
        title="" if rule is None else rule.title,
        label="" if one.edit is None else _words(one.edit),
        keys={} if one.edit is None else keys_of(one.edit),
        part_ps=None if rule is None else rule.finding.saving_ps,
        gain_ps=None if found is None else found.saving_ps,
        low_ps=None if found is None else found.step_ps - found.high_ps,
        high_ps=None if found is None else found.step_ps - found.low_ps,
        confidence="" if found is None else found.confidence,
        cannot=one.cannot,
    )


def _words(edit: Edit) -> str:
    """What changes: "without load_batch (train.py:9)"."""
    flags = [label for name, label in _LABELS.items() if getattr(edit, name)]
    places = [f"Without {place}" if not factor else f"{factor:g} times {place}" for place, factor in edit.scale]
    return "; ".join([*places, *flags])


TOOL = Tool(
    id="what_if",
    title="What if",
    group="Summary",
    summary="How long the step would take without some of what it does, and what would limit it then.",
    build=build,
    needs=(gathered,),
    lacks=lacks_devices,
    params=(
        Param("without", "string", "", "Places that take no time, separated by `;`."),
        Param("scale", "string", "", "Places and the factor of their time, `PLACE=0.5`, separated by `;`."),
        Param("hide_collectives", "bool", False, "Collectives take no time beyond waits for late devices."),
        Param(
            "ranks_equal",
            "bool",
            False,
            "What devices do is spread evenly over them: each op takes the mean of all devices.",
        ),
        Param("input_free", "bool", False, "Waits for input, and copies to devices, take no time."),
        Param("recorded_only", "bool", False, "The step as recorded: nothing is replayed, and changes are ignored."),
    ),
    needs_server="Each change is replayed by a server.",
)
