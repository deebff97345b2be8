"""Our own reading of a run's steps, which every page shows: the slowest host of each step, with evidence and hosts."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from statistics import median
from typing import Any

from tpu_profile_plugin.analysis.common.statistics import statistics
from tpu_profile_plugin.analysis.steps.bottleneck import InputVerdict, Verdict
from tpu_profile_plugin.analysis.steps.slowest import SlowestSteps
from tpu_profile_plugin.analysis.steps.table import host_among
from tpu_profile_plugin.analysis.summary.host import RunSummary
from tpu_profile_plugin.run.figures.steps import UNSEEN, Reading
from tpu_profile_plugin.tables.table import Table, numbers, texts
from tpu_profile_plugin.tools.common.step_tables import GENERIC_COLUMNS
from tpu_profile_plugin.units import PS_PER_MS

STRAGGLER_SHARE = 0.1
"""Hosts whose steps take longer than the median of the other hosts by more than this share are stragglers."""
_ROUNDING = 1e-9

PART_NAMES = {
    "device_compute": "Device compute",
    "sparse_compute": "SparseCore compute",
    "device_to_device": "Device to device",
    "collectives": "Device collective communication",
    "host_compute": "Host compute",
    "kernel_launch": "Kernel launch",
    "input": "Input",
    "host_transfer": "Host transfer",
    "output": "Output",
    "compilation": "Compilation",
    "other": "All others",
    "idle": "Idle",
}
"""Names of `slowest.part_names`, the same on every page."""
_GENERIC = dict(zip(
    ("device_compute", "device_to_device", "collectives", "host_compute", "kernel_launch", "input", "output",
     "compilation", "other"), GENERIC_COLUMNS[1:10], strict=True,
))  # fmt: skip
_TPU = {
    "device_compute": numbers("tcComputeTimeMs", PART_NAMES["device_compute"], "ms",
                              "Ops not counted in the other parts."),
    "sparse_compute": numbers("scv0ComputeTimeMs", PART_NAMES["sparse_compute"], "ms", "Waiting for a SparseCore."),
    "device_to_device": numbers("deviceToDeviceTimeMs", "Device to device", "ms", "Sends and receives."),
    "collectives": numbers("deviceCollectivesTimeMs", PART_NAMES["collectives"], "ms", "All-reduce and all-to-all."),
    "input": numbers("tcInfeedTimeMs", "Input", "ms", "Waiting for input."),
    "host_transfer": numbers("hostTransferTimeMs", "Host transfer", "ms", "Transfers with the host."),
    "output": numbers("tcOutfeedTimeMs", "Output", "ms", "Output."),
    "idle": numbers("tcIdleTimeMs", "Idle", "ms", "Step time minus all other parts."),
}  # fmt: skip
_LABEL = texts("stepnum", "Step", "Name of the step, or its number if it has none.")
_HOST = texts("host", "Slowest host", "Host with the longest step time.")
_CORE = texts("core", "Core", "Core of that host with the longest wait for input, else the busiest.")
_TOTAL = numbers("stepTimeMs", "Step time", "ms", "Step time of that core: the sum of the parts.")
_WAITING = (
    numbers("waitingPercent", "Step time waiting for input", "%", "Of that core."),
    numbers("waitingPercentLeast", "Least", "%", "Core with the shortest wait, of all hosts."),
    numbers("waitingPercentMost", "Most", "%", "Core with the longest wait, of all hosts."),
)
_INPUT = {
    "HIGHLY": "Input takes {0:.1f}% of the step time: it is prepared more slowly than the steps use it.",
    "MODERATELY": "Input takes {0:.1f}% of the step time.",
    "POTENTIALLY": "No event covers {0:.1f}% of the step time; it may be input, Python code or file access.",
    "NOT": "Input takes {0:.1f}% of the step time, so faster input can gain no more than that.",
    UNSEEN: "Whether the program waits for input is unknown: the profile has no event of an input pipeline.",
}


def host_name(summary: RunSummary, core: int) -> str:
    """Name of a core's host."""
    return summary.host_names[host_among(len(summary.host_names), core)]


