"""When Python collects garbage on the main thread."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from tpu_profile_plugin.analysis.budget.host_time import MainThread
from tpu_profile_plugin.analysis.common.spans import Times, join, no_time, times_of
from tpu_profile_plugin.columns.arrays import Bools

_CALLBACK = re.compile(r"\$(?:\S*/)?__init__\.py:\d+ _xla_gc_callback\Z")
"""JAX's entry in `gc.callbacks`: Python calls it when a collection begins, and again when it ends."""
COLLECT = "$gc collect"
"""A call of gc.collect()."""


def collections(main: MainThread) -> Times:
    """Calls of gc.collect, and collections that Python begins by itself; these only where JAX is told of them.

    They last from the end of a callback to the begin of the next, in pairs, as long as no other function begins between
    them: while garbage is collected none does.
    """
    levels = main.levels
    if not levels.begin_ps:
        return no_time()
    begin, end, name = (np.concatenate(column) for column in (levels.begin_ps, levels.end_ps, levels.name))
    callback = _named(main, _CALLBACK.match)[name]
    calls = times_of(begin, end, _named(main, COLLECT.__eq__)[name])
    row = np.flatnonzero(callback)
    if not len(row):
        return calls
    row = row[np.argsort(begin[row], kind="stable")]
    others = np.sort(begin[_named(main, re.compile(r"\$").match)[name] & ~callback])
    begin, end = begin[row], end[row]
    apart = np.searchsorted(others, begin[1:]) > np.searchsorted(others, end[:-1])
    first = np.flatnonzero(np.append(True, apart))
    place = np.arange(len(row)) - np.repeat(first, np.diff(np.append(first, len(row))))
    opens = np.flatnonzero((place[:-1] % 2 == 0) & ~apart)
    return join(calls, times_of(end[opens], begin[opens + 1]))


def _named(main: MainThread, matches: Callable[[str], object]) -> Bools:
    return np.array([bool(matches(name)) for name in main.names], np.bool_)
