"""XProf's reading of steps: their parts, input processing on the host, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.common import op_names
from tpu_profile_plugin.analysis.common.rows import joined
from tpu_profile_plugin.analysis.common.spans import PartTimes
from tpu_profile_plugin.analysis.common.statistics import Statistics, statistics
from tpu_profile_plugin.analysis.ops.thread_ops import HostOps
from tpu_profile_plugin.analysis.steps.step_table import EventClass, StepTable, TpuPart
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_US

BLOCK = 1 << 16
"""Pairs of step and core per block, to bound temporary memory: profiles of thousands of hosts would need gigabytes."""

GENERIC: Mapping[str, tuple[EventClass, ...]] = {
    "device_compute": (EventClass.DEVICE_COMPUTE_16, EventClass.DEVICE_COMPUTE_32),
    "device_to_device": (EventClass.DEVICE_TO_DEVICE, EventClass.DEVICE_WAIT_DEVICE),
    "device_collectives": (EventClass.DEVICE_COLLECTIVES,),
    "host_compute": (EventClass.HOST_COMPUTE,),
    "kernel_launch": (EventClass.HOST_PREPARE,),
    "infeed": (EventClass.HOST_WAIT_INPUT, EventClass.HOST_TO_DEVICE, EventClass.DEVICE_WAIT_HOST),
    "outfeed": (EventClass.DEVICE_TO_HOST,),
    "compile": (EventClass.HOST_COMPILE,),
    "other": (EventClass.UNKNOWN,),
}
"""The nine categories of CPU and GPU steps, in display order, and the event classes of each."""


def generic_ps(steps: StepTable) -> dict[str, I64]:
    """Picoseconds per step in each of the nine categories, on the first core."""
    times = steps.times.where(devices=slice(1))
    return {name: times.sum(classes).ravel() for name, classes in GENERIC.items()}


@dataclass(frozen=True, slots=True)
class GenericBreakdown:
    """CPU or GPU steps of the first host, in ms per step, and the step times of the slowest host."""

    labels: tuple[str, ...]
    parts_ms: Mapping[str, tuple[float, ...]]
    total_ms: tuple[float, ...]
    step_time: Statistics
    parts: Mapping[str, Statistics]

    def percent(self, name: str) -> float:
        """A category's share of all steps' time, in percent."""
        total = sum(self.total_ms)
        return 100.0 * sum(self.parts_ms[name]) / total if total else 0.0


def generic_breakdown(steps: StepTable) -> GenericBreakdown:
    """The nine categories of each step."""
    parts = {name: tuple((ps / PS_PER_MS).tolist()) for name, ps in generic_ps(steps).items()}
    total = tuple((steps.duration_ps[:, 0] / PS_PER_MS).tolist()) if len(steps) else ()
    return GenericBreakdown(
        labels=tuple(steps.label(i) for i in range(len(steps))),
        parts_ms=parts,
        total_ms=total,
        step_time=statistics(steps.step_ms()),
        parts={name: statistics(values) for name, values in parts.items()},
    )


@dataclass(frozen=True, slots=True)
class TpuBreakdown:
    """TPU steps over all TensorCores (and SparseCores), one value per step; times in ms.

    Attributes:
      compute: minimum over cores, where a core whose computation takes longer than the step counts as 0, as in
        XProf; infeed: maximum, on core `infeed_core` (-1: no input); outfeed: mean.
      idle: the rest of the shortest core's step.
      host_transfer: transfers with the host, maximum over cores.
      scv0_compute, scv0_infeed: waiting for the computation and the input of a version 0 SparseCore.
      all_reduce_compute, all_reduce_sync: collectives on the core that spends most time in them: the time that the
        fastest core needs, and the rest, waiting for other cores.
      infeed_percent_*: waiting for input as a share of each core's step, 0 to 100.
      active: time neither idle nor waiting, mean over cores, at most the step.
      sparse_*: of SparseCores, mean over cores, empty without any; sparse_compute is the minimum of their computation,
        sparse_active the mean.
    """

    labels: tuple[str, ...]
    compute: F64
    infeed: F64
    infeed_core: tuple[int, ...]
    outfeed: F64
    idle: F64
    host_transfer: F64
    scv0_compute: F64
    scv0_infeed: F64
    all_reduce_compute: F64
    all_reduce_sync: F64
    infeed_percent_average: F64
    infeed_percent_minimum: F64
    infeed_percent_maximum: F64
    active: F64
    step_time: Statistics
    sparse_step: F64
    sparse_compute: F64
    sparse_active: F64
    sparse_infeed: F64
    sparse_outfeed: F64
    sparse_idle: F64

    @property
    def active_on_any(self) -> F64:
        """Active time of the TensorCores or the SparseCores, whichever is longer."""
        return np.maximum(self.active, self.sparse_active) if len(self.sparse_active) else self.active

    @property
    def displayed(self) -> F64:
        parts: F64 = self.compute + self.scv0_compute + self.infeed + self.scv0_infeed + self.outfeed + self.idle
        return parts

    @property
    def total(self) -> F64:
        """The time that percentages refer to: the displayed categories plus, counted again, the collectives."""
        total: F64 = self.displayed + self.all_reduce_compute + self.all_reduce_sync
        return total

    def percent(self, *parts: F64) -> float:
        """Share of the given categories in the time of all steps, in percent."""
        total = float(self.total.sum())
        return 100.0 * float(sum(part.sum() for part in parts)) / total if total else 0.0


def tpu_breakdown(steps: StepTable) -> TpuBreakdown:
    """The breakdown of each TPU step; see the class for how cores are combined."""
    if not len(steps) or not steps.dense_cores:
        return _empty_breakdown()
    rows = max(1, BLOCK // len(steps.cores))
    dense, sparse = steps.dense, steps.sparse_cores
    blocks = [_tpu_block(steps.select(slice(at, at + rows)), dense, sparse) for at in range(0, len(steps), rows)]
    return replace(joined(blocks), step_time=statistics(steps.step_ms()))


def _tpu_block(steps: StepTable, dense: slice | list[int], sparse: list[int]) -> TpuBreakdown:
    """The breakdown of a block of steps, but for `step_time`; steps are independent of each other."""
    part, duration = steps.times.where(devices=dense), steps.duration_ps[:, dense]
    wait = wait_for_sparse_core(part)
    host = part[TpuPart.HOST_SEND] + part[TpuPart.HOST_RECV]
    infeed, outfeed = part[TpuPart.INFEED], part[TpuPart.OUTFEED]
    busy = part.sum() - infeed - outfeed - host - part[TpuPart.IDLE] - wait
    # As in XProf, a core whose ops take longer than the step counts as having computed nothing.
    compute = np.where(busy <= duration, busy, 0).min(axis=1) / PS_PER_MS
    # As in XProf, all waiting for a version 0 SparseCore counts as its computation: its input is not recorded.
    scv0 = wait.max(axis=1) / PS_PER_MS
    longest, mean = infeed.max(axis=1) / PS_PER_MS, outfeed.mean(axis=1) / PS_PER_MS
    # Added up in milliseconds in this order so that the last digit is XProf's.
    shortest = duration.min(axis=1) / PS_PER_MS
    idle = np.maximum(shortest - (compute + scv0 + longest + mean), 0.0)
    percent = np.divide(100.0 * infeed, duration, out=np.zeros(infeed.shape), where=duration > 0)
    active = np.minimum(busy - part[TpuPart.MEGACORE] - part[TpuPart.ASYNC_DONE], duration).mean(axis=1) / PS_PER_MS
    all_reduce = steps.collective_ps[:, dense].max(axis=1) / PS_PER_MS
    least = np.bincount(steps.collective_key[:, 0], weights=steps.collective_least_ps, minlength=len(steps))
    fastest = least / PS_PER_MS
    cores = np.array(steps.cores, object)[dense].tolist()  # ids of planes may have any size
    return TpuBreakdown(
        labels=tuple(steps.label(i) for i in range(len(steps))),
        compute=compute,
        infeed=longest,
        infeed_core=tuple(cores[i] if v > 0 else -1 for i, v in zip(infeed.argmax(axis=1), longest, strict=True)),
        outfeed=mean,
        idle=idle,
        host_transfer=host.max(axis=1) / PS_PER_MS,
        scv0_compute=scv0,
        scv0_infeed=np.zeros(len(steps)),
        all_reduce_compute=np.minimum(all_reduce, fastest),
        all_reduce_sync=np.maximum(all_reduce - fastest, 0.0),
        infeed_percent_average=percent.mean(axis=1),
        infeed_percent_minimum=percent.min(axis=1),
        infeed_percent_maximum=percent.max(axis=1),
        active=active,
        step_time=Statistics(),
        **_sparse(steps, sparse),
    )


def wait_for_sparse_core(part: PartTimes) -> I64:
    """Time waiting for a version 0 SparseCore; what its input takes longer than its output, where input is recorded."""
    infeed, outfeed = part[TpuPart.SPARSE_INFEED], part[TpuPart.SPARSE_OUTFEED]
    wait: I64 = np.where(infeed > 0, infeed - np.minimum(infeed, outfeed), part[TpuPart.SPARSE_WAIT])
    return wait


def _sparse(steps: StepTable, sparse: list[int]) -> dict[str, F64]:
    empty = np.zeros(0)
    if not sparse:
        return dict.fromkeys((name for name in TpuBreakdown.__slots__ if name.startswith("sparse_")), empty)
    idle = steps.times[TpuPart.IDLE][:, sparse]
    duration = steps.duration_ps[:, sparse]
    none = np.zeros(len(steps))
    return {
        "sparse_step": duration.mean(axis=1) / PS_PER_MS,
        "sparse_compute": (duration - idle).min(axis=1) / PS_PER_MS,
        "sparse_active": (duration - idle).mean(axis=1) / PS_PER_MS,
        "sparse_infeed": none,
        "sparse_outfeed": none,
        "sparse_idle": idle.mean(axis=1) / PS_PER_MS,
    }


def _empty_breakdown() -> TpuBreakdown:
    empty = np.zeros(0)
    floats = [name for name in TpuBreakdown.__slots__ if name not in ("labels", "infeed_core", "step_time")]
    return TpuBreakdown(labels=(), infeed_core=(), step_time=Statistics(), **dict.fromkeys(floats, empty))


def idle_to_infeed(steps: StepTable, host_input_ps: Mapping[int, int]) -> StepTable:
    """Reclassifies idle time as infeed in programs whose input arrives from the host without infeed ops.

    Args:
      steps: steps of one host, before merging hosts.
      host_input_ps: per step number, time the host waited for input or transferred it to devices.
    """
    has_infeed = not {"infeed", "sparsecorev0 infeed"}.isdisjoint(steps.categories)
    if has_infeed or not len(steps) or not steps.on_tpu or not steps.dense_cores:
        return steps
    idle_ms = tpu_breakdown(steps).idle
    waited = np.array([host_input_ps.get(number, 0) for number in steps.number.tolist()], np.int64)
    waits = (waited > 0) & (idle_ms > 0)
    if not waits.any():
        return steps
    share = np.divide(waited / PS_PER_MS, idle_ms, out=np.zeros(len(steps)), where=waits)
    idle, category_ps = steps.times[TpuPart.IDLE], steps.category_ps.copy()
    moved, dense = np.zeros(idle.shape, np.int64), steps.dense
    moved[:, dense] = idle[:, dense] * np.minimum(share, 1.0)[:, None]
    category_ps[:, steps.categories.index("IDLE")] -= moved.sum(axis=1)
    return replace(
        steps,
        times=steps.times.moved(moved, TpuPart.IDLE, TpuPart.INFEED),
        categories=(*steps.categories, "infeed"),
        category_ps=np.column_stack([category_ps, moved.sum(axis=1)]),
    )


POD_CATEGORIES = (
    *("Device compute", "Device to device", "Device collective communication", "Host compute", "Kernel launch"),
    *("Input", "Output", "Compilation", "All others"),
)
"""Categories of the pod viewer; the id of a category is its position, counted from 1."""
_POD_COMPUTE, _POD_INPUT = POD_CATEGORIES.index("Device compute"), POD_CATEGORIES.index("Input")


def pod_ps(steps: StepTable) -> I64:
    """Picoseconds in each of `POD_CATEGORIES`, int64[steps, cores, 9], on all cores but SparseCores."""
    times = steps.times.where(devices=steps.dense)
    if not steps.on_tpu:
        return np.stack([times.sum(classes) for classes in GENERIC.values()], axis=2)
    parts: dict[int, tuple[TpuPart, ...]] = {
        1: (TpuPart.COMPUTE,),
        2: (TpuPart.SEND, TpuPart.RECV, TpuPart.MEGACORE, TpuPart.ASYNC_DONE),
        3: (TpuPart.COLLECTIVE,),
        6: (TpuPart.INFEED, TpuPart.SPARSE_INFEED, TpuPart.HOST_RECV),
        7: (TpuPart.OUTFEED, TpuPart.SPARSE_OUTFEED, TpuPart.HOST_SEND),
        9: (TpuPart.IDLE,),
    }
    split = np.stack([times.sum(parts.get(i, ())) for i in range(1, 10)], axis=2)
    # Where its input is recorded, that is all the waiting for a version 0 SparseCore; other ops count as computation.
    waiting = times.sum((TpuPart.SPARSE_WAIT, TpuPart.SPARSE_TRANSFORM))
    has_input = times[TpuPart.SPARSE_INFEED] > 0
    split[:, :, _POD_COMPUTE] += np.where(has_input, waiting, 0)
    split[:, :, _POD_INPUT] += np.where(has_input, 0, waiting)
    return split


HIGH_INPUT, MODERATE_INPUT, OTHER_INPUT = 20.0, 5.0, 3.0
HIGH_ASPECT, MODERATE_ASPECT = 15.0, 3.0
HIGH_SPARSE, ALL_REDUCE_OVER_INPUT = 10.0, 6.0
HALF_PRECISION_SHARE = 10.0


@dataclass(frozen=True, slots=True)
class InputVerdict:
    """Classification of the time waiting for input.

    Attributes:
      bottleneck: "unknown" (no steps), "host", "both" or "device".
      level: "", "HIGHLY", "MODERATELY", "POTENTIALLY" or "NOT".
      percent: the share of the step time that determined the class.
    """

    bottleneck: str
    level: str
    percent: float


@dataclass(frozen=True, slots=True)
class Aspect:
    """Another use of the step time: its class ("no", "moderate" or "high") and its share in percent."""

    level: str = "no"
    percent: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """Bottleneck analysis of the steps; `output` and the following fields are set for TPUs only."""

    input: InputVerdict
    kernel_launch: Aspect = Aspect()
    collectives: Aspect = Aspect()
    all_others: Aspect = Aspect()
    output: Aspect = Aspect()
    idle: Aspect = Aspect()
    all_reduce: Aspect = Aspect()
    sparse_core: Aspect = Aspect()


def input_verdict(steps: int, input_percent: float, other_percent: float | None = None) -> InputVerdict:
    """Classifies the share of input; bounds are inclusive. `other_percent` is the share of unexplained time."""
    if steps == 0:
        return InputVerdict("unknown", "", 0.0)
    if input_percent >= HIGH_INPUT:
        return InputVerdict("host", "HIGHLY", input_percent)
    if input_percent >= MODERATE_INPUT:
        return InputVerdict("both", "MODERATELY", input_percent)
    if other_percent is not None and other_percent >= OTHER_INPUT:
        return InputVerdict("both", "POTENTIALLY", other_percent)
    return InputVerdict("device", "NOT", input_percent)


def aspect(percent: float, moderate: float = MODERATE_ASPECT, high: float = HIGH_ASPECT) -> Aspect:
    """Classifies another share of the step time; bounds are inclusive."""
    level = "high" if percent >= high else "moderate" if percent >= moderate else "no"
    return Aspect(level, percent)


def generic_verdict(steps: GenericBreakdown) -> Verdict:
    others = steps.percent("other")
    verdict = input_verdict(len(steps.labels), steps.percent("infeed"), others)
    return Verdict(
        input=verdict,
        kernel_launch=aspect(steps.percent("kernel_launch")),
        collectives=aspect(steps.percent("device_collectives")),
        # Unexplained time is reported once: as potential input, or separately.
        all_others=Aspect("no", others) if verdict.level == "POTENTIALLY" else aspect(others),
    )


def tpu_verdict(steps: TpuBreakdown) -> Verdict:
    sparse = steps.percent(steps.scv0_compute, steps.scv0_infeed)
    waiting = steps.percent(steps.infeed, steps.scv0_infeed)
    all_reduce = steps.percent(steps.all_reduce_compute, steps.all_reduce_sync)
    return Verdict(
        input=input_verdict(len(steps.labels), waiting),
        output=aspect(steps.percent(steps.outfeed), MODERATE_INPUT, HIGH_INPUT),
        idle=aspect(steps.percent(steps.idle)),
        # All-reduce is reported only if it takes clearly more time than the wait for input.
        all_reduce=Aspect("moderate" if all_reduce - waiting >= ALL_REDUCE_OVER_INPUT else "no", all_reduce),
        sparse_core=aspect(sparse, 1e-9, HIGH_SPARSE),
    )


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
