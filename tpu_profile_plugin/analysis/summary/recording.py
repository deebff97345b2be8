"""The part of a host's recording that its steps cover, the rest, and whether steps are only dispatch times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.attribution import hlo_runs, named_ops, names_hlo_ops
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common import planes as plane_roles
from tpu_profile_plugin.analysis.common.planes import Preprocessed
from tpu_profile_plugin.analysis.common.spans import covered_within, union
from tpu_profile_plugin.analysis.steps.host_steps import CORE, host_events, step_times
from tpu_profile_plugin.analysis.steps.step_table import StepTable
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64

_CALL = re.compile(r"PjitFunction\((\w+)\)")
TAIL_SHARE, TAIL_STEPS = 0.2, 1.5
"""Steps are dispatch times if work continues after the last step for this share of all steps, and this many steps."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Evidence that steps are dispatch times: work that also ran during the steps continues after the last step.

    Attributes:
      steps: number of steps.
      steps_ps: from the begin of the first step to the end of the last.
      work_ps: from the begin of the first step to the end of that work.
    """

    steps: int
    steps_ps: int
    work_ps: int


@dataclass(frozen=True, slots=True)
class Recording:
    """A host's recording and its steps; times in ps.

    Attributes:
      begin_ps: the first begin of the events: of the devices on TPUs, else of devices and host.
      end_ps: their last end.
      dispatch: None unless the steps are dispatch times.
    """

    begin_ps: int
    end_ps: int
    dispatch: Dispatch | None = None


@dataclass(frozen=True, slots=True)
class TpuWork:
    """First begin and last end of the TensorCores' events, on the clock of the steps."""

    extent: tuple[int, int] | None = None


def marked_steps(space: XSpace, pre: Preprocessed) -> StepTable:
    """The step markers of the host as steps, for GPUs whose work is linked to none of them."""
    host = plane_roles.host_plane(space)
    if host is None:
        return StepTable()
    times = step_times(None, host_events(space, host, pre.planes[host.index]).markers)
    window = np.array(list(times.values()), np.int64).reshape(len(times), 2)
    return StepTable(
        number=np.array(list(times), np.int64),
        names=("",) * len(times),
        cores=(CORE,),
        begin_ps=window[:, :1],
        duration_ps=window[:, 1:] - window[:, :1],
    )


def recording(space: XSpace, steps: StepTable, planes: Sequence[Plane], tpu: TpuWork | None = None) -> Recording | None:
    """The recording of a host with steps; None without any.

    Args:
      space: the profile.
      steps: all steps of the host.
      planes: planes of its accelerators; on hosts with none, the XLA ops of the CPU are the work.
      tpu: the work of its TPUs.
    """
    if not len(steps) or not steps.dense_cores:
        return None
    begin, end = steps.begin_ps[:, steps.dense_cores], (steps.begin_ps + steps.duration_ps)[:, steps.dense_cores]
    begin, end = union(begin.min(axis=1), end.max(axis=1))
    host = plane_roles.host_plane(space)
    extent = tpu.extent if tpu is not None else None
    first, last = extent or plane_roles.recorded_span([*planes, *([] if host is None else [host])]) or (0, 0)
    inside = int(begin[0]), int(end[-1])
    dispatch = None
    if tpu is None and _goes_on(inside, last):
        dispatch = _dispatch(space, host, _work(space, planes, host), inside, len(steps))
    return Recording(min(first, inside[0]), max(last, inside[1]), dispatch)


def _goes_on(steps: tuple[int, int], last: int) -> bool:
    """Whether what ends last ends so late after the steps that they may be dispatch times."""
    begin, end = steps
    return last - end >= TAIL_SHARE * (end - begin)


