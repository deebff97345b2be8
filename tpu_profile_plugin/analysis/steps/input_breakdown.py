"""Input processing on the host: input ops, and their time by purpose."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.analysis.common import op_names
from tpu_profile_plugin.analysis.ops.host import HostOps
from tpu_profile_plugin.units import PS_PER_US


@dataclass(frozen=True, slots=True)
class InputOp:
    """Sums over all runs of one input op; shares are relative to the self time of all input ops."""

    name: str
    count: int
    time_ps: int
    self_ps: int
    time_share: float
    self_share: float
    category: str


@dataclass(frozen=True, slots=True)
class InputBreakdown:
    """Input processing time on the host in microseconds, and its ops by self time descending."""

    ops: tuple[InputOp, ...] = ()
    enqueue_us: float = 0.0
    demanded_read_us: float = 0.0
    advanced_read_us: float = 0.0
    preprocessing_us: float = 0.0
    unclassified_us: float = 0.0

    @property
    def uses_dataset(self) -> bool:
        """True if the breakdown has time reading files or preprocessing."""
        return self.demanded_read_us > 0 or self.advanced_read_us > 0 or self.preprocessing_us > 0


def input_breakdown(host: HostOps, transfer_share: float) -> InputBreakdown:
    """Breaks down the host's input processing time.

    Only a part of it is recorded as ops. The ratio of enqueue time to total input time is known from consecutive infeed
    enqueues, or else as `transfer_share`, the share of step time in host-to-device transfers. The rest of the input
    time follows from it, and the recorded ops are scaled to that.
    """
    ops = input_ops(host)
    if not ops:
        return InputBreakdown()
    recorded = dict.fromkeys(
        (op_names.ENQUEUE, op_names.DEMANDED_READ, op_names.ADVANCED_READ, op_names.PREPROCESSING), 0.0
    )
    for op in ops:
        if op.category in recorded:
            recorded[op.category] += op.self_ps / PS_PER_US
    enqueue = recorded.pop(op_names.ENQUEUE)
    processing = sum(recorded.values())
    ratio = host.infeed.duration_ps / host.infeed.distance_ps if host.infeed.distance_ps > 0 else transfer_share
    ratio = min(1.0, ratio)
    other = enqueue * (1 - ratio) / ratio if ratio else processing
    scale = other / processing if processing else 0.0
    return InputBreakdown(
        ops=ops,
        enqueue_us=enqueue,
        demanded_read_us=recorded[op_names.DEMANDED_READ] * scale,
        advanced_read_us=recorded[op_names.ADVANCED_READ] * scale,
        preprocessing_us=recorded[op_names.PREPROCESSING] * scale,
        unclassified_us=max(0.0, other - processing * scale),
    )


def input_ops(host: HostOps) -> tuple[InputOp, ...]:
    """The host's input ops, by self time descending."""
    table = host.ops
    categories = [op_names.input_category(name, kind) for name, kind in zip(table.name, table.category, strict=True)]
    rows = [row for row in table.by_self_time() if categories[row]]
    total = int(table.self_ps[rows].sum()) if rows else 0
    return tuple(
        InputOp(
            name=table.name[row],
            count=int(table.occurrences[row]),
            time_ps=int(table.time_ps[row]),
            self_ps=int(table.self_ps[row]),
            time_share=int(table.time_ps[row]) / total if total else 0.0,
            self_share=int(table.self_ps[row]) / total if total else 0.0,
            category=categories[row],
        )
        for row in rows
    )
