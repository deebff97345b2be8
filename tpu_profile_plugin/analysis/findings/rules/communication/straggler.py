"""Others wait in collectives for one device or host: it has far more work, or it arrives late.

Fires if devices wait at least {LEAST_SHARE:.0%} of the time from step to step and the late device has clearly more work
than the others, else from {EXPOSED_SHARE:.0%} on. It is the device that the others waited for in their collectives,
however much work it has: it caused {ARRIVAL_SHARE:.0%} of all waits. Devices that are CPUs have more work only if they
run more or longer ops, not if busy cores delay some; else they are late because of what they do beside their ops.

Give every device the same amount of work, or look at what delays the late device before the collective.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_PEER, LABELS
from tpu_profile_plugin.analysis.common.reasons import ONE_DEVICE
from tpu_profile_plugin.analysis.common.spans import exact_sum
from tpu_profile_plugin.analysis.communication.balance import Balance
from tpu_profile_plugin.analysis.communication.run_collectives import LATE_SHARE, LEAST_RATIO, Before, Straggler
from tpu_profile_plugin.analysis.devices.across_hosts import sum_by_step
from tpu_profile_plugin.analysis.devices.model import device_names
from tpu_profile_plugin.analysis.findings.evidence.device.collectives import most_waited_in
from tpu_profile_plugin.analysis.findings.lost import EXPOSED_SHARE, LEAST_SHARE, Lost
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import costs
from tpu_profile_plugin.analysis.findings.rules.communication.uneven_work import balance_of, explains
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import PS_PER_MS

ARRIVAL_SHARE = LATE_SHARE
"""Share of all waits in collectives that is for the late device: chance spreads waits evenly."""

ADVICE = PARTS["late device"]


LATE = PARTS["late host"]


def judge(run: RunView, parts: Sequence[Balance | None]) -> Finding | Silence:
    """The verdict on waits for other devices."""
    lost, communication = _lost(run), run.communication
    if len(communication.devices) < 2 or not communication.sums:
        return lacks(ONE_DEVICE, "No collectives of several devices recorded.", unless=len(run.budget.devices) > 1)
    late = communication.stragglers
    more = bool(late) and late[0].work is not None
    if more and not _runs_more(run, parts, late[0].index):
        late = ()
    work = communication.work_ps.sum(axis=0)
    if late and not more and run.on_cpus and _delayed(late[0].before):
        late = ()
    if lost.share < (LEAST_SHARE if more else EXPOSED_SHARE) or not late or (not more and explains(run, parts)):
        ratio = float(work.max()) / float(np.median(work)) if float(np.median(work)) > 0 else 0.0
        caused = communication.caused_ps
        spread = ", for different ones in turn" if caused.max() < ARRIVAL_SHARE * exact_sum(caused) else ""
        return Silence(
            f"Devices wait {lost.share:.1%} of the {run.base} for others{spread}; "
            f"the busiest has {ratio:.2f} times the median work."
        )
    indices = [one.index for one in late]
    first = max(indices, key=lambda i: int(work[i])) if more else indices[0]
    name, hosts = _name(run, first)
    how, which, evidence = _more_work(run, first, indices) if more else _arrives_late(run, late)
    return Finding(
        f"{name} {how}: the others wait {lost.share:.1%} of the {run.base}{which}",
        lost.ps,
        "time in collectives until the last device arrives, per step, averaged over devices",
        "high" if more else "low" if run.on_cpus else "medium",
        (
            *costs(run, "Waits for late devices", lost),
            *evidence,
            *most_waited_in(run, "The others wait in"),
        ),
        ADVICE if more else LATE,
        hosts,
        lost.segments,
    )


def _lost(run: RunView) -> Lost:
    """The waits of the budget, without those for other devices to start, which happen once."""
    communication, budget = run.communication, run.budget
    waits = communication.first_waits
    if not waits or len(communication.devices) != len(budget.devices):
        return run.lost_in("idle_peer")
    columns = (np.array([getattr(one, name) for one in waits], np.int64) for name in ("device", "begin_ps", "wait_ps"))
    start = sum_by_step(budget.begin_ps, budget.begin_ps + budget.duration_ps, *columns)
    return run.lost_in("idle_peer", ps=max(run.part_ps("idle_peer") - exact_sum(start) / run.cells, 0.0))


def _runs_more(run: RunView, parts: Sequence[Balance | None], late: int) -> bool:
    """Whether a device has more work; of CPUs, by what its ops usually take: on busy cores single runs take longer."""
    work: dict[int, float] = {}
    for part, host in run.present(parts):
        work |= zip(run.devices_of(host), part.work_ps, strict=True)
    others = [ps for i, ps in work.items() if i != late]
    on_cpu = run.communication.devices[late].kind == "cpu"
    return not (on_cpu and late in work and others) or work[late] >= LEAST_RATIO * float(np.median(others))


def _delayed(before: Before | None) -> bool:
    """Whether a CPU is late because the same ops take it longer, rather than because of what it does beside them."""
    if before is None or None in (before.idle_ps, before.others_idle_ps, before.work_ps, before.others_work_ps):
        return False
    return before.work_ps - before.others_work_ps > before.idle_ps - before.others_idle_ps


def _more_work(run: RunView, most: int, late: Sequence[int]) -> tuple[str, str, list[Evidence]]:
    """Of a device that has far more work than the others: that it is late, by how much, and evidence."""
    work = run.communication.work_ps.sum(axis=0) / max(len(run.communication.number), 1)
    others = np.delete(work, late)
    median = float(np.median(others)) if len(others) else 0.0
    times = f"{work[most] / median:.1f} times the work of the others" if median > 0 else "all the work"
    evidence = [
        Evidence(f"Work of the late device per {run.per}", float(work[most]) / PS_PER_MS, "ms", "communication"),
        Evidence(f"Work of the others per {run.per} (median)", median / PS_PER_MS, "ms"),
    ]
    return "is late", f"; it has {times}", evidence


def _arrives_late(run: RunView, late: Sequence[Straggler]) -> tuple[str, str, list[Evidence]]:
    """The same of one without more work, which begins its collectives late: what it did before."""
    first = late[0]
    device = run.budget.devices.index(run.communication.devices[first.index])
    idle = np.nan_to_num(run.budget.of_devices_ps[1][device])
    causes = [i for i, category in enumerate(CATEGORIES) if category.startswith("idle") and i != IDLE_PEER]
    most = max(causes, key=lambda i: float(idle[i]))
    part = CATEGORIES[most]
    label = f"Largest idle part of this device per {run.per}: {LABELS[part].name}"
    evidence = [
        Evidence("Waits for this device, of all in collectives", 100 * sum(one.share for one in late), "%"),
        *_before(first.before),
        Evidence(label, idle[most] / PS_PER_MS, "ms", "time_budget", {"part": part}),
        Evidence("Its work, times the median", first.ratio or 0.0, "", "communication"),
    ]
    return "arrives late at collectives", "", evidence


def _before(before: Before | None) -> list[Evidence]:
    """Work and idle time before the collectives that it was late for, beside those of the others."""
    if before is None:
        return []
    numbers = (
        ("Launched after the others, on average", before.launched_after_ps),
        ("Idle before it arrives, on average", before.idle_ps),
        ("The others, idle before they arrive", before.others_idle_ps),
        ("Its work before it arrives", before.work_ps),
        ("Work of the others before they arrive", before.others_work_ps),
    )
    return [Evidence(label, ps / PS_PER_MS, "ms") for label, ps in numbers if ps is not None]


def _name(run: RunView, device: int) -> tuple[str, tuple[str, ...]]:
    """The device, with its host if there are several; the host alone if all of its several devices are late."""
    communication = run.communication
    host = run.hosts[communication.devices[device].host]
    several = len(communication.hosts) > 1
    if several and communication.late_host is not None:
        return f"Host {host}", (host,)
    return device_names(communication.devices, run.hosts, several=several)[device], (host,)


RULE = Rule("straggler", "A late device or host", judge, balance_of, implied_by=("slow_device",))
