"""Another thread runs Python beside a model on CPUs all the time, and takes their time from it.

Fires if it does so in at least {BUSY:.0%} of the steps without waiting, or calls {POLLS_PER_MS} functions or more per
ms as one that polls does, and half of what the devices compute and are given meanwhile is at least {LEAST:.0%} of the
step. Not where more than one processor is known to work.

Let the thread wait for what it needs, and prepare no more than is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.common.spans import times_of
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of, other_threads
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import TIMELINE, shown, timeline
from tpu_profile_plugin.analysis.findings.rules.host import python_lock
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

BUSY = 0.7
"""A thread that prepares batches ahead waits for room when it has enough: it works in up to 58% of the steps."""
POLLS_PER_MS = 5
"""Calls of Python functions: threads that wait for others make less than one per ms, those that train about three."""
TENTHS = 10
"""Parts of a step: one that polls calls functions in most of them, others all at once."""
LEAST = 0.1


def gather(host: HostView) -> HostLoss | None:
    """What other threads take of one host's computation; None without functions, steps or CPUs."""
    begin, end = host.marks
    if not host.on_cpus or host.plane is None or not len(begin) or not calls_of(host).main.traced:
        return None
    if python_lock.gather(host) is not None:
        return None
    threads, length = other_threads(host), int((end - begin).sum())
    edges = np.linspace(begin, end, TENTHS + 1).astype(np.int64)
    thread, calls = threads.busiest(edges[:-1].T.ravel(), edges[1:].T.ravel(), POLLS_PER_MS)
    working = threads.working_ps(begin, end)
    works, polls = working.max(initial=0) >= BUSY * length, np.mean(thread >= 0) >= BUSY
    if not works and not polls:
        return None
    which = int(working.argmax()) if works else int(np.bincount(thread[thread >= 0]).argmax())
    window = int(begin[0]), int(end[-1])
    function = threads.function(which, *window)
    what = f", {calls[thread >= 0].sum() / length * PS_PER_MS:.0f} calls per ms" if not works else ""
    evidence = (
        Evidence("Function on the other thread", shown(function), "", TIMELINE, timeline(host.name, *window, function)),
        Evidence("Without waiting, of the steps", 100 * int(working[which]) / length, "%"),
    )
    taken = host.beside(times_of(begin, end), unknown=True)
    return HostLoss(taken, f"{shown(function)}{what}", evidence, PARTS["busy thread"], "medium")


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the host whose threads take most."""
    return verdict(
        run,
        gathered,
        title="Another thread runs Python all the time and takes up to {share} of the {base} from computation: {what}",
        label="Half of the time meanwhile",
        formula="half of what CPUs compute and launch in steps while another thread runs Python, per step and device",
        nothing="No other thread runs Python all the time beside CPUs that compute.",
        little="Other threads take {share} of the {base} from computation.",
        least=LEAST,
    )


RULE = Rule("busy_thread", "Threads that take the processor", judge, gather)
