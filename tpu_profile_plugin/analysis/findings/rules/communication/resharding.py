"""The compiler inserts collectives to change how values are sharded, and no computation hides them.

Fires if such collectives take at least {EXPOSED_SHARE:.0%} of the time from step to step, and at least half of all
exposed communication. Collectives count that XLA's partitioner inserted and that only move data (all-gather,
all-to-all, collective-permute, and reductions that stand for a gather or slice), not those that the program asks for.

Give values the sharding that their next use needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS, ONE_DEVICE
from tpu_profile_plugin.analysis.findings.evidence.device.collectives import (
    Collectives,
    collectives_of,
    most_of_it,
    origins_of,
)
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import in_words, shares
from tpu_profile_plugin.analysis.findings.lost import EXPOSED_SHARE
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.run_view import RunView

ADVICE = PARTS["resharding"]


def judge(run: RunView, parts: Sequence[Collectives]) -> Finding | Silence:
    """The verdict on the collectives that the compiler inserted to change shardings: they only move data."""
    sums, origins = run.communication.sums, origins_of(parts)
    if not sums:
        return lacks(ONE_DEVICE, "No collectives recorded.", unless=run.has_devices)
    if not origins:
        return lacks(NO_PROGRAMS, "No collectives of known programs recorded.")
    inserted = {key for key, origin in origins.items() if origin.inserted}
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
    origin = origins[most.key.name, most.key.program]
    where, evidence = most_of_it(run, ours, origins, origin.evidence)
    change = f": {origin.change}" if origin.change else ""
    return Finding(
        f"Changing shardings takes {lost.share:.1%} of the {run.base}{where}{change}",
        lost.ps,
        "exposed collectives that the compiler inserted, without waits for other devices; per step and device",
        "high",
        (
            Evidence("Exposed collectives that change shardings, of the " + run.base, 100 * lost.share, "%"),
            Evidence("By kind of collective", in_words(shares((one.key.kind, one.own_exposed_ps) for one in ours))),
            *evidence,
        ),
        ADVICE,
        segments=lost.segments,
    )


RULE = Rule("resharding", "Collectives that change shardings", judge, collectives_of)
