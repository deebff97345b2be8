"""The answer of the comparison of a run with a base.

An object; times are whole picoseconds per step and device that takes part:

* `summary` {id: {base, run, delta, low, high}} of `compared_ps`, `step_time_ps` and every part of the time budget with
  `between_steps_ps`. `compared_ps` is the time from step to step, or the step if nothing is between steps (`compared`).
  `low` and `high` are the interval of `delta`, null with too few steps; of a side without steps all is null. Two
  recordings without steps are compared as one step each;
* `compared`: "step", "time from step to step" or "recording"; "execution" if a side has no steps: then all times are
  per execution of the program with most time in both;
* `typical` {base, run: {median_ps, single_steps, excess_ps_per_step, period}}: the median from step to step, null
  without steps, the numbers of the steps that are far longer, what they add to the average step, and every how many
  steps they come, null if irregular;
* `matched` {base, run}: share of each side's time of ops in programs that both runs have, 0 to 1; null without ops;
* `caution`: a sentence to show above all figures if little is matched, else null;
* `contributions`: DataTable; `delta_ps_per_step` adds up to the difference of `compared_ps`, the rest is a row of its
  own; empty if a side has no steps;
* `programs`, `ops`, `memory`, `environment`: DataTables;
* `headline` {text, tone: "same" | "slower" | "faster" | "unknown"};
* `noise` {floor_ps, steps: {base, run}}: differences below `floor_ps` are noise whatever the steps say;
* `recorded_steps` {base, run}: the steps of each recording, by which its totals may be divided; null without any;
* `labels` {id: {name, help}} of the categories and parts of the time budget; `groups`: its categories with the ids of
  their parts, in the order of display;
* `notes` [sentences]: what could not be compared, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES
from tpu_profile_plugin.analysis.compare.contributions import Contribution, kind_of
from tpu_profile_plugin.analysis.compare.host_work import program_name
from tpu_profile_plugin.analysis.compare.match import Match
from tpu_profile_plugin.analysis.compare.run_work import RunWork, WorkedOp
from tpu_profile_plugin.analysis.summary.framework import NAMES
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.facts import lacks_devices
from tpu_profile_plugin.run.figures.comparison import (
    LABELS_BY_ID,
    Comparison,
    RunSide,
    compare_runs,
    difference,
    longest_first,
    op_names,
    what,
)
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, attributes, flags, numbers, texts
from tpu_profile_plugin.tools.common.steps import CATEGORY_LABELS
from tpu_profile_plugin.tools.payload import Json
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
    _BASE,
    _RUN,
    texts("where", "Category", "Id of the category of time."),
    texts("part", "Part", "Id of the part of the category; empty for ops."),
    numbers("low_ps", "From", "ps", "Lower end of the interval of the difference; empty with too few steps."),
    numbers("high_ps", "To", "ps", "Upper end of the interval."),
    flags("certain", "Beyond noise", "The difference exceeds how far steps and captures vary."),
    texts("ops", "Ops", "Instructions of the run, or of the base if removed: the 20 with most time."),
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


def build(run: Run, query: Query) -> Json:
    """The differences between `query.base` and the run."""
    if query.base is None:
        raise BadRequest("Parameter 'base' is missing: the run to compare with.", parameter="base")
    comparison = compare_runs(query.base, run)
    sides, works = comparison.sides, comparison.works
    return Json(
        {
            "summary": _summary(comparison),
            "compared": comparison.compared,
            "typical": dict(zip(("base", "run"), map(_typical, works), strict=True)),
            "matched": dict(zip(("base", "run"), comparison.matched, strict=True)),
            "caution": comparison.caution,
            "contributions": _contributions(comparison.changes),
            "programs": _programs(*works, comparison.programs, comparison.matches),
            "ops": _ops(comparison.matches),
            "memory": _memory(sides[0].memory, sides[1].memory, comparison.programs),
            "environment": _environment(sides),
            "headline": comparison.headline._asdict(),
            "noise": {
                "floor_ps": round(comparison.floor_ps),
                "steps": {"base": works[0].steps, "run": works[1].steps},
            },
            "recorded_steps": {"base": sides[0].recorded_steps, "run": sides[1].recorded_steps},
            "labels": {key: {"name": label.name, "help": label.sentence} for key, label in LABELS_BY_ID.items()},
            "groups": CATEGORY_LABELS,
            "notes": comparison.notes,
        }
    )


def _summary(comparison: Comparison) -> dict[str, Any]:
    base, run = comparison.works
    pairs = {"step_time_ps": (base.step, run.step)}
    pairs |= {f"{name}_ps": (base.parts[i], run.parts[i]) for i, name in enumerate(CATEGORIES)}
    pairs[f"{BETWEEN}_ps"] = base.between, run.between
    has = base.steps > 0, run.steps > 0
    times = {"compared_ps": comparison.length, **{name: difference(*pair, has) for name, pair in pairs.items()}}
    return {name: time._asdict() for name, time in times.items()}


def _typical(work: RunWork) -> dict[str, Any]:
    """The median step and the steps far above it; null without steps."""
    known = work.outliers
    return {
        "median_ps": round(known.median_ps) if known.median_ps else None,
        "single_steps": list(known.numbers),
        "excess_ps_per_step": round(known.excess_ps_per_step),
        "period": known.period,
    }


def _contributions(changes: Sequence[Contribution]) -> Table:
    return Table(
        CONTRIBUTIONS,
        {
            "what": [what(one) for one in changes],
            **attributes(changes, "kind", "low_ps", "high_ps", "certain"),
            "delta_ps_per_step": [one.delta_ps for one in changes],
            "base_ps_per_step": [round(one.base_ps) for one in changes],
            "run_ps_per_step": [round(one.run_ps) for one in changes],
            "where": [one.category for one in changes],
            "part": [one.part for one in changes],
            "ops": [", ".join(op_names(one)) for one in changes],
        },
    )


def _programs(base: RunWork, run: RunWork, programs: Mapping[str, str], matches: Sequence[Match]) -> Table:
    """A row per program of the run, and per program that only the base has; most difference first."""
    counterparts = {id(op) for one in matches if one.base and one.run for op in one.run}
    old, new = _by_program(base.ops), _by_program(run.ops)
    names: list[str | None] = [*new, *(None for _ in old.keys() - set(programs.values()))]
    origins = [*map(programs.get, new), *sorted(old.keys() - set(programs.values()))]
    pairs = list(zip(names, origins, strict=True))
    before = [[] if origin is None else old.get(origin, []) for _, origin in pairs]
    after = [[] if name is None else new[name] for name in names]
    table = Table(
        PROGRAMS,
        {
            "program": [name or "" for name in names],
            "base_program": [origin or "" for origin in origins],
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


def _by_program(ops: Sequence[WorkedOp]) -> dict[str, list[WorkedOp]]:
    by_program: dict[str, list[WorkedOp]] = {}
    for op in ops:
        by_program.setdefault(op.program, []).append(op)
    return by_program


def _time(ops: Sequence[WorkedOp]) -> float:
    return sum(op.ps for op in ops)


def _times(base: Iterable[float], run: Iterable[float]) -> dict[str, list[int]]:
    before, after = list(map(round, base)), list(map(round, run))
    delta = [new - old for old, new in zip(before, after, strict=True)]
    return {"base_ps_per_step": before, "run_ps_per_step": after, "delta_ps_per_step": delta}


def _most_difference_first(table: Table, difference: str) -> Table:
    """The rows by absolute difference, descending, then by the name in the first column."""
    keys = list(zip((-np.abs(table[difference])).tolist(), table.data[0], strict=True))
    return table.take(sorted(range(len(table)), key=keys.__getitem__))


def _ops(matches: Sequence[Match]) -> Table:
    """One row per match, most difference first."""
    names = [tuple(_joined(op.name for op in longest_first(side)) for side in (one.run, one.base)) for one in matches]
    most = [max((*one.run, *one.base), key=lambda op: op.ps) for one in matches]
    table = Table(
        OPS,
        {
            "name": [new or old for new, old in names],
            "base_name": [old for _, old in names],
            "program": [op.program for op in most],
            "category": [op.print.category for op in most],
            "framework_op": [op.print.framework for op in most],
            "source": [op.source for op in most],
            "kind": [_kind(one) for one in matches],
            **_times((_time(one.base) for one in matches), (_time(one.run) for one in matches)),
            "base_runs": [sum(op.runs for op in one.base) for one in matches],
            "run_runs": [sum(op.runs for op in one.run) for one in matches],
            "module": [_joined(op.module for op in one.run) for one in matches],
            "base_module": [_joined(op.module for op in one.base) for one in matches],
        },
    )
    return _most_difference_first(table, "delta_ps_per_step").take(range(min(len(table), MOST_OPS)))


def _kind(match: Match) -> str:
    """What changed; "same" if nothing but the time did."""
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
