"""Requests and batches of a model server: latency, and time per phase on host and device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from tpu_profile_plugin.analysis.common.planes import Preprocessed, host_plane
from tpu_profile_plugin.analysis.serving import events
from tpu_profile_plugin.analysis.serving.batching_parameters import BatchingParameters, batching_parameters
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

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
    role_events = events.find_request_events(space, plane, pre)
    batch_groups = set(role_events.group[role_events.where(events.PROCESS_BATCH)].tolist())
    roots = [g for g in role_events.request_groups if g not in batch_groups]
    # Groups saved in the file lack the links from requests to batches and models.
    batch_groups &= set(pre.group_names)
    if not roots and not batch_groups:
        return Inference()
    links = _Links(pre.group_links)
    spans = events.host_spans(plane, pre.planes[plane.index])
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
    return plane is not None and events.has_requests(plane)


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
    named: Mapping[int, str], role_events: events.RequestEvents, roots: list[int], links: _Links
) -> tuple[tuple[str, ...], Mapping[int, str]]:
    """The names of all models, and the model of each request, "" if unknown; `named`: models named by events."""
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


def _model_ids(space: XSpace, plane: Plane, role_events: events.RequestEvents) -> dict[int, str]:
    """The model named by the events of each group."""
    codes, texts = read.strings(space, plane, plane.events.stats, "model_id")
    is_named = np.array([*(text != "" for text in texts), False], np.bool_)  # the last one is for code -1
    rows = role_events.where(events.MODEL)
    rows = rows[is_named[codes[role_events.event[rows]]]]
    group, first = np.unique(role_events.group[rows], return_index=True)
    return {g: texts[c] for g, c in zip(group.tolist(), codes[role_events.event[rows[first]]].tolist(), strict=True)}


def _batches(
    space: XSpace,
    plane: Plane,
    role_events: events.RequestEvents,
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
    windows = role_events.last_spans(events.PROCESS_BATCH)
    phase_times = events.split_times(role_events, families, [windows[g] for g in groups], formation=False)
    padding = _stat_by_group(space, plane, role_events, events.CONCAT, "padding_amount")
    size = _stat_by_group(space, plane, role_events, events.CONCAT, "batch_size_after_padding")
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
    role_events: events.RequestEvents,
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
        (spans[g][0], max(spans[g][1], own[0].end_ps if own else spans[g][1]))
        for g, own in zip(groups, batches_of, strict=True)
    ]
    phase_times = events.split_times(role_events, families, windows, formation=True)
    size = _stat_by_group(space, plane, role_events, events.SCHEDULE, "batching_input_task_size")
    return [
        Request(
            id=group,
            model=models[group],
            begin_ps=begin,
            end_ps=end,
            phases_ps=tuple(phase_times[i].tolist()),
            size=size.get(group, 0),
            delay_ps=own[0].begin_ps - begin if own else 0,
            batches=tuple(batch.id for batch in own),
        )
        for i, (group, (begin, end), own) in enumerate(zip(groups, windows, batches_of, strict=True))
        if end > begin
    ]


def _stat_by_group(
    space: XSpace, plane: Plane, role_events: events.RequestEvents, role: int, name: str
) -> dict[int, int]:
    """The value of the group's last event of the role."""
    values, present = read.int64s(space, plane, plane.events.stats, name)
    rows = role_events.where(role)
    rows = rows[present[role_events.event[rows]]]
    return dict(zip(role_events.group[rows].tolist(), values[role_events.event[rows]].tolist(), strict=True))
