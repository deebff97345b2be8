"""Overview: step time and its parts, use of the hardware, top ops, requests, and where it was recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import UNKNOWN, parse_op
from tpu_profile_plugin.analysis.common.statistics import Statistics, ratio, statistics
from tpu_profile_plugin.analysis.environment.device_names import plane_title
from tpu_profile_plugin.analysis.environment.environment import Environment, Hardware
from tpu_profile_plugin.analysis.ops.op_tables import IDLE, OpTable, framework_ops
from tpu_profile_plugin.analysis.ops.thread_ops import TfFunction
from tpu_profile_plugin.analysis.serving import (
    LATENCY_PERCENTILES,
    Inference,
    Phase,
    at_percentile,
    combine_inference,
)
from tpu_profile_plugin.analysis.steps.core_steps import Efficiency, efficiency
from tpu_profile_plugin.analysis.steps.inferred import Evidence, InferredSteps, named_steps, with_busy
from tpu_profile_plugin.analysis.summary.framework import NAMES
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.columns.arrays import F64
from tpu_profile_plugin.run.facts import NOT_RECORDED
from tpu_profile_plugin.run.figures.budget import inferred_steps, lacks_planes
from tpu_profile_plugin.run.figures.findings import gathered
from tpu_profile_plugin.run.figures.ops import DEVICE_OPS
from tpu_profile_plugin.run.figures.steps import StepAnalysis, analyse
from tpu_profile_plugin.run.figures.summary import (
    NO_STEP_MARKER,
    Diagnostics,
    host_inference,
    host_summary,
    run_diagnostics,
    run_summary,
    step_warnings,
)
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table, flags, numbers, texts
from tpu_profile_plugin.tools.common.steps import Message, StepReading, XprofReading, messages_of, step_reading
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import KILO, NS_PER_MS, PS_PER_MS, PS_PER_NS

MAX_OPS = 10
_RATE = numbers(
    "flopRate",
    "FLOP rate (normalised)",
    "GFLOP/s",
    "FLOPs of the op by its time with nested ops.\n"
    "Missing where the costs are unknown, and above the peak of a core: such ops, as copies that only start in their "
    "time, work outside it.\n"
    "Source: HLO cost estimate, trace.",
)
OPS = (
    numbers("selfTimePercent", "Time", "fraction", "Self time of the op as a fraction of the self time of all ops."),
    numbers(
        "cumulativeTimePercent",
        "Cumulative time",
        "fraction",
        "Self time of this row and those above as a fraction of that of all ops.",
    ),
    texts("category", "Category", "Type of the framework op."),
    texts("operation", "Operation", "Name of the framework op, else of the device op."),
    _RATE,
    flags("tcEligibility", "TensorCore eligibility", "Whether the op can run on tensor cores."),
    flags("tcUtilization", "Op is using TensorCore", "Whether a kernel of the op ran on tensor cores."),
)
INFERRED = (
    texts("stepnum", "Step", "Number of the inferred step, in time order."),
    numbers("beginMs", "Begin", "ms", "Begin, since the begin of the first inferred step."),
    numbers("stepTimeMs", "Step time", "ms", "Time until the next step begins, or the duration of the event."),
    numbers("deviceBusyMs", "Device busy", "ms", "Time in which the first device ran ops; empty without devices."),
    numbers("deviceIdleMs", "Device idle", "ms", "The rest."),
)
_MOST_BINS = 20


@dataclass(frozen=True)
class RunEnvironment:
    """Where and when the run was recorded.

    Attributes:
      hosts: number of hosts whose profiles were read.
      tasks: number of processes that ran the program.
      device_type: e.g. "TPU v4"; "CPU" without a device, "not recorded" as below.
      devices_recorded: false if the host ran programs on devices of which nothing was recorded.
      device_cores: number of TensorCores or GPUs.
      is_training: an HLO module of the profile computes gradients.
      begin_ms: ms since 1970; null if unknown, as is `duration_ms`.
    """

    hosts: int
    tasks: int
    device_type: str
    devices_recorded: bool
    device_cores: int
    is_training: bool
    begin_ms: int | None
    duration_ms: int | None


@dataclass(frozen=True)
class SparseCoreTimes:
    """Times of a step on the SparseCores, means over cores and steps."""

    step_ms: float
    input_ms: float
    output_ms: float
    idle_ms: float


@dataclass(frozen=True)
class HardwareUse:
    """The use of hosts and devices.

    Attributes:
      matrix_units_percent: of the peak of the matrix units, by hardware counters; null without them, as is
        `hbm_percent`, the share of the peak bandwidth.
      duty_cycle_percent: union of the ops of a chip, without those that only wait, of the recorded time; null for GPUs
        and without devices.
      ops_on_host_percent: share of the occurrences of framework ops, the rest is `ops_on_device_percent`.
      eager_on_host_percent: share of the op time on the host in ops that are executed eagerly.
      eager_on_device_percent: the same on the device.
      sparse_cores: null without SparseCores.
    """

    matrix_units_percent: float | None
    hbm_percent: float | None
    duty_cycle_percent: float | None
    ops_on_host_percent: float
    ops_on_device_percent: float
    eager_on_host_percent: float
    eager_on_device_percent: float
    sparse_cores: SparseCoreTimes | None


@dataclass(frozen=True)
class Precision:
    """Shares of the device's compute time on floating-point data of at most 16 bits, and of more."""

    narrow_percent: float
    wide_percent: float