def _dispatch(
    space: XSpace, host: Plane | None, work: list[tuple[Plane, I64]], steps: tuple[int, int], count: int
) -> Dispatch | None:
    """Evidence of dispatch times: work by names that ran in the steps too, or by programs that the steps called."""
    begin, end = steps
    last = end
    busy_ps = busy_late_ps = 0
    called = _called(host, steps)
    for plane, rows in work:
        first, until = plane_roles.spans_at(plane, rows)
        name = plane.events.metadata[rows]
        in_steps = np.zeros(len(plane.event_metadata), np.bool_)
        in_steps[name[(first >= begin) & (first < end)]] = True
        same = in_steps[name]
        if called and not same.all():
            named = named_ops(space, plane)
            same |= np.array([*(op.hlo_module.startswith(called) for op in named.ops), False], np.bool_)[named.op[rows]]
        same &= until > begin
        if not same.any():
            continue
        spans = union(np.maximum(first[same], begin), until[same])
        busy, late = (
            int(covered_within(*spans, np.array([since]), np.array([int(until[same].max())]))[0])
            for since in (begin, end)
        )
        last = max(last, int(until[same].max()))
        busy_ps, busy_late_ps = busy_ps + busy, busy_late_ps + max(0, late)
    late_enough = _goes_on(steps, last) and busy_late_ps * count >= TAIL_STEPS * busy_ps
    return Dispatch(count, end - begin, last - begin) if busy_late_ps and late_enough else None


def _called(host: Plane | None, steps: tuple[int, int]) -> tuple[str, ...]:
    """Prefixes of the names of the HLO modules that JAX called within the steps."""
    if host is None:
        return ()
    calls = {row: match[1] for row, name in enumerate(host.event_metadata.names) if (match := _CALL.match(name))}
    if not calls:
        return ()
    is_call = np.zeros(len(host.event_metadata), np.bool_)
    is_call[list(calls)] = True
    events = np.flatnonzero(is_call[host.events.metadata])
    begin = host.events.begin_ps[events]
    rows = np.unique(host.events.metadata[events[(begin >= steps[0]) & (begin < steps[1])]])
    return tuple(f"jit_{calls[row]}" for row in rows.tolist())


def _work(space: XSpace, planes: Sequence[Plane], host: Plane | None) -> list[tuple[Plane, I64]]:
    """Per plane the events that are work: all of the devices, or the XLA ops of the CPU."""
    if planes:
        return [(plane, np.flatnonzero(plane_roles.on_recorded_line(plane))) for plane in planes]
    if host is None or not names_hlo_ops(host):
        return []
    return [(host, hlo_runs(space, host)[1])]


@dataclass(frozen=True, slots=True)
class Coverage:
    """The part of a host's recording that its steps cover; times in ps.

    Attributes:
      host: position of the host.
      length_ps: the recording.
      steps_ps: covered by steps.
      before_ps, after_ps: before the first step and after the last; the rest lies between steps.
    """

    host: int
    length_ps: int
    steps_ps: int
    before_ps: int
    after_ps: int

    @property
    def share(self) -> float:
        """Share of the recording that steps cover, 0 to 1."""
        return self.steps_ps / max(self.length_ps, 1)


def coverage(budget: RunBudget, recordings: Sequence[Recording | None]) -> Coverage | None:
    """The host of which the steps cover least; None without marked steps."""
    return min(_of_hosts(budget, recordings), key=lambda host: host.share, default=None)


def _of_hosts(budget: RunBudget, recordings: Sequence[Recording | None]) -> Iterator[Coverage]:
    if not len(budget):
        return
    first_device = [columns.start for columns in budget.host_columns.values()]
    begins = np.minimum.reduceat(budget.begin_ps, first_device, axis=1).T
    ends = np.maximum.reduceat(budget.begin_ps + budget.duration_ps, first_device, axis=1).T
    for host, begin, end in zip(budget.host_columns, begins, ends, strict=True):
        recorded = recordings[host]
        if recorded is None:
            continue
        begin, end = union(begin, end)
        first, last = min(recorded.begin_ps, int(begin[0])), max(recorded.end_ps, int(end[-1]))
        yield Coverage(host, last - first, int((end - begin).sum()), int(begin[0]) - first, last - int(end[-1]))
