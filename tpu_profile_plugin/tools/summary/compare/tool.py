"""The answer of the comparison of a run with a base.

An object; times are whole picoseconds per step and device unless said otherwise:

* `summary` {id: {base, run, delta, low, high}} of `step_time_ps` and of every part of the time budget; `low` and `high`
  are the interval of `delta`, null with fewer than two steps on a side; of a side without steps all is null. Two
  recordings without steps are compared as one step each;
* `contributions`: DataTable; `delta_ps_per_step` adds up to the difference of the step, the rest is a row of its own;
  empty if a side has no steps;
* `programs`, `ops`, `memory`, `environment`: DataTables;
* `headline` {text, tone: "same" | "slower" | "faster" | "unknown"};
* `noise` {floor_ps, steps: {base, run}}: differences below `floor_ps` are noise whatever the steps say;
* `recorded_steps` {base, run}: the steps of each recording, by which its totals may be divided; null without any;
* `labels` {id: {name, help}} of the parts of the time budget;
* `notes` [sentences]: what could not be compared, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES
from tpu_profile_plugin.analysis.compare.contributions import Contribution, kind_of
from tpu_profile_plugin.analysis.compare.fingerprint import program_name
from tpu_profile_plugin.analysis.compare.match import Match
from tpu_profile_plugin.analysis.compare.noise import Sample, welch
from tpu_profile_plugin.analysis.compare.run import CONTAINERS, RunWork, WorkedOp
from tpu_profile_plugin.analysis.summary.framework import NAMES
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.budget import LABELS
from tpu_profile_plugin.run.comparison import RunSide, compare_runs
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.devices import devices_available
from tpu_profile_plugin.tools.payload import Raw, encode_object
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.summary.compare.columns import CONTRIBUTIONS, ENVIRONMENT, MEMORY, OPS, PROGRAMS
from tpu_profile_plugin.tools.summary.compare.texts import headline, notes, what
from tpu_profile_plugin.tools.tool import HostChoice, Tool

Rows = Sequence[Sequence[object]]
MOST_CONTRIBUTIONS, MOST_OPS, MOST_NAMES = 200, 2000, 20
"""Rows; smaller contributions are one row. Ops named with a contribution."""


def build(run: Run, query: Query) -> Raw:
    """The differences between `query.base` and the run."""
    if query.base is None:
        raise BadRequest("Parameter 'base' is missing: the run to compare with.", parameter="base")
    found = compare_runs(query.base, run)
    sides, works = (found.base_side, found.run_side), (found.base, found.run)
    changes = _shortened(found.contributions)
    return Raw(
        encode_object(
            {
                "summary": _summary(*works),
                "contributions": Table.from_rows(CONTRIBUTIONS, (_contribution(one) for one in changes)),
                "programs": Table.from_rows(PROGRAMS, _programs(*works, found.programs, found.matches)),
                "ops": Table.from_rows(OPS, _ops(found.matches)),
                "memory": Table.from_rows(MEMORY, _memory(sides[0].memory, sides[1].memory, found.programs)),
                "environment": Table.from_rows(ENVIRONMENT, _environment(sides)),
                "headline": headline(sides, works, changes, found.floor_ps),
                "noise": {
                    "floor_ps": round(found.floor_ps),
                    "steps": {"base": works[0].step.count, "run": works[1].step.count},
                },
                "recorded_steps": {"base": sides[0].recorded_steps, "run": sides[1].recorded_steps},
                "labels": {key: {"name": label.name, "help": label.sentence} for key, label in LABELS.items()},
                "notes": [*notes(sides), *found.warnings],
            }
        )
    )


def _shortened(found: Sequence[Contribution]) -> list[Contribution]:
    """At most `MOST_CONTRIBUTIONS`; smaller ones become part of the rest."""
    if not found:
        return []
    *changes, rest = found
    small = changes[MOST_CONTRIBUTIONS:]
    left = rest.delta_ps + sum(one.delta_ps for one in small)
    return [*changes[:MOST_CONTRIBUTIONS], Contribution(rest.what, rest.kind, left, 0.0, 0.0, "")]


def _summary(base: RunWork, run: RunWork) -> dict[str, Any]:
    pairs = {"step_time_ps": (base.step, run.step)}
    pairs |= {f"{name}_ps": (base.parts[i], run.parts[i]) for i, name in enumerate(CATEGORIES)}
    return {name: _difference(*pair) for name, pair in pairs.items()}


def _difference(old: Sample, new: Sample) -> dict[str, int | None]:
    interval = welch(old, new)
    low, high = (round(interval[0]), round(interval[1])) if interval else (None, None)
    start, end = (round(one.mean) if one.count else None for one in (old, new))
    delta = None if start is None or end is None else end - start
    return {"base": start, "run": end, "delta": delta, "low": low, "high": high}


def _contribution(one: Contribution) -> tuple[object, ...]:
    times = one.delta_ps, round(one.base_ps), round(one.run_ps)
    return what(one), one.kind, *times, one.category, one.low_ps, one.high_ps, one.certain, _names(one.matches)


def _names(matches: Sequence[Match]) -> str:
    """The ops with most time, joined by commas."""
    ops = [op for one in matches for op in one.run] or [op for one in matches for op in one.base]
    ordered = sorted(ops, key=lambda op: -op.ps)
    return ", ".join([*dict.fromkeys(op.name for op in ordered if op.name != CONTAINERS)][:MOST_NAMES])


def _programs(base: RunWork, run: RunWork, programs: Mapping[str, str], matches: Sequence[Match]) -> Rows:
    """One row per program of the run, then those that are only in the base; most difference first."""
    counterparts = {id(op) for one in matches if one.base and one.run for op in one.run}
    old, new = _by_program(base.ops), _by_program(run.ops)
    rows: list[tuple[str, str, str, int, int, int, int, int]] = []
    for name, ops in new.items():
        origin = programs.get(name)
        before, after = sum(op.ps for op in old.get(origin or "", ())), sum(op.ps for op in ops)
        kind = "added" if origin is None else "same" if origin == name else "renamed"
        matched = sum(id(op) in counterparts for op in ops)
        rows.append((name, origin or "", kind, *_times(before if origin else 0.0, after), len(ops), matched))
    for name in old.keys() - set(programs.values()):
        rows.append(("", name, "removed", *_times(sum(op.ps for op in old[name]), 0.0), 0, 0))
    return sorted(rows, key=lambda row: (-abs(row[5]), row[0], row[1]))


def _by_program(ops: Sequence[WorkedOp]) -> dict[str, list[WorkedOp]]:
    found: dict[str, list[WorkedOp]] = {}
    for op in ops:
        found.setdefault(op.program, []).append(op)
    return found


def _times(base: float, run: float) -> tuple[int, int, int]:
    return round(base), round(run), round(run) - round(base)


def _ops(matches: Sequence[Match]) -> Rows:
    """One row per match, most difference first."""
    rows: list[tuple[Any, ...]] = []
    for one in matches:
        before, after = (sum(op.ps for op in side) for side in (one.base, one.run))
        most = max((*one.run, *one.base), key=lambda op: op.ps)
        longest = [sorted(side, key=lambda op: -op.ps) for side in (one.run, one.base)]
        names = [", ".join(dict.fromkeys(op.name for op in side)) for side in longest]
        kind = "same" if one.relation == "same" and kind_of(one) in ("slower", "faster") else kind_of(one)
        rows.append(
            (
                names[0] or names[1],
                names[1],
                most.program,
                most.print.category,
                most.print.framework,
                most.print.source,
                kind,
                *_times(before, after),
                sum(op.runs for op in one.base),
                sum(op.runs for op in one.run),
                *(", ".join(dict.fromkeys(op.module for op in side)) for side in (one.run, one.base)),
            )
        )
    rows.sort(key=lambda row: (-abs(row[9]), row[0]))
    return rows[:MOST_OPS]


def _memory(base: Mapping[str, int], run: Mapping[str, int], programs: Mapping[str, str]) -> Rows:
    """The largest program of each name."""
    old, new = _largest(base), _largest(run)
    pairs: list[tuple[str, int | None, int | None]] = [
        (name, old.get(programs.get(name, name)), peak) for name, peak in new.items()
    ]
    pairs += [(name, peak, None) for name, peak in old.items() if name not in programs.values() and name not in new]
    rows = [(name, before, after, (after or 0) - (before or 0)) for name, before, after in pairs]
    return sorted(rows, key=lambda row: (-abs(row[3]), row[0]))


def _largest(memory: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, peak in memory.items():
        found[program_name(name)] = max(peak, found.get(program_name(name), 0))
    return found


def _environment(sides: Sequence[RunSide]) -> Rows:
    base, run = (_facts(one) for one in sides)
    return [(name, base[name], run[name], base[name] == run[name]) for name in base]


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
    available=devices_available,
    compares=True,
)
