"""What the devices of a run are busy with: the op, or the kind of ops, that most of their time goes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.findings.evidence.device.op_work import NamedOp, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView

LEAST_OP = 0.1
"""Least share of the ops' time for one op to stand for what a device does; else the largest kind of ops does."""


@dataclass(frozen=True, slots=True)
class BusyWith:
    """One host: time of all ops, the op with most of it, and the opcode whose ops together have most; in ps."""

    counted_ps: int
    most: NamedOp | None = None
    kind: str = ""
    kind_ps: int = 0


def busy_with(host: HostView) -> BusyWith:
    """What a host's devices are busy with."""
    work = work_of(host)
    if not work.read or not work.counted_ps:
        return BusyWith(0)
    kind, kind_ps = work.kinds(work.read)[0]
    return BusyWith(work.counted_ps, work.named(work.read[0]), kind, kind_ps)


def in_words(parts: Sequence[BusyWith]) -> str:
    """Of the host whose ops take most time: "41.0% of it in dot.7 (model.py:12)"; "" if no ops were recorded."""
    part = max(parts, key=lambda one: one.counted_ps, default=BusyWith(0))
    if part.most is None:
        return ""
    if part.most.self_ps >= LEAST_OP * part.counted_ps or not part.kind:
        return f"{part.most.self_ps / part.counted_ps:.1%} of it in {part.most.label}"
    return f"{part.kind_ps / part.counted_ps:.1%} of it in ops of the kind {part.kind}"
