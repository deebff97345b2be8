"""Events that delimit the phases of a serving request, and the time in each phase."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import (
    MODULES,
    PlaneExtras,
    Preprocessed,
    events_of_lines,
    is_tensor_core,
    lines_named,
    spans_at,
)
from tpu_profile_plugin.analysis.common.rows import extents, rows_of
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

# Role of an event in a request. H2D and D2H are transfers; ISSUE and DONE are their begin and end.
(MODEL, PROCESS_BATCH, CONCAT, SCHEDULE, EXECUTE, LAUNCH, COMPLETE, H2D, H2D_ISSUE, H2D_DONE, D2H, D2H_ISSUE, D2H_DONE,
 DEVICE) = range(1, 15)  # fmt: skip
_NAMES = {
    MODEL: ("SessionRun", "TfrtModelRun", "ServingModelRun"),
    PROCESS_BATCH: ("ProcessBatch", "OrbaxServing::ProcessBatch"),
    CONCAT: ("ConcatInputTensors", "OrbaxServing::ConcatInputBuffers", "MergeInputTensors", "BrainSessionRun"),
    SCHEDULE: ("ScheduleWithSplit", "ScheduleWithoutSplit", "ScheduleWithEagerSplit", "ASBSQueue::Schedule"),
    EXECUTE: ("tpu::System::Execute",),
    LAUNCH: ("DoEnqueueProgram", "DoEnqueueContinuationProgram"),
    COMPLETE: ("CompleteCallbacks",),
    H2D: ("WriteHbm", "TransferH2DRequest", "TransferPreprocessedH2DRequest"),
    H2D_ISSUE: ("tpu::System::TransferToDevice=>IssueEvent",),
    H2D_DONE: ("tpu::System::TransferToDevice=>IssueEvent=>Done",),
    D2H: ("ReadHbm", "TransferD2HRequest"),
    D2H_ISSUE: ("tpu::System::TransferFromDevice=>IssueEvent",),
    D2H_DONE: ("tpu::System::TransferFromDevice=>IssueEvent=>Done",),
}
"""Names by role. Of events with the same role in a group, a later name counts as later, wherever the event is."""
_ROLES = {name: role for role, names in _NAMES.items() for name in names}
_EXECUTE_PREFIX = "TPUPartitionedCallOp-"
_RANK = {name: rank for rank, name in enumerate(_ROLES, start=1)}
_LAST_COUNTS = (EXECUTE, CONCAT, COMPLETE, SCHEDULE)
"""Roles for which only one event in a group counts."""
_REQUEST_ROOTS = (("BatchingSessionRun",), ("TfrtModelRun",), ("ServingModelRun",), ("SessionRun", "RunGraph"))
_USER_ROOT_PREFIX = "ModelServerRequest_"
_PROGRAM = re.compile(r"\((\d+)\)\Z")
PHASES = 8
_SLOTS = 256  # a number beyond the phases hides the phases below it
_LONGEST = 1 << 62


@dataclass(frozen=True)
class RequestEvents:
    """Events with a role, by group ascending, then begin; `event` is -1 for device events.

    Attributes:
      event, group, role, begin_ps, end_ps: int64[n].
      sequence: int64[n], ascending by name, then by place in the file; if one event of a role counts in a group, it is
        the last.
      request_groups: groups with a request root, ascending.
      adopting_groups: request groups that take the model of the groups that they start: batched and annotated ones.
      programs: group -> ids of the programs that ran in it.
    """

    event: I64
    group: I64
    role: I64
    begin_ps: I64
    end_ps: I64
    sequence: I64
    request_groups: list[int]
    adopting_groups: set[int]
    programs: dict[int, list[str]]

    def where(self, role: int) -> I64:
        """Rows of one role."""
        return np.flatnonzero(self.role == role)

    def last_spans(self, role: int) -> dict[int, tuple[int, int]]:
        """Begin and end of each group's last event of the role, by `sequence`."""
        rows = self.where(role)
        rows = rows[np.argsort(self.sequence[rows], kind="stable")]
        spans = zip(self.begin_ps[rows].tolist(), self.end_ps[rows].tolist(), strict=True)
        return dict(zip(self.group[rows].tolist(), spans, strict=True))

    def programs_of(self, groups: Sequence[int]) -> tuple[str, ...]:
        """Programs that ran in any of the groups, each once."""
        return tuple(dict.fromkeys(program for group in groups for program in self.programs.get(group, ())))


def has_requests(plane: Plane) -> bool:
    """True when the plane has an event name that can start a request or a batch."""
    names = {name for roots in _REQUEST_ROOTS for name in roots} | {"ProcessBatch", "OrbaxServing::ProcessBatch"}
    return any(name in names or name.startswith(_USER_ROOT_PREFIX) for name in plane.declared.event_metadata.names)