def reading_table(summary: RunSummary, reading: Reading) -> Table | None:
    """One row per step, in milliseconds; None without steps."""
    steps = reading.steps
    if not len(steps):
        return None
    parts = _TPU if steps.on_tpu else _GENERIC
    shown = [name for name in parts if name != "sparse_compute" or steps.parts_ps[name].any()]
    columns = (_LABEL, *(parts[name] for name in shown), _TOTAL, _HOST, _CORE, *_WAITING)
    ordinals = [summary.cores.get(core, ("", -1))[1] for core in steps.cores]
    data = (
        list(steps.labels),
        *(steps.parts_ps[name] / PS_PER_MS for name in shown),
        steps.duration_ps / PS_PER_MS,
        [host_name(summary, core) for core in steps.cores],
        [str(ordinal) if ordinal >= 0 and steps.on_tpu else "" for ordinal in ordinals],
        *(100.0 * share for share in (steps.waiting, steps.waiting_least, steps.waiting_most)),
    )
    return Table(columns, data, {"hardware_type": "TPU" if steps.on_tpu else summary.environment.hardware.value})


def verdict_json(reading: Reading) -> dict[str, Any]:
    """The bottleneck analysis as an object."""
    return {"bottleneck": reading.verdict.input.bottleneck, **asdict(reading.verdict)}


def input_text(verdict: InputVerdict) -> str:
    """The statement on input; "" without steps."""
    return _INPUT[verdict.level].format(verdict.percent) if verdict.level else ""


def reading_json(summary: RunSummary, reading: Reading, xprof: Verdict) -> dict[str, Any]:
    """What all pages about steps show; `steps` is a table that is not yet encoded.

    `xprof` is the verdict on XProf's reading of the same steps, for comparison.
    """
    return {
        "steps": reading_table(summary, reading),
        "verdict": verdict_json(reading),
        "xprof_input": asdict(xprof.input),
        "hosts": hosts_json(summary, reading.steps),
        "recording": recording_json(summary),
    }


def hosts_json(summary: RunSummary, steps: SlowestSteps) -> dict[str, Any]:
    """Average step time per host over the common steps, in how many it was the slowest, and who lags behind.

    Without common steps the averages are over each host's own steps.
    """
    if len(steps):
        last = len(summary.host_names) - 1
        average = {
            summary.host_names[min(max(h, 0), last)]: float(ps.mean()) / PS_PER_MS for h, ps in steps.hosts.items()
        }
    else:
        average = {host: statistics(times).average for host, times in summary.host_step_ms.items() if times}
    slowest = Counter(host_name(summary, core) for core in steps.cores)
    over = excess_over_others(average)
    return {
        "step_ms": average,
        "slowest_in": {host: slowest[host] for host in (average if len(average) <= 64 else sorted(slowest))},
        "median_ms": median(average.values()) if average else 0.0,
        "over_others": over,
        "stragglers": [host for host, share in over.items() if share > STRAGGLER_SHARE + _ROUNDING],
    }


def excess_over_others(times: dict[str, float]) -> dict[str, float]:
    """By how much of it each time exceeds the median of the others: with two, of the other one."""
    ordered = sorted(times.values())
    excess = {}
    for name, time in times.items() if len(ordered) > 1 else ():
        place = ordered.index(time)
        # The median of the sorted rest, without copying it for every host.
        rest, half = len(ordered) - 1, (len(ordered) - 1) // 2
        high = ordered[half + (half >= place)]
        low = high if rest % 2 else ordered[half - 1 + (half - 1 >= place)]
        middle = (low + high) / 2
        excess[name] = time / middle - 1.0 if middle > 0 else 0.0
    return excess


def recording_json(summary: RunSummary) -> dict[str, Any] | None:
    """What the steps cover on the host where they cover least, in ms; None without steps."""
    recorded = [
        (host, one) for host, one in zip(summary.host_names, summary.recordings, strict=True) if one is not None
    ]
    if not recorded:
        return None
    host, least = min(recorded, key=lambda item: item[1].covered)
    late = [one.dispatch for _, one in recorded if one.dispatch is not None]
    worst = max(late, key=lambda one: one.work_ps / max(1, one.steps_ps), default=None)
    return {
        "host": host,
        "length_ms": least.length_ps / PS_PER_MS,
        "steps_ms": least.steps_ps / PS_PER_MS,
        "linked": least.linked,
        "before_ms": least.before_ps / PS_PER_MS,
        "after_ms": least.after_ps / PS_PER_MS,
        "work_outside_ms": None if least.work_outside_ps is None else least.work_outside_ps / PS_PER_MS,
        "outside": [{"name": name, "ms": ps / PS_PER_MS} for name, ps in least.outside],
        "dispatch": None
        if worst is None
        else {"steps": worst.steps, "steps_ms": worst.steps_ps / PS_PER_MS, "work_ms": worst.work_ps / PS_PER_MS},
    }
