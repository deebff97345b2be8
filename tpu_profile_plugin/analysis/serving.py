"""Requests and batches of model servers: latency, time per phase on host and device, samples, configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.planes import (
    MODULES,
    PlaneExtras,
    Preprocessed,
    events_of_lines,
    host_plane,
    is_tensor_core,
    lines_named,
    spans_at,
)
from tpu_profile_plugin.analysis.common.rows import extents, members, rows_of
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

ALL_UP_TO = 60
_PER_RANGE = 10
_RANGES = ((50.0, 1.0), (75.0, 1.0), (90.0, 1.0), (99.0, 0.5), (99.9, 0.05), (99.99, 0.005))

LATENCY_PERCENTILES = (50.0, 75.0, 90.0, 99.0, 99.9)


def sample(keys: Sequence[float]) -> list[tuple[float, int]]:
    """(percentile, index) of the sampled items, by key ascending.

    Equal keys are in the order in which XProf's unstable sort leaves them.
    """
    rank = np.unique(np.array(keys), return_inverse=True)[1].astype(np.int64)
    order = _native.walk_order(rank, np.zeros(len(rank), np.int64), np.arange(len(rank))).tolist()
    count = len(order)
    ranked = [(100.0 * rank / count, i) for rank, i in enumerate(order)]
    if count <= ALL_UP_TO:
        return ranked
    sampled: list[tuple[float, int]] = []
    for low, width in _RANGES:
        sampled += [item for item in ranked if low <= item[0] < low + width][:_PER_RANGE]
    return sampled


def at_percentile(ordered: Sequence[int], percentile: float) -> int:
    """The item of an ascending, non-empty sequence at the given percentile."""
    return ordered[min(len(ordered) - 1, int(percentile / 100.0 * len(ordered)))]


_PLANE = "/host:tfstreamz"
_METRIC = re.compile(r"/tensorflow/serving/batching/(\w+)\{.*?model_name=([^,}]*)")
_NUMBERS = ("num_batch_threads", "max_batch_size", "batch_timeout_micros", "max_enqueued_batches")


@dataclass(frozen=True, slots=True)
class BatchingParameters:
    """Batching configuration of one model; 0 or "" where it was not recorded."""

    num_batch_threads: int = 0
    max_batch_size: int = 0
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 0
    allowed_batch_sizes: str = ""


def batching_parameters(space: XSpace) -> dict[str, BatchingParameters]:
    """Parameters by model name; of the metrics snapshots before and after the profile, the latter is used."""
    metrics: dict[str, dict[str, int | str]] = {}
    for plane in space.planes:
        if plane.name != _PLANE or len(plane.events.begin_ps) != 2:
            continue
        for name, _, value in read.items(space, plane, plane.events.stats, 1):
            if match := _METRIC.match(name):
                metrics.setdefault(match[2], {})[match[1]] = value if isinstance(value, (int, str)) else 0
    parameters = {}
    for model, values in metrics.items():
        numbers = {name: int(values[name]) for name in _NUMBERS if str(values.get(name, "")).isdigit()}
        sizes = str(values.get("allowed_batch_sizes", ""))
        parameters[model] = BatchingParameters(**numbers, allowed_batch_sizes=sizes)
    return parameters


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
    part, row = members(low, high - low)
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
        of_role = rows.of(role)
        spans.append((of_role.request, of_role.begin_ps, of_role.end_ps, phase))
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
        both, i, j = np.intersect1d(scheduled, joined, assume_unique=True, return_indices=True)
        spans.append((both, begin[i], end[j], batch_formation))
    request, begin, end = (np.concatenate(column) for column in list(zip(*spans, strict=True))[:3])
    phase_of = np.repeat([phase for *_, phase in spans], [len(requests) for requests, *_ in spans])
    return rows_of(_PhaseSpans(request, begin, end, phase_of), np.argsort(request, kind="stable"))


def _paired(first: _RoleRows, second: _RoleRows) -> tuple[_RoleRows, _RoleRows]:
    """The events at the same position among those of their role in the same group; the rest has no partner."""
    most = max(len(first.part), len(second.part)) + 1
    keys = [
        rows.part * most + np.arange(len(rows.part)) - np.searchsorted(rows.part, rows.part) for rows in (first, second)
    ]
    _, i, j = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    return rows_of(first, i), rows_of(second, j)


ALL_MODELS = "ALL"


class Phase(IntEnum):
    """Phases of a request; where phases overlap, the time counts for the one with the highest number."""

    IDLE = 0
    PREPROCESS = 1
    POSTPROCESS = 2
    BATCH_FORMATION = 3
    RUNTIME = 4
    H2D = 5
    D2H = 6
    DEVICE = 7


@dataclass(frozen=True, slots=True)
class _Timed:
    """A request or a batch; times in ps."""

    id: int
    model: str
    begin_ps: int
    end_ps: int

    @property
    def duration_ps(self) -> int:
        """Latency."""
        return self.end_ps - self.begin_ps


@dataclass(frozen=True, slots=True)
class Request(_Timed):
    """One request; `batches` are the ids of the batches that it is part of."""

    phases_ps: tuple[int, ...]
    size: int = 0
    delay_ps: int = 0
    batches: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch(_Timed):
    """One batch; `programs` are the ids of the programs it ran."""

    device_ps: int
    padding: int = 0
    size: int = 0
    delay_ps: int = 0
    programs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Inference:
    """Requests and batches of one or more hosts, and the batching configuration per model.

    Attributes:
      models: names of the models, ascending, models without timed requests included.
    """

    models: tuple[str, ...] = ()
    requests: tuple[Request, ...] = ()
    batches: tuple[Batch, ...] = ()
    parameters: Mapping[str, BatchingParameters] = field(default_factory=dict)


def inference(space: XSpace, pre: Preprocessed) -> Inference:
    """The requests and batches found in a host's groups."""
    plane = host_plane(space)
    if plane is None or pre.planes[plane.index].group_id is None:
        return Inference()
    role_events = find_request_events(space, plane, pre)
    batch_groups = set(role_events.group[role_events.where(PROCESS_BATCH)].tolist())
    roots = [g for g in role_events.request_groups if g not in batch_groups]
    # Groups saved in the file lack the links from requests to batches and models.
    batch_groups &= set(pre.group_names)
    if not roots and not batch_groups:
        return Inference()
    links = _Links(pre.group_links)
    spans = host_spans(plane, pre.planes[plane.index])
    named = _model_ids(space, plane, role_events) if pre.group_names else {}
    names, models = _models(named, role_events, roots, links)
    batches = _batches(space, plane, role_events, sorted(batch_groups), links, spans, models, roots)
    requests = _requests(space, plane, role_events, roots, links, spans, models, {b.id: b for b in batches})
    if names:
        requests = [request for request in requests if request.model]
        batches = [batch for batch in batches if batch.model]
    else:
        names = (ALL_MODELS,)
        requests = [replace(request, model=ALL_MODELS) for request in requests]
        batches = [replace(batch, model=ALL_MODELS) for batch in batches]
    return Inference(names, tuple(requests), tuple(batches), batching_parameters(space))


