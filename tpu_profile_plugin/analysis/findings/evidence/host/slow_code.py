"""The code of a host that devices wait for most, and what it is for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.blame.host_groups import largest_group
from tpu_profile_plugin.analysis.budget.categories import IDLE_HOST, IDLE_OTHER
from tpu_profile_plugin.analysis.budget.host_time import COVERING, MainThread
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.common.spans import Times, contains, covered_within, times_of, union
from tpu_profile_plugin.analysis.findings.evidence.host.callers import frames_around, main_thread_of
from tpu_profile_plugin.analysis.findings.evidence.host.code import code_of
from tpu_profile_plugin.analysis.findings.evidence.host.launched import Launched, longest_gap_ps
from tpu_profile_plugin.analysis.findings.evidence.host.purpose import RUNTIME, Purpose, doing, purposes
from tpu_profile_plugin.analysis.findings.evidence.host.spans import GLUE_PS, HostCode, IdleSpans
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.columns.arrays import I64, U8, Bools

LAUNCHES_OF_FUNCTION = 2
"""A function that encloses this many launches does the launching; a single one may belong to the code before it."""
MANY_CALLS = COVERING
"""Share of an idle span that calls with the same purpose must take together, as a single one would."""
_CODE = (IDLE_HOST, IDLE_OTHER)
"""Parts of a step in which the host runs code that is no call of a runtime."""
_AS_CODE = (Purpose.UNKNOWN, Purpose.INPUT, Purpose.PROFILER, Purpose.SLEEP, *RUNTIME)
"""What such code is for tells less than the name of its function."""


@dataclass(frozen=True, slots=True, eq=False)
class SlowCode:
    """Code of one host that devices wait for.

    Attributes:
      lost_ps: idle time, summed over steps and devices; by_part: the same by part of the time budget, int64[c + 1].
      purpose: what most of it is for.
      name: the call that tells the purpose, else the function behind most of it; "" if nothing is known of the code.
      place: the program's function that made the call, "" if unknown, or if `name` is the program's own.
      inner: the deepest event in most of it.
      name_ps: idle time because of it.
      window: the longest wait for it.
      after_wait: the call that waits for results right before most of its spans, "" without one.
      sent: something is sent to a device after most of its spans, before the next: it prepares input.
    """

    lost_ps: int
    by_part: I64
    purpose: Purpose
    name: str
    place: str
    inner: str
    name_ps: int
    window: tuple[int, int]
    after_wait: str
    sent: bool


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
    main = main_thread_of(host)
    most = _most(code, main, host, spans)
    longest = most.rows[int(np.argmax(spans.ps[most.rows]))]
    return SlowCode(
        spans.total(),
        spans.by_part(host),
        most.purpose,
        most.name,
        most.place,
        most.inner,
        int(spans.ps[most.rows].sum()),
        (int(spans.begin_ps[longest]), int(spans.end_ps[longest])),
        _after_wait(code, spans.begin_ps[most.rows]),
        _sent(host, (spans.begin_ps[most.rows], spans.end_ps[most.rows])),
    )


def _after_wait(code: HostCode, begin: I64) -> str:
    """The kind of call that most spans with these begins follow at once; short calls are left out."""
    calls = code.calls.where(code.calls.end_ps - code.calls.begin_ps >= GLUE_PS) if len(code.calls) else code.calls
    if not len(calls):
        return ""
    last = np.searchsorted(calls.end_ps, begin, side="right") - 1
    close = (last >= 0) & (begin - calls.end_ps[np.maximum(last, 0)] < GLUE_PS)
    if 2 * int(close.sum()) <= len(begin):
        return ""
    return code.names[int(np.bincount(calls.name[last[close]]).argmax())]


def _sent(host: HostView, spans: Times) -> bool:
    begin, end = union(*spans)
    upload = host.reader.time.upload[0]
    until = np.append(begin[1:], np.iinfo(np.int64).max)
    return 2 * int((np.searchsorted(upload, until) > np.searchsorted(upload, end)).sum()) > len(end)


def _launches(code: HostCode, spans: IdleSpans, launch_ps: I64) -> Bools:
    """Per span, whether the function around it launches ops."""
    caller = np.where(spans.user >= 0, spans.user, spans.event)
    known = caller >= 0
    begin, end = code.events.begin_ps[caller[known]], code.events.end_ps[caller[known]]
    launches: Bools = np.zeros(len(caller), np.bool_)
    launches[known] = np.searchsorted(launch_ps, end) - np.searchsorted(launch_ps, begin) >= LAUNCHES_OF_FUNCTION
    return launches


@dataclass(frozen=True, slots=True, eq=False)
class _Most:
    """What most of the spans are: as in `SlowCode`; `rows` are the spans."""

    purpose: Purpose
    name: str
    place: str
    inner: str
    rows: I64


def _most(code: HostCode, main: MainThread, host: HostView, spans: IdleSpans) -> _Most:
    """The purpose with most idle time, else the function, and the call in it with most."""
    purpose, call = doing(main, (spans.begin_ps, spans.end_ps))
    purpose[contains(host.reader.time.batching, (spans.begin_ps + spans.end_ps) // 2)] = Purpose.BATCHING
    _of_many_calls(main, spans, purpose, call)
    known = ~np.isin(purpose, _AS_CODE) & (call >= 0)
    event = _names(code, spans.event)
    function = _names(code, np.where(spans.user >= 0, spans.user, spans.event))
    # One number per purpose, and one per function where the purpose is unknown.
    rows = _largest(np.where(known, -2 - purpose.astype(np.int64), function), spans.ps, np.arange(len(call)))
    if not known[rows[0]]:
        group = largest_group(host.blame, _CODE)
        if group is not None and group.name.startswith("$"):
            return _Most(Purpose.UNKNOWN, group.name, "", group.inner or group.name, rows)
        best = int(function[rows[0]])
        inner = int(event[_largest(event, spans.ps, rows)[0]])
        return _Most(Purpose.UNKNOWN, _text(code, best), "", _text(code, inner), rows)
    told = _largest(call, spans.ps, rows)
    around = frames_around(main, (spans.begin_ps[told], spans.end_ps[told]), call[told])
    place = int(around[_largest(around, spans.ps[told], np.arange(len(told)))[0]])
    name, inner = int(call[told[0]]), int(event[_largest(event, spans.ps, told)[0]])
    where = main.names[place] if place >= 0 else main.around
    return _Most(Purpose(int(purpose[rows[0]])), main.names[name], where, _text(code, inner), rows)


def _of_many_calls(main: MainThread, spans: IdleSpans, purpose: U8, call: I64) -> None:
    """Sets the purpose of spans of which no single call tells it, but many calls that together take most of it."""
    rows = np.flatnonzero(np.isin(purpose, _AS_CODE))
    if not len(rows) or not main.levels.begin_ps:
        return
    columns = main.levels.begin_ps, main.levels.end_ps, main.levels.name
    begin, end, name = (np.concatenate(column) for column in columns)
    of_event = purposes(main.names)[name]
    since, until = spans.begin_ps[rows], spans.end_ps[rows]
    for what in sorted(set(np.unique(of_event).tolist()) - set(_AS_CODE)):
        times = times_of(begin, end, of_event == what)
        most = covered_within(*times, since, until) >= MANY_CALLS * (until - since)
        if most.any():
            inside = (of_event == what) & contains((since[most], until[most]), begin)
            sums = np.bincount(name[inside], weights=(end - begin)[inside])
            purpose[rows[most]], call[rows[most]] = what, int(sums.argmax())


def _names(code: HostCode, events: I64) -> I64:
    return np.where(events >= 0, code.events.name[events], -1) if len(code.events) else events


def _text(code: HostCode, name: int) -> str:
    return code.names[name] if name >= 0 else ""


def _largest(key: I64, ps: I64, rows: I64) -> I64:
    """The rows, of the given ones, with the key that has the largest sum."""
    number, first = row_codes(key[rows])
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, number, ps[rows])
    most: I64 = rows[number == int(sums.argmax())]
    return most
