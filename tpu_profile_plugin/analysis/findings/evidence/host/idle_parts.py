"""The time budget's own parts of idle time as spans, so that a cause can name the parts that its time lies in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.budget import device_work, sharing
from tpu_profile_plugin.analysis.budget.idle import idle_parts as parts_of
from tpu_profile_plugin.analysis.budget.idle import name_idle, split_idle
from tpu_profile_plugin.analysis.common.spans import Times, covered_within, intersect, subtract, union
from tpu_profile_plugin.analysis.devices.model import HOST_ALONE, OpSpans
from tpu_profile_plugin.analysis.findings.host_view import HostView, until_next
from tpu_profile_plugin.columns.arrays import I64


@dataclass(frozen=True, slots=True, eq=False)
class DeviceParts:
    """Idle time of one device.

    Attributes:
      parts: (category, spans); disjoint.
      step: begin and end of the steps in which the device takes part; window: the same until the next step begins.
    """

    parts: tuple[tuple[int, Times], ...]
    step: Times
    window: Times

    def split(self, spans: Times) -> I64:
        """Time of spans within steps by category, int64[c + 1]; the last is what lies between steps."""
        by_part = np.zeros(len(part.CATEGORIES) + 1, np.int64)
        for category, times in self.parts:
            by_part[category] += covered_within(*intersect(times, spans), *self.step).sum()
        inside = int(covered_within(*spans, *self.step).sum())
        by_part[-1] = max(int(covered_within(*spans, *self.window).sum()) - inside, 0)
        return by_part


def idle_parts(host: HostView) -> tuple[DeviceParts, ...]:
    """The idle time of each device of a host, of the host itself without devices; empty without steps."""
    return host.once(_idle_parts)


def _idle_parts(host: HostView) -> tuple[DeviceParts, ...]:
    steps = host.shown.steps
    if steps is None:
        return ()
    devices = host.devices or (HOST_ALONE,)
    since, until = int(steps.begin_ps.min()), int(steps.end_ps.max())
    whole, main = (np.array([since]), np.array([until])), host.reader.main(since, until, steps.evidence)
    others, found = sharing(devices), []
    for i, device in enumerate(devices):
        idle = split_idle(subtract(whole, device_work(device, OpSpans()).any), device, host.reader.time, others)
        named = name_idle(idle.rest, main, device)
        used = host.time.takes_part[:, i]
        begin, end = steps.begin_ps[:, i], steps.end_ps[:, i]
        window = union(begin[used], until_next(begin, end)[used])
        found.append(DeviceParts(tuple(parts_of(idle, named)), union(begin[used], end[used]), window))
    return tuple(found)
