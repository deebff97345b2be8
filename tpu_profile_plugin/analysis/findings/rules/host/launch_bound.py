"""Devices wait for the host to launch compiled work: too many launches, or too small ones.

Fires if waiting for launches, with short code between two of them, takes at least {LAUNCH_SHARE:.0%} of the time from
step to step, and the host does not wait for the results of most launches. TensorFlow's executor on the CPU does not
record when launched work begins: there each call may account for at most {LONGEST_CALL}, as more is idle time within
the graph, unless the executor runs at least {SCHEDULED} parts of graphs per step, too short to be recorded as ops.

Launch less and larger work: several steps in one program, larger batches, fused kernels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.blame.eager_ops import loop_of
from tpu_profile_plugin.analysis.blame.host_groups import MOST, largest_group
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_LAUNCH
from tpu_profile_plugin.analysis.budget.host_names import Activity, activity
from tpu_profile_plugin.analysis.common.planes import events_named
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICE
from tpu_profile_plugin.analysis.common.spans import contains, times_of
from tpu_profile_plugin.analysis.devices.launches import LaunchSummary
from tpu_profile_plugin.analysis.findings.evidence.host.calls import calls_of
from tpu_profile_plugin.analysis.findings.evidence.host.code import code_of
from tpu_profile_plugin.analysis.findings.evidence.host.launched import is_uncompiled, launched_by, synced
from tpu_profile_plugin.analysis.findings.host_loss import HostLoss, verdict
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS, SMALL
from tpu_profile_plugin.analysis.findings.places import TIMELINE, lasting, shown
from tpu_profile_plugin.analysis.findings.rules.host.not_compiled import ADVICE as NOT_COMPILED
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.grouping.lookup import EXECUTOR
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_US

LAUNCH_SHARE = 0.15
"""Waiting for launches, as a share of the step: steps of a few milliseconds always lose about a tenth."""
LONGEST_CALL_PS = 300 * PS_PER_US
"""Idle time per call of devices that do not record when launched work begins: calling a tf.function takes Python about
0.1 to 0.3 ms. In longer calls the graph runs, but its threads wait for a core, or run what is not recorded: fewer calls
would not change that."""
LONGEST_CALL = f"{LONGEST_CALL_PS / PS_PER_MS:g} ms"
LONG_LAUNCH_PS, LONG_SHARE = 1000 * PS_PER_US, 0.25
"""Launches that take so long, in so much of the typical step, are a finding even if the host waits for results before:
a call usually takes 0.02 to 0.3 ms, more with thousands of arguments."""
SCHEDULED = 1000
"""So many parts of graphs per step are a loop over small ops, too short to be recorded: others have 2 to 480."""
TINY_KERNELS = 0.50
"""Share of kernels below 10 us from which they are named as the reason."""

ADVICE = PARTS["launches"]
OPTIMIZER = 0.50
"""Share of kernels from which an optimizer is named as the reason."""
OPTIMIZER_ADVICE = PARTS["launches of an optimizer"]

_OF_OPTIMIZER = re.compile(r"(?:^|/)(?P<range>Optimizer\.\w+#(?P<name>[\w.]+?)(?:\.step)?)/")


def gather(host: HostView) -> HostLoss | None:
    """Waits for launches on a host, without code in launches that has another purpose; None without devices."""
    steps, time = host.steps, host.budget.time_ps
    if steps is None or 0 in time.shape:
        return None
    waits = np.where(host.time.takes_part, time[IDLE_LAUNCH], 0)
    device = int(waits.sum(axis=0).argmax())
    step = int(waits[:, device].argmax())
    window = int(steps.begin_ps[step, device]), int(steps.end_ps[step, device])
    by_part, code = np.zeros(len(CATEGORIES) + 1, np.int64), code_of(host)
    waited = int(waits.sum()) - (0 if code is None else int(code.slow.by_part(host)[IDLE_LAUNCH]))
    by_part[IDLE_LAUNCH] = waited
    if code is not None:
        by_part += code.launching.by_part(host)
    late, harmless = by_part.sum() >= LAUNCH_SHARE * host.time.cells * host.time.base_ps, ""
    calls = _calls(host, device) if late else 0
    scheduled = _scheduled(host) if calls else 0
    if late and code is not None and synced(host, steps, code.fetched) and not _long(host, waits[:, device]):
        harmless = "Devices wait {share} of the {base} for launches, because the host waits for results first."
    elif calls and waited > calls * LONGEST_CALL_PS and not scheduled:
        harmless = (
            "Devices wait {share} of the {base} during calls of TensorFlow, "
            f"{waited / calls / PS_PER_MS:.3g} ms in each: longer than a call takes: the graph's threads waited "
            "for a core, or ran what is not recorded."
        )
    known = host.communication.launches
    summary = known[device] if device < len(known) else None
    length = "recording" if host.per == "recording" else "step that loses most"
    evidence = [*_kernels(summary, host.name), lasting(f"Length of the {length}", host.name, window)]
    small = summary is not None and summary.tiny >= TINY_KERNELS * summary.launches
    why, advice = "; most kernels are shorter than 10 us" if small else "", ADVICE
    optimizer, launched = _optimizer_launches(host.summary.device)
    if launched >= OPTIMIZER:
        why, advice = f"; {launched:.0%} of the kernels are of the optimizer {optimizer}", OPTIMIZER_ADVICE
        page = {"filter": optimizer}
        evidence.append(Evidence(f"Kernels of {optimizer}, of all", 100 * launched, "%", "framework_op_stats", page))
    if scheduled:
        loop = next((found for op in host.devices[device].ops if (found := loop_of(op.name))), "")
        why = f"; TensorFlow schedules {scheduled:,} small ops per step one by one"
        why, advice = why + (f", in the loop {loop}" if loop else ""), SMALL
        evidence.insert(0, Evidence("Parts of graphs that TensorFlow's executor runs, per step", scheduled))
    elif late and is_uncompiled(launches := launched_by(host, steps)):
        by = shown(calls_of(host).calling(launches.at_ps))
        what = "eager ops" if launches.eager else "programs"
        why, advice = f": {launches.per_step:,.0f} {what} per step, one by one{f' by {by}' if by else ''}", NOT_COMPILED
    elif late and (program := _launched(host)):
        evidence.insert(0, Evidence("Most of it in", program, "", TIMELINE, {"host": host.name, "find": program}))
        why = f", most of it in {program}{why}"
    return HostLoss(by_part, why, tuple(evidence), advice, "high" if small else "medium", harmless=harmless)


def _long(host: HostView, waits: I64) -> bool:
    """Whether the call of a launch itself keeps a device waiting for long; `waits`: for launches, per step."""
    begin, end = host.marks
    launches = int(contains(times_of(begin, end), host.reader.time.launch[0]).sum())
    typical = float(np.median(waits))
    return typical * len(waits) >= max(LONG_LAUNCH_PS * launches, LONG_SHARE * int((end - begin).sum()))


def _scheduled(host: HostView) -> int:
    """How many parts of graphs TensorFlow's executor runs per step; 0 if these are few."""
    plane, steps = host.plane, host.steps
    if plane is None or steps is None:
        return 0
    begin = plane.events.begin_ps[events_named(plane, EXECUTOR.__eq__)]
    inside = contains(times_of(steps.begin_ps[:, 0], steps.end_ps[:, 0]), begin)
    found = round(int(inside.sum()) / max(len(steps), 1))
    return found if found >= SCHEDULED else 0


