"""The main thread waits for Python's lock (the GIL), because another thread runs Python all the time.

Fires if pauses of the main thread from {STALL_MS:g} ms, {LONGER:g} times longer than usual after the same event, leave
devices idle for at least {LEAST_SHARE:.0%} of the time from step to step, there are at least {FEWEST} of them, and
another thread calls {DENSE_PER_MS} functions or more per ms in at least {EXPLAINED:.0%} of them.

Move the other thread's work to a process, or into code that does not need Python's lock. More threads make it worse.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.budget.host_names import is_frame
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE, NO_FRAMES
from tpu_profile_plugin.analysis.findings.evidence.host.lock import (
    DENSE_PER_MS,
    EXPLAINED,
    FEWEST,
    LONGER,
    STALL_PS,
    LockWaits,
    lock_waits,
)
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import TIMELINE, per_step, share_of, shown, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

STALL_MS = STALL_PS / PS_PER_MS
__all__ = ["DENSE_PER_MS", "EXPLAINED", "FEWEST", "LONGER", "RULE", "STALL_MS"]

ADVICE = Advice(
    "Move the other thread's work to a process of its own, or into code that does not hold Python's lock: NumPy on "
    "large arrays, or a data loader with worker processes. More threads make it worse; a smaller "
    "sys.setswitchinterval() only shortens each pause.",
    tensorflow="Move the other thread's work into the tf.data pipeline as TensorFlow ops, or to a process of its own. "
    "More Python threads make it worse; a smaller sys.setswitchinterval() only shortens each pause.",
    pytorch="Move the other thread's work to worker processes (num_workers of the DataLoader), or to code that does "
    "not hold Python's lock. More threads make it worse.",
)


def gather(host: HostView) -> tuple[bool, LockWaits | None]:
    """Whether Python functions of a host were recorded, and its pauses."""
    names = host.plane.declared.event_metadata.names if host.plane is not None else ()
    return any(map(is_frame, names)), lock_waits(host)


def judge(run: RunView, gathered: Sequence[tuple[bool, LockWaits | None]]) -> Finding | Silence:
    """The verdict on the host whose pauses cost most."""
    if not run.has_devices:
        return lacks(NO_DEVICE)
    if not any(traced for traced, _ in gathered):
        return lacks(NO_FRAMES)
    known = run.present([waits for _, waits in gathered])
    lost = run.located([one.by_part for one, _ in known])
    if not known or lost.share < LEAST_SHARE:
        return Silence(f"Waits for Python's lock take {lost.share:.1%} of the {run.base} while devices are idle.")
    worst, host = max(known, key=lambda one: one[0].lost_ps)
    where = timeline(host, *worst.window)
    return Finding(
        f"Devices idle {lost.share:.1%} of the {run.base} because the main thread waits for Python's lock; another "
        f"thread runs {_function(worst)}",
        lost.ps,
        "idle time in pauses of the main thread during which another thread calls Python functions all the time, per "
        "step and device",
        "medium",
        (
            share_of("Devices idle in such pauses", lost, run.base),
            per_step("Devices idle in such pauses", lost, run.per),
            Evidence("Longest pause", (worst.window[1] - worst.window[0]) / PS_PER_MS, "ms", TIMELINE, where),
            Evidence("Usual pause after the same event", worst.usual_ps / PS_PER_MS, "ms"),
            Evidence("This event", shown(worst.after)),
            Evidence("Pauses", worst.count),
            Evidence("Function on the other thread", _function(worst), "", TIMELINE,
                     timeline(host, *worst.window, worst.function)),
            Evidence("Its calls of functions per ms", round(worst.calls_per_ms)),
        ),
        ADVICE,
        (host,),
        lost.segments,
    )  # fmt: skip


def _function(waits: LockWaits) -> str:
    name = shown(waits.function)
    return name if is_frame(waits.function) else f"{name.removeprefix('<unknown> ')}()"


RULE = Rule("python_lock", "Waiting for Python's lock", judge, gather)
