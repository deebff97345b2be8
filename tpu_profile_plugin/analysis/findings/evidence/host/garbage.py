"""When Python collected garbage on the main thread."""

from __future__ import annotations

import re

import numpy as np

from tpu_profile_plugin.analysis.budget.host_time import MainThread
from tpu_profile_plugin.analysis.common.spans import Times, join, no_time, times_of
from tpu_profile_plugin.analysis.findings.evidence.host.covering import Events

_CALLBACK = re.compile(r"\$(?:\S*/)?__init__\.py:\d+ _xla_gc_callback\Z")
"""JAX's entry in `gc.callbacks`: Python calls it when a collection begins, and again when it ends."""
_COLLECT = re.compile(r"\$gc collect\Z")


def collections(main: MainThread, events: Events) -> Times:
    """Calls of gc.collect, and collections that Python begins by itself; these only where JAX is told of them."""
    if not len(events):
        return no_time()
    explicit = _named(main, _COLLECT)[events.name]
    return join(times_of(events.begin_ps[explicit], events.end_ps[explicit]), _automatic(main, events))


def _automatic(main: MainThread, events: Events) -> Times:
    """From the end of a callback to the begin of the next, in pairs, as long as no other function begins between them:
    while garbage is collected none does.
    """
    names = _named(main, _CALLBACK)
    if not names.any():
        return no_time()
    row = np.flatnonzero(names[events.name])
    row = row[np.argsort(events.begin_ps[row], kind="stable")]
    begin, end = events.begin_ps[row], events.end_ps[row]
    others = np.sort(events.begin_ps[_frames(main)[events.name] & ~names[events.name]])
    apart = np.searchsorted(others, begin[1:]) > np.searchsorted(others, end[:-1])
    first = np.flatnonzero(np.append(True, apart))
    place = np.arange(len(row)) - np.repeat(first, np.diff(np.append(first, len(row))))
    opens = np.flatnonzero((place[:-1] % 2 == 0) & ~apart)
    return times_of(begin[opens], end[opens + 1])


def _named(main: MainThread, pattern: re.Pattern[str]) -> np.ndarray:
    return np.array([pattern.match(name) is not None for name in main.names], np.bool_)


def _frames(main: MainThread) -> np.ndarray:
    return np.array([name.startswith("$") for name in main.names], np.bool_)