def find_request_events(space: XSpace, plane: Plane, pre: Preprocessed) -> RequestEvents:
    """The events with a role in the host's groups, and the programs that the groups ran on TensorCores."""
    extras = pre.planes[plane.index]
    names = plane.event_metadata.names
    role_of_row = np.array(
        [EXECUTE if name.startswith(_EXECUTE_PREFIX) else _ROLES.get(name, 0) for name in names], np.int64
    )
    assert extras.group_id is not None
    role = role_of_row[plane.events.metadata]
    event = np.flatnonzero((role > 0) & (extras.group_id >= 0))
    begin, end = spans_at(plane, event)
    rank_of_row = np.array([_RANK.get(name, 0) for name in names], np.int64)
    sequence = np.lexsort((event, rank_of_row[plane.events.metadata[event]])).argsort()
    columns: list[tuple[I64, ...]] = [
        (event, extras.group_id[event].astype(np.int64), role[event], begin, end, sequence)
    ]
    programs: dict[int, list[str]] = {}
    for device in space.planes:
        if is_tensor_core(device):
            columns.append(_device_events(device, pre.planes[device.index], programs))
    event, group, role, begin, end, sequence = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.lexsort((begin, group))
    request_groups, adopting_groups = _request_groups(space, plane, extras)
    events = RequestEvents(event, group, role, begin, end, sequence, request_groups, adopting_groups, programs)
    return rows_of(events, order)


def _device_events(plane: Plane, extras: PlaneExtras, programs: dict[int, list[str]]) -> tuple[I64, ...]:
    event = events_of_lines(plane, lines_named(plane, MODULES))
    group = np.full(len(event), -1, np.int64) if extras.group_id is None else extras.group_id[event].astype(np.int64)
    event, group = event[group >= 0], group[group >= 0]
    names = plane.event_metadata.names
    for g, row in np.unique(np.stack([group, plane.events.metadata[event].astype(np.int64)], axis=1), axis=0).tolist():
        if match := _PROGRAM.search(names[row]):
            programs.setdefault(g, []).append(match[1])
    none = np.full(len(event), -1, np.int64)
    return none, group, np.full(len(event), DEVICE, np.int64), *spans_at(plane, event), none


def _request_groups(space: XSpace, plane: Plane, extras: PlaneExtras) -> tuple[list[int], set[int]]:
    """Groups with a root of the first kind found in the profile, and groups that users annotated as requests.

    The second value lists the groups without a root of a kind that names a model.
    """
    names = plane.event_metadata.names
    assert extras.group_id is not None
    row = plane.events.metadata
    used = set(np.unique(row).tolist())
    root_rows: set[int] = set()
    for roots in _REQUEST_ROOTS:
        if root_rows := {i for i in used if names[i] in roots}:
            break
    is_root_kind = np.isin(row, np.array(sorted(root_rows), np.int64))
    level, is_root = read.ints(space, plane, plane.events.stats, "_r")
    is_user_root = np.array([name.startswith(_USER_ROOT_PREFIX) for name in names], np.bool_)
    is_request = is_root_kind | (is_root & ((level == -1) | ((level == 1) & is_user_root[row])))
    names_model = is_root_kind & (roots != _REQUEST_ROOTS[0])
    naming = set(extras.group_id[names_model].tolist())
    groups = [int(g) for g in np.unique(extras.group_id[is_request]) if g >= 0]
    return groups, set(groups) - naming


def host_spans(plane: Plane, extras: PlaneExtras) -> dict[int, tuple[int, int]]:
    """First begin and last end of each group's host events."""
    assert extras.group_id is not None
    events = np.flatnonzero(extras.group_id >= 0)
    groups, first, last = extents(extras.group_id[events], *spans_at(plane, events))
    return dict(zip(groups.tolist(), zip(first.tolist(), last.tolist(), strict=True), strict=True))


def split_times(
    role_events: RequestEvents,
    families: Sequence[Sequence[int]],
    windows: Sequence[tuple[int, int]],
    *,
    formation: bool,
) -> I64:
    """Picoseconds per request and phase, int64[requests, 8]; a request's events are those of its groups.

    `formation` adds batch formation: from scheduling the request until the batch's inputs are concatenated.
    """
    requests = len(families)
    spans = _request_spans(role_events, families, np.array(windows, np.int64).reshape(-1, 2), formation)
    begin, end = np.array(windows, np.int64).reshape(-1, 2).T
    phase_times, _, _ = _native.priority_times(
        spans.request,
        spans.begin_ps,
        spans.end_ps,
        spans.phase.astype(np.uint8),
        np.arange(requests, dtype=np.int64),
        np.ascontiguousarray(begin),
        np.ascontiguousarray(end),
        _SLOTS,
        True,
    )
    phases = np.asarray(phase_times.reshape(requests, _SLOTS)[:, :PHASES])
    # Idle is the rest of the time between the first and the last span, instants included.
    phases[:, 0] = np.maximum(_extents(spans, requests) - phases[:, 1:].sum(axis=1), 0)
    return phases


