"""Communication that no computation hides (exposed communication) takes much of the step.

Fires if it takes at least {EXPOSED_SHARE:.0%} of the time from step to step. Waits for late devices do not count, nor
does time in which other virtual devices of a CPU use the same cores. It names the collective and its line.

Overlap collectives with computation, or send fewer bytes in larger messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.op_names import short_kernel
from tpu_profile_plugin.analysis.common.reasons import ONE_DEVICE
from tpu_profile_plugin.analysis.communication.host_collectives import CollectiveSums
from tpu_profile_plugin.analysis.findings.evidence.device.collectives import Key, bandwidth, origins
from tpu_profile_plugin.analysis.findings.evidence.device.op_evidence import in_timeline, of_collective, op_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import EXPOSED_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import per_step, share_of
from tpu_profile_plugin.analysis.findings.run_view import RunView

ADVICE = Advice(
    "Overlap the collective with computation that does not need its result, or send less: fewer bytes per element, "
    "larger and fewer messages, another sharding. A collective that no computation hides costs its whole time.",
    jax="Shard so that less has to be exchanged, exchange bfloat16 instead of float32, and reduce gradients once per "
    "step, not once per layer or microbatch. On TPUs and GPUs XLA's latency-hiding scheduler overlaps collectives with "
    "computation that does not need their result.",
    tensorflow="Reduce gradients once per step, in fewer and larger messages or in 16 bits (experimental_hints of the "
    "strategy, LossScaleOptimizer's mixed precision). A larger batch per replica computes more per exchanged byte.",
    pytorch="Reduce gradients once per step (no_sync() while they accumulate), and exchange bfloat16. Buckets of DDP "
    "(bucket_cap_mb) and prefetching of FSDP let collectives of one layer overlap with computation of "
    "another.",
    pytorch_xla="Reduce gradients once per step (xm.optimizer_step), not while they accumulate, and exchange "
    "bfloat16. Shard parameters (torch_xla's SPMD FSDP) so that gathers of one layer overlap with computation of "
    "the one before.",
)


@dataclass(frozen=True, slots=True)
class Exposed:
    """One host: exposed communication of CPU devices while others use their cores, summed over steps and devices.

    `places`: `file:line` of its collectives.
    """

    shared_ps: int
    places: Mapping[Key, str]


def gather(host: HostView) -> Exposed:
    """What shares cores, and where collectives come from."""
    places = {key: origin.place for key, origin in origins(host).items() if origin.place}
    return Exposed(host.budget.shared_ps, places)


def judge(run: RunView, gathered: Sequence[Exposed]) -> Finding | Silence:
    """The verdict on the exposed communication of the time budget."""
    lost = run.lost_in("exposed_communication", "peer_transfer")
    if not run.communication.sums:
        return lacks(ONE_DEVICE, "No collectives recorded.", unless=run.has_devices)
    if lost.share < EXPOSED_SHARE:
        return Silence(f"Exposed communication takes {lost.share:.1%} of the {run.base}.")
    alone = run.share(lost.ps - sum(one.shared_ps for one in gathered) / run.cells)
    if alone < EXPOSED_SHARE:
        others = f"{alone:.1%} while no other device uses the same cores"
        return Silence(f"Exposed communication takes {lost.share:.1%} of the {run.base}; {others}.")
    most = run.communication.sums[0]
    places = {key: place for one in gathered for key, place in one.places.items()}
    place = places.get((most.key.name, most.key.program), "")
    label = f"{most.key.name} ({place})" if place else most.key.name
    host = run.hosts[run.communication.devices[most.device].host]
    evidence = (
        share_of("Exposed communication", lost, run.base),
        per_step("Exposed communication", lost, run.per),
        of_collective(most.key, "Most of it in", label),
        *_numbers(most),
        *in_timeline(host, op_of(most.key), (most.begin_ps, most.end_ps)),
    )
    return Finding(
        f"{lost.share:.1%} of the {run.base} is exposed communication, most of it in {short_kernel(label)}",
        lost.ps,
        "communication while the device computes nothing, without waits for other devices; per step and device",
        "high",
        evidence,
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


RULE = Rule("exposed_communication", "Exposed communication", judge, gather, implied_by=("resharding", "slow_links"))