def may_have_requests(space: XSpace) -> bool:
    """False when no event name of the host can start a request or a batch."""
    plane = host_plane(space)
    return plane is not None and has_requests(plane)


def combine_inference(parts: Sequence[Inference]) -> Inference:
    """Combines several hosts."""
    return Inference(
        tuple(sorted({model for part in parts for model in part.models})),
        tuple(r for part in parts for r in part.requests),
        tuple(b for part in parts for b in part.batches),
        {name: value for part in reversed(parts) for name, value in part.parameters.items()},
    )


class _Links:
    """Parent and child groups by group."""

    def __init__(self, links: tuple[I64, I64]) -> None:
        self._children: dict[int, list[int]] = {}
        self._parents: dict[int, list[int]] = {}
        for parent, child in zip(links[0].tolist(), links[1].tolist(), strict=True):
            self._children.setdefault(parent, []).append(child)
            self._parents.setdefault(child, []).append(parent)

    def children(self, group: int) -> list[int]:
        return self._children.get(group, [])

    def parents(self, group: int) -> list[int]:
        return self._parents.get(group, [])

    def family(self, group: int) -> list[int]:
        """The group itself, then its children."""
        return [group, *self.children(group)]


def _models(
    named: Mapping[int, str], role_events: RequestEvents, roots: list[int], links: _Links
) -> tuple[tuple[str, ...], Mapping[int, str]]:
    """The names of all models, and the model of each request, "" if unknown; `named`: models named by"""
    models: dict[int, str] = {}
    names: set[str] = set()
    for group in roots:
        children = links.children(group)
        if group not in role_events.adopting_groups:
            models[group] = named.get(group, "")
        elif group in named or children:
            child_models = {named.get(child, "") for child in children}
            names |= child_models if group not in named else set()
            models[group] = named.get(group) or (child_models.pop() if len(child_models) == 1 else "")
    # Requests of unknown model count for the first model.
    default = next(filter(None, models.values()), "")
    names = names.union(models.values()) - {""}
    return tuple(sorted(names)), {group: models.get(group, default) for group in roots}


