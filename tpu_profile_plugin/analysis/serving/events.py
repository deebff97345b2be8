"""Events that delimit the phases of a serving request, and the time in each phase."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.columns import rows_of
from tpu_profile_plugin.analysis.common.keys import extents
from tpu_profile_plugin.analysis.common.planes import MODULES, events_of_lines, is_tensor_core, lines_named, spans_at
from tpu_profile_plugin.analysis.common.preprocessed import PlaneExtras, Preprocessed
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

Spans = list[tuple[int, int, int, int]]

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

    def last_span(self, role: int, group: int) -> tuple[int, int]:
        """Begin and end of the group's last event of the role, by `sequence`."""
        low, high = np.searchsorted(self.group, [group, group + 1])
        rows = [i for i in range(int(low), int(high)) if self.role[i] == role]
        last = max(rows, key=lambda i: int(self.sequence[i]))
        return int(self.begin_ps[last]), int(self.end_ps[last])

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
    spans: Spans = []
    for i, (groups, window) in enumerate(zip(families, windows, strict=True)):
        spans += [(i, *span) for span in _request_spans(role_events, groups, window, formation)]
    columns = np.array(spans, np.int64).reshape(-1, 4)
    start = np.searchsorted(columns[:, 0], np.arange(len(families) + 1)).astype(np.int64)
    begin, end = np.array(windows, np.int64).reshape(-1, 2).T
    phase_times, _, _ = _native.priority_times(
        np.ascontiguousarray(columns[:, 0]),
        np.ascontiguousarray(columns[:, 1]),
        np.ascontiguousarray(columns[:, 2]),
        np.ascontiguousarray(columns[:, 3].astype(np.uint8)),
        np.arange(len(families), dtype=np.int64),
        np.ascontiguousarray(begin),
        np.ascontiguousarray(end),
        _SLOTS,
        True,
    )
    phases = np.asarray(phase_times.reshape(len(families), _SLOTS)[:, :PHASES])
    # Idle is the rest of the time between the first and the last span, instants included.
    extent = np.zeros(len(families), np.int64)
    for i in np.flatnonzero(np.diff(start)).tolist():
        request_spans = columns[start[i] : start[i + 1]]
        extent[i] = min(int(request_spans[:, 1:3].max()) - int(request_spans[:, 1].min()), _LONGEST)
    phases[:, 0] = np.maximum(extent - phases[:, 1:].sum(axis=1), 0)
    return phases


def _spans_by_role(role_events: RequestEvents, group: int) -> dict[int, list[tuple[int, int]]]:
    """Begins and ends of the group's events by role, by begin ascending; a single one for roles where one counts."""
    by_role: dict[int, list[tuple[int, int]]] = {EXECUTE: []}
    low, high = np.searchsorted(role_events.group, [group, group + 1])
    for i in range(int(low), int(high)):
        by_role.setdefault(int(role_events.role[i]), []).append(
            (int(role_events.begin_ps[i]), int(role_events.end_ps[i]))
        )
    for role in _LAST_COUNTS:
        if len(by_role.get(role, ())) > 1:
            by_role[role] = [role_events.last_span(role, group)]
    return by_role


def _request_spans(
    role_events: RequestEvents, groups: Sequence[int], window: tuple[int, int], formation: bool
) -> list[tuple[int, int, int]]:
    """(begin, end, phase) spans of one request; phases are numbered as in `requests.Phase`."""
    preprocess, postprocess, batch_formation, runtime, to_device, from_device, device = range(1, PHASES)
    times_by_role: dict[int, list[tuple[int, int]]] = {}
    spans: list[tuple[int, int, int]] = []
    for group in groups:
        by_role = _spans_by_role(role_events, group)
        if by_role[EXECUTE] and LAUNCH in by_role:
            spans.append((by_role[EXECUTE][0][0], by_role[LAUNCH][0][0], runtime))
        for begin_role, end_role, phase in ((H2D_ISSUE, H2D_DONE, to_device), (D2H_ISSUE, D2H_DONE, from_device)):
            pairs = zip(by_role.get(begin_role, ()), by_role.get(end_role, ()), strict=False)
            spans += [(issue[0], done[1], phase) for issue, done in pairs]
        for role, times in by_role.items():
            times_by_role.setdefault(role, []).extend(times)
    for role, phase in ((H2D, to_device), (D2H, from_device), (DEVICE, device)):
        spans += [(begin, end, phase) for begin, end in times_by_role.get(role, ())]
    if times_by_role.get(EXECUTE):
        spans.append((window[0], min(begin for begin, _ in times_by_role[EXECUTE]), preprocess))
    done = [begin for begin, _ in times_by_role.get(COMPLETE, ())] or [end for _, end in times_by_role.get(DEVICE, ())]
    if done:
        spans.append((max(done), window[1], postprocess))
    if formation and SCHEDULE in times_by_role and times_by_role.get(CONCAT):
        spans.append((min(times_by_role[SCHEDULE])[0], min(times_by_role[CONCAT])[0], batch_formation))
    return spans
