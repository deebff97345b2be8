"""Parts of the recording are missing.

Fires if the profiler reports lost events, if events have impossible times, if launches have no event of the device, or
if a device that worked before has no event in the last {CUT_STEPS:.0%} of the steps.

Record fewer steps, or lower the tracer levels. Numbers about the missing part are not true.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.summary.missing_events import FEW, lost_event_messages

CUT_STEPS = 0.20
"""Share of the steps, the last ones, in which a device that worked before has no event."""

ADVICE = PARTS["truncated trace"]


def gather(host: HostView) -> tuple[tuple[str, int], tuple[int, int]]:
    """See `_silent`; and how many launches have no event, of how many."""
    lost = [(len(one), len(one) + one.recorded) for one in host.budget.unrecorded]
    return _silent(host), (sum(count for count, _ in lost), sum(count for _, count in lost))


def _silent(host: HostView) -> tuple[str, int]:
    """The device with most steps at the end of which it recorded nothing, nor after them; and how many.

    A device that works after the last marker only follows late. The number is 0 below `CUT_STEPS` of the steps.
    """
    steps, busy = host.steps, host.budget.busy
    if steps is None or not busy.any() or steps.source != "host":
        return "", 0
    silent = np.where(busy.any(axis=0), np.argmax(busy[::-1], axis=0), 0)
    number = int(silent.argmax())
    count = int(silent[number])
    if count < max(2, CUT_STEPS * len(busy)):
        return "", 0
    span = host.devices[number].span()
    if span is None or span[1] > int(steps.begin_ps[len(busy) - count, number]):
        return "", 0
    return host.devices[number].name, count


def judge(run: RunView, gathered: Sequence[tuple[tuple[str, int], tuple[int, int]]]) -> Finding | Silence:
    """The verdict on messages, times and the ends of devices."""
    texts = lost_event_messages((*run.summary.errors, *run.summary.warnings))
    evidence = [Evidence("The profiler reports", text, "", "overview_page") for text in texts]
    bad = sum(line.left_out + line.shortened for line in run.summary.impossible)
    if bad:
        evidence.append(Evidence("Events with impossible times", bad, "", "overview_page"))
    lost, launches = (sum(counts) for counts in zip(*(count for _, count in gathered), strict=True))
    lost = lost if lost > FEW * launches else 0
    if lost:
        evidence.append(Evidence(f"Launches without an event of the device, of {launches:,}", lost, "", "time_budget"))
    device, silent = max((one for one, _ in gathered), key=lambda one: one[1])
    if silent:
        label = f"Last steps without any event of {device}, of {len(run.budget)}"
        evidence.append(Evidence(label, silent, "", "time_budget"))
    if not evidence:
        return Silence("The profiler reports no lost events, and all devices are recorded to the end.")
    title = "Parts of the recording are missing"
    if silent and not lost:
        title += f": {device} has no events in the last {silent} of {len(run.budget)} steps"
    elif lost:
        title += f": {lost:,} of {launches:,} launches have no event of the device"
    elif texts:
        title += ": the profiler reports lost events"
    else:
        title += f": {bad} event{' has' if bad == 1 else 's have'} impossible times"
    return Finding(title, 0, "no direct cost", "high", tuple(evidence[:5]), ADVICE)


RULE = Rule("truncated_trace", "A recording that is cut", judge, gather)
