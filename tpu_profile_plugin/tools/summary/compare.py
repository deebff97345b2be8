"""The comparison of a run with a base: what changed, what contributes to it, and whether it is more than noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES
from tpu_profile_plugin.analysis.compare.contributions import kind_of
from tpu_profile_plugin.analysis.compare.host_work import program_name
from tpu_profile_plugin.analysis.compare.match import Match, by_key
from tpu_profile_plugin.analysis.compare.run_work import RunWork, WorkedOp
from tpu_profile_plugin.analysis.summary.framework import NAMES
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.facts import lacks_devices
from tpu_profile_plugin.run.figures.comparison import (
    LABELS_BY_ID,
    Comparison,
    Difference,
    RunSide,
    compare_runs,
    difference,
    longest_first,
    op_names,
    what,
)
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table, attributes, flags, numbers, texts
from tpu_profile_plugin.tools.common.steps import CATEGORY_LABELS, BudgetCategory
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool

# The columns of the tables that compare two runs; times are per step and device that takes part.

_BASE = numbers("base_ps_per_step", "Base", "ps", "Time per step and device that takes part, in the base.")
_RUN = numbers("run_ps_per_step", "Run", "ps", "Time per step and device that takes part, in the run.")
_DELTA = numbers("delta_ps_per_step", "Difference", "ps", "Run minus base.")

CONTRIBUTIONS = (
    texts("what", "What", "The ops, programs or part of the step that changed."),
    texts("kind", "Change", "slower, faster, added, removed, split, merged, dtype_changed, shape_changed, more_often, "
          "fewer_often, more_executions, fewer_executions (of their program); single_steps: far above the median; "
          "machine: unchanged ops that all changed by one factor; rest: smaller changes and roundings."),
    numbers("delta_ps_per_step", "Difference", "ps", "What it adds to the compared time; the rows add up."),
    numbers("percent", "Share", "%", "Share of the difference of the compared time; empty within noise."),
    _BASE,
    _RUN,
    texts("line", "Place", "File and line of the ops, or the function of the program; empty if unknown, or several."),
    texts("where", "Category", "Category of the time budget."),
    texts("part", "Part", "Id of the part of the category; empty for ops."),
    numbers("low_ps", "From", "ps", "Lower end of the interval of the difference; empty with too few steps."),
    numbers("high_ps", "To", "ps", "Upper end of the interval."),
    flags("certain", "Beyond noise", "The difference exceeds how far steps and captures vary."),
    texts("ops", "Ops", "Instructions of the run, or of the base if removed: the 20 with most time."),
    texts("event", "Event", "What the run's recording calls it, or its op that differs most; empty if it has none."),
    texts("base_event", "Event in the base", "The same of the base."),
)  # fmt: skip
PROGRAMS = (
    texts("program", "Program", "Name in the run; in the base if it was removed."),
    texts("base_program", "In the base", "Name of the program that it corresponds to."),
    texts("kind", "Change", "same, renamed, added or removed."),
    _BASE,
    _RUN,
    _DELTA,
    numbers("ops", "Ops", "", "Distinct ops in the run."),
    numbers("matched", "Matched", "", "Ops with a counterpart in the base."),
)
OPS = (
    texts("name", "Op", "Instructions in the run, longest first; in the base if removed."),
    texts("kind", "Change", "As in the contributions; same if nothing but the time differs."),
    _DELTA,
    _BASE,
    _RUN,
    texts("base_name", "In the base", "Instructions that they correspond to."),
    texts("source", "Source", "File and line."),
    texts("framework_op", "Framework op", "The op that it was compiled from."),
    texts("category", "Category", "HLO category."),
    texts("program", "Program", "Program, without id."),
    numbers("base_runs", "Runs, base", "", "Per step and device that takes part."),
    numbers("run_runs", "Runs", "", "Per step and device that takes part."),
    texts("module", "Module", "Program of the run with its id, as in other tools."),
    texts("base_module", "Module in the base", "Program of the base with its id."),
)
MEMORY = (
    texts("program", "Program", "Name in the run."),
    numbers("base_bytes", "Base", "bytes", "Most memory that the program needs."),
    numbers("run_bytes", "Run", "bytes", "Most memory that it needs in the run."),
    numbers("delta_bytes", "Difference", "bytes", "Run minus base."),
)
ENVIRONMENT = (
    texts("what", "What", "A property of the run."),
    texts("base", "Base", "In the base."),
    texts("run", "Run", "In the run."),
    flags("same", "Same", "Whether both are equal."),
)

MOST_OPS = 2000


@dataclass(frozen=True)
class ComparedSide:
    """One of two runs that are compared.

    Attributes:
      steps: number of compared steps, 0 without any; two recordings without steps are compared as one step each.
      recorded_steps: steps of the recording, by which its totals may be divided; null without any.
      matched: share of its time of ops that is in programs that both runs have, 0 to 1; null without ops.
      median_ps: median time from step to step; null without steps.
      single_steps: numbers of the steps that are far longer.
      excess_ps_per_step: what these add to the average step.
      period: every how many steps they come; null if irregular.
    """

    steps: int
    recorded_steps: int | None
    matched: float | None
    median_ps: int | None
    single_steps: Sequence[int]
    excess_ps_per_step: int
    period: int | None


@dataclass(frozen=True)
class ComparedRuns(Document):
    """Changes from a base to the run; times are per step and device that takes part.

    Attributes:
      compared: "step", "time from step to step" (if something is between steps) or "recording"; "execution" if a side
        has no steps: then all times are per execution of the program with most time in both.
      length: the time that is compared.
      step: the step.
      parts: by id of the part of the time budget and of the time between steps.
      caution: a sentence to show above all figures if the runs have little in common.
      contributions: their differences add up to that of `length`, the rest is the last row; empty if a side has no
        steps.
      headline: the difference in a sentence.
      tone: of the run; "same" for differences that are no more than noise.
      floor_ps: differences below it are noise whatever the steps say.
      groups: the categories of time with their parts, in the order of display.
      notes: what could not be compared, and why.
    """

    compared: str
    length: Difference
    step: Difference
    parts: Mapping[str, Difference]
    base: ComparedSide
    run: ComparedSide
    caution: str | None
    contributions: Table
    programs: Table
    ops: Table
    memory: Table
    environment: Table
    headline: str
    tone: Literal["same", "slower", "faster", "unknown"]
    floor_ps: int
    groups: Sequence[BudgetCategory]
    notes: Sequence[str]


def build(run: Run, query: Query) -> ComparedRuns:
    """The differences between `query.base` and the run."""
    if query.base is None:
        raise BadRequest("Parameter 'base' is missing: the run to compare with.", parameter="base")
    found = compare_runs(query.base, run)
    has = found.base.steps > 0, found.run.steps > 0
    parts = zip(CATEGORIES, found.base.parts, found.run.parts, strict=False)
    return ComparedRuns(
        compared=found.compared,
        length=found.length,
        step=difference(found.base.step, found.run.step, has),
        parts={
            **{name: difference(old, new, has) for name, old, new in parts},
            BETWEEN: difference(found.base.between, found.run.between, has),
        },
        base=_side(found.base_side, found.base, found.matched[0]),
        run=_side(found.run_side, found.run, found.matched[1]),
        caution=found.caution,
        contributions=_contributions(found),
        programs=_programs(found),
        ops=_ops(found.matches),
        memory=_memory(found.base_side.memory, found.run_side.memory, found.programs),
        environment=_environment(found.sides),
        headline=found.headline.text,
        tone=found.headline.tone,
        floor_ps=round(found.floor_ps),
        groups=CATEGORY_LABELS,
        notes=found.notes,
    )


def _side(side: RunSide, work: RunWork, matched: float | None) -> ComparedSide:
    outliers = work.outliers
    return ComparedSide(
        steps=work.steps,
        recorded_steps=side.recorded_steps,
        matched=matched,
        median_ps=round(outliers.median_ps) if outliers.median_ps else None,
        single_steps=outliers.numbers,
        excess_ps_per_step=round(outliers.excess_ps_per_step),
        period=outliers.period,
    )


def _contributions(found: Comparison) -> Table:
    changes = found.changes
    return Table(
        CONTRIBUTIONS,
        {
            "what": list(map(what, changes)),
            **attributes(changes, "kind", "low_ps", "high_ps", "certain"),
            "delta_ps_per_step": [change.delta_ps for change in changes],
            "percent": list(map(found.percent, changes)),
            "line": [change.line or None for change in changes],
            "event": [change.events[1] or None for change in changes],
            "base_event": [change.events[0] or None for change in changes],
            "base_ps_per_step": [round(change.base_ps) for change in changes],
            "run_ps_per_step": [round(change.run_ps) for change in changes],
            "where": [LABELS_BY_ID[change.category].name if change.category else None for change in changes],
            "part": [change.part or None for change in changes],
            "ops": [", ".join(op_names(change)) or None for change in changes],
        },
    )


def _programs(found: Comparison) -> Table:
    """A row per program of the run, and per program that only the base has; most difference first."""
    counterparts = {id(op) for match in found.matches if match.base and match.run for op in match.run}
    old, new = (by_key(work.ops, lambda op: op.program) for work in found.works)
    gone = sorted(old.keys() - set(found.programs.values()))
    pairs = [*((name, found.programs.get(name)) for name in new), *((None, name) for name in gone)]
    before = [[] if origin is None else old.get(origin, []) for _, origin in pairs]
    after = [[] if name is None else new[name] for name, _ in pairs]
    table = Table(
        PROGRAMS,
        {
            "program": [name or None for name, _ in pairs],
            "base_program": [origin or None for _, origin in pairs],
            "kind": [
                "removed" if name is None else "added" if origin is None else "same" if name == origin else "renamed"
                for name, origin in pairs
            ],
            **_times(map(_time, before), map(_time, after)),
            "ops": list(map(len, after)),
            "matched": [sum(id(op) in counterparts for op in ops) for ops in after],
        },
    )
    return _most_difference_first(table, "delta_ps_per_step")


def _time(ops: Sequence[WorkedOp]) -> float:
    return sum(op.ps for op in ops)


def _times(base: Iterable[float], run: Iterable[float]) -> dict[str, list[int]]:
    before, after = list(map(round, base)), list(map(round, run))
    delta = [new - old for old, new in zip(before, after, strict=True)]
    return {"base_ps_per_step": before, "run_ps_per_step": after, "delta_ps_per_step": delta}


def _most_difference_first(table: Table, difference: str) -> Table:
    """The rows by absolute difference, descending, then by the name in the first column."""
    deltas, names = np.abs(table[difference]).tolist(), table.column(table.columns[0].id)
    keys = [(-delta, name or "") for delta, name in zip(deltas, names, strict=True)]
    return table.take(sorted(range(len(table)), key=keys.__getitem__))


def _ops(matches: Sequence[Match]) -> Table:
    """One row per match, most difference first."""
    names = [
        tuple(_joined(op.name for op in longest_first(side)) for side in (match.run, match.base)) for match in matches
    ]
    most = [max((*match.run, *match.base), key=lambda op: op.ps) for match in matches]
    table = Table(
        OPS,
        {
            "name": [new or old for new, old in names],
            "base_name": [old or None for _, old in names],
            "program": [op.program or None for op in most],
            "category": [op.print.category or None for op in most],
            "framework_op": [op.print.framework or None for op in most],
            "source": [op.source or None for op in most],
            "kind": list(map(_kind, matches)),
            **_times((match.ps[0] for match in matches), (match.ps[1] for match in matches)),
            "base_runs": [match.runs[0] for match in matches],
            "run_runs": [match.runs[1] for match in matches],
            "module": [_joined(op.module for op in match.run) or None for match in matches],
            "base_module": [_joined(op.module for op in match.base) or None for match in matches],
        },
    )
    return _most_difference_first(table, "delta_ps_per_step").take(range(min(len(table), MOST_OPS)))


def _kind(match: Match) -> str:
    """The kind of change; "same" if nothing but the time changed."""
    kind = kind_of(match)
    return "same" if match.relation == "same" and kind in ("slower", "faster") else kind


def _joined(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _memory(base: Mapping[str, int], run: Mapping[str, int], programs: Mapping[str, str]) -> Table:
    """The largest program of each name."""
    old, new = _largest(base), _largest(run)
    names = [*new, *(name for name in old if name not in programs.values() and name not in new)]
    before = [old.get(programs.get(name, name) if name in new else name) for name in names]
    after = [new.get(name) for name in names]
    delta = [(large or 0) - (small or 0) for small, large in zip(before, after, strict=True)]
    table = Table(MEMORY, {"program": names, "base_bytes": before, "run_bytes": after, "delta_bytes": delta})
    return _most_difference_first(table, "delta_bytes")


def _largest(memory: Mapping[str, int]) -> dict[str, int]:
    peaks: dict[str, int] = {}
    for name, peak in memory.items():
        peaks[program_name(name)] = max(peak, peaks.get(program_name(name), 0))
    return peaks


def _environment(sides: Sequence[RunSide]) -> Table:
    base, run = (_facts(one) for one in sides)
    same = [base[name] == run[name] for name in base]
    return Table(
        ENVIRONMENT, {"what": list(base), "base": list(base.values()), "run": list(run.values()), "same": same}
    )


def _facts(side: RunSide) -> dict[str, str]:
    return {
        "Device type": side.environment.device_type,
        "Devices": str(len(side.budget.devices)),
        "Hosts": str(side.hosts),
        "Frameworks": ", ".join(NAMES[name] for name in side.frameworks),
        "Steps": str(len(side.budget)),
        "Steps from": next(iter(side.budget.sources), ""),
    }


TOOL = Tool(
    id="compare",
    title="Compare",
    group="Summary",
    summary="What changed against another run: where the step got slower or faster, and by how much.",
    build=build,
    hosts=HostChoice.ALL_ONLY,
    lacks=lacks_devices,
    compares=True,
)
