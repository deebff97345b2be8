"""Launches of GPU kernels: how long after its launch on the host each began, and how many were waiting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import host_plane, spans_at
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device
from tpu_profile_plugin.columns import EventFilter, Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64

KEYS = {"gpu": "correlation_id", "tpu": "run_id", "cpu": "run_id"}
"""The stat that a launch on the host and what it starts on a device have in common."""


@dataclass(frozen=True, slots=True, eq=False)
class Launches:
    """Launches and what they started on one device, by begin on the device; times in picoseconds.

    Attributes:
      call_ps, called_ps: begin and end of the call on the host.
      begin_ps, end_ps: of the kernel, or of the run of a program (`end_ps` is its begin if the end is unknown).
    """

    call_ps: I64
    called_ps: I64
    begin_ps: I64
    end_ps: I64

    def __len__(self) -> int:
        return len(self.begin_ps)

    @property
    def delay_ps(self) -> I64:
        """From the begin of the call to the begin on the device; negative where clocks disagree."""
        return self.begin_ps - self.call_ps


def launches_of(space: XSpace, devices: Sequence[Device], host: Plane | None = None) -> list[Launches]:
    """The launches of each device, by correlation id (GPUs) or run id (TPUs); devices of the CPU backend have none.

    `host` is the host plane with at least the events of launches; it is read from the profile by default.
    """
    none = np.zeros(0, np.int64)
    if not devices or devices[0].kind == "cpu":
        return [Launches(none, none, none, none) for _ in devices]
    key, begin, end = calls_of(space, KEYS[devices[0].kind], host)
    return [_matched(device, key, begin, end) for device in devices]


def calls_of(space: XSpace, stat: str, plane: Plane | None) -> tuple[I64, I64, I64]:
    """Key, begin and end of the first host event of each launch, by key."""
    none = np.zeros(0, np.int64)
    plane = plane or host_plane(space)
    if plane is None:
        return none, none, none
    if not plane.decoded:
        if plane.declared.stat_metadata.row(stat) is None:
            return none, none, none
        (plane,) = space.filtered(EventFilter(plane, event=lambda _: False, stats=(stat,)))
    value, known = read.ints(space, plane, plane.events.stats, stat)
    rows = np.flatnonzero(known)
    rows = rows[np.lexsort((plane.events.begin_ps[rows], value[rows]))]
    rows = rows[np.append(True, np.diff(value[rows]) != 0)] if len(rows) else rows
    return value[rows], *spans_at(plane, rows)


def launch_begins(space: XSpace, device: Device) -> I64:
    """When the host launched what begins at each of the device's `starts`; `NO_LAUNCH` if that is unknown."""
    key, begin, _ = calls_of(space, KEYS[device.kind], None)
    if not len(key):
        return np.full(len(device.starts), NO_LAUNCH)
    call = np.minimum(np.searchsorted(key, device.launch_key), len(key) - 1)
    return np.where((key[call] == device.launch_key) & (device.launch_key != NO_LAUNCH), begin[call], NO_LAUNCH)


def _matched(device: Device, key: I64, begin: I64, end: I64) -> Launches:
    launch_key = device.launch_key
    if not len(key) or not len(launch_key):
        none = np.zeros(0, np.int64)
        return Launches(none, none, none, none)
    call = np.minimum(np.searchsorted(key, launch_key), len(key) - 1)
    launched = np.flatnonzero((key[call] == launch_key) & (launch_key != NO_LAUNCH))
    starts = device.starts[launched]
    # The begins of a GPU's launches are those of its kernels, in the same order.
    ends = device.runs.end_ps[launched] if device.kind == "gpu" else starts
    return Launches(begin[call[launched]], end[call[launched]], starts, ends)
