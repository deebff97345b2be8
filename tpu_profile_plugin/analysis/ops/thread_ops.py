"""Ops of host threads with total and self time, and calls of tf.functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.attribution import FRAMEWORK_OP, named_ops
from tpu_profile_plugin.analysis.common.op_names import (
    INPUT_PIPELINE,
    PYTORCH,
    UNKNOWN,
    OpName,
    is_infeed_enqueue,
    parse_op,
)
from tpu_profile_plugin.analysis.common.planes import line_of, recorded_lines
from tpu_profile_plugin.analysis.common.rows import among, row_codes
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, StatColumns
from tpu_profile_plugin.analysis.ops.op_tables import OpTable, combine
from tpu_profile_plugin.columns import EventFilter, Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64

FUNCTION_CALL = "tf_function_call"
"""Stat of events that are function calls; the value is the mode of the call."""
_STAGE = "_ipl_stage_id"
"""Stat of events that are stages of an input pipeline."""
_DROPPED = np.iinfo(np.int64).min
EXPENSIVE_SHARE = 0.2
"""Functions with at least this share of tracing and eager execution in their self time are expensive."""


@dataclass(frozen=True, slots=True)
class TfFunction:
    """One function: calls, self time (without functions it calls), and the part of it in expensive calls."""

    name: str
    calls: int
    self_ps: int
    expensive_ps: int

    @property
    def expensive_share(self) -> float:
        """Share of the self time in expensive calls, 0 to 1."""
        return self.expensive_ps / self.self_ps if self.self_ps else 0.0


def is_expensive_mode(mode: str) -> bool:
    """True for calls that trace the function or execute it eagerly."""
    return mode.startswith("traced") or mode == "eager"


def tf_functions(space: XSpace, plane: Plane) -> tuple[TfFunction, ...]:
    """The functions called on host threads, by name."""
    event, code, modes = StatColumns(space, plane, plane.events.stats, (FUNCTION_CALL,)).texts(FUNCTION_CALL)
    if not len(event):
        return ()
    line = np.searchsorted(plane.lines.event_start, event, side="right") - 1
    start = np.searchsorted(line, np.arange(len(plane.lines.name) + 1)).astype(np.int64)
    begin = np.ascontiguousarray(plane.events.begin_ps[event])
    self_ps, _, _ = _native.activity_self_times(start, begin, begin + plane.events.duration_ps[event])
    expensive = np.array([is_expensive_mode(mode) for mode in modes], np.bool_)[code]
    valid = self_ps != _DROPPED
    rows, where = np.unique(plane.events.metadata[event[valid]], return_inverse=True)
    calls = np.bincount(where, minlength=len(rows))
    total = np.bincount(where, weights=self_ps[valid], minlength=len(rows))
    expensive_ps = np.bincount(where, weights=self_ps[valid] * expensive[valid], minlength=len(rows))
    names = plane.event_metadata.names
    functions = zip(rows.tolist(), calls.tolist(), total.tolist(), expensive_ps.tolist(), strict=True)
    return combine_functions(
        [[TfFunction(names[row], n, int(ps), int(expensive_total)) for row, n, ps, expensive_total in functions]]
    )


def combine_functions(parts: Sequence[Sequence[TfFunction]]) -> tuple[TfFunction, ...]:
    totals: dict[str, TfFunction] = {}
    for function in (item for part in parts for item in part):
        total = totals.get(function.name, TfFunction(function.name, 0, 0, 0))
        totals[function.name] = TfFunction(
            function.name,
            total.calls + function.calls,
            total.self_ps + function.self_ps,
            total.expensive_ps + function.expensive_ps,
        )
    return tuple(totals[name] for name in sorted(totals))


def expensive_functions(functions: Sequence[TfFunction]) -> list[TfFunction]:
    """Functions with an expensive share of at least EXPENSIVE_SHARE, highest share first."""
    worst = [function for function in functions if function.self_ps and function.expensive_share >= EXPENSIVE_SHARE]
    return sorted(worst, key=lambda function: (-function.expensive_share, function.name))


@dataclass(frozen=True, slots=True)
class InfeedEnqueue:
    """Consecutive infeed enqueues on host threads: sums of durations and of distances between begins."""

    duration_ps: int = 0
    distance_ps: int = 0


@dataclass(frozen=True, slots=True)
class HostOps:
    """Ops of all host threads, and infeed enqueue times for the input analysis."""

    ops: OpTable = field(default_factory=OpTable)
    infeed: InfeedEnqueue = InfeedEnqueue()


@dataclass(frozen=True, slots=True)
class Runs:
    """One row per op run: the event and the op (index into `ops`, pairs of module or input stage id and name)."""

    event: I64
    op: I64
    ops: list[tuple[int, OpName]]


def declares_ops(plane: Plane) -> bool:
    """Whether events of the host plane may be ops: by their name, input stage or op."""
    declared = plane.declared
    if any(declared.stat_metadata.row(stat) is not None for stat in (FRAMEWORK_OP, _STAGE)):
        return True
    return any(parse_op(name).category != UNKNOWN for name in declared.event_metadata.names)


def ops_only(space: XSpace, plane: Plane) -> Plane:
    """The host plane reduced to events that may be ops or function calls, which are few.

    With input stages any event may be an op, see `_with_stages`.
    """
    has_stages = plane.declared.stat_metadata.row(_STAGE) is not None
    wanted = EventFilter(
        plane, event=lambda name: has_stages or parse_op(name).category != UNKNOWN, stats=(FRAMEWORK_OP, FUNCTION_CALL)
    )
    return space.filtered(wanted)[0]


def host_ops(space: XSpace, plane: Plane, eager: I64, regroup: Callable[[Runs], Runs] | None = None) -> HostOps:
    """Op metrics of the host plane; `eager` lists the events that ran eagerly.

    An event is an op run by its name or input stage; an event with a `tf_op` stat is also a run of that op. Idle time
    is the time between the first and the last op of each thread that no op covers. `regroup` gives the runs other ops.
    """
    runs = _activities(space, plane)
    if not len(runs.event):
        return HostOps()
    if regroup is not None:
        runs = regroup(runs)
    lines = recorded_lines(plane)
    line = line_of(plane, runs.event)
    keep = lines[line]
    runs = Runs(runs.event[keep], runs.op[keep], runs.ops)
    line = line[keep]
    start = np.searchsorted(line, np.arange(len(lines) + 1)).astype(np.int64)
    begin = np.ascontiguousarray(plane.events.begin_ps[runs.event])
    end = begin + plane.events.duration_ps[runs.event]
    self_ps, first, last = _native.activity_self_times(start, begin, end)
    table = _table(runs, begin, end, self_ps, among(runs.event, eager))
    # Computed per thread: the self times of a thread's ops may exceed the span of the thread.
    valid = np.flatnonzero(self_ps != _DROPPED)
    own_valid = self_ps[valid]
    _, line_own, _, _ = _native.totals_by_key(
        line[valid].astype(np.uint32), own_valid, own_valid, own_valid, len(lines)
    )
    table = table.with_total(int(np.maximum(last - first, line_own).sum()))
    return HostOps(table, _infeed(runs, begin, end, self_ps, start))


def _activities(space: XSpace, plane: Plane) -> Runs:
    """All op runs in event order; the run of an event's `tf_op` follows that of its name."""
    stat_columns = StatColumns(space, plane, plane.events.stats, (_STAGE, "_ipl_stage_cat"))
    event, code, ops = _named_ops(plane)
    stages = stat_columns.signed(_STAGE)
    if len(stages):
        event, code, ops = _with_stages(plane, stat_columns, stages, (event, code, ops))
    named = named_ops(space, plane).by("framework_op")
    framework_ops = [parse_op(op.framework_op) for op in named.ops]
    # An allocation within an op of PyTorch is no run of it.
    is_run = np.array([*(op.category != PYTORCH for op in framework_ops), False], np.bool_)
    runs = np.flatnonzero(is_run[named.op])
    event, code = np.concatenate([event, runs]), np.concatenate([code, named.op[runs].astype(np.int64) + len(ops)])
    ops += [(0, op) for op in framework_ops]
    order = np.argsort(event, kind="stable")
    return Runs(event[order], code[order], ops)


