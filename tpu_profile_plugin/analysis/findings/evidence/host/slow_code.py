"""The code of a host that devices wait for most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.keys import row_codes
from tpu_profile_plugin.analysis.findings.evidence.host.code import code_of
from tpu_profile_plugin.analysis.findings.evidence.host.idle_parts import idle_parts
from tpu_profile_plugin.analysis.findings.evidence.host.launched import Launched, longest_gap_ps
from tpu_profile_plugin.analysis.findings.evidence.host.spans import HostCode, IdleSpans
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.columns.arrays import I64, Bools

LAUNCHES_OF_FUNCTION = 2
"""A function that encloses this many launches does the launching; a single one may belong to the code before it."""


@dataclass(frozen=True, slots=True, eq=False)
class SlowCode:
    """Code of one host that devices wait for.

    Attributes:
      lost_ps: idle time, summed over steps and devices; by_part: the same by part of the time budget, int64[c + 1].
      name, inner: the function behind most of it and the deepest event in it; "" if nothing is known of the code.
      name_ps: idle time because of it.
      window: the longest wait for it.
    """

    lost_ps: int
    by_part: I64
    name: str
    inner: str
    name_ps: int
    window: tuple[int, int]


def slow_code(host: HostView, ops: Launched | None = None) -> SlowCode | None:
    """The code that costs most on a host; None if there is none.

    `ops`: what steps launch that are not compiled. Then short spans do not count, nor long ones in functions that
    launch ops as well: what Python does between two operations is the price of launching them one by one.
    """
    code = code_of(host)
    if code is None:
        return None
    spans = code.slow if len(code.slow.ps) or code.traced else code.unknown
    if ops is not None and host.steps is not None:
        spans = spans.where(spans.end_ps - spans.begin_ps >= longest_gap_ps(host.steps))
        spans = spans.where(~_launches(code, spans, np.sort(ops.at_ps)))
    if not len(spans.ps):
        return None
    function, inner, ps, rows = _most(code, spans)
    longest = rows[int(np.argmax(spans.ps[rows]))]
    return SlowCode(
        spans.total(),
        spans.by_part(idle_parts(host)),
        code.names[function] if function >= 0 else "",
        code.names[inner] if inner >= 0 else "",
        ps,
        (int(spans.begin_ps[longest]), int(spans.end_ps[longest])),
    )


def _launches(code: HostCode, spans: IdleSpans, launch_ps: I64) -> Bools:
    """Per span, whether the function around it launches ops."""
    caller = np.where(spans.user >= 0, spans.user, spans.event)
    known = caller >= 0
    begin, end = code.events.begin_ps[caller[known]], code.events.end_ps[caller[known]]
    launches: Bools = np.zeros(len(caller), np.bool_)
    launches[known] = np.searchsorted(launch_ps, end) - np.searchsorted(launch_ps, begin) >= LAUNCHES_OF_FUNCTION
    return launches


def _most(code: HostCode, spans: IdleSpans) -> tuple[int, int, int, np.ndarray]:
    """Names of the function and the event in it with most idle time, that time, and its spans."""
    caller = np.where(spans.user >= 0, spans.user, spans.event)
    name = np.where(caller >= 0, code.events.name[caller], -1) if len(code.events) else caller
    event = np.where(spans.event >= 0, code.events.name[spans.event], -1) if len(code.events) else caller
    best, rows, ps = _largest(name, spans.ps, np.arange(len(name)))
    inner, _, _ = _largest(event, spans.ps, rows)
    return best, inner, ps, rows


def _largest(key: np.ndarray, ps: np.ndarray, rows: np.ndarray) -> tuple[int, np.ndarray, int]:
    """The key of those rows with the largest sum, its rows, and the sum."""
    number, first = row_codes(key[rows])
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, number, ps[rows])
    best = int(sums.argmax())
    return int(key[rows][first[best]]), rows[number == best], int(sums[best])
