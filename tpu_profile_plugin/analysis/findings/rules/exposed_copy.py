"""TensorCores wait for copies between memories that no computation hides, such as values offloaded to the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.budget.categories import EXPOSED_COPY
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.on_device.copies import Copies, costly_copies
from tpu_profile_plugin.analysis.findings.on_device.op_evidence import of_op
from tpu_profile_plugin.analysis.findings.on_device.op_places import Place, longest_run
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import EXPOSED_COPY_SHARE
from tpu_profile_plugin.units import MIB, PS_PER_MS

_HOST = Advice(
    "Keep this value in the device's memory, or offload less: the link to the host's memory is far slower than HBM. "
    "Where it does not fit, start the copy earlier so that more computation hides it.",
    jax="Keep this value in device memory, or offload less of it (memory_kind='pinned_host', offload policies of "
    "jax.checkpoint): the link to the host is far slower than HBM. Where it does not fit, recompute it with "
    "jax.checkpoint, or offload what is needed much later so that computation hides the copy.",
)
_OTHER = Advice(
    "Let more computation run while the copy is under way, or make the copied value smaller. A copy between memories "
    "that the next op waits for costs its whole time."
)


@dataclass(frozen=True, slots=True)
class Waited:
    """One host: the copies inside its programs, None on other devices than TPUs; time of all ops; the longest wait."""

    copies: Copies | None
    longest: Place | None = None


def gather(host: HostView) -> Waited:
    """The copies that take most of the TensorCores' time."""
    if host.summary.environment.hardware is not Hardware.TPU:
        return Waited(None)
    found = costly_copies(host.ops, host.hlo)
    if found is None or found.time_ps < EXPOSED_COPY_SHARE * host.ops.op_ps:
        return Waited(found)
    return Waited(found, longest_run(host, found.most.program_id, found.most.name))


def judge(run: RunView, parts: Sequence[Waited]) -> Finding | Silence:
    """Speaks if exposed copies inside programs take `EXPOSED_COPY_SHARE` of the step."""
    lost = run.part_ps(EXPOSED_COPY)
    share = run.share(lost)
    found = [(part, part.copies, host) for part, host in zip(parts, run.hosts, strict=True) if part.copies]
    if share < EXPOSED_COPY_SHARE or not found:
        looked = bool(run.budget.devices) and run.hardware is Hardware.TPU
        return Silence(f"Copies inside programs that nothing hides take {share:.1%} of the {run.base}.", looked)
    part, copies, host = max(found, key=lambda one: one[1].time_ps)
    where = " to or from the host's memory" if copies.host else ""
    evidence = [
        Evidence(f"Exposed copies, of the {run.base}", 100 * share, "%", "time_budget"),
        Evidence(f"Exposed copies per {run.base}", lost / PS_PER_MS, "ms", "time_budget"),
        *of_op(host, copies.most, part.longest),
    ]
    if copies.bytes:
        evidence.append(Evidence("Size of what it copies", copies.bytes / MIB, "MiB"))
    return Finding(
        f"Copies{where} that nothing hides take {share:.1%} of the {run.base}, most of it in {copies.most.label}",
        lost,
        "time in which a copy is under way and the device computes nothing, per step and device",
        "high",
        tuple(evidence),
        _HOST if copies.host else _OTHER,
        tuple(host for _, _, host in found),
    )


RULE = Rule("exposed_copy", "Copies that nothing hides", judge, gather)
