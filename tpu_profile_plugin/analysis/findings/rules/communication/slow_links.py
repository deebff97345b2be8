"""Collectives between hosts or slices are far slower than those inside a host, and no computation hides them.

Fires if collectives of at least {LARGE_MIB} MiB between hosts reach at most {SLOW:.0%} of the bus bandwidth of such
collectives inside a host, and take at least {EXPOSED_SHARE:.0%} of the time from step to step exposed.

Send less over the slow links: reduce inside a host or slice first, and keep what is exchanged often inside.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import ONE_DEVICE, ONE_HOST
from tpu_profile_plugin.analysis.communication.host_collectives import CollectiveSums
from tpu_profile_plugin.analysis.findings.evidence.device.collectives import bandwidth, most_of_it, of_collective
from tpu_profile_plugin.analysis.findings.lost import EXPOSED_SHARE
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import MIB

SLOW = 0.25
"""Largest share of the bandwidth inside a host: links between the hosts of one slice are as fast as those inside,
networks between slices or machines ten times slower or more."""
LARGE_MIB = 1
"""Smaller messages take their latency, whatever the bandwidth."""

ADVICE = PARTS["slow links"]


def judge(run: RunView, _: Sequence[object]) -> Finding | Silence:
    """The verdict on the collectives between hosts."""
    communication = run.communication
    if len(communication.hosts) < 2:
        return lacks(ONE_HOST, "No collectives of several hosts recorded.", unless=len(run.hosts) > 1)
    between: list[tuple[CollectiveSums, float]] = []
    inside: list[tuple[CollectiveSums, float]] = []
    for one in communication.sums:
        size, rate = bandwidth(one)
        hosts = _hosts(run, one)
        if hosts and size is not None and size >= LARGE_MIB * MIB and rate:
            (between if hosts > 1 else inside).append((one, rate))
    if not between or not inside:
        missing = "between hosts" if not between else "inside a host"
        return lacks(ONE_DEVICE, f"No collectives {missing} of {LARGE_MIB} MiB and known bandwidth recorded.")
    usual = float(np.median([rate for _, rate in inside]))
    slow = [(one, rate) for one, rate in between if rate <= SLOW * usual]
    total = sum(one.own_exposed_ps for one in communication.sums)
    own = sum(one.own_exposed_ps for one, _ in slow)
    part_ps = run.part_ps("exposed_communication") * own / max(total, 1)
    best = max(rate for _, rate in between)
    if run.share(part_ps) < EXPOSED_SHARE:
        return Silence(
            f"Collectives between hosts reach {best:.1f} GB/s, inside a host {usual:.1f}; slow ones take "
            f"{run.share(part_ps):.1%} of the {run.base} exposed."
        )
    most, rate = max(slow, key=lambda one: one[0].own_exposed_ps)
    lost = run.lost_in("exposed_communication", ps=part_ps * (1 - rate / usual))
    numbers = (
        of_collective(most.key, "Its bus bandwidth", rate, "GB/s"),
        Evidence("Bus bandwidth of collectives inside a host (median)", usual, "GB/s", "communication"),
    )
    where, evidence = most_of_it(run, [one for one, _ in slow], {}, numbers)
    return Finding(
        f"Slow links between hosts cost {lost.share:.1%} of the {run.base}{where}: "
        f"{rate:.1f} GB/s, inside a host {usual:.1f}",
        lost.ps,
        "exposed time of these collectives, less what they would take at the bandwidth inside a host",
        "medium",
        (
            Evidence("Exposed collectives over slow links, of the " + run.base, 100 * run.share(part_ps), "%"),
            *evidence,
        ),
        ADVICE,
        segments=lost.segments,
    )


def _hosts(run: RunView, sums: CollectiveSums) -> int:
    """Most hosts that take part in one group of a collective; 0 if its groups are not known."""
    devices, groups = run.communication.devices, sums.transfer.groups
    if groups is None:
        return 0
    if not groups:
        return len(run.communication.hosts)
    if sum(map(len, groups)) != len(devices) or max(map(max, groups)) >= len(devices):
        return 0
    return max(len({devices[number].host for number in group}) for group in groups)


RULE = Rule("slow_links", "Slow links between hosts", judge, implied_by=("resharding",))
