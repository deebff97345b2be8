"""The main thread waits for Python's lock (the GIL), because another thread runs Python all the time.

Fires if pauses of the main thread from {STALL_MS:g} ms, {LONGER:g} times longer than usual after the same event, leave
devices idle for at least {LEAST_SHARE:.0%} of the time from step to step, there are at least {FEWEST} of them, and
another thread calls {DENSE_PER_MS} functions or more per ms in at least {EXPLAINED:.0%} of them.

Move the other thread's work to a process, or into code that does not need Python's lock. More threads make it worse.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.blame.stacks import NOWHERE
from tpu_profile_plugin.analysis.budget.host_names import is_frame, is_user_frame
from tpu_profile_plugin.analysis.budget.purpose import RUNTIME, Purpose, purpose
from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE, NO_FRAMES
from tpu_profile_plugin.analysis.common.rows import no_rows, row_codes
from tpu_profile_plugin.analysis.common.spans import Times, contains, covered_within, no_time, times_of, total, union
from tpu_profile_plugin.analysis.findings.evidence.host.calls import Calls, calls_of, other_threads
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView, once
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE as LEAST_SHARE
from tpu_profile_plugin.analysis.findings.lost import lost_to
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import TIMELINE, lasting, shown, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.units import PS_PER_MS

STALL_PS = 4_500_000_000
"""Shorter pauses of the main thread are not looked at: Python passes its lock on after 5 ms (sys.getswitchinterval), if
the thread that has it does not wait for anything."""
FEWEST = 3
"""Pauses of this kind: with fewer another cause is as likely."""
DENSE_PER_MS = 20
"""Calls of Python functions per ms by the other thread: one that waits for data or for the main thread makes fewer."""
AT_ONCE_PS, AT_ONCE = PS_PER_MS, 0.1
"""A thread that waits for a lock goes on so soon after it was released, or in this share of its wait: it may have work
of its own in the same function."""

_WAITS = Purpose.LOCK, Purpose.QUEUE


def holding(host: HostView, waits: Times, least_ps: int) -> str:
    """The function of other threads that holds a lock, the program's or one written in C that does not wait: most of
    the main thread's long waits in `waits` end when it does, after it has run during most of them; "" without one, or
    if they are not most of `least_ps`.
    """
    long = waits[1] - waits[0] >= STALL_PS
    begin, end = waits[0][long], waits[1][long]
    if host.plane is None or len(begin) < FEWEST or 2 * int((end - begin).sum()) < least_ps:
        return ""
    soon = np.maximum(AT_ONCE_PS, (AT_ONCE * (end - begin)).astype(np.int64))
    threads, best = other_threads(host), ("", np.iinfo(np.int64).max)
    names = threads.plane.event_metadata.names
    events = np.concatenate([no_rows(), *threads.rows])
    metadata = threads.plane.events.metadata[events]
    thread = np.repeat(range(len(threads.rows)), list(map(len, threads.rows)))
    for one in np.unique(metadata).tolist():
        works = not is_frame(names[one]) and purpose(names[one]) not in _WAITS
        if works or is_user_frame(names[one]):
            since, until = spans_at(threads.plane, events[metadata == one])
            spent, ends = covered_within(*union(since, until), begin, end).sum(), np.sort(until)
            together = np.searchsorted(ends, end + AT_ONCE_PS) > np.searchsorted(ends, end - soon)
            # One that ends all the time ends then by chance; several threads may have the lock one after the other.
            most = (1 + len(np.unique(thread[metadata == one]))) * len(end)
            seldom = (np.searchsorted(ends, end) - np.searchsorted(ends, begin)).sum() <= most
            holds = seldom and 2 * int(together.sum()) > len(end) and 2 * spent > (end - begin).sum()
            if holds:
                told = names[one], total((since, until))
                best = min(best, told, key=lambda it: it[1] / (1 + is_user_frame(it[0])))
    return best[0]


STALL_MS = STALL_PS / PS_PER_MS
LONGER = 5.0
"""A pause after the same event is usually shorter by this factor."""
SAME = 5
"""Pauses after the same event that tell how long one usually is."""
EXPLAINED = 0.7
"""Least share of such pauses during which another thread runs Python: with fewer the pauses have another cause, such as
a busy machine."""
_CAUSES = "idle_host", "idle_launch", "idle_other", "idle_transfer"
ADVICE = PARTS["python lock"]


@once
def gather(host: HostView) -> HostLoss | None:
    """The pauses of one host; None if there are none, if functions were not recorded, or if devices are hardly idle."""
    if host.plane is None or host.shown.steps is None or lost_to(host.time, *_CAUSES).share < LEAST_SHARE:
        return None
    calls = calls_of(host)
    if not calls.main.traced:
        return None
    (begin, end), after, usual_ps = _pauses(calls, host.marks)
    if len(begin) < FEWEST:
        return None
    threads = other_threads(host)
    thread, count = threads.busiest(begin, end, DENSE_PER_MS)
    busy = thread >= 0
    if busy.sum() < max(FEWEST, EXPLAINED * len(busy)):
        return None
    times = times_of(begin, end, busy)
    most = int(np.argmax(np.where(busy, end - begin, 0)))
    window = int(begin[most]), int(end[most])
    function = threads.function(int(thread[most]), *window)
    what = shown(function) if is_frame(function) else f"{shown(function).removeprefix('<unknown> ')}()"
    evidence = (
        lasting("Longest pause", host.name, window),
        Evidence("Usual pause after the same event", int(usual_ps[most]) / PS_PER_MS, "ms"),
        Evidence("This event", shown(calls.main.names[after[most]])),
        Evidence("Pauses", int(busy.sum())),
        Evidence("Function on the other thread", what, "", TIMELINE, timeline(host.name, *window, function)),
        Evidence("Its calls of functions per ms", round(float(count[busy].sum() / (total(times) / PS_PER_MS)))),
    )
    return HostLoss(host.by_part([times] * max(len(host.devices), 1)), what, evidence, ADVICE, "medium")


def _pauses(calls: Calls, steps: Times) -> tuple[Times, I64, I64]:
    """Times in which no event of the main thread begins or ends, in a frame or between calls of the runtime, that are
    far longer than usual after the same event; the names of these events, and how long a pause usually is.
    """
    stacks = calls.stacks
    within, between = stacks.end_ps - stacks.begin_ps, stacks.begin_ps[1:] - stacks.end_ps[:-1]
    if sum(np.count_nonzero(length >= STALL_PS) for length in (within, between)) < FEWEST:
        return no_time(), no_rows(), no_rows()
    # From each edge to the next one, the innermost call; NOWHERE where there is none.
    edges = np.column_stack([stacks.begin_ps, stacks.end_ps]).reshape(-1)
    begin, end, node = edges[:-1], edges[1:], np.full(2 * len(stacks.node) - 1, NOWHERE)
    node[::2] = stacks.node
    apart = np.flatnonzero(end > begin)
    begin, end, node = begin[apart], end[apart], node[apart]
    before = np.append(NOWHERE, node[:-1])
    begins = (node >= 0) & (calls.parent(node) == before)
    # An event that began is told by what runs, one that ended by what ran.
    event = np.append(stacks.name, NOWHERE)[np.where(begins, node, before)]
    code, first = row_codes(event, begins.astype(np.int64))
    inside = contains((steps[0][:1], steps[1][-1:]), begin) & ~_waits(calls)[node]
    stalls = np.flatnonzero((end - begin >= STALL_PS) & inside & (event >= 0))
    usual = np.full(len(first), np.iinfo(np.int64).max)
    for one in np.unique(code[stalls]).tolist():
        same = (end - begin)[code == one]
        if len(same) >= SAME:
            usual[one] = int(np.quantile(same, 0.25))
    usual = usual[code]
    long = stalls[(end - begin)[stalls] >= LONGER * usual[stalls]]
    return (begin[long], end[long]), event[long], usual[long]


def _waits(calls: Calls) -> Bools:
    """Per node: a function written in C, which may work or wait without the lock, or a call with another purpose."""
    names = calls.main.names
    native = np.array([name.startswith("$") and not is_frame(name) for name in names], np.bool_)
    own = np.append(native[calls.stacks.name], np.False_)
    waits: Bools = own | ~np.isin(calls.purpose, (Purpose.UNKNOWN, *RUNTIME)) | (calls.purpose == Purpose.COMPILE)
    return waits


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the host whose pauses cost most."""
    if not run.has_devices:
        return lacks(NO_DEVICE)
    if not run.summary.python_frames:
        return lacks(NO_FRAMES)
    little = "Waits for Python's lock take {share} of the {base} while devices are idle."
    return verdict(
        run,
        gathered,
        title="Devices idle {share} of the {base} because the main thread waits for Python's lock; another thread runs "
        "{what}",
        label="Devices idle in such pauses",
        formula="idle time in pauses of the main thread during which another thread calls Python functions all the "
        "time, per step and device",
        nothing=little,
        little=little,
    )


RULE = Rule("python_lock", "Waiting for Python's lock", judge, gather)
