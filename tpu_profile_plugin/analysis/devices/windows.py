"""Windows of steps: when each device was in which step, what the step launched, and what only a start takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tpu_profile_plugin.analysis.common.planes import (
    STEPS,
    PlaneExtras,
    Preprocessed,
    enclosing_span,
    events_of_lines,
    host_plane,
    line_of,
    lines_named,
    spans_at,
)
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, intersect, subtract, times_of, union
from tpu_profile_plugin.analysis.devices.collectives import CollectiveRuns
from tpu_profile_plugin.analysis.devices.launches import KEYS, host_calls
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device, Work, busy, busy_after
from tpu_profile_plugin.analysis.devices.unrecorded import launches_of_host
from tpu_profile_plugin.analysis.steps.host_steps import gpu_steps, host_events, step_times
from tpu_profile_plugin.analysis.steps.inferred import Evidence, InferredSteps, infer_steps
from tpu_profile_plugin.analysis.steps.step_table import (
    MOST_KEPT_WHOLE,
    StepTable,
    align,
    longest_spans,
    shortest,
    step_labels,
)
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.units import PS_PER_MS

_EXCEPTIONS = 100
"""One run of so many may have the id of a launch that is not its own."""
_EARLIEST, _LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Steps that the host marks, in time order: int64[s] numbers, begins and ends, and names, "" without one."""

    number: I64
    names: tuple[str, ...]
    begin_ps: I64
    end_ps: I64

    def __len__(self) -> int:
        return len(self.number)


@dataclass(frozen=True, slots=True, eq=False)
class OwnWork:
    """Per step, when a device ran what the step launched; int64[s] each.

    Attributes:
      first_ps: when its work on the device's main queue begins; the largest number without any.
      queued_ps: when the main queue has ended the work of all earlier steps; the smallest number without any.
      last_ps: when the last of its work ends, on any queue; the smallest number without any.
    """

    first_ps: I64
    queued_ps: I64
    last_ps: I64

    @property
    def some(self) -> Bools:
        """bool[s], the step launched work that the device ran."""
        launched: Bools = self.last_ps != _EARLIEST
        return launched


def own_work(space: XSpace, pre: Preprocessed | None, device: Device, marks: Marks) -> OwnWork | None:
    """The work of each step on a device; None if nothing tells which step launched what."""
    step = _step_of_runs(space, pre, device, marks)
    if step is None or not bool((step >= 0).any()):
        return None
    runs, count = device.runs, len(marks)
    line = _queue(space, device)
    own = _in_order(step, line, runs.begin_ps)
    last = np.full(count, _EARLIEST)
    np.maximum.at(last, step[own], runs.end_ps[own])
    main = own[_on_main_queue(device, line)[own]]
    first, ended = np.full(count, _LATEST), np.full(count, _EARLIEST)
    np.minimum.at(first, step[main], runs.begin_ps[main])
    np.maximum.at(ended, step[main], runs.end_ps[main])
    queued = np.append(_EARLIEST, np.maximum.accumulate(ended)[:-1])
    return OwnWork(first, queued, last)


def _step_of_runs(space: XSpace, pre: Preprocessed | None, device: Device, marks: Marks) -> I64 | None:
    """Per run of an op the row of the step that launched it, -1 if unknown.

    By its group, unless the launches of most runs say otherwise: a stray group of one event may be given to all.
    """
    grouped = _step_of_groups(pre, device, marks)
    if grouped is not None and device.kind != "gpu":
        return grouped
    launched = _step_of_launches(space, device, marks)
    if grouped is None or launched is None:
        return launched if grouped is None else grouped
    disagree = (launched >= 0) & (launched != grouped)
    return launched if 2 * int(disagree.sum()) > len(launched) else grouped


def _step_of_groups(pre: Preprocessed | None, device: Device, marks: Marks) -> I64 | None:
    group = pre.planes[device.plane].group_id if pre is not None else None
    if group is None:
        return None
    order = np.argsort(marks.number, kind="stable")
    wanted = group[device.runs.event]
    row = np.minimum(np.searchsorted(marks.number[order], wanted), len(marks) - 1)
    step = np.where(marks.number[order][row] == wanted, order[row], -1)
    return step if bool((step >= 0).any()) else None


