"""Overview: step time, utilization of the hardware, time breakdown and recommendations."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import numpy as np

from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.environment.environment import Environment, Hardware
from tpu_profile_plugin.analysis.ops.op_tables import IDLE, OpTable, framework_ops
from tpu_profile_plugin.analysis.serving import (
    LATENCY_PERCENTILES,
    Inference,
    Phase,
    at_percentile,
    combine_inference,
)
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.run.facts import NOT_RECORDED
from tpu_profile_plugin.run.figures.budget import lacks_planes
from tpu_profile_plugin.run.figures.findings import gathered
from tpu_profile_plugin.run.figures.ops import DEVICE_OPS
from tpu_profile_plugin.run.figures.steps import StepAnalysis, analyse
from tpu_profile_plugin.run.figures.summary import (
    host_inference,
    host_summary,
    run_diagnostics,
    run_summary,
    step_warnings,
)
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, flags, numbers, property_text, texts
from tpu_profile_plugin.tools.common import step_texts
from tpu_profile_plugin.tools.common.step_tables import step_table
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.summary.overview_page.extras import PARAMS, extras
from tpu_profile_plugin.tools.summary.overview_page.tips import recommendations
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import NS_PER_MS, PS_PER_MS, PS_PER_NS

MAX_OPS = 10
OP_COLUMNS = (
    numbers("selfTimePercent", "Time (%)", "", "Self time of the op as a fraction of the self time of all ops."),
    numbers("cumulativeTimePercent", "Cumulative time (%)", "", "Sum of the shares of this row and the rows above."),
    texts("category", "Category", "Type of the framework op."),
    texts("operation", "Operation", "Name of the framework op, else of the device op."),
    numbers("flopRate", "Bf16 Normalized Flop Rate(GFLOPs/Sec)", "GFLOP/s",
            "FLOPs divided by total time, including nested ops."),
)  # fmt: skip
GPU_OP_COLUMNS = (
    *OP_COLUMNS[:-1],
    numbers("flopRate", "GFLOPs/Sec", "GFLOP/s", "FLOPs divided by total time, including nested ops."),
    flags("tcEligibility", "TensorCore eligibility", "Whether the op can run on tensor cores."),
    flags("tcUtilization", "Op is using TensorCore", "Whether a kernel of the op ran on tensor cores."),
)
ENVIRONMENT_COLUMNS = tuple(
    texts(name, name, "Job of the host; open-source profilers do not record it.")
    for name in ("host_id", "command_line", "start_time", "bns_address")
)
LATENCY_COLUMNS = (
    texts("percentile", "percentile", "Avg, or the percentile."),
    numbers("hostTimeMs", "Host time (in ms)", "ms", "Time in neither the device nor transfers."),
    numbers("deviceTimeMs", "Device time (in ms)", "ms", "Time in which the device runs the program."),
    numbers("communicationTimeMs", "Host-device communication time (in ms)", "ms", "Transfers."),
    numbers("totalTimeMs", "Total latency (in ms)", "ms", "Latency of the request."),
)


def build(run: Run, query: Query) -> Json:
    """Seven tables; with the parameter `extended` an eighth element (see `overview_page.extras`)."""
    summary = run_summary(run)
    analysis = analyse(summary)
    serving = _serving(run, summary)
    messages = run_diagnostics(
        summary.errors,
        summary.warnings,
        summary.environment.device_type,
        summary.environment.device_cores,
        step_warnings(analysis.steps, summary.steps.empty_intersection),
    )
    general = general_table(summary, analysis)
    parts = [
        general,
        step_table(analysis, summary.environment.hardware),
        environment_table(_environment(run, query, summary)),
        recommendations(summary, analysis),
        latency_table(serving),
        {},
        step_texts.diagnostics_table(messages),
    ]
    if query.flag("extended"):
        parts.append(extras(run, query, summary, analysis, serving, general))
    return Json(parts)


def _environment(run: Run, query: Query, summary: RunSummary) -> Environment:
    """Our page says that devices were not recorded where XProf takes the hosts for the devices."""
    if query.flag("extended") and lacks_planes(run):
        return replace(summary.environment, device_type=NOT_RECORDED)
    return summary.environment


def _serving(run: Run, summary: RunSummary) -> Inference:
    """Requests of all hosts; training runs have none."""
    if summary.environment.is_training:
        return Inference()
    return combine_inference(run.map_hosts(host_inference))


def general_table(summary: RunSummary, analysis: StepAnalysis) -> Table:
    """The device ops with most self time, with utilization of hosts and devices as properties."""
    gpu = summary.environment.hardware is Hardware.GPU
    device = framework_ops(summary.device)
    properties = _shared_properties(summary, device)
    properties |= _gpu_properties(summary) if gpu else _busy_properties(summary, analysis)
    top = [i for i in device.by_self_time() if device.category[i] != IDLE][:MAX_OPS]
    names, shares = [device.name[i] for i in top], [ratio(int(device.self_ps[i]), device.op_ps) for i in top]
    data = [
        shares,
        list(accumulate(shares)),
        [device.category[i] for i in top],
        names,
        [ratio(float(device.flops[i]), int(device.time_ps[i]) / PS_PER_NS) for i in top],
    ]
    if gpu:
        kernels = summary.kernels
        data += [[name in kernels.eligible for name in names], [kernels.matrix_share(name) > 0 for name in names]]
    return Table(GPU_OP_COLUMNS if gpu else OP_COLUMNS, data, properties)


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f}%"


def _recorded_percent(value: float) -> str:
    """A percentage that the profiler measured; one that is negative or no number is unknown."""
    return f"{value:.1f}%" if value >= 0 else "unknown"


def _shared_properties(summary: RunSummary, device: OpTable) -> dict[str, str]:
    on_host, on_device = int(summary.host.ops.occurrences.sum()), int(device.occurrences.sum())
    return {
        "remark_text": "",
        "remark_color": "",
        "host_trace_level": "0",
        "mxu_utilization_percent": _recorded_percent(summary.mxu_percent),
        "hbm_utilization_percent": _recorded_percent(summary.hbm_percent),
        "host_tf_op_percent": _percent(ratio(on_host, on_host + on_device)),
        "device_tf_op_percent": _percent(ratio(on_device, on_host + on_device)),
        "host_op_time_eager_percent": _percent(eager_share(summary.host.ops)),
        "device_op_time_eager_percent": _percent(eager_share(device)),
    }


def eager_share(table: OpTable) -> float:
    """Share of eager ops in the self time of all ops."""
    return ratio(int(table.self_ps[table.eager].sum()), table.op_ps)


def _gpu_properties(summary: RunSummary) -> dict[str, str]:
    half, full = summary.steps.compute_16_ps, summary.steps.compute_32_ps
    return {
        "device_compute_16bit_percent": _percent(ratio(half, half + full)),
        "device_compute_32bit_percent": _percent(ratio(full, half + full)),
    }


def _busy_properties(summary: RunSummary, analysis: StepAnalysis) -> dict[str, str]:
    on_tpu = summary.environment.hardware is Hardware.TPU
    properties = {
        # Not computed by XProf either; `overview_page.extras` has the efficiency.
        "flop_rate_utilization_relative_to_roofline": "0.0%",
        "memory_bw_utilization_relative_to_hw_limit": "0.0%",
        "device_idle_time_percent": _idle(summary.device) if on_tpu else "0.0%",
        "host_idle_time_percent": _idle(summary.host.ops) if on_tpu else "0.0%",
        "device_duty_cycle_percent": f"{summary.duty.percent:.1f}%",
        "device_duty_cycle_high_confidence_percent": f"{summary.duty.sure_percent:.1f}%",
    }
    idle_ps = summary.duty.recorded_ps - summary.duty.sure_ps
    if idle_ps > 0:
        properties["idle_time_high_confidence_ps"] = property_text(idle_ps)
    tpu = analysis.tpu
    if tpu is not None and len(tpu.active):
        # Of all cores, SparseCores among them, and of TensorCores.
        means = {"active_steptime_ms_average": tpu.active_on_any.mean(), "tc_active_ms_average": tpu.active.mean()}
        properties |= {name: f"{mean:.2f}" for name, mean in means.items() if mean != 0}
    if tpu is not None and len(tpu.sparse_step):
        properties |= {
            "sc_steptime_average": f"{tpu.sparse_step.mean():.1f}",
            "sc_infeed_time_avg": f"{tpu.sparse_infeed.mean():.1f}",
            "sc_outfeed_time_avg": f"{tpu.sparse_outfeed.mean():.1f}",
            "sc_idle_time_avg": f"{tpu.sparse_idle.mean():.1f}",
            "sc_active_ms_average": f"{tpu.sparse_active.mean():.2f}",
        }
    return properties


def _idle(table: OpTable) -> str:
    """Idle share in percent; 100% if no time was observed."""
    return _percent(1.0 - ratio(table.op_ps, table.total_ps))


def environment_table(environment: Environment) -> Table:
    """Hardware of the profile as properties; open-source profilers do not record the data of XProf's rows."""
    hosts, tasks = len(environment.hostnames), environment.tasks
    per_host = f" (num tasks per host = {tasks // hosts})" if hosts and tasks else ""
    properties = {
        "host_count": str(hosts),
        "task_count": f"{tasks}{per_host}",
        "device_type": environment.device_type,
        "device_core_count": str(environment.device_cores),
        "is_training": str(environment.is_training).lower(),
    }
    if environment.start_ns:
        properties["start_time_ms"] = str(environment.start_ns // NS_PER_MS)
        properties["duration_ms"] = str(environment.duration_ns // NS_PER_MS)
    return Table(ENVIRONMENT_COLUMNS, [()] * len(ENVIRONMENT_COLUMNS), properties)


_LATENCY_PHASES = (Phase.DEVICE, Phase.H2D, Phase.D2H)


def latency_table(serving: Inference) -> Table:
    """Latency of requests: the mean, and the request at each percentile."""
    if not serving.requests:
        return Table(LATENCY_COLUMNS, [()] * len(LATENCY_COLUMNS))
    phases = np.array([[r.duration_ps, *(r.phases_ps[p] for p in _LATENCY_PHASES)] for r in serving.requests])
    times = np.column_stack([phases[:, :2], phases[:, 2:].sum(axis=1)])
    ordered = times[np.lexsort(times.T[::-1])]
    ranks = [at_percentile(range(len(ordered)), percentile) for percentile in LATENCY_PERCENTILES]
    total, device, transfer = np.vstack([ordered.sum(axis=0) / len(ordered), ordered[ranks]]).T
    labels = ["Avg", *(f"{percentile:.1f}%" for percentile in LATENCY_PERCENTILES)]
    means = (total - device - transfer, device, transfer, total)
    return Table(LATENCY_COLUMNS, (labels, *(time / PS_PER_MS for time in means)))


TOOL = Tool(
    id="overview_page",
    title="Overview Page",
    group="Summary",
    summary="Step time, its parts, and recommendations.",
    build=build,
    params=PARAMS,
    # Op tools are usually opened after the overview, and our page shows findings beside it.
    needs=(host_summary, host_inference, DEVICE_OPS, gathered),
    extras=("start_time_ms", "duration_ms"),
)
