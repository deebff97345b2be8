"""Devices are idle because the host runs other code: the function and its line.

Fires if idle time that code of the main thread covers takes at least {LEAST_SHARE:.0%} of the time from step to step;
without Python functions, idle time without any event before late launches. For TensorFlow without devices, it is the
main thread's time outside of TensorFlow.

Move the work to another thread or process, make it cheaper, or record again with Python functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.findings.evidence.host.launched import uncompiled
from tpu_profile_plugin.analysis.findings.evidence.host.slow_code import SlowCode, slow_code
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.places import TIMELINE, per_step, share_of, shown, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

ADVICE = Advice(
    "Move this work to another thread or process so that it runs while the devices compute, or make it cheaper. "
    "The devices have nothing to do until it has finished.",
    jax="Prepare the next batch on another thread or process while the devices compute; JAX returns before they have "
    "finished. Work on arrays that are already on a device belongs into the jitted function.",
    tensorflow="Move this work into the tf.data pipeline (map with num_parallel_calls, then prefetch) or into the "
    "tf.function. What the loop does besides should run every N-th step.",
    keras="Run callbacks that take long every N-th batch (on_train_batch_end is called after each), and preprocess in "
    "the tf.data pipeline (map with num_parallel_calls, then prefetch).",
)
UNTRACED = Advice(
    "Record again with Python functions: then this finding names the function and its line. This profile only shows "
    "that the host was late.",
    jax="Record again with python_tracer_level=1 in jax.profiler.ProfileOptions: then this finding names the function "
    "and its line. The profile has no Python functions.",
    tensorflow="Look at what the loop and its callbacks do between calls of TensorFlow: meanwhile nothing is computed. "
    "With python_tracer_level=1, TensorFlow versions that record Python functions (2.15 does) name them.",
)


_UNKNOWN = "Python functions were not recorded"
AGAIN = Evidence("Python functions", "not recorded", "", "capture", {"python_tracer_level": "1"})
"""The page offers to record again with them."""


def gather(host: HostView) -> SlowCode | None:
    """The code that costs most on a host; what Python does between operations that are not compiled is not meant."""
    return slow_code(host, uncompiled(host))


def judge(run: RunView, gathered: Sequence[SlowCode | None]) -> Finding | Silence:
    """The verdict on the host whose code costs most."""
    known = run.present(gathered)
    if not run.has_devices and not known:
        return Silence("No devices recorded.", looked=False)
    lost = run.located([one.by_part for one, _ in known])
    if lost.share < LEAST_SHARE or not known:
        return Silence(f"Code on the host takes {lost.share:.1%} of the {run.base} while devices are idle.")
    worst, host = max(known, key=lambda one: one[0].lost_ps)
    waits = "Devices idle because of code on the host" if worst.name else "Devices wait for the host"
    what = waits if run.has_devices else "Main thread outside of TensorFlow"
    return Finding(
        _title(run, worst, lost),
        lost.ps,
        "idle time that one event of the main thread covers to at least 80%, or that no event explains before a late "
        "launch; per step and device"
        if run.has_devices
        else "time of the main thread outside of calls into TensorFlow, per step",
        "high" if worst.name.startswith("$") else "medium",
        (share_of(what, lost, run.base), per_step(what, lost, run.per), *_evidence(worst, host)),
        ADVICE if worst.name.startswith("$") else UNTRACED,
        (host,),
        lost.segments,
    )


def _title(run: RunView, worst: SlowCode, lost: Lost) -> str:
    share = f"{lost.share:.1%} of the {run.base}"
    if not run.has_devices:
        code = f": {shown(worst.name)}" if worst.name else f"; {_UNKNOWN}"
        return f"Code outside of TensorFlow takes {share}{code}"
    if worst.name:
        return f"Devices wait {share} for code on the host: {shown(worst.name)}"
    return f"Devices wait {share} for the host, cause unexplained: {_UNKNOWN}"


def _evidence(worst: SlowCode, host: str) -> list[Evidence]:
    evidence = []
    if worst.name:
        where = timeline(host, *worst.window, worst.name)
        evidence.append(Evidence("Function", shown(worst.name), "", TIMELINE, where))
        evidence.append(Evidence("Because of this function, of that time", 100 * worst.name_ps / worst.lost_ps, "%"))
    if worst.inner not in ("", worst.name):
        find = timeline(host, *worst.window, worst.inner)
        evidence.append(Evidence("Most of it in", shown(worst.inner), "", TIMELINE, find))
    length = worst.window[1] - worst.window[0]
    evidence.append(Evidence("Longest wait", length / PS_PER_MS, "ms", TIMELINE, timeline(host, *worst.window)))
    return evidence if worst.name.startswith("$") else [*evidence, AGAIN]


RULE = Rule("slow_host_code", "Slow code on the host", judge, gather)
