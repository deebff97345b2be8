"""Much of a program's memory holds results of the forward pass until the backward pass reads them.

Fires if such buffers make up at least {KEPT_SHARE:.0%} of the peak, counting source lines with {KEPT_BUFFER_SHARE:.0%}
of it each; it is sure of its use if one of them makes up half, and not the results of matrix products. Programs with a
peak below 32 MiB do not count, nor runs that recompute much (`recomputation`).

Recompute the values in the backward pass, or make them smaller. This frees memory, not time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS
from tpu_profile_plugin.analysis.findings.evidence.device.programs_run import MOST_PROGRAMS, layout_of, programs_by_time
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, OpOf, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import most_in
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.memory.allocations import device_memory
from tpu_profile_plugin.analysis.memory.kept_for_backward import (
    Kept,
    has_backward_pass,
    kept_buffers,
)
from tpu_profile_plugin.units import MIB

KEPT_BUFFER_SHARE, KEPT_SHARE = 0.1, 0.25
"""Least share of the peak for the buffers of one line, and for all these lines together. Every training program keeps
some buffers, and recomputing them costs time."""
NEEDED_SHARE = 0.25
"""Below this share of the device's memory a peak leaves room to grow: freeing memory gains little."""
KEPT_LEAST_PEAK = 32 << 20
"""Bytes: programs with a smaller peak fit into any device many times over."""

ADVICE = PARTS["kept for the backward pass"]
_LAYER = re.compile(r"/(?:dot_general|conv_general_dilated)\Z")


Verdict = tuple[int, Finding | Silence]
"""Of one host, and how many bytes it is about: -1 if there was nothing to look at."""


def gather(host: HostView) -> Verdict:
    """The verdict on the program that keeps most, of those that ran longest and have a backward pass."""
    training = [
        number for number in programs_by_time(host, MOST_PROGRAMS) if has_backward_pass(host.hlo.programs.blob(number))
    ]
    layouts = [layout for number in training if (layout := layout_of(host, number)) is not None]
    if not layouts:
        return -1, lacks(NO_PROGRAMS, "No program with a backward pass recorded.")
    looked = [kept_buffers(layout, KEPT_LEAST_PEAK, KEPT_BUFFER_SHARE) for layout in layouts]
    kept = max((one for one in looked if one is not None), key=lambda one: one.size, default=None)
    if kept is None:
        return 0, Silence(f"No program with a backward pass has a peak of {KEPT_LEAST_PEAK // MIB} MiB of memory.")
    share = kept.size / kept.peak if kept.peak else 0.0
    if share < KEPT_SHARE:
        large = f"Large buffers kept for the backward pass are {share:.1%} of the peak of {kept.module}"
        return kept.size, Silence(f"{large}, {kept.peak / MIB:.0f} MiB.")
    capacity = device_memory(host.space).bytes
    finding = Finding(
        f"{share:.0%} of the memory at the peak of {kept.module} is kept for the backward pass"
        + most_in(kept.groups[0].label, kept.groups[0].size / kept.size, known="kind", where="for"),
        0,
        "no direct cost: memory that recomputing in the backward pass would free",
        "high" if kept.peak >= NEEDED_SHARE * capacity and _is_much(kept) else "low",
        _evidence(kept, host.name, share, capacity),
        ADVICE,
        (host.name,),
    )
    return kept.size, finding


def _is_much(kept: Kept) -> bool:
    """Whether one kind makes half of the peak: not the results of layers, which cost as much to compute again."""
    first = kept.groups[0]
    return 2 * first.size >= kept.peak and _LAYER.search(first.buffers[0].made_by) is None


def judge(run: RunView, parts: Sequence[Verdict]) -> Finding | Silence:
    """The verdict on the host that keeps most."""
    return max(parts, key=lambda one: one[0])[1]


def _evidence(kept: Kept, host: str, share: float, capacity: int) -> tuple[Evidence, ...]:
    query = {"host": host, "module_name": kept.module}
    first = kept.groups[0].buffers[0]
    of = OpOf(first.op, kept.program_id)
    evidence = [
        Evidence("Kept for the backward pass, of the peak", 100 * share, "%"),
        Evidence("Peak memory of the program", kept.peak / MIB, "MiB", "memory_viewer", query),
    ]
    if capacity:
        evidence.append(Evidence("That peak, of the device's memory", 100 * kept.peak / capacity, "%"))
    for group in kept.groups[:3]:
        count = len(group.buffers)
        evidence.append(Evidence(f"{count} buffer{'s' * (count > 1)} of {group.label}", group.size / MIB, "MiB"))
    label = f"Buffer {first.name}, {first.shape.partition('{')[0]}"
    evidence.append(Evidence(label, first.size / MIB, "MiB", "memory_viewer", {**query, "q": first.name}, of))
    if first.made_by:
        evidence.append(Evidence("It holds the result of", first.made_by, op=of))
    if first.place:
        evidence.append(Evidence("Source line", first.place))
    return tuple(evidence)


RULE = Rule("kept_for_backward", "Memory kept for the backward pass", judge, gather, implied_by=("recomputation",))
