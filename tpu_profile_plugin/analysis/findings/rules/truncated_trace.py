"""Parts of the recording are missing: what the profiler says of it, impossible times, and devices that stop early."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import COMPUTE, EXPOSED_COMMUNICATION, EXPOSED_COPY
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import CUT_STEPS

_LOSS = re.compile(
    r"\bdropp(?:ed|ing)\b|truncat|\bbuffers?\b.*\b(?:full|overflow|exceed|limit)|overflow|\blost\b|too many events"
    r"|maximum number of (?:events|records)|event limit",
    re.IGNORECASE,
)
_BUSY = (COMPUTE, EXPOSED_COMMUNICATION, EXPOSED_COPY)
ADVICE = Advice(
    "Record fewer steps, so that the profiler's buffers hold all of them. Numbers about the missing part, such as idle "
    "time at the end, are not true.",
    jax="Record fewer steps, or lower host_tracer_level and python_tracer_level in jax.profiler.ProfileOptions. Numbers "
    "about the missing part, such as idle time at the end, are not true.",
    tensorflow="Record fewer steps (profile_batch of the TensorBoard callback), or lower the tracer levels in "
    "ProfilerOptions. Numbers about the missing part, such as idle time at the end, are not true.",
)


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """Speaks if the profiler reports lost events, times are impossible, or a device stops while steps go on."""
    texts = [text for text in (*run.summary.errors, *run.summary.warnings) if _LOSS.search(text)]
    evidence = [
        Evidence("The profiler reports", text.strip()[:300], "", "overview_page") for text in dict.fromkeys(texts)
    ]
    bad = sum(one.negative + one.too_long for one in run.summary.implausible)
    if bad:
        evidence.append(Evidence("Events with impossible times", bad, "", "overview_page"))
    device, silent = _stopped(run)
    if silent:
        label = f"Last steps without any event of {run.budget.devices[device].name}, of {len(run.budget)}"
        evidence.append(Evidence(label, silent, "", "time_budget"))
    if not evidence:
        return Silence("The profiler reports no lost events, and all devices are recorded to the end.")
    title = "Parts of the recording are missing"
    if silent:
        title += f": {run.budget.devices[device].name} has no events in the last {silent} of {len(run.budget)} steps"
    elif texts:
        title += ": the profiler reports lost events"
    else:
        title += f": {bad} events have impossible times"
    return Finding(title, 0, "about the recording, not about time", "high", tuple(evidence[:5]), ADVICE)


def _stopped(run: RunView) -> tuple[int, int]:
    """The device with most steps at the end without any of its events, and how many; 0 below `CUT_STEPS`."""
    busy = run.budget.time_ps[:, :, _BUSY].sum(axis=2) > 0
    steps = len(busy)
    if not busy.size or not busy.any() or "host" not in run.budget.sources:
        return 0, 0
    silent = np.where(busy.any(axis=0), np.argmax(busy[::-1], axis=0), 0)
    device = int(silent.argmax())
    count = int(silent[device])
    return device, count if count >= max(2, CUT_STEPS * steps) else 0


RULE = Rule("truncated_trace", "A recording that is cut", judge)
