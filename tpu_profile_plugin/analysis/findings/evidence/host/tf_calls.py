"""Calls of tf.functions on the host, and those that trace the function."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tpu_profile_plugin.analysis.common.planes import events_of_lines, lines_named
from tpu_profile_plugin.analysis.common.spans import Times, no_time, times_of
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.ops.thread_ops import FUNCTION_CALL, is_expensive_mode
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64, Bools


def traced_calls(host: HostView) -> tuple[Times, Counter[str]]:
    """When tf.functions were traced, and how often each."""
    if host.plane is None or not any(one.expensive_ps for one in host.summary.functions):
        return no_time(), Counter()
    calls, row, traced = function_calls(host)
    return times_of(calls[0][traced], calls[1][traced]), _by_name(host.plane, row[traced])


def expensive_calls(host: HostView) -> Counter[str]:
    """How often each tf.function was traced or run eagerly."""
    if host.plane is None or not any(one.expensive_ps for one in host.summary.functions):
        return Counter()
    plane = host.plane
    event, code, modes = StatColumns(host.space, plane, plane.events.stats, (FUNCTION_CALL,)).texts(FUNCTION_CALL)
    return _by_name(plane, event[np.array([is_expensive_mode(mode) for mode in modes], np.bool_)[code]])


def _by_name(plane: Plane, events: I64) -> Counter[str]:
    names, counts = np.unique(plane.events.metadata[events], return_counts=True)
    of = plane.event_metadata.names
    return Counter({of[name]: count for name, count in zip(names.tolist(), counts.tolist(), strict=True)})


def function_calls(host: HostView, line: tuple[int, str] | None = None) -> tuple[Times, I64, Bools]:
    """Begins and ends of calls of tf.functions, of one thread if its id and name are given; their rows; if traced."""
    if host.plane is None or not host.summary.functions:
        return no_time(), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    plane = host.plane
    event, code, modes = StatColumns(host.space, plane, plane.events.stats, (FUNCTION_CALL,)).texts(FUNCTION_CALL)
    if line is not None:
        same = [at for at in lines_named(plane, line[1]) if int(plane.lines.id[at]) == line[0]]
        keep = np.isin(event, events_of_lines(plane, same))
        event, code = event[keep], code[keep]
    begin = plane.events.begin_ps[event]
    traced = np.array([mode.startswith("traced") for mode in modes], np.bool_)[code]
    return (begin, begin + plane.events.duration_ps[event]), event, traced
