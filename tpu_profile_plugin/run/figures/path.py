"""The binding path of a run's devices in a window, and the slack of single events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.budget import SpentTime
from tpu_profile_plugin.analysis.common.planes import host_plane, shown_names
from tpu_profile_plugin.analysis.devices.model import HOST_ALONE, Device
from tpu_profile_plugin.analysis.replay.binding_path import Path, calls_of, device_path, leading
from tpu_profile_plugin.analysis.replay.slack import NO_STEP, OTHER_LINE, Slack, slack_of_call, slack_of_op
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.run.figures.budget import alone_spent, host_devices, host_spent, reader_of
from tpu_profile_plugin.run.host import HostProfile


@dataclass(frozen=True, slots=True, eq=False)
class HostPaths:
    """The devices of one host, or the host that stands for them."""

    host: HostProfile
    devices: tuple[Device, ...]

    @property
    def spent(self) -> SpentTime | None:
        """How they spend their steps; None without steps."""
        return (alone_spent if self.devices == (HOST_ALONE,) else host_spent)(self.host)

    @property
    def leading(self) -> int:
        """The device that the others wait for."""
        spent = self.spent
        return 0 if spent is None else leading(spent)

    @property
    def labels(self) -> Sequence[str]:
        """The names of the steps."""
        spent = self.spent
        return [] if spent is None else spent.steps.labels

    def plane(self, device: int) -> Plane | None:
        """The plane of a device's ops."""
        number = self.devices[device].plane
        return None if number < 0 else self.host.lazy.planes[number]

    def path(self, device: int, window: tuple[int, int]) -> Path:
        """The binding path of a device in the steps that overlap a window, on the axis of the file."""
        spent = self.spent
        if spent is None:
            return Path()
        time = spent.devices[device]
        begin, end = time.windows
        steps = np.flatnonzero((end > window[0]) & (begin < window[1]))
        if not len(steps):
            return Path()
        since, until, reader = int(begin[steps].min()), int(end[steps].max()), reader_of(self.host)
        calls = calls_of(spent.thread(reader), reader.time.launch, since, until)
        return device_path(self.devices[device], self.plane(device), time, calls, window)

    def slack(self, device: int, plane: int, track: tuple[int, str], event: tuple[str, int, int]) -> Slack:
        """The slack of an event.

        Args:
          device: whose steps count, for calls of the main thread; ops are those of their own device.
          plane: index of the plane that holds the event.
          track: id, as viewers show it, and name of its line.
          event: its name, begin and duration.
        """
        _, begin, duration = event
        window = begin, begin + max(duration, 1)
        if self.spent is None:
            return NO_STEP
        of_op = [i for i, one in enumerate(self.devices) if one.plane == plane and self._row(i, event) is not None]
        if of_op:
            row, own = self._row(of_op[0], event), self.plane(of_op[0])
            assert row is not None
            assert own is not None
            return slack_of_op(self.devices[of_op[0]], own, self.path(of_op[0], window), row)
        host, time = host_plane(self.host.lazy), reader_of(self.host).time
        if host is None or host.index != plane or time.main is None or not _is_line(host, time.main, track):
            return OTHER_LINE
        return slack_of_call(self.devices[device], time, self.path(device, window), window)

    def _row(self, device: int, event: tuple[str, int, int]) -> int | None:
        """The row of an event of a device's queues; None if it is none."""
        plane, runs = self.plane(device), self.devices[device].runs
        if plane is None:
            return None
        name, begin, duration = event
        rows = np.unique(runs.event)
        rows = rows[(plane.events.begin_ps[rows] == begin) & (plane.events.duration_ps[rows] == duration)]
        shown = shown_names(plane.event_metadata.names, plane.event_metadata.display_names)
        return next((row for row in rows.tolist() if shown[int(plane.events.metadata[row])] == name), None)


def _is_line(plane: Plane, line: tuple[int, str], track: tuple[int, str]) -> bool:
    """Whether a track of a viewer shows a line, by its ids and name."""
    lines = plane.lines
    return any(
        (int(lines.id[i]), lines.name[i]) == line
        and track[0] in (int(lines.display_id[i] or lines.id[i]) & 0xFFFFFFFF, int(lines.id[i]) & 0xFFFFFFFF)
        and track[1] == (lines.display_name[i] or lines.name[i])
        for i in range(len(lines))
    )


def host_paths(host: HostProfile) -> HostPaths:
    """What the paths of one host are made of."""
    return HostPaths(host, host_devices(host) or (HOST_ALONE,))
