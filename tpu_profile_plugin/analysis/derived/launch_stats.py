"""Launch Stats line: per GPU and group, the number of kernels the host launched and the launch durations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.preprocessed import LAUNCH_STATS, LAUNCH_STATS_ID, ExtraLine
from tpu_profile_plugin.analysis.grouping.plane_lookup import PlaneLookup
from tpu_profile_plugin.columns.arrays import I32, I64
from tpu_profile_plugin.units import PS_PER_US

_DRIVER_CALLS = "cu"


def launch_stats(host: PlaneLookup, group: I64 | None, device: int, names: Mapping[int, str]) -> ExtraLine | None:
    """Launches from one host plane on GPU number `device`; None without any.

    CUDA driver calls (`cu...`) are excluded, and so are groups without a name, which only the file assigned.
    Launch times are formatted texts in microseconds.
    """
    if group is None:
        return None
    events, plane = _launches(host, device), host.plane
    named = [number for number in np.unique(group[events]).tolist() if number in names]
    events = events[np.isin(group[events], named)]
    if len(events) == 0:
        return None
    groups, inverse = np.unique(group[events], return_inverse=True)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    events, first = events[order], np.searchsorted(inverse.reshape(-1)[order], np.arange(len(groups)))
    begin, duration = plane.events.begin_ps[events], plane.events.duration_ps[events]
    count = np.diff(np.append(first, len(events)))
    start = np.minimum.reduceat(begin, first)
    return ExtraLine(
        id=LAUNCH_STATS_ID,
        name=LAUNCH_STATS,
        begin_ps=start,
        duration_ps=np.maximum.reduceat(begin + duration, first) - start,
        metadata=np.arange(len(groups), dtype=np.uint32),
        names=tuple(f"Launch Stats for {names[number]}" for number in groups.tolist()),
        display_names=("",) * len(groups),
        group_id=groups,
        extra_args={
            "num_launches": count,
            "max_launch_time_us": _microseconds(np.maximum.reduceat(duration, first)),
            "avg_launch_time_us": _microseconds(np.add.reduceat(duration, first) / count),
        },
    )


def _microseconds(time_ps: np.ndarray[Any, Any]) -> tuple[I32, tuple[str, ...]]:
    """Times as a text column in microseconds with six significant digits; one text per row."""
    return np.arange(len(time_ps), dtype=np.int32), tuple(f"{time / PS_PER_US:g}" for time in time_ps.tolist())


def _launches(host: PlaneLookup, device: int) -> I64:
    """Events that launch on the device and are not driver calls."""
    devices = host.stat_columns.ints("device_id")
    events = devices.event[devices.value == device]
    _, launched = host.stat_columns.ints("correlation_id").at(events)
    events = events[launched]
    rows = host.plane.events.metadata[events]
    names = host.plane.event_metadata.names
    driver = {row for row in np.unique(rows).tolist() if names[row].startswith(_DRIVER_CALLS)}
    launches: I64 = events[~np.isin(rows, list(driver))] if driver else events
    return launches
