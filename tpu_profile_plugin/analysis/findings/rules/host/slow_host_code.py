"""Devices are idle because the host runs other code: the function and its line.

Fires if idle time that code of the main thread covers takes at least {LEAST_SHARE:.0%} of the time from step to step;
without Python functions, idle time without any event, which is then unexplained. For TensorFlow without devices, it is
the main thread's time outside of TensorFlow.

What to do depends on what the code is for: a checkpoint, logging, garbage collection, evaluation, a new iterator, a
debug mode, copies, texts, JSON, hashes, tables, conversions, files; a wait for another thread or program, a lock, the
network or requests. Else move the work to another thread or process, or make it cheaper.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE
from tpu_profile_plugin.analysis.findings.evidence.host.launched import uncompiled
from tpu_profile_plugin.analysis.findings.evidence.host.lock import lock_waits
from tpu_profile_plugin.analysis.findings.evidence.host.slow_code import SlowCode, slow_code
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import TIMELINE, per_step, share_of, shown, timeline
from tpu_profile_plugin.analysis.findings.rules.host.kinds import KINDS, again
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

ADVICE = Advice(
    "Move this work to another thread or process so that it runs while the devices compute, or make it cheaper. "
    "The devices have nothing to do until it has finished.",
    jax="Launch the next step before this work begins (JAX returns before the devices have finished), move it to "
    "another thread or process, or do it every N-th step. Work on arrays that are on a device belongs into the jitted "
    "function.",
    tensorflow="Move this work into the tf.data pipeline (map with num_parallel_calls, then prefetch) or into the "
    "tf.function. What the loop does besides should run every N-th step.",
    keras="Run callbacks that take long every N-th batch (on_train_batch_end is called after each), and preprocess in "
    "the tf.data pipeline (map with num_parallel_calls, then prefetch).",
)
"""Of code that nothing tells the purpose of."""
AFTER_WAIT = Advice(
    "The host waits for results before it comes to this code, so that the devices have nothing to do meanwhile. Launch "
    "the next step first and read results one step late, or prepare what the next step needs on another thread.",
)
"""Of code that devices wait for because a wait for results comes before it."""
INPUT = Advice(
    "Prepare the next batch on another thread or process while the devices compute, and send it to them early. "
    "The devices have nothing to do until it has finished.",
    jax="Prepare the next batch on another thread or process while the devices compute; JAX returns before they have "
    "finished. Work on arrays that are already on a device belongs into the jitted function.",
    tensorflow=ADVICE.tensorflow,
    keras=ADVICE.keras,
)
"""Of code whose result is sent to a device."""
UNTRACED = Advice(
    "Record again with Python functions (`tpu-profile capture --python-tracer 1`): then this finding names the "
    "function and its line. This profile does not show what the devices wait for.",
    jax="Record again with Python functions (`tpu-profile capture --python-tracer 1`, or python_tracer_level=1 in "
    "jax.profiler.ProfileOptions): then this finding names the function and its line.",
    tensorflow="Look at what the loop and its callbacks do between calls of TensorFlow: meanwhile nothing is computed. "
    "With `tpu-profile capture --python-tracer 1`, TensorFlow up to 2.15 names them.",
    pytorch="Record again with with_stack=True of torch.profiler.profile: then this finding names the function and its "
    "line. This profile does not show what the devices wait for.",
    pytorch_xla="Record again with Python functions (`tpu-profile capture --python-tracer 1`): then this finding names "
    "the function and its line.",
)
LOCKED = Advice(
    "Another thread of the program runs Python all the time, so that one more would make this slower: move the work to "
    "another process, or make it cheaper. The devices have nothing to do until it has finished.",
)

MOSTLY = 0.5
"""Share of the time budget's unexplained part from which all of it is reported: as far as known it is one cause."""
_UNKNOWN = "Python functions were not recorded"


def gather(host: HostView) -> tuple[SlowCode | None, bool]:
    """The code that costs most on a host, and whether another thread keeps Python's lock from its main thread.

    What Python does between operations that are not compiled is not meant.
    """
    code = slow_code(host, uncompiled(host))
    return code, code is not None and lock_waits(host) is not None


