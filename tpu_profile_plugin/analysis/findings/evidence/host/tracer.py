"""What recording Python functions costs the program, estimated from how many calls were recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget import categories as part
from tpu_profile_plugin.analysis.budget.host_time import MainThread
from tpu_profile_plugin.analysis.common.spans import Times
from tpu_profile_plugin.analysis.findings.evidence.host.callers import main_thread_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.lost import lost_to
from tpu_profile_plugin.columns.arrays import I64

TRACED_CALL_PS = 200_000
"""What one recorded call costs: 0.2 us, as measured with empty functions (0.24 us with the tracer, 0.04 us without). A
slower processor takes up to 1 us, so that the estimate is the least."""

_WAITS_OF_HOST = part.IDLE_HOST, part.IDLE_LAUNCH, part.IDLE_OTHER
_NAMES = "idle_host", "idle_launch", "idle_other"


@dataclass(frozen=True, slots=True)
class Tracing:
    """Recorded calls of Python functions on the main thread while devices have nothing to do.

    Attributes:
      cells: steps times devices that take part.
      calls: summed over these; tracing_ps: what they cost at least.
      window: the step with most of them.
    """

    cells: int
    calls: int
    tracing_ps: int
    window: tuple[int, int]


def tracing(host: HostView) -> Tracing | None:
    """The calls of one host; None without Python functions, or if devices hardly wait for the host."""
    begin, end = host.marks
    if not len(begin) or lost_to(host.time, *_NAMES).share < LEAST_SHARE:
        return None
    main = main_thread_of(host)
    if not main.traced:
        return None
    waits = [
        times
        for device in (host.spent.devices if host.spent is not None else ())
        for category, times in device.spent
        if category in _WAITS_OF_HOST
    ]
    spans = [*waits, (begin, end)]
    count = recorded_calls(main, (np.concatenate([one[0] for one in spans]), np.concatenate([one[1] for one in spans])))
    calls, per_step = int(count[: -len(begin)].sum()), count[-len(begin) :]
    most = int(per_step.argmax())
    return Tracing(max(host.time.cells, 1), calls, calls * TRACED_CALL_PS, (int(begin[most]), int(end[most])))


def recorded_calls(main: MainThread, spans: Times) -> I64:
    """Per span, in any order, how many recorded calls of Python functions begin in it, int64[n]."""
    frames = np.array([name.startswith("$") for name in main.names], np.bool_)
    levels = zip(main.levels.begin_ps, main.levels.name, strict=True)
    begins = [since[frames[name]] for since, name in levels]
    if len(begins) * len(spans[0]) > sum(map(len, begins)):
        begins = [np.sort(np.concatenate(begins), kind="stable")]  # merges: quick, but not if there are few spans
    count = np.zeros(len(spans[0]), np.int64)
    for at in begins:
        count += np.searchsorted(at, spans[1]) - np.searchsorted(at, spans[0])
    return count
