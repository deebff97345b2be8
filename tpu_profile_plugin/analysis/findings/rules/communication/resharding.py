"""The compiler inserts collectives to change how values are sharded, and no computation hides them.

Fires if such collectives take at least {EXPOSED_SHARE:.0%} of the time from step to step, and at least half of all
exposed communication. Collectives count that XLA's partitioner inserted and that only move data (all-gather,
all-to-all, collective-permute, and reductions that stand for a gather or slice), not those that the program asks for.

Give values the sharding that their next use needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS, ONE_DEVICE
from tpu_profile_plugin.analysis.communication.host_collectives import CollectiveSums
from tpu_profile_plugin.analysis.findings.evidence.device.collectives import Key, Origin, origins
from tpu_profile_plugin.analysis.findings.evidence.device.op_evidence import in_timeline, of_collective, op_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import EXPOSED_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.run_view import RunView

ADVICE = Advice(
    "Give the value the sharding that its next use needs, where it is made, so that it does not change in between. "
    "Parameters that are sharded to save memory are gathered for each use: a larger batch computes more per gather.",
    jax="Let the value keep one sharding from where it is made to where it is used: align in_shardings, out_shardings "
    "and with_sharding_constraint of the ops around this line. Parameters that are sharded to save memory are gathered "
    "for each use: a larger batch computes more per gather.",
)


@dataclass(frozen=True, slots=True)
class Resharded:
    """One host: the collectives of its programs that the compiler inserted; exposed time while others use its cores."""

    known: bool
    inserted: Mapping[Key, Origin]
    shared_ps: int


def gather(host: HostView) -> Resharded:
    """The collectives of one host that only move data and that the program does not ask for."""
    found = origins(host)
    inserted = {key: one for key, one in found.items() if one.inserted}
    return Resharded(bool(found), inserted, host.budget.shared_ps)


def judge(run: RunView, parts: Sequence[Resharded]) -> Finding | Silence:
    """The verdict on the collectives that the compiler inserted."""
    sums = run.communication.sums
    if not sums:
        return lacks(ONE_DEVICE, "No collectives recorded.", unless=run.has_devices)
    if not any(part.known for part in parts):
        return lacks(NO_PROGRAMS, "No collectives of known programs recorded.")
    inserted = {key: origin for part in parts for key, origin in part.inserted.items()}
    ours = [one for one in sums if (one.key.name, one.key.program) in inserted]
    total, own = (sum(one.own_exposed_ps for one in some) for some in (sums, ours))
    share = own / total if total else 0.0
    lost = run.lost_in("exposed_communication", ps=share * run.part_ps("exposed_communication"))
    alone = lost.share - share * run.share(sum(part.shared_ps for part in parts) / run.cells)
    if alone < EXPOSED_SHARE or 2 * own < total:
        return Silence(
            f"Exposed collectives that change shardings take {lost.share:.1%} of the {run.base}, {share:.0%} of the "
            "exposed communication."
        )
    most = max(ours, key=lambda one: one.own_exposed_ps)
    origin = inserted[most.key.name, most.key.program]
    host = run.hosts[run.communication.devices[most.device].host]
    label = f"{most.key.name} ({origin.place})" if origin.place else most.key.name
    change = f": {origin.before} to {origin.after}" if origin.before != origin.after else ""
    evidence = [
        Evidence("Exposed collectives that change shardings, of the " + run.base, 100 * lost.share, "%"),
        *_by_kind(ours, own),
        of_collective(most.key, "Most of it in", label),
        of_collective(most.key, "A device gives", origin.before),
        of_collective(most.key, "A device has afterwards", origin.after),
    ]
    if origin.argument:
        evidence.append(Evidence(f"Sharding of argument {origin.argument}", origin.sharded or "unknown"))
    return Finding(
        f"Changing shardings takes {lost.share:.1%} of the {run.base}, most of it in {label}{change}",
        lost.ps,
        "exposed collectives that the compiler inserted, without waits for other devices; per step and device",
        "high",
        (*evidence, *in_timeline(host, op_of(most.key), (most.begin_ps, most.end_ps))),
        ADVICE,
        segments=lost.segments,
    )


def _by_kind(ours: Sequence[CollectiveSums], own_ps: int) -> list[Evidence]:
    """The share of each kind of collective, most first."""
    times: dict[str, int] = {}
    for one in ours:
        times[one.key.kind] = times.get(one.key.kind, 0) + one.own_exposed_ps
    kinds = sorted(times.items(), key=lambda one: -one[1])
    return [Evidence("By kind of collective", ", ".join(f"{kind} {ps / own_ps:.0%}" for kind, ps in kinds))]


RULE = Rule("resharding", "Collectives that change shardings", judge, gather)