@dataclass(frozen=True)
class Latency:
    """The mean request, or the request at a percentile, which `label` says.

    Attributes:
      host_ms: time in neither the device nor transfers.
      device_ms: time in which the device runs the program.
      communication_ms: transfers between host and device.
    """

    label: str
    host_ms: float
    device_ms: float
    communication_ms: float
    total_ms: float


@dataclass(frozen=True)
class LatencyHistogram:
    """Numbers of requests between edges of equal distance."""

    edges_ms: Sequence[float]
    counts: Sequence[int]


@dataclass(frozen=True)
class RequestLatency:
    """The latency of requests.

    Attributes:
      requests: their number.
      percentiles: the mean first.
    """

    requests: int
    percentiles: Sequence[Latency]
    histogram: LatencyHistogram


@dataclass(frozen=True)
class InferredTimes:
    """Steps of a recording without markers, or of the named event, on the first host that has any.

    Attributes:
      statistics: of the step time in ms.
    """

    host: str
    evidence: Evidence
    table: Table
    statistics: Statistics


@dataclass(frozen=True)
class Overview(Document):
    """The run at a glance.

    Attributes:
      hardware: "TPU", "GPU", "CPU_ONLY", or "UNKNOWN".
      ops: the device ops with most self time.
      requests: null without requests, and of training.
      inferred: null if steps are marked or none can be inferred.
      precision: null without computation on a device.
      frameworks: names of those that wrote the profile.
      cpu_ops: the CPU ran XLA ops.
      functions: tf.functions that were called.
      xprof: null in our reading.
    """

    steps: StepReading
    hardware: str
    environment: RunEnvironment
    utilization: HardwareUse
    efficiency: Efficiency
    precision: Precision | None
    ops: Table
    requests: RequestLatency | None
    inferred: InferredTimes | None
    frameworks: Sequence[str]
    cpu_ops: bool
    functions: Sequence[TfFunction]
    messages: Sequence[Message]
    xprof: XprofReading | None = None


def build(run: Run, query: Query) -> Overview:
    """The overview of the chosen hosts."""
    summary = run_summary(run)
    analysis = analyse(summary)
    return Overview(
        steps=step_reading(run, summary),
        hardware=(summary.environment.hardware if analysis.tpu is None else Hardware.TPU).value,
        environment=environment_of(summary.environment, devices_recorded=not lacks_planes(run)),
        utilization=_utilization(summary, analysis),
        efficiency=efficiency(summary.steps, summary.device, summary.peaks),
        precision=_precision(summary),
        ops=_ops(summary),
        requests=request_latency(run, summary),
        inferred=_inferred(run, query.text("step_event"), marked=analysis.steps > 0),
        frameworks=[NAMES[name] for name in summary.frameworks],
        cpu_ops=summary.cpu_ops,
        functions=summary.functions,
        messages=messages_of(diagnostics(summary, analysis), {NO_STEP_MARKER, *run.warnings}),
    )


def diagnostics(summary: RunSummary, analysis: StepAnalysis) -> Diagnostics:
    """The messages of the profiler, and warnings about what is missing."""
    return run_diagnostics(
        summary.errors,
        summary.warnings,
        summary.environment.device_type,
        summary.environment.device_cores,
        step_warnings(analysis.steps, summary.steps.empty_intersection),
    )


