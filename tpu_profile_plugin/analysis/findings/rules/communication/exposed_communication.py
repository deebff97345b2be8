"""Communication that no computation hides (exposed communication) takes much of the step.

Fires if it takes at least {EXPOSED_SHARE:.0%} of the time from step to step, {ON_CPUS:.0%} where CPUs exchange
data at most {FEW} times in a step; from {LEAST_ANY:.0%} on that is told as well, as the place where time goes, without
a cost. Waits for late devices do not count, nor does time in which other virtual devices of a CPU use the same cores.
It names the collective and its line.

Overlap collectives with computation, or send fewer bytes in larger messages.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.reasons import ONE_DEVICE
from tpu_profile_plugin.analysis.communication.host_collectives import CollectiveSums
from tpu_profile_plugin.analysis.findings.evidence.device.collectives import (
    Collectives,
    bandwidth,
    collectives_of,
    most_of_it,
    of_collective,
    origins_of,
)
from tpu_profile_plugin.analysis.findings.lost import EXPOSED_SHARE, LEAST_ANY
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import costs
from tpu_profile_plugin.analysis.findings.run_view import RunView

ON_CPUS, FEW = 0.45, 3
"""Devices and ranks that share the cores of a CPU exchange as slowly as these let them: one or two reductions in a step
took up to 42% of steps with nothing to mend, and programs with something to mend exchange more often."""
ADVICE = PARTS["exposed communication"]


def judge(run: RunView, parts: Sequence[Collectives]) -> Finding | Silence:
    """The verdict on the exposed communication of the time budget."""
    lost, sums = run.lost_in("exposed_communication", "peer_transfer"), run.communication.sums
    if not sums:
        return lacks(ONE_DEVICE, "No collectives recorded.", unless=run.has_devices)
    takes = f"Exposed communication takes {lost.share:.1%} of the {run.base}"
    if lost.share < EXPOSED_SHARE:
        return Silence(f"{takes}.")
    alone = run.share(lost.ps - sum(one.shared_ps for one in parts) / run.cells)
    if alone < EXPOSED_SHARE:
        return Silence(f"{takes}; {alone:.1%} while no other device uses the same cores.")
    times = sum(one.instances for one in sums) / max(len(run.communication.number), 1)
    ordinary = lost.share < ON_CPUS and times <= FEW and run.on_cpus
    if ordinary and lost.share < LEAST_ANY:
        return Silence(f"{takes}, in {times:.1f} collectives per step of CPUs.")
    most, evidence = most_of_it(run, sums, origins_of(parts), _numbers(sums[0]))
    return Finding(
        f"{lost.share:.1%} of the {run.base} is exposed communication{most}",
        0.0 if ordinary else lost.ps,
        "communication while the device computes nothing, without waits for other devices; per step and device",
        "low" if ordinary else "high",
        (
            *costs(run, "Exposed communication", lost),
            *evidence,
        ),
        ADVICE,
        segments=lost.segments,
    )


def _numbers(sums: CollectiveSums) -> list[Evidence]:
    """Hidden share, message and bandwidth, as far as they are known, as the communication page has them."""
    size, bus = bandwidth(sums)
    hidden = 100 * (1 - sums.exposed_ps / sums.total_ps) if sums.total_ps else None
    numbers = (
        ("Time of this collective hidden by computation", hidden, "%"),
        ("Bytes per device and run", size, "bytes"),
        ("Bus bandwidth", bus, "GB/s"),
    )
    return [of_collective(sums.key, label, value, unit) for label, value, unit in numbers if value is not None]


RULE = Rule(
    "exposed_communication", "Exposed communication", judge, collectives_of, implied_by=("resharding", "slow_links")
)
