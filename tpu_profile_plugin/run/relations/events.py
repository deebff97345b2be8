"""`events`, every recorded event, and `derived_events`: what the trace viewer has besides, such as name scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.attribution import EventOp, event_ops
from tpu_profile_plugin.analysis.common.planes import ABSENT, ExtraLine, PlaneExtras, grouping_line, nested, shown_names
from tpu_profile_plugin.analysis.common.rows import among
from tpu_profile_plugin.analysis.common.stat_columns import stat_numbers, stat_texts
from tpu_profile_plugin.analysis.summary.host_summary import has_root
from tpu_profile_plugin.analysis.timeline.tracks import step_groups
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.run.catalogue.events import DERIVED, RELATION
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.figures.summary import groups_of, preprocessed
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.relations.event_choice import ALL, Choice
from tpu_profile_plugin.run.relations.relation import Relation, StepNumbers, each_host
from tpu_profile_plugin.tables.coded import Coded, joined, same
from tpu_profile_plugin.tables.table import Column, Table

MOST_ROWS = 1 << 21
"""Rows of a part; larger planes have several."""
_FEW_GROUPS = 1 << 24
_OP_COLUMNS = [column.id for column in RELATION if hasattr(EventOp, column.id)]
_STEP = [column.id for column in RELATION].index("step")


def event_batches(run: RunHosts, choice: Choice = ALL, of_run: StepNumbers | None = None) -> Iterator[Table]:
    """The chosen events, plane by plane, host by host; `of_run` numbers the steps if `run` is a part of a run."""
    number_steps = of_run or StepNumbers(run)
    for host, _ in each_host(run, lambda host: host.space.decode()):
        yield from _of_host(run.name, host, choice, number_steps)


def _of_host(run: str, host: HostProfile, choice: Choice, number_steps: StepNumbers) -> Iterator[Table]:
    space = host.space
    extras = groups_of(host) if _has_groups(space) else None
    steps = None if extras is None else step_groups(space, extras)
    for plane, rows in choice.planes_of(space):
        data = _columns(run, host, plane, None if extras is None else extras.planes[plane.index], steps)
        data[_STEP] = number_steps(host, data[_STEP])
        data += [_stat(host, plane, column) for column in choice.stats]
        count = len(plane.events) if rows is None else len(rows)
        for first in range(0, count, MOST_ROWS):
            part = slice(first, min(first + MOST_ROWS, count))
            chosen = part if rows is None else rows[part]
            yield Table((*RELATION, *choice.stats), [values[chosen] for values in data], name="events")


def _has_groups(space: XSpace) -> bool:
    """False only if no event has a group: there is no event that opens one, and no core whose steps or runs count."""
    return any(has_root(plane) or grouping_line(plane) is not None for plane in space.planes)


def _columns(run: str, host: HostProfile, plane: Plane, extras: PlaneExtras | None, steps: I64 | None) -> list[Any]:
    """The values of `RELATION` for all events of a plane."""
    events, meta, count = plane.events, plane.event_metadata, len(plane.events)
    names = shown_names(meta.names, meta.display_names)
    full = ["" if name == shown else name for name, shown in zip(meta.names, names, strict=True)]
    group = None if extras is None else extras.group_id
    none = np.ma.MaskedArray(np.broadcast_to(np.int64(0), count), np.broadcast_to(np.True_, count))
    # At the same time: each works through all events of the plane.
    work: list[Callable[[], Sequence[Any]]] = [
        lambda: _ops(host, plane, none),
        lambda: nested(plane),
        lambda: [_launch(plane, name, none) for name in ("correlation_id", "run_id")],
    ]
    ops, times, launches = host.mapper(lambda make: make(), work)
    return [
        same(run, count),
        same(host.name, count),
        same(plane.name, count),
        *lines_of(plane),
        names_of(plane),
        Coded.of(events.metadata, full),
        events.begin_ps,
        events.duration_ps,
        *times,
        *((none, none) if group is None or steps is None else step_columns(group, steps)),
        *ops,
        *launches,
    ]


def lines_of(plane: Plane) -> tuple[Coded, I64]:
    """Columns `line` and `line_id`."""
    lengths = np.diff(plane.lines.event_start)
    names = shown_names(plane.lines.name, plane.lines.display_name)
    codes = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    return Coded.of(codes, names, empty=False), np.repeat(plane.lines.id, lengths)


def names_of(plane: Plane) -> Coded:
    """Column `name`."""
    meta = plane.event_metadata
    return Coded.of(plane.events.metadata, shown_names(meta.names, meta.display_names), empty=False)


def step_columns(group: I64, steps: I64) -> tuple[Any, Any]:
    """Columns `step` and `group_id`."""
    return np.ma.MaskedArray(group, ~_among_steps(group, steps)), np.ma.MaskedArray(group, group == ABSENT)


def _among_steps(group: I64, steps: I64) -> Bools:
    """Which groups are steps; by a table, unless numbers of groups in a file are strange."""
    if not len(steps) or int(group.min()) < ABSENT or int(group.max()) >= _FEW_GROUPS:
        return among(group, steps)
    is_step = np.zeros(max(int(group.max()), 0) + 2, np.bool_)
    is_step[steps[(steps >= 0) & (steps < len(is_step) - 1)]] = True
    return is_step[group]  # the last is for ABSENT


def _launch(plane: Plane, name: str, none: Any) -> Any:
    return none if plane.stat_metadata.row(name) is None else stat_numbers(plane, name, "int64")


def _ops(host: HostProfile, plane: Plane, none: Any) -> list[Any]:
    """The columns from `hlo_module` to `bytes`."""
    found = event_ops(host.space, plane, hlo_ops(host))
    at = found.op.astype(np.intp)
    made: list[Any] = []
    for column in _OP_COLUMNS:
        values = [getattr(op, column) for op in found.ops]
        if column == "source_line":
            known = np.array([value is not None for value in values], np.bool_)
            lines = np.array([value or 0 for value in values], np.int64)
            made.append(np.ma.MaskedArray(lines[at], ~known[at]) if known.any() else none)
        elif column in ("flops", "bytes"):
            costs = np.array([np.nan if value is None else value for value in values], np.float64)
            own = found.costs[column]
            cost = np.broadcast_to(np.nan, len(at)) if np.isnan(costs).all() and not len(own) else costs[at]
            if len(own):
                cost[own.event] = own.value
            made.append(cost)
        else:
            made.append(Coded.of(at, values))
    return made


def _stat(host: HostProfile, plane: Plane, column: Column) -> Any:
    if column.type == "string":
        return Coded.of(*stat_texts(host.space, plane, column.id))
    return stat_numbers(plane, column.id, column.dtype)  # type: ignore[arg-type]


EVENTS = Relation(
    "events",
    "One row per recorded event: when it was, how it is nested, and the step and op that it belongs to.",
    RELATION,
    event_batches,
)


def _derived_batches(run: RunHosts) -> Iterator[Table]:
    """A table per plane with derived events, host by host."""
    number_steps = StepNumbers(run)
    for host, _ in each_host(run, lambda host: host.space.decode()):
        extras = preprocessed(host)
        steps = step_groups(host.space, extras)
        for plane, extra in zip(host.space.planes, extras.planes, strict=True):
            lines = [line for line in extra.lines if len(line.begin_ps)]
            if lines:
                yield _derived(run.name, host, plane.name, lines, steps, number_steps)


def _derived(
    run: str, host: HostProfile, plane: str, lines: Sequence[ExtraLine], steps: I64, number_steps: StepNumbers
) -> Table:
    lengths = [len(line.begin_ps) for line in lines]
    count = sum(lengths)
    groups = [np.full(len(line.begin_ps), ABSENT) if line.group_id is None else line.group_id for line in lines]
    step, group = step_columns(np.concatenate(groups).astype(np.int64, copy=False), steps)
    return Table(
        DERIVED,
        [
            same(run, count),
            same(host.name, count),
            same(plane, count),
            Coded.of(np.repeat(np.arange(len(lines)), lengths), [line.name for line in lines], empty=False),
            np.repeat(np.array([line.id for line in lines], np.int64), lengths),
            joined(
                [Coded.of(line.metadata, shown_names(line.names, line.display_names), empty=False) for line in lines]
            ),
            np.concatenate([line.begin_ps for line in lines]),
            np.concatenate([line.duration_ps for line in lines]),
            number_steps(host, step),
            group,
        ],
        name="derived_events",
    )


DERIVED_EVENTS = Relation(
    "derived_events",
    "One row per event of the trace viewer that is derived from recorded ones, and that the table of events lacks.",
    DERIVED,
    _derived_batches,
)