def _model_ids(space: XSpace, plane: Plane, role_events: RequestEvents) -> dict[int, str]:
    """The model named by the events of each group."""
    codes, texts = read.strings(space, plane, plane.events.stats, "model_id")
    is_named = np.array([*(text != "" for text in texts), False], np.bool_)  # the last one is for code -1
    rows = role_events.where(MODEL)
    rows = rows[is_named[codes[role_events.event[rows]]]]
    group, first = np.unique(role_events.group[rows], return_index=True)
    return {g: texts[c] for g, c in zip(group.tolist(), codes[role_events.event[rows[first]]].tolist(), strict=True)}


def _batches(
    space: XSpace,
    plane: Plane,
    role_events: RequestEvents,
    groups: list[int],
    links: _Links,
    spans: Mapping[int, tuple[int, int]],
    models: Mapping[int, str],
    requests: list[int],
) -> list[Batch]:
    if not groups:
        return []
    request_groups = set(requests)
    families = [links.family(group) for group in groups]
    windows = role_events.last_spans(PROCESS_BATCH)
    phase_times = split_times(role_events, families, [windows[g] for g in groups], formation=False)
    padding = _stat_by_group(space, plane, role_events, CONCAT, "padding_amount")
    size = _stat_by_group(space, plane, role_events, CONCAT, "batch_size_after_padding")
    batches = []
    for i, group in enumerate(groups):
        begin, end = windows[group]
        related = sorted(links.parents(group))
        earliest = min((spans[r][0] for r in related if r in request_groups), default=begin)
        batches.append(
            Batch(
                id=group,
                model=models.get(related[0], "") if related else "",
                begin_ps=begin,
                end_ps=end,
                device_ps=int(phase_times[i, Phase.DEVICE]),
                padding=padding.get(group, 0),
                size=size.get(group, 0),
                delay_ps=begin - earliest,
                programs=role_events.programs_of(families[i]),
            )
        )
    return batches


def _requests(
    space: XSpace,
    plane: Plane,
    role_events: RequestEvents,
    groups: list[int],
    links: _Links,
    spans: Mapping[int, tuple[int, int]],
    models: Mapping[int, str],
    batches: Mapping[int, Batch],
) -> list[Request]:
    if not groups:
        return []
    families = [links.family(group) for group in groups]
    batches_of = [[batches[c] for c in sorted(links.children(g)) if c in batches] for g in groups]
    windows = [
        (spans[g][0], max(spans[g][1], its_batches[0].end_ps if its_batches else spans[g][1]))
        for g, its_batches in zip(groups, batches_of, strict=True)
    ]
    phase_times = split_times(role_events, families, windows, formation=True)
    size = _stat_by_group(space, plane, role_events, SCHEDULE, "batching_input_task_size")
    return [
        Request(
            id=group,
            model=models[group],
            begin_ps=begin,
            end_ps=end,
            phases_ps=tuple(phase_times[i].tolist()),
            size=size.get(group, 0),
            delay_ps=its_batches[0].begin_ps - begin if its_batches else 0,
            batches=tuple(batch.id for batch in its_batches),
        )
        for i, (group, (begin, end), its_batches) in enumerate(zip(groups, windows, batches_of, strict=True))
        if end > begin
    ]


def _stat_by_group(space: XSpace, plane: Plane, role_events: RequestEvents, role: int, name: str) -> dict[int, int]:
    """The value of the group's last event of the role."""
    values, present = read.int64s(space, plane, plane.events.stats, name)
    rows = role_events.where(role)
    rows = rows[present[role_events.event[rows]]]
    return dict(zip(role_events.group[rows].tolist(), values[role_events.event[rows]].tolist(), strict=True))
