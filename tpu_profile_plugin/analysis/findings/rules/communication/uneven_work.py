"""Devices wait for each other because their work is divided unevenly, or because they work in turns.

Fires if devices wait for others for at least {EXPOSED_SHARE:.0%} of the time from step to step and the ops that they
run explain at least {EXPLAINED:.0%} of it. `uneven_work`: some devices run more of them in a step. `pipeline_bubbles`:
all run about as many, but not at the same time, as the stages of a pipeline do while it fills and drains. How long ops
take on a single device does not count.

Divide the work evenly; use more and smaller microbatches in pipelines.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import ONE_DEVICE
from tpu_profile_plugin.analysis.communication.balance import Balance, host_balance
from tpu_profile_plugin.analysis.findings.evidence.device.collectives import most_waited_in
from tpu_profile_plugin.analysis.findings.host_view import HostView, once
from tpu_profile_plugin.analysis.findings.lost import EXPOSED_SHARE, Lost
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import costs
from tpu_profile_plugin.analysis.findings.run_view import RunView

EXPLAINED = 0.5
"""Least share of the measured waits that the ops of the devices explain: with less, something else delays them."""

_UNEVEN = PARTS["uneven work"]
_TURNS = PARTS["work in turns"]


@once
def balance_of(host: HostView) -> Balance | None:
    """How evenly the work of a host's devices is divided; None if that need not be known."""
    return host_balance(host.communication, lambda: host.devices, host.hlo)


def judge(run: RunView, parts: Sequence[Balance | None], *, turns: bool) -> Finding | Silence:
    """The verdict on how evenly work is divided, or on devices that work in `turns`."""
    found = _cause(run, parts)
    if isinstance(found, Silence):
        return found
    balance, host, lost = found
    if (balance.unevenly < balance.in_turns) is not turns:
        other = "have more work" if turns else "work in turns"
        return Silence(f"Devices wait {lost.share:.1%} of the {run.base} for others, which {other}.")
    why, evidence = _in_turns(balance) if turns else _unevenly(balance)
    return Finding(
        f"Devices wait {lost.share:.1%} of the {run.base} for each other: {why}",
        lost.ps,
        "time in collectives until the last device arrives, as far as the ops that the devices run explain it",
        "high",
        (
            *costs(run, "Waits for other devices", lost),
            *evidence,
            *most_waited_in(run, "They wait in"),
        ),
        _TURNS if turns else _UNEVEN,
        (host,),
        lost.segments,
    )


def _unevenly(balance: Balance) -> tuple[str, list[Evidence]]:
    """How the work is divided."""
    most = max(range(len(balance.devices)), key=lambda i: balance.work_ps[i])
    ratio, name = balance.most_ps / balance.mean_ps, balance.devices[most]
    evidence = [Evidence(f"Work of {name}, times the mean of all devices", ratio)]
    if (op := balance.uneven) is not None:
        evidence += [
            Evidence("Run most unevenly", f"{op.name} ({op.place})" if op.place else op.name),
            Evidence("Its runs on the device with the fewest", op.fewest),
            Evidence(f"Its runs on the device with the most, {op.busiest}", op.most),
        ]
    return f"work is uneven, {name} has {ratio:.2f} times the mean", evidence


def _in_turns(balance: Balance) -> tuple[str, list[Evidence]]:
    """How much devices work at the same time."""
    busy = 100 * balance.mean_ps / balance.lockstep_ps
    evidence = [
        Evidence("Work of all devices, of the stretches between collectives", busy, "%"),
        Evidence("Work of the device with most, times the mean", balance.most_ps / balance.mean_ps),
    ]
    return "they have equal work, but do it in turns", evidence


def explains(run: RunView, parts: Sequence[Balance | None]) -> bool:
    """Whether the ops that devices run explain their waits."""
    return not isinstance(_cause(run, parts), Silence)


def _cause(run: RunView, parts: Sequence[Balance | None]) -> tuple[Balance, str, Lost] | Silence:
    """The host whose devices' ops explain most of the waits, and the waits; why not, if they explain little."""
    lost = run.lost_to("idle_peer")
    known = [(one, host) for one, host in run.present(parts) if len(one.devices) > 1]
    if len(run.budget.devices) < 2 or not run.communication.sums:
        return lacks(ONE_DEVICE, "No collectives of several devices recorded.", unless=len(run.budget.devices) > 1)
    waits = f"Devices wait {lost.share:.1%} of the {run.base} for"
    if lost.share < EXPOSED_SHARE or not known:
        return Silence(f"{waits} others.")
    balance, host = max(known, key=lambda one: one[0].unevenly + one[0].in_turns)
    waited = float(run.communication.wait_ps.sum())
    measured = waited / (waited + float(run.communication.work_ps.sum())) if waited else 1.0
    explained = balance.unevenly + balance.in_turns
    if explained < EXPLAINED * measured:
        return Silence(f"{waits} others; their ops explain waits of {explained:.1%} of it.")
    late = run.communication.stragglers
    most = run.devices_of(host)[int(np.argmax(balance.work_ps))]
    if balance.unevenly >= balance.in_turns and late and all(one.index != most for one in late):
        name = run.communication.devices[late[0].index].name
        return Silence(f"{waits} {name}, which has not most work.")
    part = min(1.0, explained / measured)
    return balance, host, Lost(lost.ps * part, lost.share * part, lost.segments, lost.whole and part == 1)


UNEVEN = Rule(
    "uneven_work",
    "Work divided unevenly over devices",
    partial(judge, turns=False),
    balance_of,
    implied_by=("straggler",),
)
BUBBLES = Rule(
    "pipeline_bubbles", "Devices that work in turns", partial(judge, turns=True), balance_of, implied_by=("straggler",)
)
