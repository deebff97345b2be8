"""One device or host has far more work than the others, or arrives late, and the others wait in collectives.

Fires if devices wait at least {LEAST_SHARE:.0%} of the time from step to step and a device or host has clearly more
work. A device with about as much work is named if waits take {EXPOSED_SHARE:.0%} of that time and it causes
{ARRIVAL_SHARE:.0%} of them. Devices of the CPU backend have more work only if they run more ops.

Give every device the same amount of work, or look at what delays the late device before the collective.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_PEER, LABELS
from tpu_profile_plugin.analysis.common.reasons import ONE_DEVICE
from tpu_profile_plugin.analysis.common.spans import exact_sum
from tpu_profile_plugin.analysis.communication.stragglers import LEAST_RATIO
from tpu_profile_plugin.analysis.findings.evidence.device.balance import Balance, balance_of
from tpu_profile_plugin.analysis.findings.evidence.device.op_evidence import in_timeline, of_collective, op_of
from tpu_profile_plugin.analysis.findings.limits import EXPOSED_SHARE, LEAST_SHARE
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import per_step, share_of
from tpu_profile_plugin.analysis.findings.rules.communication.uneven_work import explains
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

ARRIVAL_SHARE = 0.8
"""A device is named as late if it causes this share of all waits in collectives: chance spreads waits evenly."""

ADVICE = Advice(
    "Give every device the same amount of work: look for branches on the device's index, uneven shards or batches, and "
    "work that only one device or process does. The collective itself is not slow; it waits for the last device.",
    jax="Look for work that only some devices do: lax.cond on lax.axis_index, jax.process_index() == 0, uneven shards, "
    "experts or pipeline stages of unequal size. The collective itself is not slow; it waits for the last device.",
    tensorflow="Look for work that only one replica does (the chief's summaries, callbacks or evaluation) and for "
    "replicas with larger batches. The collective itself is not slow; it waits for the last device.",
    pytorch="Look for work behind `if rank == 0` and for ranks with longer sequences or more samples. The collective "
    "itself is not slow; it waits for the last rank.",
)


LATE = Advice(
    "Look at what this device or its host does before the collective: waiting for input, a host that launches late or "
    "does other work such as checkpoints and logs, another process on its cores. The others only wait for it."
)


def judge(run: RunView, parts: Sequence[Balance | None]) -> Finding | Silence:
    """The verdict on waits for other devices."""
    lost = run.lost_in("idle_peer")
    share = lost.share
    communication = run.communication
    if len(communication.devices) < 2 or not communication.sums:
        return lacks(ONE_DEVICE, "No collectives of several devices recorded.", unless=len(run.budget.devices) > 1)
    work = communication.work_ps.sum(axis=0)
    late = [one.index for one in communication.stragglers if _has_more(run, parts, one.index)] or _of_late_hosts(run)
    device = None if share < EXPOSED_SHARE or late or explains(run, parts) else _arrives_late(run)
    if device is not None:
        return _late_begin(run, device, lost)
    if share < LEAST_SHARE or not late:
        ratio = float(work.max()) / float(np.median(work)) if float(np.median(work)) > 0 else 0.0
        return Silence(
            f"Devices wait {share:.1%} of the {run.base} for others; the busiest has {ratio:.2f} times the median work."
        )
    steps = max(len(communication.number), 1)
    median = _median(work, late)
    most = max(late, key=lambda i: int(work[i]))
    name, hosts = _name(run, late, most)
    ratio = float(work[most]) / median if median > 0 else float("inf")
    times = f"{ratio:.1f} times the work of the others" if isfinite(ratio) else "all the work"
    evidence = (
        share_of("Waits for late devices", lost, run.base),
        per_step("Waits for late devices", lost, run.per),
        Evidence(f"Work of the late device per {run.per}", int(work[most]) / steps / PS_PER_MS, "ms", "communication"),
        Evidence(f"Work of the others per {run.per} (median)", median / steps / PS_PER_MS, "ms"),
        *_longest_wait(run),
    )
    return Finding(
        f"{name} is late: the others wait {share:.1%} of the {run.base}; it has {times}",
        lost.ps,
        "time in collectives until the last device arrives, per step, averaged over devices",
        "high",
        evidence,
        ADVICE,
        hosts,
        lost.segments,
    )


def _has_more(run: RunView, parts: Sequence[Balance | None], device: int) -> bool:
    """Whether a device has more work; of the CPU backend, more ops, as the same ones take longer on busy cores."""
    host = run.communication.devices[device].host
    balance = parts[host]
    if run.communication.devices[device].kind != "cpu" or balance is None:
        return True
    own = [i for i, one in enumerate(run.communication.devices) if one.host == host].index(device)
    return balance.work_ps[own] >= LEAST_RATIO * float(np.median(balance.work_ps))


def _arrives_late(run: RunView) -> int | None:
    """The device that almost all waits are for; None if there is none.

    Devices of the CPU backend share cores, and which of them gets one last says nothing about it.
    """
    caused = run.communication.caused_ps
    if any(device.kind == "cpu" for device in run.communication.devices) or not caused.any():
        return None
    most = int(caused.argmax())
    return most if caused[most] >= ARRIVAL_SHARE * exact_sum(caused) else None


def _late_begin(run: RunView, device: int, lost: Lost) -> Finding:
    """A device without more work than the others, which begins its collectives late: what it is idle for."""
    share = lost.share
    name, hosts = _name(run, [], device)
    idle = np.nan_to_num(run.budget.of_devices_ps[1][device])
    causes = [i for i, category in enumerate(CATEGORIES) if category.startswith("idle") and i != IDLE_PEER]
    most = max(causes, key=lambda i: float(idle[i]))
    part = CATEGORIES[most]
    caused, work = run.communication.caused_ps, run.communication.work_ps.sum(axis=0)
    median = float(np.median(work))
    evidence = (
        share_of("Waits for late devices", lost, run.base),
        Evidence("Waits for this device, of all in collectives", 100 * int(caused[device]) / exact_sum(caused), "%"),
        Evidence(
            f"Largest idle part of this device per {run.per}: {LABELS[part].name}", idle[most] / PS_PER_MS, "ms",
            "time_budget", {"part": part},
        ),
        Evidence("Its work, times the median", float(work[device]) / median if median else 0.0, "", "communication"),
        *_longest_wait(run),
    )  # fmt: skip
    return Finding(
        f"{name} arrives late at collectives: the others wait {share:.1%} of the {run.base}",
        lost.ps,
        "time in collectives until the last device arrives, per step, averaged over devices",
        "medium",
        evidence,
        LATE,
        hosts,
        lost.segments,
    )


def _median(work: np.ndarray[tuple[int], np.dtype[np.int64]], late: Sequence[int]) -> float:
    others = np.delete(work, list(late))
    return float(np.median(others)) if len(others) else 0.0


def _of_late_hosts(run: RunView) -> list[int]:
    """The devices of hosts with far more work than the other hosts."""
    hosts = {host for host, _ in run.communication.host_outliers}
    return [i for i, device in enumerate(run.communication.devices) if device.host in hosts]


def _name(run: RunView, late: Sequence[int], most: int) -> tuple[str, tuple[str, ...]]:
    """The device, with its host if there are several; the host alone if all of its several devices are late."""
    devices = run.communication.devices
    host = devices[most].host
    name = run.hosts[host]
    if len(run.communication.hosts) == 1:
        return devices[most].name, (name,)
    siblings = [i for i, device in enumerate(devices) if device.host == host]
    if len(siblings) > 1 and set(siblings) <= set(late):
        return f"Host {name}", (name,)
    return f"{name}: {devices[most].name}", (name,)


def _longest_wait(run: RunView) -> list[Evidence]:
    """The collective in which devices wait most: its longest wait, and its longest run in the timeline."""
    most = max(run.communication.sums, key=lambda one: one.wait_ps)
    if not most.wait_ps:
        return []
    host = run.hosts[run.communication.devices[most.device].host]
    return [
        of_collective(most.key, "The others wait in", most.key.name),
        of_collective(most.key, "Longest wait in this collective", most.most_wait_ps / PS_PER_MS, "ms"),
        *in_timeline(host, op_of(most.key), (most.begin_ps, most.end_ps)),
    ]


RULE = Rule("straggler", "A late device or host", judge, balance_of, implied_by=("slow_device",))
