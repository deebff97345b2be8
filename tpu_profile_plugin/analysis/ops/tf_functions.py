"""Calls of tf.functions on the host, and the share of their time spent tracing or executing eagerly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.columns import Plane, XSpace

FUNCTION_CALL = "tf_function_call"
"""Stat of events that are function calls; the value is the mode of the call."""
_DROPPED = np.iinfo(np.int64).min
EXPENSIVE_SHARE = 0.2
"""Functions with at least this share of tracing and eager execution in their self time are expensive."""


@dataclass(frozen=True, slots=True)
class TfFunction:
    """One function: calls, self time (without functions it calls), and the part of it in expensive calls."""

    name: str
    calls: int
    self_ps: int
    expensive_ps: int

    @property
    def expensive_share(self) -> float:
        """Share of the self time in expensive calls, 0 to 1."""
        return self.expensive_ps / self.self_ps if self.self_ps else 0.0


def is_expensive_mode(mode: str) -> bool:
    """True for calls that trace the function or execute it eagerly."""
    return mode.startswith("traced") or mode == "eager"


def tf_functions(space: XSpace, plane: Plane) -> tuple[TfFunction, ...]:
    """The functions called on host threads, by name."""
    event, code, modes = StatColumns(space, plane, plane.events.stats, (FUNCTION_CALL,)).texts(FUNCTION_CALL)
    if not len(event):
        return ()
    line = np.searchsorted(plane.lines.event_start, event, side="right") - 1
    start = np.searchsorted(line, np.arange(len(plane.lines.name) + 1)).astype(np.int64)
    begin = np.ascontiguousarray(plane.events.begin_ps[event])
    self_ps, _, _ = _native.activity_self_times(start, begin, begin + plane.events.duration_ps[event])
    expensive = np.array([is_expensive_mode(mode) for mode in modes], np.bool_)[code]
    valid = self_ps != _DROPPED
    rows, where = np.unique(plane.events.metadata[event[valid]], return_inverse=True)
    calls = np.bincount(where, minlength=len(rows))
    total = np.bincount(where, weights=self_ps[valid], minlength=len(rows))
    expensive_ps = np.bincount(where, weights=self_ps[valid] * expensive[valid], minlength=len(rows))
    names = plane.event_metadata.names
    functions = zip(rows.tolist(), calls.tolist(), total.tolist(), expensive_ps.tolist(), strict=True)
    return combine_functions(
        [[TfFunction(names[row], n, int(ps), int(expensive_total)) for row, n, ps, expensive_total in functions]]
    )


def combine_functions(parts: Sequence[Sequence[TfFunction]]) -> tuple[TfFunction, ...]:
    """Adds up the functions of several hosts by name."""
    totals: dict[str, TfFunction] = {}
    for function in (item for part in parts for item in part):
        total = totals.get(function.name, TfFunction(function.name, 0, 0, 0))
        totals[function.name] = TfFunction(
            function.name,
            total.calls + function.calls,
            total.self_ps + function.self_ps,
            total.expensive_ps + function.expensive_ps,
        )
    return tuple(totals[name] for name in sorted(totals))


def expensive_functions(functions: Sequence[TfFunction]) -> list[TfFunction]:
    """Functions with an expensive share of at least EXPENSIVE_SHARE, highest share first."""
    worst = [function for function in functions if function.self_ps and function.expensive_share >= EXPENSIVE_SHARE]
    return sorted(worst, key=lambda function: (-function.expensive_share, function.name))