def environment_of(environment: Environment, *, devices_recorded: bool = True) -> RunEnvironment:
    """The environment of a run."""
    begin_ms, duration_ms = environment.start_ns // NS_PER_MS, environment.duration_ns // NS_PER_MS
    return RunEnvironment(
        hosts=len(environment.hostnames),
        tasks=environment.tasks,
        device_type=environment.device_type if devices_recorded else NOT_RECORDED,
        devices_recorded=devices_recorded,
        device_cores=environment.device_cores,
        is_training=environment.is_training,
        begin_ms=begin_ms if environment.start_ns else None,
        duration_ms=duration_ms if environment.start_ns else None,
    )


def _utilization(summary: RunSummary, analysis: StepAnalysis) -> HardwareUse:
    device, steps = framework_ops(summary.device), analysis.tpu
    has_duty_cycle = summary.environment.hardware is not Hardware.GPU and summary.environment.device_cores > 0
    sparse = steps is not None and len(steps.sparse_step) > 0
    on_host, on_device = placement_percent(summary, device)
    return HardwareUse(
        matrix_units_percent=summary.mxu_percent if summary.mxu_percent > 0 else None,
        hbm_percent=summary.hbm_percent if summary.hbm_percent > 0 else None,
        duty_cycle_percent=summary.duty.percent if has_duty_cycle else None,
        ops_on_host_percent=on_host,
        ops_on_device_percent=on_device,
        eager_on_host_percent=eager_percent(summary.host.ops),
        eager_on_device_percent=eager_percent(device),
        sparse_cores=SparseCoreTimes(
            float(steps.sparse_step.mean()),
            float(steps.sparse_infeed.mean()),
            float(steps.sparse_outfeed.mean()),
            float(steps.sparse_idle.mean()),
        )
        if steps is not None and sparse
        else None,
    )


def placement_percent(summary: RunSummary, device: OpTable) -> tuple[float, float]:
    """Shares of the occurrences of framework ops on the host and on the device."""
    on_host, on_device = int(summary.host.ops.occurrences.sum()), int(device.occurrences.sum())
    return 100.0 * ratio(on_host, on_host + on_device), 100.0 * ratio(on_device, on_host + on_device)


def eager_percent(table: OpTable) -> float:
    """Share of eager ops in the self time of all ops."""
    return 100.0 * ratio(int(table.self_ps[table.eager].sum()), table.op_ps)


def _precision(summary: RunSummary) -> Precision | None:
    narrow, wide = summary.precision.narrow_ps, summary.precision.wide_ps
    if not narrow + wide:
        return None
    return Precision(100.0 * narrow / (narrow + wide), 100.0 * wide / (narrow + wide))


def top_ops(summary: RunSummary) -> dict[str, Any]:
    """Cells of `OPS` for the device ops with most self time; rates are 0 where the costs are unknown."""
    device = framework_ops(summary.device)
    top = [i for i in device.by_self_time() if device.category[i] != IDLE][:MAX_OPS]
    names, shares = [device.name[i] for i in top], [ratio(int(device.self_ps[i]), device.op_ps) for i in top]
    cells = {
        "selfTimePercent": shares,
        "cumulativeTimePercent": list(accumulate(shares)),
        "category": [device.category[i] for i in top],
        "operation": names,
        "flopRate": [ratio(float(device.flops[i]), int(device.time_ps[i]) / PS_PER_NS) for i in top],
    }
    if summary.environment.hardware is Hardware.GPU:
        cells["tcEligibility"] = [name in summary.kernels.eligible for name in names]
        cells["tcUtilization"] = [summary.kernels.matrix_share(name) > 0 for name in names]
    return cells


def ops_table(cells: dict[str, Any]) -> Table:
    """The table of `OPS` with these cells; without the rates if none is known."""
    if not any(cells["flopRate"]):
        cells = {id_: values for id_, values in cells.items() if id_ != "flopRate"}
    else:
        cells = {**cells, "flopRate": [rate or None for rate in cells["flopRate"]]}
    return Table(tuple(column for column in OPS if column.id in cells), cells)


def _ops(summary: RunSummary) -> Table:
    """The top ops with the HLO category where the type of the framework op is unknown."""
    cells, hlo = top_ops(summary), _hlo_categories(summary.device)
    peak = summary.peaks.tera_flops * KILO or math.inf
    kinds = zip(cells["operation"], cells["category"], strict=True)
    cells["category"] = [hlo.get(name) or UNKNOWN if kind == UNKNOWN else kind for name, kind in kinds]
    cells["flopRate"] = [rate if rate <= peak else 0.0 for rate in cells["flopRate"]]
    return ops_table(cells)