def judge(run: RunView, gathered: Sequence[tuple[SlowCode | None, bool]]) -> Finding | Silence:
    """The verdict on the host whose code costs most."""
    known = run.present([code for code, _ in gathered])
    if not run.has_devices and not known:
        return lacks(NO_DEVICE)
    lost = run.located([one.by_part for one, _ in known])
    if lost.share < LEAST_SHARE or not known:
        return Silence(f"Code on the host takes {lost.share:.1%} of the {run.base} while devices are idle.")
    worst, host = max(known, key=lambda one: one[0].lost_ps)
    if not worst.name and run.has_devices:
        return _unexplained(run, lost, worst, host)
    what = "Devices idle because of code on the host" if run.has_devices else "Main thread outside of TensorFlow"
    locked = any(lock for _, lock in gathered)
    return Finding(
        _title(run, worst, lost),
        lost.ps,
        "idle time that one event of the main thread covers to at least 80%, per step and device"
        if run.has_devices
        else "time of the main thread outside of calls into TensorFlow, per step",
        "high" if worst.name.startswith("$") else "medium",
        (share_of(what, lost, run.base), per_step(what, lost, run.per), *_evidence(run, worst, host)),
        _advice(worst, locked),
        (host,),
        lost.segments,
        _reason(worst) if worst.purpose in KINDS else "",
    )


def _unexplained(run: RunView, lost: Lost, worst: SlowCode, host: str) -> Finding:
    """No event tells what the host does: then only the part of the time budget is known."""
    whole = run.lost_in("idle_other")
    lost = whole if lost.ps >= MOSTLY * whole.ps else lost
    what = "Devices idle without a recorded cause"
    return Finding(
        f"Devices idle {lost.share:.1%} of the {run.base}, and the profile does not show why: {_UNKNOWN}",
        lost.ps,
        "idle time during which no event of the main thread was recorded, per step and device",
        "low",
        (share_of(what, lost, run.base), per_step(what, lost, run.per), *_evidence(run, worst, host)),
        UNTRACED,
        (host,),
        lost.segments,
    )


def _advice(worst: SlowCode, locked: bool) -> Advice:
    if worst.purpose in KINDS:
        return KINDS[worst.purpose].advice
    if not worst.name.startswith("$"):
        return UNTRACED
    return LOCKED if locked else AFTER_WAIT if worst.after_wait else INPUT if worst.sent else ADVICE


def _title(run: RunView, worst: SlowCode, lost: Lost) -> str:
    share = f"{lost.share:.1%} of the {run.base}"
    if run.has_devices:
        return f"Devices wait {share} for {_reason(worst)}"
    return f"Code outside of TensorFlow takes {share}{f': {_named(worst)}' if worst.name else f'; {_UNKNOWN}'}"


def _reason(worst: SlowCode) -> str:
    held = f", held by {shown(worst.holder)} on another thread" if worst.holder else ""
    return f"{KINDS[worst.purpose].wait if worst.purpose in KINDS else 'code on the host'}: {_named(worst)}{held}"


def _named(worst: SlowCode) -> str:
    return shown(worst.name) + (f" in {shown(worst.place)}" if worst.place and worst.purpose in KINDS else "")


def _evidence(run: RunView, worst: SlowCode, host: str) -> list[Evidence]:
    evidence = []
    if worst.name:
        where = timeline(host, *worst.window, worst.name)
        evidence.append(Evidence("Function", shown(worst.name), "", TIMELINE, where))
        evidence.append(Evidence("Because of this function, of that time", 100 * worst.name_ps / worst.lost_ps, "%"))
    if worst.place:
        called = timeline(host, *worst.window, worst.place)
        evidence.append(Evidence("Called by", shown(worst.place), "", TIMELINE, called))
    if worst.holder:
        held = timeline(host, *worst.window, worst.holder)
        evidence.append(Evidence("Ends on another thread when the wait does", shown(worst.holder), "", TIMELINE, held))
    if worst.after_wait:
        waits = timeline(host, *worst.window, worst.after_wait)
        evidence.append(
            Evidence("Right before it the host waits for results in", shown(worst.after_wait), "", TIMELINE, waits)
        )
    if worst.inner not in ("", worst.name):
        find = timeline(host, *worst.window, worst.inner)
        evidence.append(Evidence("Most of it in", shown(worst.inner), "", TIMELINE, find))
    length = worst.window[1] - worst.window[0]
    evidence.append(Evidence("Longest wait", length / PS_PER_MS, "ms", TIMELINE, timeline(host, *worst.window)))
    return evidence if worst.name.startswith("$") else [*evidence, again(run.frameworks)]


RULE = Rule("slow_host_code", "Slow code on the host", judge, gather, neutral=True)