def _step_of_launches(space: XSpace, device: Device, marks: Marks) -> I64 | None:
    step_of_start = _step_of_starts(space, device, marks)
    if step_of_start is None or device.kind == "gpu":
        return step_of_start  # the starts of a GPU are its runs
    start = np.searchsorted(device.starts, device.runs.begin_ps, side="right") - 1
    return np.where(start >= 0, step_of_start[np.maximum(start, 0)], -1)


def _step_of_starts(space: XSpace, device: Device, marks: Marks) -> I64 | None:
    """Per start of the device's work the row of the step during which it was launched, -1 before the first."""
    if not len(device.starts):
        return None
    if device.kind == "cpu":
        return _step_of_executions(device, marks)
    launched, _ = host_calls(space, (KEYS[device.kind],)).times(device.launch_key)
    if not bool((launched != NO_LAUNCH).any()):
        return None
    step = np.searchsorted(marks.begin_ps, launched, side="right") - 1
    return np.where(launched != NO_LAUNCH, step, -1)


def _step_of_executions(device: Device, marks: Marks) -> I64 | None:
    """The step of each start of XLA's CPU backend, which runs programs in order and does not record their calls.

    If all steps run as many programs, each runs the next ones; None if they do not, or one began before its step.
    """
    count, rest = divmod(len(device.starts), len(marks))
    if rest or not count:
        return None
    step = np.repeat(np.arange(len(marks)), count)
    return step if bool((device.starts >= marks.begin_ps[step]).all()) else None


def _queue(space: XSpace, device: Device) -> I64:
    """Per run the line that it is on; other devices than GPUs have a single queue."""
    if device.kind != "gpu":
        return np.zeros(len(device.runs), np.int64)
    return line_of(space.planes[device.plane], device.runs.event)


