"""What the devices of a run are busy with: the op, or the kind of ops, that most of their time goes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.spans import union
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import NamedOp, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView

LEAST_OP = 0.1
"""Least share of the ops' time for one op to stand for what a device does; else the largest kind of ops does."""


@dataclass(frozen=True, slots=True)
class BusyWith:
    """One host.

    Attributes:
      counted_ps: time of all ops.
      most: the op with most of it; None without ops.
      kind, kind_ps: the opcode whose ops together have most of it, and their time.
      compiling: without any device and steps, the share of the recording in which the host compiles programs.
    """

    counted_ps: int
    most: NamedOp | None = None
    kind: str = ""
    kind_ps: int = 0
    compiling: float = 0.0


def busy_with(host: HostView) -> BusyWith:
    """What a host's devices are busy with; without devices and steps, whether the host compiles."""
    if not len(host.shown.devices) or host.shown.steps is None:
        return BusyWith(0, compiling=_compiling(host))
    work = work_of(host)
    if not work.read or not work.counted_ps:
        return BusyWith(0)
    kind, kind_ps = work.kinds(work.read)[0]
    return BusyWith(work.counted_ps, work.named(work.read[0]), kind, kind_ps)


def compiling(parts: Sequence[BusyWith]) -> float:
    """The share of compilation in a recording without devices, on the host where it is largest."""
    return max((one.compiling for one in parts), default=0.0)


def in_words(parts: Sequence[BusyWith]) -> str:
    """Of the host whose ops take most time: "41.0% of it in dot.7 (model.py:12)"; "" if no ops were recorded."""
    part = max(parts, key=lambda one: one.counted_ps, default=BusyWith(0))
    if part.most is None:
        return ""
    if part.most.self_ps >= LEAST_OP * part.counted_ps or not part.kind:
        return f"{part.most.self_ps / part.counted_ps:.1%} of it in {part.most.label}"
    return f"{part.kind_ps / part.counted_ps:.1%} of it in ops of the kind {part.kind}"


def _compiling(host: HostView) -> float:
    """Share of the host's recording in which programs are compiled, on any thread."""
    begin, end = host.reader.time.compile_
    plane = host.plane
    if plane is None or not len(begin):
        return 0.0
    events = plane.events
    length = int((events.begin_ps + events.duration_ps).max()) - int(events.begin_ps.min())
    begin, end = union(begin, end)
    return float((end - begin).sum()) / max(length, 1)
