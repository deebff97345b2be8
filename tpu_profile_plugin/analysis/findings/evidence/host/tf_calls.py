"""Calls of tf.functions on the host that trace the function, or run it op by op."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.spans import Times, no_time, times_of
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.ops.thread_ops import FUNCTION_CALL, is_expensive_mode
from tpu_profile_plugin.columns.arrays import I64


def traced_calls(host: HostView) -> tuple[Times, Counter[str]]:
    """When tf.functions were traced, and how often each."""
    rows = _calls(host, lambda mode: mode.startswith("traced"))
    if host.plane is None or not len(rows):
        return no_time(), Counter()
    return times_of(*spans_at(host.plane, rows)), _by_name(host, rows)


def expensive_calls(host: HostView) -> Counter[str]:
    """How often each tf.function was traced or run eagerly."""
    return _by_name(host, _calls(host, is_expensive_mode))


def _calls(host: HostView, wanted: Callable[[str], bool]) -> I64:
    """Rows of the calls in some modes."""
    plane = host.plane
    if plane is None or not any(one.expensive_ps for one in host.summary.functions):
        return np.zeros(0, np.int64)
    event, code, modes = StatColumns(host.space, plane, plane.events.stats, (FUNCTION_CALL,)).texts(FUNCTION_CALL)
    return event[np.array([wanted(mode) for mode in modes], np.bool_)[code]]


def _by_name(host: HostView, rows: I64) -> Counter[str]:
    if host.plane is None or not len(rows):
        return Counter()
    names, counts = np.unique(host.plane.events.metadata[rows], return_counts=True)
    of = host.plane.event_metadata.names
    return Counter({of[name]: count for name, count in zip(names.tolist(), counts.tolist(), strict=True)})
