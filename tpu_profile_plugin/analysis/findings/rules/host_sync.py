"""The host fetches values or waits for results within steps, and the devices have nothing to do after it."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.on_host.fetches import Fetches, gather
from tpu_profile_plugin.analysis.findings.periods import share_of_saving
from tpu_profile_plugin.analysis.findings.places import TIMELINE, shown, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

ADVICE = Advice(
    "Fetch values less often, or one step late: launch the next step first, then read the results of the last one. "
    "Several values that are read at the same time should be fetched together.",
    jax="Keep results as jax.Array and read them every N-th step, or after the next step is launched; "
    "float(), .item() and block_until_ready() wait for the device. jax.device_get of a whole tree fetches many values "
    "at once, and a loop over small steps belongs into lax.scan.",
    tensorflow="Keep results as tensors (a tf.keras.metrics object adds them up) and call .numpy() or float() every "
    "N-th step. A loop whose next step depends on a value belongs into one tf.function.",
    pytorch="Keep results as tensors and call .item() or .cpu() every N-th step. Copy with non_blocking=True and read "
    "the values after the next step is launched.",
)


def judge(run: RunView, gathered: Sequence[Fetches | None]) -> Finding | Silence:
    """Speaks if the calls of the host with most idle time after them are harmful."""
    if not run.budget.devices:
        return Silence("The profile has no device whose idle time could be explained.", looked=False)
    found = [(one, host) for one, host in zip(gathered, run.hosts, strict=True) if one is not None]
    if not found:
        return Silence("Devices are not idle after the host waited for results.")
    worst, host = max(found, key=lambda one: one[0].after_ps)
    if not worst.harmful:
        return Silence(
            f"The host waits for results {worst.blocked:.1%} of the {run.base}; the devices are idle after it for "
            f"{worst.after:.1%}."
        )
    place = f" in {shown(worst.place)}" if worst.place else ""
    lost = sum(one.after_ps for one, _ in found) // run.budget.duration_ps.size
    share, base = share_of_saving(run, lost, between=worst.between)
    return Finding(
        f"Waiting for results leaves devices idle for {share:.1%} of the {base}: {worst.call}{place}, "
        f"{round(worst.calls / worst.steps, 1):g} per {run.base}",
        lost,
        "idle time from the end of a device's work, for which the host waits, to the next launch, without code that is "
        "known to run meanwhile; per step and device",
        "high" if worst.place else "medium",
        _evidence(run, worst, host, 100 * share, base),
        ADVICE,
        (host,),
        worst.between,
    )


def _evidence(run: RunView, worst: Fetches, host: str, percent: float, base: str) -> tuple[Evidence, ...]:
    where = timeline(host, *worst.window)
    found = [
        Evidence(f"Devices idle after such calls, of the {base}", percent, "%", TIMELINE, where),
        Evidence("Host waits for results, of the time from step to step", 100 * worst.blocked, "%"),
        Evidence(f"Calls per {run.base}", round(worst.calls / worst.steps, 1)),
        Evidence("Kind of call", worst.call),
    ]
    if worst.place:
        found.append(Evidence("Function", shown(worst.place), "", TIMELINE, timeline(host, *worst.window, worst.place)))
    lost = worst.after_ps / worst.cells / PS_PER_MS
    return (*found, Evidence("Idle after such calls, per step and device", lost, "ms"))


RULE = Rule("host_sync", "Waiting for results in steps", judge, gather)