def _launched(host: HostView) -> str:
    """The program that more than half of the waits for launches are for, "" if that is none or unknown."""
    group = largest_group(host.blame, (IDLE_LAUNCH,))
    if group is None or group.ps <= MOST * host.blame.by_part(host.blame.op < 0)[IDLE_LAUNCH]:
        return ""
    return next((name for name in (group.inner, group.name) if "(" in name and activity(name) is Activity.LAUNCH), "")


def _calls(host: HostView, device: int) -> int:
    """Launches on the host in the steps, at least 1, if a CPU does not record when launched work begins; else 0."""
    steps, one = host.steps, host.devices[device]
    if steps is None or one.kind != "cpu" or len(one.starts):
        return 0
    called = contains(times_of(steps.begin_ps[:, device], steps.end_ps[:, device]), host.reader.time.launch[0])
    return max(int(called.sum()), 1)


def _kernels(summary: LaunchSummary | None, host: str) -> list[Evidence]:
    if summary is None or not summary.step_ps:
        return []
    page = {"host": host}
    starved = 100 * summary.starved_ps / summary.step_ps
    return [
        Evidence("GPU with nothing launched, of the steps", starved, "%", "communication", page),
        Evidence("Launches per step", summary.per_step, "", "communication", page),
        Evidence("Kernels shorter than 10 us, of the launches", 100 * summary.tiny / summary.launches, "%",
                 "communication", page),
        Evidence("Median duration of a launch on the host", summary.call_ps / PS_PER_US, "us", "communication", page),
    ]  # fmt: skip


def _optimizer_launches(table: OpTable) -> tuple[str, float]:
    """The optimizer with most kernels, and its share of all kernels; ("", 0) without one."""
    counts: dict[str, int] = {}
    for name, runs in zip(table.name, table.occurrences.tolist(), strict=True):
        if match := _OF_OPTIMIZER.search(name):
            counts[match["name"]] = counts.get(match["name"], 0) + runs
    if not counts:
        return "", 0.0
    most = max(counts, key=lambda name: counts[name])
    return most, counts[most] / int(table.occurrences.sum())


def judge(run: RunView, gathered: Sequence[HostLoss | None]) -> Finding | Silence:
    """The verdict on the time budget's waits for launches."""
    if not run.has_devices or not run.present(gathered):
        return lacks(NO_DEVICE)
    return verdict(
        run,
        gathered,
        title="Devices wait {share} of the {base} for the host to launch work{what}",
        label="Time lost to launches",
        formula="idle time while the host launches, runs short code between two launches, or until launched work "
        "begins, per step and device",
        nothing="",
        little="Devices wait {share} of the {base} for launches.",
        least=LAUNCH_SHARE,
    )


RULE = Rule("launch_bound", "Waiting for launches", judge, gather, ("not_compiled", "recompilation"))