_Named: TypeAlias = tuple[I64, I64, list[tuple[int, OpName]]]


def _named_ops(plane: Plane) -> _Named:
    """Runs of the ops that events are named after: the events, ascending, their ops, and the ops."""
    ops: list[tuple[int, OpName]] = []
    of_row = np.full(len(plane.event_metadata), -1, np.int64)
    for row, name in enumerate(plane.event_metadata.names):
        if (op := parse_op(name)).category != UNKNOWN:
            of_row[row] = len(ops)
            ops.append((0, op))
    is_op = of_row >= 0
    event = np.flatnonzero(is_op[plane.events.metadata]) if is_op.any() else np.zeros(0, np.int64)
    return event, of_row[plane.events.metadata[event]], ops


def _with_stages(plane: Plane, stat_columns: StatColumns, stages: SparseColumn, named: _Named) -> _Named:
    """Adds runs of input stages: the stage's id is the module, its category the type.

    As in XProf, ids of stages and of event metadata share one number space: the first event with an id and either an
    op's name or a stage's category determines the meaning of the id, and all events with the id are its runs.
    """
    event, code, ops = named
    unstaged = ~np.isin(event, stages.event)
    event, code = event[unstaged], code[unstaged]
    _, first = row_codes(code)
    metadata = plane.event_metadata
    row_of_event = plane.events.metadata
    claims = [
        (at, int(metadata.id[row_of_event[at]]), op)
        for at, op in zip(event[first].tolist(), code[first].tolist(), strict=True)
    ]
    owners, category, texts = stat_columns.texts("_ipl_stage_cat")
    with_category = np.isin(stages.event, stat_columns.owners("_ipl_stage_cat"))
    category_of = dict(zip(owners.tolist(), category.tolist(), strict=True))
    is_named = np.array([name != "" for name in metadata.names], np.bool_)
    rows = np.flatnonzero(with_category & is_named[row_of_event[stages.event]])
    for row in rows[np.unique(stages.value[rows], return_index=True)[1]].tolist():
        of_event, stage = int(stages.event[row]), int(stages.value[row])
        claims.append((of_event, stage, len(ops)))
        kind = texts[category_of[of_event]] if of_event in category_of else ""
        ops.append((stage & (2**64 - 1), OpName(INPUT_PIPELINE, metadata.names[int(row_of_event[of_event])], kind)))
    op_of_id: dict[int, int] = {}
    for _, number, op in sorted(claims):
        op_of_id.setdefault(number, op)
    of_row = np.array([op_of_id.get(number, -1) for number in metadata.id.tolist()], np.int64)
    codes = of_row[row_of_event]
    codes[stages.event] = [op_of_id.get(number, -1) for number in stages.value.tolist()]
    runs = np.flatnonzero(codes >= 0)
    return runs, codes[runs], ops


