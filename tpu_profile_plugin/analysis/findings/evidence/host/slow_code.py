"""The code of a host that devices wait for most, and what it is for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.blame.host_groups import MOST
from tpu_profile_plugin.analysis.common.spans import intersect, total, union
from tpu_profile_plugin.analysis.findings.evidence.host.calls import Calls
from tpu_profile_plugin.analysis.findings.evidence.host.code import GLUE_PS, HostCode, Idle, code_of
from tpu_profile_plugin.analysis.findings.evidence.host.launched import Launched, longest_gap_ps
from tpu_profile_plugin.analysis.findings.evidence.host.lock import holding
from tpu_profile_plugin.analysis.findings.evidence.host.purpose import AS_CODE, Purpose
from tpu_profile_plugin.analysis.findings.evidence.host.telling import Telling, telling
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.columns.arrays import I64, Bools

LAUNCHING = 0.02
"""Share of the launches from which a function that encloses them does the launching."""


@dataclass(frozen=True, slots=True, eq=False)
class SlowCode:
    """Code of one host that devices wait for.

    Attributes:
      by_part: idle time by part of the time budget, int64[c + 1], summed over steps and devices.
      purpose: what most of it is for.
      name: the call that tells the purpose, else the function behind most of it; "" if nothing is known of the code.
      place: the program's function that made the call, "" if unknown, or if `name` is the program's own.
      inner: the deepest call that most of it is in.
      name_ps: idle time because of it.
      window: the longest wait for it.
      after_wait: the call that waits for results right before most of its spans, "" without one.
      sent: something is sent to a device after most of its spans, before the next: it prepares input.
      holder: the function of another thread that holds the lock which the main thread waits for; "" if unknown.
    """

    by_part: I64
    purpose: Purpose
    name: str
    place: str
    inner: str
    name_ps: int
    window: tuple[int, int]
    after_wait: str
    sent: bool
    holder: str = ""


def slow_code(host: HostView, ops: Launched | None = None) -> SlowCode | None:
    """The code that costs most on a host; None if there is none.

    `ops`: what steps launch that are not compiled. Then short spans do not count, nor long ones in functions that
    launch ops as well: what Python does between two operations is the price of launching them one by one.
    """
    code = code_of(host)
    if code is None:
        return None
    spans = code.slow
    if not code.calls.main.traced and code.unknown.total() > spans.total():
        spans = code.unknown
    if ops is not None and host.steps is not None:
        spans = spans.where(spans.ps >= longest_gap_ps(host.steps))
        spans = spans.where(~_launching(code.calls, ops)[code.calls.stacks.at(spans.middle)])
    if not len(spans):
        return None
    most = _most(code, host, *code.within(spans))
    mine = most.nodes[code.calls.stacks.at(spans.middle)]
    chosen = spans.where(mine) if mine.any() else spans
    longest = int(chosen.ps.argmax())
    holder = ""
    if most.purpose in (Purpose.UNKNOWN, Purpose.LOCK):
        holder = holding(host, intersect(code.calls.times(most.nodes), union(chosen.begin_ps, chosen.end_ps)), most.ps)
    return SlowCode(
        spans.by_part(host),
        Purpose.LOCK if holder else most.purpose,
        most.name,
        most.place,
        most.inner,
        most.ps,
        (int(chosen.begin_ps[longest]), int(chosen.end_ps[longest])),
        _after_wait(code, chosen.begin_ps),
        _sent(host, chosen),
        holder,
    )


def _most(code: HostCode, host: HostView, node: I64, ps: I64) -> Telling:
    calls, thread_ps = code.calls, host.blame.thread_ps
    evaluating = int(thread_ps[calls.purpose[:-1] == Purpose.EVALUATION].sum())
    # What most of the time is the program itself, whatever it is called.
    silent = (*AS_CODE, Purpose.EVALUATION) if evaluating > MOST * thread_ps.sum() else AS_CODE
    most = telling(host, node, ps, silent)
    if most.purpose == Purpose.QUEUE:
        waits = intersect(calls.times(calls.purpose == Purpose.QUEUE), union(code.slow.begin_ps, code.slow.end_ps))
        if 2 * total(intersect(waits, host.reader.time.batching)) > total(waits):
            return replace(most, purpose=Purpose.BATCHING)
    return most


def _after_wait(code: HostCode, begin: I64) -> str:
    """The kind of call that most spans with these begins follow at once; short calls are left out."""
    long = code.fetches.end_ps - code.fetches.begin_ps >= GLUE_PS
    end, name = code.fetches.end_ps[long], code.fetches.name[long]
    if not len(end):
        return ""
    last = np.searchsorted(end, begin, side="right") - 1
    close = (last >= 0) & (begin - end[np.maximum(last, 0)] < GLUE_PS)
    if 2 * int(close.sum()) <= len(begin):
        return ""
    return code.calls.main.names[int(np.bincount(name[last[close]]).argmax())]


def _sent(host: HostView, spans: Idle) -> bool:
    begin, end = union(spans.begin_ps, spans.end_ps)
    upload = host.reader.time.upload[0]
    until = np.append(begin[1:], np.iinfo(np.int64).max)
    return 2 * int((np.searchsorted(upload, until) > np.searchsorted(upload, end)).sum()) > len(end)


def _launching(calls: Calls, ops: Launched) -> Bools:
    """Per node, whether the program's function around it launches ops."""
    share = calls.inclusive(*np.unique(calls.stacks.at(ops.at_ps), return_counts=True))
    launches: Bools = share >= LAUNCHING * len(ops.at_ps)
    around = np.where(calls.function >= 0, calls.function, np.arange(len(calls.function)))
    return launches[around] & (np.arange(len(around)) < len(around) - 1)
