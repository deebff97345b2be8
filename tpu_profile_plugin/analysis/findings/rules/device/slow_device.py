"""One device runs all its ops slower than the others run the same ops, though it has no more of them.

Fires if at least {FEWEST_DEVICES} TPUs or GPUs of a host run the same {FEWEST_OPS} ops or more and one of them takes at
least {SLOWER:.2f} times as long as the median, in ops that make up {AGREE:.0%} of the time. The others need not wait.

Look at its clock, temperature and neighbours, or leave the device out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import FEW_DEVICES
from tpu_profile_plugin.analysis.communication.balance import FEWEST_DEVICES, FEWEST_OPS, Balance
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.rules.communication.uneven_work import balance_of
from tpu_profile_plugin.analysis.findings.run_view import RunView

SLOWER = 1.1
"""Least ratio of durations: equal chips differ by a few percent."""
AGREE = 0.8
"""Least share of the time in ops that are slower by at least half as much: an op that has more to do on one device, or
waits for memory that others use, is slow alone."""

ADVICE = PARTS["slow device"]


def judge(run: RunView, parts: Sequence[Balance | None]) -> Finding | Silence:
    """The verdict on the device that is slowest beside the others of its host."""
    if sum(device.kind in ("tpu", "gpu") for device in run.budget.devices) < FEWEST_DEVICES:
        return lacks(FEW_DEVICES, f"No host with {FEWEST_DEVICES} TPUs or GPUs recorded.")
    known = [
        (one, host)
        for one, host in run.present(parts)
        if one.kind in ("tpu", "gpu") and len(one.slow) >= FEWEST_DEVICES
    ]
    if not known:
        return Silence(f"No {FEWEST_OPS} ops that all devices of a host run take clearly longer on one of them.")
    part, host = max(known, key=lambda one: max(one[0].slow))
    at = int(np.argmax(part.slow))
    ratio, agree = part.slow[at], part.agree[at]
    if ratio < SLOWER or agree < AGREE:
        return Silence(
            f"The slowest device takes {ratio:.2f} times as long as the median, in ops of {agree:.0%} of the time."
        )
    device, late = run.devices_of(host)[at], run.communication.stragglers
    if late and all(one.index != device for one in late):
        waited = run.communication.devices[late[0].index].name
        return Silence(
            f"{part.devices[at]} takes {ratio:.2f} times as long as the median, but the others wait for {waited}."
        )
    work = float(run.communication.work_ps.sum(axis=0)[device]) / max(len(run.communication.number), 1)
    excess = work * (1 - 1 / ratio)
    count = len(run.budget.devices)
    lost = run.lost_in("compute", "idle_peer", ps=excess / count + min(run.part_ps("idle_peer"), excess))
    name = part.devices[at] if len(run.hosts) == 1 else f"{host}: {part.devices[at]}"
    return Finding(
        f"{name} runs the same ops {ratio:.2f} times as long as the other devices",
        lost.ps,
        "what its ops take longer than their median over devices, averaged over devices, and waits for it",
        "high",
        (
            Evidence("Durations of its ops, times the median of the devices", ratio),
            Evidence("Ops that are slower by at least half as much, of the time", 100 * agree, "%"),
            *(Evidence(f"The same of {one}", slow) for one, slow in zip(part.devices, part.slow, strict=True)),
        ),
        ADVICE,
        (host,),
        lost.segments,
    )


RULE = Rule("slow_device", "A device slower than the others", judge, balance_of)