def _table(runs: Runs, begin: I64, end: I64, self_ps: I64, eager: np.ndarray[Any, np.dtype[np.bool_]]) -> OpTable:
    keys: dict[tuple[int, str], int] = {}
    row_of_op = np.array([keys.setdefault((module, op.name), len(keys)) for module, op in runs.ops], np.int64)
    valid = np.flatnonzero(self_ps != _DROPPED)
    row = row_of_op[runs.op[valid]].astype(np.uint32)
    duration = end[valid] - begin[valid]
    occurrences, time, self_time, least = _native.totals_by_key(row, duration, self_ps[valid], duration, len(keys))
    types = [""] * len(keys)
    # The type comes from the first run that has one.
    ran = runs.op[valid]
    _, first = row_codes(ran)
    for op in ran[np.sort(first)].tolist():
        index = int(row_of_op[op])
        types[index] = types[index] or runs.ops[op][1].type
    is_eager = np.bincount(row, weights=eager[valid], minlength=len(keys)) > 0
    used = np.flatnonzero(occurrences > 0).tolist()
    names = list(keys)
    zeros = np.zeros(len(used), np.float64)
    return OpTable(
        module=tuple(names[i][0] for i in used),
        name=tuple(names[i][1] for i in used),
        category=tuple(types[i] for i in used),
        provenance=("",) * len(used),
        eager=is_eager[used],
        occurrences=occurrences[used],
        time_ps=time[used],
        self_ps=self_time[used],
        min_ps=least[used],
        cores=np.ones(len(used), np.int64),
        flops=zeros,
        model_flops=zeros,
        bytes=zeros,
    )


def _infeed(runs: Runs, begin: I64, end: I64, self_ps: I64, start: I64) -> InfeedEnqueue:
    enqueue = np.array([is_infeed_enqueue(op.type) for _, op in runs.ops], np.bool_)
    rows = np.flatnonzero(enqueue[runs.op] & (self_ps != _DROPPED))
    if len(rows) < 2:
        return InfeedEnqueue()
    line = np.searchsorted(start, rows, side="right")
    order = np.lexsort((end[rows], line))
    rows, line = rows[order], line[order]
    same = line[1:] == line[:-1]
    before, after = rows[:-1][same], rows[1:][same]
    return InfeedEnqueue(int((end[before] - begin[before]).sum()), int((begin[after] - begin[before]).sum()))


def combine_host_ops(parts: list[HostOps]) -> HostOps:
    return HostOps(
        combine((part.ops for part in parts), cores=False),
        InfeedEnqueue(sum(p.infeed.duration_ps for p in parts), sum(p.infeed.distance_ps for p in parts)),
    )
