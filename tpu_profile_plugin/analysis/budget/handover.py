"""What the main thread waits for on other threads: input, requests of a batch, or any other result."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.common.spans import Times, times_of
from tpu_profile_plugin.columns.arrays import I64

LEAST_OF_BATCH = 1.5
"""Waits for results before each launch, on average, from which they collect a batch."""


def handed_over(waits: Times, sent: I64, launches: I64, limits: I64) -> tuple[Times, Times]:
    """Of waits for other threads on the main thread: those for input, and those that collect a batch.

    Waits without a launch in between belong together. They are for input if something is sent to a device before the
    next ones begin. A server that collects requests does so as well, but waits several times with a time limit.

    Args:
      waits: when the main thread waits.
      sent, launches: begins of copies to devices on any thread, and of launches, ascending.
      limits: when the main thread reads the clock, as a wait with a time limit does, ascending.
    """
    begin, end = waits
    if not len(begin):
        return waits, waits
    group = np.searchsorted(launches, begin)
    first = np.append(True, group[1:] != group[:-1])
    number, since = np.cumsum(first) - 1, begin[first]
    until = np.append(since[1:], np.iinfo(np.int64).max)
    fed = np.searchsorted(sent, until) > np.searchsorted(sent, since)
    limited = np.searchsorted(limits, end) > np.searchsorted(limits, begin)
    batch = np.zeros(len(since), np.bool_)
    if len(begin) >= LEAST_OF_BATCH * len(since):
        batch[number[limited]] = True
    return times_of(begin, end, (fed & ~batch)[number]), times_of(begin, end, batch[number])
