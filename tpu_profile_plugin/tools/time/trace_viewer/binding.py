"""The binding path as the timeline page shows it: pieces with the events they are in, and the slack of one event."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, LABELS
from tpu_profile_plugin.analysis.common.planes import HOST_THREADS
from tpu_profile_plugin.analysis.devices.model import RunDevice, device_names
from tpu_profile_plugin.analysis.replay.binding_path import NOTHING, On, Path, in_window
from tpu_profile_plugin.analysis.timeline.host import HostTrace
from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.run.figures.path import HostPaths, host_paths
from tpu_profile_plugin.tools.time.trace_viewer.canvas import track_of
from tpu_profile_plugin.tools.time.trace_viewer.timelines import Timelines

Window = tuple[int, int]


def path(timelines: Timelines, chosen: str, window: Window) -> dict[str, Any]:
    """The pieces of the binding path of a device that overlap a window.

    `chosen` is a device as `devices` of the answer has it; by default that which the others of the first host wait for.
    Raises BadRequest if there is none of this name.
    """
    names, places = _devices(timelines)
    if chosen and chosen not in names:
        raise BadRequest(f"There is no device {chosen[:80]!r}.", parameter="device", value=chosen[:80])
    at, device = places[names.index(chosen)] if chosen else _leading(timelines)
    shift = timelines.shifts[timelines.positions[at]]
    own = window[0] - shift, window[1] - shift
    paths = host_paths(timelines.profiles[at])
    found = in_window(paths.path(device, own), own)
    used = np.unique(found.part).tolist()
    sums = found.by_part()
    return {
        "devices": names,
        "device": names[places.index((at, device))],
        "window_ps": window,
        "parts": [{"id": CATEGORIES[one], "name": LABELS[CATEGORIES[one]].name, "ps": int(sums[one])} for one in used],
        "steps": _steps(paths, device, found, shift),
        "names": found.names,
        "part": np.searchsorted(used, found.part).tolist(),
        "begin_ps": (found.begin_ps + shift).tolist(),
        "duration_ps": (found.end_ps - found.begin_ps).tolist(),
        "count": found.count.tolist(),
        "name": found.name.tolist(),
        **_events(timelines, at, paths.devices[device].plane, found),
    }


def _devices(timelines: Timelines) -> tuple[list[str], list[tuple[int, int]]]:
    """The devices of all hosts: their names, and the place of the host and of the device of each."""
    hosts = timelines.profiles
    placed = [(at, i, one) for at, host in enumerate(hosts) for i, one in enumerate(host_paths(host).devices)]
    devices = [RunDevice(one.name, at, one.kind) for at, _, one in placed]
    names = device_names(devices, [host.name for host in hosts], several=len(hosts) > 1)
    return names, [(at, i) for at, i, _ in placed]


def _leading(timelines: Timelines) -> tuple[int, int]:
    return 0, host_paths(timelines.profiles[0]).leading


def _steps(paths: HostPaths, device: int, found: Path, shift: int) -> list[dict[str, Any]]:
    """The steps of the pieces."""
    spent = paths.spent
    if spent is None:
        return []
    begin, end = spent.devices[device].windows
    return [
        {"name": paths.labels[step], "begin_ps": int(begin[step]) + shift, "duration_ps": int(end[step] - begin[step])}
        for step in np.unique(found.step).tolist()
    ]


def _events(timelines: Timelines, at: int, plane: int, found: Path) -> dict[str, list[int]]:
    """Where the page shows the event of each piece: process, thread, number and row there; thread -1 without one."""
    trace, offset = timelines.traces[at], timelines.pid_offsets[at]
    shift = timelines.shifts[timelines.positions[at]]
    pid = np.array([_pid(trace, on, plane) for on in On], np.int64)[found.on]
    ids = np.array([_name_id(trace.names, name) for name in (*found.names, "")], np.uint32)
    rows = np.flatnonzero((pid >= 0) & (found.on != On.NOTHING))
    track, index, row = trace.native.find(
        pid[rows].astype(np.uint32),
        found.event_begin_ps[rows] + shift,
        np.ascontiguousarray(found.event_ps[rows]),
        ids[found.name[rows]],
    )
    shown, known = rows[track >= 0], track >= 0
    tids = np.array([one.tid for one in trace.tracks], np.int64)

    def column(values: Any) -> list[int]:
        out = np.full(len(found), NOTHING)
        out[shown] = values
        listed: list[int] = out.tolist()
        return listed

    return {
        "pid": column(pid[shown] + offset),
        "tid": column(tids[track[known]]),
        "event": column(index[known]),
        "row": column(row[known]),
        "event_begin_ps": column(found.event_begin_ps[shown] + shift),
        "event_duration_ps": column(found.event_ps[shown]),
    }


def _pid(trace: HostTrace, on: On, plane: int) -> int:
    """The process of the events of pieces; -1 for those without."""
    for section in trace.sections:
        if (on == On.OP and section.plane == plane) or (on == On.CALL and section.name == HOST_THREADS):
            return section.pid
    return NOTHING


def _name_id(names: list[str], name: str) -> int:
    place = bisect_left(names, name)
    return place if place < len(names) and names[place] == name else 0xFFFFFFFF


def slack(timelines: Timelines, chosen: str, pid: int, tid: int, index: int) -> dict[str, Any]:
    """The slack of one event; `chosen`: whose steps count for calls of the main thread. Raises NoData without it."""
    trace = timelines.traces[0]
    shift = timelines.shifts[timelines.positions[0]]
    track = track_of(trace, pid, tid)
    facts = None if track is None else trace.native.event(track, index)
    if track is None or facts is None:
        raise NoData(f"There is no event {index} on thread {tid} of process {pid}.", pid=pid, tid=tid, event=index)
    name, begin, duration, *_ = facts
    paths = host_paths(timelines.profiles[0])
    names = [device.name for device in paths.devices]
    _, _, own = chosen.rpartition(": ")
    device = names.index(own) if own in names else paths.leading
    place = trace.tracks[track]
    plane = next(section.plane for section in trace.sections if section.pid == place.pid)
    found = paths.slack(device, plane, (tid, place.name), (trace.names[name], begin - shift, duration))
    return {"bound": found.bound, "ps": found.ps, "why": found.why, "path_ps": found.path_ps}