def _in_order(step: I64, line: I64, begin_ps: I64) -> I64:
    """The runs with a step, without those between two others of their queue whose steps are both earlier or both later.

    A queue runs in order: the few that say otherwise have the id of another launch.
    """
    own = np.flatnonzero(step >= 0)
    own = own[np.lexsort((begin_ps[own], line[own]))]
    if len(own) < 3:
        return own
    of, queue = step[own], line[own]
    before, here, after = of[:-2], of[1:-1], of[2:]
    odd = (before <= after) & ((here < before) | (here > after)) & (queue[:-2] == queue[2:])
    if odd.sum() > max(1, len(own) // _EXCEPTIONS):
        return own
    return own[np.concatenate(([True], ~odd, [True]))]


def _on_main_queue(device: Device, line: I64) -> Bools:
    """Per run, whether it is on the queue that computes most."""
    if device.kind != "gpu":
        return np.ones(len(device.runs), np.bool_)
    computes = device.runs.work == Work.COMPUTE
    busy = (device.runs.end_ps - device.runs.begin_ps) * (computes if bool(computes.any()) else True)
    main: Bools = line == int(np.bincount(line, weights=busy).argmax())
    return main


Source = Literal["device", "host", "inferred", "dispatch", "recording"]
LATE_WORK = 0.1
"""Least share of device work after the last step that makes steps dispatch times."""
LEAST_OVERLAP = 0.02
"""Least share of the time that work of steps may run into the next ones before they count as overlapping."""


@dataclass(frozen=True, slots=True)
class StartUp:
    """A step that is left out because a wait that happens once takes most of it.

    Attributes:
      label: of the step; device: index, on its host, of the one that waits longest.
      what: the call or the collective that lasts so long; first_collective: it is a collective.
      calls: how many of them are in the step; wait_ps: how long they take; length_ps: of the step.
    """

    label: str
    device: int
    what: str
    first_collective: bool
    calls: int
    wait_ps: int
    length_ps: int


@dataclass(frozen=True, slots=True, eq=False)
class StepWindows:
    """Steps in time order; those of one device do not overlap.

    Attributes:
      number: int64[s]; names: the marker's name, "" when only the number is known.
      begin_ps, end_ps: int64[s, d], per step and device, on the axis of the file.
      source: "device": marked, and work of the devices is linked to the marks; "host": markers around the host's code;
        "inferred": from a repeating event (`evidence`); "dispatch": host markers during which work was only handed to
        the devices, so that the time from the first step to the end of the work is divided evenly; "recording": no
        steps, one window.
      left_out: steps at the begin and end that are marked and left out, because the recording may have cut them.
      without_work: steps at the begin and end that are marked, but of which no device work was recorded.
      start_up: steps that are left out for what happens once.
    """

    number: I64
    names: tuple[str, ...]
    begin_ps: I64
    end_ps: I64
    source: Source
    evidence: Evidence | None = None
    left_out: int = 0
    without_work: int = 0
    start_up: tuple[StartUp, ...] = ()

    @property
    def labels(self) -> list[str]:
        """The steps' names, or numbers where they have none."""
        return step_labels(self.names, self.number)

    def __len__(self) -> int:
        return len(self.number)

    def where(self, rows: slice | Bools) -> StepWindows:
        chosen = np.arange(len(self))[rows]
        names = tuple(self.names[row] for row in chosen.tolist())
        return replace(
            self, number=self.number[rows], names=names, begin_ps=self.begin_ps[rows], end_ps=self.end_ps[rows]
        )


def step_windows(
    space: XSpace,
    pre: Preprocessed | None,
    devices: Sequence[Device],
    infer: Callable[[], InferredSteps | None] | None = None,
) -> StepWindows | None:
    """The steps of a host's devices; without markers they are inferred, else the recording is one step.

    None if there are no steps and no device ran anything.

    Args:
      space: the profile.
      pre: its groups; None if it has no step markers.
      devices: at least one.
      infer: gives the inferred steps; by default they are inferred from the profile.
    """
    steps = _marked(space, pre, devices) if pre is not None else None
    if steps is None:
        inferred = infer_steps(space, busy=False) if infer is None else infer()
        if inferred is None:
            return whole_recording(devices)
        steps = _of_events(space, inferred, devices)
    return steps if len(steps) else whole_recording(devices)


def _of_events(space: XSpace, steps: InferredSteps, devices: Sequence[Device]) -> StepWindows:
    """Inferred steps, numbered from 0; events with step numbers mark steps as groups do."""
    end = steps.begin_ps + steps.duration_ps
    lasting = end > steps.begin_ps
    begin, end = steps.begin_ps[lasting], end[lasting]
    if steps.number is not None:
        names = tuple(f"{steps.evidence.event} {number}" for number in steps.number.tolist())
        return _of_marks(space, None, Marks(steps.number, names, begin, end), devices)
    number = np.arange(len(end), dtype=np.int64)
    if steps.of_host:
        windows = _of_marks(space, None, Marks(number, ("",) * len(number), begin, end), devices)
    else:
        windows = _same_for_all(number, ("",) * len(number), (begin, end), devices, "inferred")
    return replace(windows, source="inferred", evidence=steps.evidence)


def _complete(steps: StepWindows, *, overlapping: bool = False) -> StepWindows:
    """Without the first and last of more than five marked steps, which the recording may have cut, as in XProf.

    If work of a step overlaps that of the next, the first and last of fewer differ from the others as well.
    """
    if len(steps) <= (2 if overlapping else MOST_KEPT_WHOLE):
        return steps
    return replace(steps.where(slice(1, -1)), left_out=2)


def _marked(space: XSpace, pre: Preprocessed, devices: Sequence[Device]) -> StepWindows | None:
    kind = devices[0].kind
    if kind == "tpu":
        return _tpu_steps(space, pre, devices)
    marks = _host_marks(space, pre)
    steps = None if marks is None else _of_marks(space, pre, marks, devices)
    if kind == "gpu" and (steps is None or steps.source == "host"):
        # Groups of devices without markers of the host, as in files that were saved with groups.
        table = _of_table(gpu_steps(space, pre, merge_host=True, short_memcpy=True), devices, "device")
        return _complete(table) if table is not None else steps
    return steps


def _host_marks(space: XSpace, pre: Preprocessed) -> Marks | None:
    """The longest marker of each group on the host."""
    plane = host_plane(space)
    host = None if plane is None else host_events(space, plane, pre.planes[plane.index])
    times = {} if host is None else step_times(None, host.markers)
    if host is None or not times:
        return None
    number = np.array(list(times), np.int64)
    span = np.array(list(times.values()), np.int64)
    order = np.argsort(span[:, 0], kind="stable")
    names = tuple(host.names.get(step, "") for step in number[order].tolist())
    return Marks(number[order], names, span[order, 0], span[order, 1])


def _of_marks(space: XSpace, pre: Preprocessed | None, marks: Marks, devices: Sequence[Device]) -> StepWindows:
    """Marked steps, each from when the device comes to it until it comes to the next.

    A device that is behind comes to a step when its main queue has ended what earlier steps launched, at the latest
    when it begins what the step launched. A step lasts at least as long as its marker and its own work, unless the next
    one begins before: what is between steps is neither.
    """
    own = [own_work(space, pre, device, marks) for device in devices]
    windows = [_windows(marks, work) for work in own]
    begin, end = (np.stack(columns, axis=1) for columns in zip(*windows, strict=True))
    works = [work for work in own if work is not None]
    linked = bool(works) and devices[0].kind != "cpu"
    steps = StepWindows(marks.number, marks.names, begin, end, "device" if linked else "host")
    if linked:
        worked = np.flatnonzero(np.any([work.some for work in works], axis=0))
        inner = slice(int(worked[0]), int(worked[-1]) + 1)
        steps = replace(steps.where(inner), without_work=len(marks) - (inner.stop - inner.start))
    lasting: Bools = np.any(steps.end_ps > steps.begin_ps, axis=1)
    overlapping = any(_overlaps(work, begin[:, i]) for i, work in enumerate(own) if work is not None)
    steps = steps.where(lasting)
    if steps.source == "host" and len(steps):
        steps = _undivided(steps, devices)
    return steps if steps.source == "dispatch" else _complete(steps, overlapping=overlapping)


def _overlaps(own: OwnWork, begin: I64) -> bool:
    """Whether much of what steps launched runs when the device has come to the next one."""
    late = np.maximum(own.last_ps[:-1], begin[1:]) - begin[1:]
    return bool(late.sum() > LEAST_OVERLAP * (int(begin[-1]) - int(begin[0])))


def _windows(marks: Marks, own: OwnWork | None) -> tuple[I64, I64]:
    begin, end = marks.begin_ps, marks.end_ps
    if own is not None:
        begin = np.minimum(np.maximum(begin, own.queued_ps), own.first_ps)
        end = np.maximum(end, own.last_ps)
    begin = np.maximum.accumulate(begin)
    return begin, np.maximum(_apart(begin, end), begin)


def _apart(begin: I64, end: I64) -> I64:
    """Ends that are not behind the next begin; both by step, in time order."""
    return np.concatenate([np.minimum(end[:-1], begin[1:]), end[-1:]])


def _of_table(table: StepTable, devices: Sequence[Device], source: Source) -> StepWindows | None:
    if not len(table):
        return None
    begin = table.begin_ps[:, 0]
    end = begin + table.duration_ps[:, 0]
    order = np.argsort(begin, kind="stable")
    names = tuple(table.names[i] for i in order.tolist())
    return _same_for_all(table.number[order], names, (begin[order], end[order]), devices, source)


def _same_for_all(
    number: I64, names: tuple[str, ...], span: tuple[I64, I64], devices: Sequence[Device], source: Source
) -> StepWindows:
    begin, end = (np.repeat(times[:, None], len(devices), axis=1) for times in span)
    return StepWindows(number, names, begin, end, source)


def _tpu_steps(space: XSpace, pre: Preprocessed, devices: Sequence[Device]) -> StepWindows | None:
    """The step events of each core; steps that all of them have in common, numbered as in other tools."""
    cores = [_core_steps(space.planes[device.plane], pre.planes[device.plane]) for device in devices]
    marked = [set(core) for core in cores if core]
    if not marked:
        return None
    steps = sorted(set.intersection(*marked), key=lambda step: min(core[step][0] for core in cores if step in core))
    some = next(core for core in cores if core)
    spans = np.array([[core.get(step) or some[step] for core in cores] for step in steps], np.int64)
    spans = spans.reshape(len(steps), len(cores), 2)
    begin, end = spans[:, :, 0], spans[:, :, 1]
    return StepWindows(np.array(steps, np.int64), ("",) * len(steps), begin, _apart(begin, end), "device")


def _core_steps(plane: Plane, extras: PlaneExtras) -> dict[int, tuple[int, int]]:
    """Begin and end of the longest step event of each group."""
    line = extras.line(STEPS)
    if line is not None and line.group_id is not None:
        group, begin, duration = line.group_id, line.begin_ps, line.duration_ps
    elif extras.group_id is not None:
        events = events_of_lines(plane, lines_named(plane, STEPS))
        group = extras.group_id[events]
        begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
    else:
        return {}
    keep = (group >= 0) & (duration > 0)
    columns = (column[keep].tolist() for column in (group, begin, begin + duration))
    return longest_spans(zip(*columns, strict=True))


def whole_recording(devices: Sequence[Device]) -> StepWindows | None:
    """The recording as one step: from the first op of any device to the last; None without ops."""
    span = enclosing_span([span for device in devices if (span := device.span())])
    if span is None:
        return None
    window = (np.array([span[0]]), np.array([span[1]]))
    return _same_for_all(np.zeros(1, np.int64), ("",), window, devices, "recording")


def _undivided(steps: StepWindows, devices: Sequence[Device]) -> StepWindows:
    """The steps of the host's markers, or equal parts of the whole time if much work goes on after the last step.

    A CPU runs its ops while the host does, or they are linked to their steps.
    """
    if devices[0].kind == "cpu":
        return steps
    first, last = int(steps.begin_ps.min()), int(steps.end_ps.max())
    late = work = 0
    for device in devices:
        before, after = busy_after(device, last)
        work, late = work + before, late + after
    if late < LATE_WORK * work or not late or _late_of_steps(steps, devices, last) < LATE_WORK:
        return steps
    end = max(int(busy(device)[1].max(initial=last)) for device in devices)
    length = end - first
    cuts = np.array([first + length * i // len(steps) for i in range(len(steps) + 1)], np.int64)
    even = _same_for_all(steps.number, steps.names, (cuts[:-1], cuts[1:]), devices, "dispatch")
    return replace(even, evidence=steps.evidence)


def _late_of_steps(steps: StepWindows, devices: Sequence[Device], last: int) -> float:
    """Share of the steps' own program that runs after the last step; 1 if that is unknown.

    It is the one with most time within steps: what runs after them may be an evaluation, of which steps have no part.
    """
    inside, after, whole = Counter[int](), Counter[int](), Counter[int]()
    for number, device in enumerate(devices):
        runs = device.runs
        program = np.array([op.program for op in device.ops], np.uint64)
        ids, key = np.unique(program, return_inverse=True)
        key = key.reshape(-1)[runs.op]
        begin, end = steps.begin_ps[:, number], steps.end_ps[:, number]
        for count, ps in (
            (inside, covered_within(*union(begin, end), runs.begin_ps, runs.end_ps)),
            (after, np.clip(runs.end_ps - np.maximum(runs.begin_ps, last), 0, None)),
            (whole, runs.end_ps - runs.begin_ps),
        ):
            sums = np.bincount(key, weights=ps, minlength=len(ids))
            count.update(dict(zip(ids.tolist(), sums.tolist(), strict=True)))
    if not inside or 0 in whole:
        return 1.0
    main = max(inside, key=inside.__getitem__)
    return after[main] / max(whole[main], 1)


def common_rows(steps: Sequence[StepWindows]) -> list[I64]:
    """Per host, the rows of the steps that all hosts have.

    Steps whose markers have the same names on all hosts are matched by name, others by time since the begin of each
    host's recording.
    """
    if len(steps) < 2:
        return [np.arange(len(windows)) for windows in steps]
    named = [dict(zip(windows.names, range(len(windows)), strict=True)) for windows in steps]
    if all(len(names) == len(windows) and "" not in names for names, windows in zip(named, steps, strict=True)):
        common = set(named[0]).intersection(*named[1:])
        if common:
            order = [name for name in named[0] if name in common]
            return [np.array([names[name] for name in order], np.int64) for names in named]
    spans = {i: (windows.begin_ps.min(axis=1), windows.end_ps.max(axis=1)) for i, windows in enumerate(steps)}
    offset, first, last = align(spans, shortest(spans))
    return [np.arange(max(first, 0), max(last, first, 0)) - offset[i] for i in range(len(steps))]


LEAST_CALLS, LEAST_PS, TIMES = 10, PS_PER_MS, 100
"""Among so many launches, a call that lasts so long, and so many times the median, does not only launch."""
MOST_CALLS = 0.05
"""More of them are no exceptions."""
LONG = 2.0
"""Least length of a step, in those of the median, to be an exception."""
MOST_OF_STEP = 0.5
"""Least share of a step that such waits take."""


def without_start_up(
    steps: StepWindows,
    devices: Sequence[Device],
    collectives: Callable[[], CollectiveRuns],
    host: Callable[[], Plane | None],
) -> StepWindows:
    """The steps without those that are far longer than most and mostly wait for what happens once.

    Args:
      steps: of a host's devices.
      devices: at least one.
      collectives: theirs, asked for if a step is far longer than others.
      host: the host plane with at least the events of launches, asked for as `collectives`.
    """
    length = (steps.end_ps - steps.begin_ps).max(axis=1)
    if len(steps) < 2 or steps.source == "dispatch":
        return steps
    long: I64 = np.flatnonzero(length >= LONG * np.sort(length)[(len(length) - 1) // 2])
    if not len(long):
        return steps
    longest: dict[int, StartUp] = {}
    for row, wait in (*_first_collectives(steps, collectives()), *_slow_launches(steps, devices, host())):
        if row not in longest or wait.wait_ps > longest[row].wait_ps:
            longest[row] = wait
    left_out = [row for row in long.tolist() if row in longest]
    if not left_out:
        return steps
    kept = np.ones(len(steps), np.bool_)
    kept[left_out] = False
    return replace(steps.where(kept), start_up=tuple(longest[row] for row in left_out))


def _first_collectives(steps: StepWindows, runs: CollectiveRuns) -> list[tuple[int, StartUp]]:
    """(row, why) of the steps that mostly wait for the start of other devices."""
    waiting = []
    starting = np.flatnonzero(runs.start_ps > 0)
    for device in np.unique(runs.device[starting]).tolist():
        rows = starting[runs.device[starting] == device]
        longest = rows[int(runs.start_ps[rows].argmax())]
        begin = runs.begin_ps[rows]
        times = times_of(begin, begin + runs.start_ps[rows])
        waiting += _mostly(steps, device, times, begin, runs.keys[int(runs.key[longest])].name, True)
    return waiting


def _slow_launches(steps: StepWindows, devices: Sequence[Device], host: Plane | None) -> list[tuple[int, StartUp]]:
    """(row, why) of the steps that devices mostly idle in while calls of the host that launch last far too long."""
    if host is None or devices[0].kind != "gpu":
        return []
    rows = launches_of_host(host)
    if len(rows) < LEAST_CALLS:
        return []
    begin, end = spans_at(host, rows)
    lasts = end - begin
    slow = lasts >= np.maximum(LEAST_PS, TIMES * int(np.median(lasts)))
    if not slow.any() or slow.sum() > max(2, MOST_CALLS * len(rows)):
        return []
    name = host.event_metadata.names[int(host.events.metadata[rows[int(lasts.argmax())]])]
    calls = times_of(begin[slow], end[slow])
    since, until = int(steps.begin_ps.min()), int(steps.end_ps.max())
    waiting = []
    for number, device in enumerate(devices):
        idle = subtract((np.array([since]), np.array([until])), busy(device))
        waiting += _mostly(steps, number, intersect(calls, idle), begin[slow], name, False)
    return waiting


def _mostly(
    steps: StepWindows, device: int, times: Times, calls: I64, what: str, first_collective: bool
) -> list[tuple[int, StartUp]]:
    """(row, why) of the steps that these times of a device take most of; `calls` are when the causes begin."""
    begin, end = steps.begin_ps[:, device], steps.end_ps[:, device]
    waits = covered_within(*times, begin, end)
    calls = np.sort(calls)
    count = np.searchsorted(calls, end) - np.searchsorted(calls, begin)
    return [
        (row, StartUp(label, device, what, first_collective, max(int(count[row]), 1), wait, length))
        for row, label, wait, length in zip(
            range(len(steps)), steps.labels, waits.tolist(), (end - begin).tolist(), strict=True
        )
        if wait > MOST_OF_STEP * length
    ]