def _hlo_categories(device: OpTable) -> dict[str, str]:
    """The HLO category of the device op with most self time of each framework op, else of the device op itself."""
    longest: dict[str, tuple[int, str]] = {}
    columns = (device.name, device.category, device.provenance, device.self_ps.tolist())
    for name, category, provenance, ps in zip(*columns, strict=True):
        op = (parse_op(provenance).name if provenance else "") or name
        if ps > longest.get(op, (-1, ""))[0]:
            longest[op] = (ps, category)
    return {op: category for op, (_, category) in longest.items()}


def _inferred(run: Run, event: str, *, marked: bool) -> InferredTimes | None:
    """Inferred steps of the first host that has any; a given event name takes precedence over markers."""
    if marked and not event:
        return None
    for host, steps in zip(run.readable, run.map_hosts(host_inferred.given(event)), strict=True):
        if steps is not None:
            times = statistics((steps.duration_ps / PS_PER_MS).tolist())
            return InferredTimes(host.name, steps.evidence, inferred_table(steps), times)
    return None


@per_host()
def host_inferred(host: HostProfile, name: str) -> InferredSteps | None:
    """The steps of one host given by the event `name`, or inferred if it is empty; their place has a device's name."""
    found = named_steps(host.lazy, name) if name else inferred_steps(host)
    if found is None:
        return None
    evidence = replace(found.evidence, plane=plane_title(host.lazy, found.evidence.plane))
    return with_busy(host.lazy, replace(found, evidence=evidence))


def inferred_table(steps: InferredSteps) -> Table:
    """One row per step."""
    begin = (steps.begin_ps - steps.begin_ps[:1]) / PS_PER_MS
    unknown = [None] * len(begin)
    busy = unknown if steps.busy_ps is None else steps.busy_ps / PS_PER_MS
    idle = unknown if steps.busy_ps is None else (steps.duration_ps - steps.busy_ps) / PS_PER_MS
    return Table(INFERRED, ([str(i) for i in range(len(begin))], begin, steps.duration_ps / PS_PER_MS, busy, idle))


_LATENCY_PHASES = (Phase.DEVICE, Phase.H2D, Phase.D2H)


def request_latency(run: Run, summary: RunSummary) -> RequestLatency | None:
    """The latency of the requests of all hosts; training runs have none."""
    serving = Inference() if summary.environment.is_training else combine_inference(run.map_hosts(host_inference))
    if not serving.requests:
        return None
    phases = np.array([[r.duration_ps, *(r.phases_ps[p] for p in _LATENCY_PHASES)] for r in serving.requests])
    times = np.column_stack([phases[:, :2], phases[:, 2:].sum(axis=1)])
    ordered = times[np.lexsort(times.T[::-1])]
    ranks = [at_percentile(range(len(ordered)), percentile) for percentile in LATENCY_PERCENTILES]
    total, device, transfer = np.vstack([ordered.sum(axis=0) / len(ordered), ordered[ranks]]).T
    labels = ["Avg", *(f"{percentile:.1f}%" for percentile in LATENCY_PERCENTILES)]
    means = ((time / PS_PER_MS).tolist() for time in (total - device - transfer, device, transfer, total))
    return RequestLatency(
        requests=len(serving.requests),
        percentiles=[Latency(*row) for row in zip(labels, *means, strict=True)],
        histogram=_histogram(times[:, 0] / PS_PER_MS),
    )


def _histogram(values: F64) -> LatencyHistogram:
    """About as many bins as the root of the number of values."""
    bins = 1 if values.min() == values.max() else min(_MOST_BINS, math.ceil(math.sqrt(len(values))) + 1)
    counts, edges = np.histogram(values, bins=bins)
    return LatencyHistogram(edges.tolist(), counts.tolist())


TOOL = Tool(
    id="overview_page",
    title="Overview Page",
    group="Summary",
    summary="Step time, its parts, and recommendations.",
    build=build,
    params=(
        Param("step_event", "string", "", "Name of the event that marks a step, for profiles without step markers."),
    ),
    # Op tools are usually opened after the overview, and our page shows findings beside it.
    needs=(host_summary, host_inference, DEVICE_OPS, gathered),
)
