"""Devices are idle because the host runs code of its own: names the function and its line."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.budget.categories import IDLE_HOST
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import LEAST_SHARE
from tpu_profile_plugin.units import PS_PER_MS

ADVICE = Advice(
    "Move this work to another thread or process so that it runs while the devices compute, or make it cheaper. "
    "The devices have nothing to do until it has finished.",
    jax="Prepare the next batch on another thread or process while the devices compute; JAX returns before they have "
    "finished. Work on arrays that are already on a device belongs into the jitted function.",
    tensorflow="Move this work into the tf.data pipeline (map with num_parallel_calls, then prefetch) or into the "
    "tf.function. A Keras callback that takes long should run every N-th step.",
)


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """Speaks if idle time that one event of the main thread covers takes `LEAST_SHARE` of the step."""
    lost = run.part_ps(IDLE_HOST)
    share = run.share(lost)
    if not run.budget.devices:
        return Silence("The profile has no device whose idle time could be explained.", looked=False)
    if share < LEAST_SHARE or not run.budget.causes:
        return Silence(f"Devices are idle for {share:.1%} of the {run.base} because of code on the host.")
    host, cause = run.budget.causes[0]
    evidence = [
        Evidence(f"Idle because of host code, of the {run.base}", 100 * share, "%", "time_budget"),
        Evidence("The code that covers most of it", cause.name, "", "time_budget"),
        Evidence("Idle because of host code per step", lost / PS_PER_MS, "ms", "time_budget"),
    ]
    return Finding(
        f"Devices wait {share:.1%} of the {run.base} for code on the host: {cause.name.removeprefix('$')}",
        lost,
        "idle time that one event of the main thread covers to at least 80%, per step and device",
        "high" if run.budget.traced[host] else "medium",
        tuple(evidence),
        ADVICE,
        (run.hosts[host],),
    )


RULE = Rule("slow_host_code", "Slow code on the host", judge)
