"""Devices are idle because the host runs other code: the function and its line.

Fires if idle time that code of the main thread covers takes at least {LEAST_SHARE:.0%} of the time from step to step.
For TensorFlow without devices, it is the main thread's time outside of TensorFlow.

Move the work to another thread or process, make it cheaper, or record again with Python functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.budget.categories import IDLE_HOST
from tpu_profile_plugin.analysis.findings.evidence.host.launched import uncompiled
from tpu_profile_plugin.analysis.findings.evidence.host.slow_code import SlowCode, slow_code
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.places import TIMELINE, shown, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

ADVICE = Advice(
    "Move this work to another thread or process so that it runs while the devices compute, or make it cheaper. "
    "The devices have nothing to do until it has finished.",
    jax="Prepare the next batch on another thread or process while the devices compute; JAX returns before they have "
    "finished. Work on arrays that are already on a device belongs into the jitted function.",
    tensorflow="Move this work into the tf.data pipeline (map with num_parallel_calls, then prefetch) or into the "
    "tf.function. A Keras callback that takes long should run every N-th step.",
)
UNTRACED = Advice(
    "Record again with Python functions: the profile only tells that the host was late, not in which function. "
    "Then this finding names the function and its line.",
    jax="Record again with python_tracer_level=1 in jax.profiler.ProfileOptions; the profile has no Python functions. "
    "Then this finding names the function and its line.",
    tensorflow="Look at what the loop and its callbacks do between calls of TensorFlow: that runs while nothing is "
    "computed. Versions that record Python functions (2.15 does) name them with python_tracer_level=1.",
)


_SAME = 5e-5
_UNKNOWN = "; Python functions were not recorded"


def gather(host: HostView) -> SlowCode | None:
    """The code that costs most on a host; what Python does between operations that are not compiled is not meant."""
    return slow_code(host, uncompiled(host))


def judge(run: RunView, gathered: Sequence[SlowCode | None]) -> Finding | Silence:
    """The verdict on the host whose code costs most."""
    known = run.present(gathered)
    if not run.budget.devices and not known:
        return Silence("No devices recorded.", looked=False)
    cells = max(run.budget.duration_ps.size, sum(one.cells for one, _ in known), 1)
    lost = sum(one.lost_ps for one, _ in known) // cells
    period = max([run.step_ps, *(one.period_ps for one, _ in known)])
    if lost < LEAST_SHARE * period or not known:
        share = lost / period if period else 0.0
        return Silence(f"Devices are idle for {share:.1%} of the {run.base} because of code on the host.")
    worst, host = max(known, key=lambda one: one[0].lost_ps)
    base = "time from step to step" if worst.between else run.base
    share = lost / (period if worst.between else run.step_ps or period)
    return Finding(
        _title(run, worst, share, base),
        lost,
        "idle time that one event of the main thread covers to at least 80%, from step to step and per device"
        if run.budget.devices
        else "time of the main thread outside of calls into TensorFlow, per step",
        "high" if worst.name.startswith("$") else "medium",
        (_share(run, base, share), *_evidence(run, worst, host)),
        ADVICE if worst.name.startswith("$") else UNTRACED,
        (host,),
        worst.between,
    )


def _title(run: RunView, worst: SlowCode, share: float, base: str) -> str:
    if run.budget.devices:
        code = f"code on the host: {shown(worst.name)}" if worst.name else f"the host{_UNKNOWN}"
        return f"Devices wait {share:.1%} of the {base} for {code}"
    code = f": {shown(worst.name)}" if worst.name else _UNKNOWN
    return f"Code outside of TensorFlow takes {share:.1%} of the {base}{code}"


def _share(run: RunView, base: str, share: float) -> Evidence:
    """The share, named after the part of the time budget only if that has the same number."""
    same = base == run.base and abs(run.share(run.part_ps(IDLE_HOST)) - share) < _SAME
    waits = "Idle because of host code" if same else "Devices wait for code on the host"
    what = waits if run.budget.devices else "Main thread outside of TensorFlow"
    return Evidence(f"{what}, of the {base}", 100 * share, "%", "time_budget" if same else "")


def _evidence(run: RunView, worst: SlowCode, host: str) -> list[Evidence]:
    evidence = []
    if worst.name:
        evidence.append(
            Evidence("Function", shown(worst.name), "", TIMELINE, timeline(host, *worst.window, worst.name))
        )
        evidence.append(Evidence("Because of this function, per step", worst.name_ps / worst.cells / PS_PER_MS, "ms"))
    if worst.inner not in ("", worst.name):
        evidence.append(Evidence("Most of it in", shown(worst.inner)))
    length = worst.window[1] - worst.window[0]
    evidence.append(Evidence("Longest wait", length / PS_PER_MS, "ms", TIMELINE, timeline(host, *worst.window)))
    return evidence


RULE = Rule("slow_host_code", "Slow code on the host", judge, gather)