@dataclass(frozen=True, slots=True)
class _PhaseSpans:
    """Spans of requests, by request; phases are numbered as in `requests.Phase`."""

    request: I64
    begin_ps: I64
    end_ps: I64
    phase: I64


def _extents(spans: _PhaseSpans, requests: int) -> I64:
    """From the first begin to the last end of each request's spans, 0 without any."""
    extent = np.zeros(requests, np.int64)
    if len(spans.request):
        first = np.flatnonzero(np.diff(spans.request, prepend=-1))
        earliest = np.minimum.reduceat(spans.begin_ps, first)
        latest = np.maximum.reduceat(np.maximum(spans.begin_ps, spans.end_ps), first)
        # Times of a broken profile may be further apart than int64 reaches.
        apart = latest.view(np.uint64) - earliest.view(np.uint64)
        extent[spans.request[first]] = np.minimum(apart, np.uint64(_LONGEST)).view(np.int64)
    return extent


@dataclass(frozen=True, slots=True)
class _RoleRows:
    """Events of the requests' groups; `part` counts the groups of all requests, one after another."""

    request: I64
    part: I64
    role: I64
    begin_ps: I64
    end_ps: I64

    def of(self, role: int) -> _RoleRows:
        """The events of one role."""
        return rows_of(self, self.role == role)


def _role_rows(role_events: RequestEvents, families: Sequence[Sequence[int]]) -> _RoleRows:
    """The events of each request, group by group; a single one for roles where one counts."""
    request = np.repeat(np.arange(len(families)), [len(family) for family in families])
    group = np.array([group for family in families for group in family], np.int64)
    low, high = (np.searchsorted(role_events.group, group, side=side) for side in ("left", "right"))
    count = high - low
    part = np.repeat(np.arange(len(group)), count)
    row = np.arange(len(part)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
    role, sequence = role_events.role[row], role_events.sequence[row]
    order = np.lexsort((sequence, role, part))
    last = np.ones(len(row), np.bool_)
    last[order[:-1]] = (np.diff(part[order]) != 0) | (np.diff(role[order]) != 0)
    keep = last | ~np.isin(role, _LAST_COUNTS)
    columns = request[part], part, role, role_events.begin_ps[row], role_events.end_ps[row]
    return rows_of(_RoleRows(*columns), keep)


def _request_spans(
    role_events: RequestEvents, families: Sequence[Sequence[int]], windows: I64, formation: bool
) -> _PhaseSpans:
    """The spans of all requests."""
    preprocess, postprocess, batch_formation, runtime, to_device, from_device, device = range(1, PHASES)
    rows = _role_rows(role_events, families)
    execute, concat, schedule = rows.of(EXECUTE), rows.of(CONCAT), rows.of(SCHEDULE)
    started, first_launch = _paired(execute, rows.of(LAUNCH))
    spans = [(started.request, started.begin_ps, first_launch.begin_ps, runtime)]
    for issue_role, done_role, phase in ((H2D_ISSUE, H2D_DONE, to_device), (D2H_ISSUE, D2H_DONE, from_device)):
        issue, done = _paired(rows.of(issue_role), rows.of(done_role))
        spans.append((issue.request, issue.begin_ps, done.end_ps, phase))
    for role, phase in ((H2D, to_device), (D2H, from_device), (DEVICE, device)):
        own = rows.of(role)
        spans.append((own.request, own.begin_ps, own.end_ps, phase))
    request, first, _ = extents(execute.request, execute.begin_ps, execute.begin_ps)
    spans.append((request, windows[request, 0], first, preprocess))
    complete, on_device = rows.of(COMPLETE), rows.of(DEVICE)
    on_device = rows_of(on_device, ~np.isin(on_device.request, complete.request))
    done_at = np.append(complete.begin_ps, on_device.end_ps)
    request, _, last = extents(np.append(complete.request, on_device.request), done_at, done_at)
    spans.append((request, last, windows[request, 1], postprocess))
    if formation:
        scheduled, begin, _ = extents(schedule.request, schedule.begin_ps, schedule.begin_ps)
        joined, end, _ = extents(concat.request, concat.begin_ps, concat.begin_ps)
        both, at, to = np.intersect1d(scheduled, joined, assume_unique=True, return_indices=True)
        spans.append((both, begin[at], end[to], batch_formation))
    request, begin, end = (np.concatenate(column) for column in list(zip(*spans, strict=True))[:3])
    phase_of = np.repeat([phase for *_, phase in spans], [len(own) for own, *_ in spans])
    return rows_of(_PhaseSpans(request, begin, end, phase_of), np.argsort(request, kind="stable"))


def _paired(first: _RoleRows, second: _RoleRows) -> tuple[_RoleRows, _RoleRows]:
    """The events at the same position among those of their role in the same group; the rest has no partner."""
    most = max(len(first.part), len(second.part)) + 1
    keys = [
        rows.part * most + np.arange(len(rows.part)) - np.searchsorted(rows.part, rows.part) for rows in (first, second)
    ]
    _, own, other = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    return rows_of(first, own), rows_of(second, other)
