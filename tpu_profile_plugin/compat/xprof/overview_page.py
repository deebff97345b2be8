"""The overview as XProf answers it, seven tables, and our document with XProf's figures."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.environment.environment import Environment, Hardware
from tpu_profile_plugin.analysis.ops.op_tables import OpTable, framework_ops
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.compat.xprof.steps import (
    all_others_statement,
    as_html,
    collectives_statement,
    diagnostics_table,
    input_statement,
    kernel_launch_statement,
    output_statement,
    precision_statement,
    step_table,
    step_time_ms,
    xprof_steps,
)
from tpu_profile_plugin.run.figures.ops import DEVICE_OPS
from tpu_profile_plugin.run.figures.steps import StepAnalysis, analyse
from tpu_profile_plugin.run.figures.summary import host_inference, host_summary, run_summary
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.column import Column
from tpu_profile_plugin.tables.table import Table, attributes, property_text
from tpu_profile_plugin.tools.common.steps import XprofFigure, XprofReading, XprofTip, messages_of
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.summary.overview_page import TOOL as OURS
from tpu_profile_plugin.tools.summary.overview_page import (
    Overview,
    RequestLatency,
    diagnostics,
    eager_percent,
    environment_of,
    ops_table,
    placement_percent,
    request_latency,
    top_ops,
)
from tpu_profile_plugin.tools.summary.overview_page import build as document

_OPS = (
    Column("selfTimePercent", "Time (%)", "number"),
    Column("cumulativeTimePercent", "Cumulative time (%)", "number"),
    Column("category", "Category", "string"),
    Column("operation", "Operation", "string"),
    Column("flopRate", "Bf16 Normalized Flop Rate(GFLOPs/Sec)", "number"),
)
_GPU_OPS = (
    *_OPS[:-1],
    Column("flopRate", "GFLOPs/Sec", "number"),
    Column("tcEligibility", "TensorCore eligibility", "boolean"),
    Column("tcUtilization", "Op is using TensorCore", "boolean"),
)
_ENVIRONMENT = tuple(Column(name, name, "string") for name in ("host_id", "command_line", "start_time", "bns_address"))
_TIPS = tuple(Column(name, name, "string") for name in ("tip_type", "link", "description"))
_LATENCY = (
    Column("percentile", "percentile", "string"),
    Column("hostTimeMs", "Host time (in ms)", "number"),
    Column("deviceTimeMs", "Device time (in ms)", "number"),
    Column("communicationTimeMs", "Host-device communication time (in ms)", "number"),
    Column("totalTimeMs", "Total latency (in ms)", "number"),
)


def build(run: Run, query: Query) -> Json:
    """Top ops, steps, environment, tips, latency, an empty object, messages."""
    summary = run_summary(run)
    analysis = analyse(summary)
    return Json(
        [
            Table(
                _GPU_OPS if summary.environment.hardware is Hardware.GPU else _OPS,
                top_ops(summary),
                _general(summary, analysis),
            ),
            step_table(analysis, summary.environment.hardware),
            environment_table(summary.environment),
            Table(
                _TIPS,
                list(zip(*((kind, as_html(text), heading) for kind, text, heading in _tips(summary)), strict=True)),
                _verdicts(summary, analysis),
            ),
            _latency_table(request_latency(run, summary)),
            {},
            diagnostics_table(diagnostics(summary, analysis)),
        ],
    )


def read(run: Run, query: Query) -> Overview:
    """Our document with XProf's steps, ops and messages, its statements and figures."""
    own = document(run, query)
    summary = run_summary(run)
    analysis = analyse(summary)
    general, verdicts = _general(summary, analysis), _verdicts(summary, analysis)
    sentences = (
        verdicts["statement"] or input_statement(analysis.verdict.input),
        output_statement(analysis.verdict.output),
        *(verdicts[f"{name}_statement"] for name in ("device_collectives", "kernel_launch", "all_other", "precision")),
    )
    return replace(
        own,
        steps=xprof_steps(analysis, summary.environment.hardware),
        environment=environment_of(summary.environment),
        ops=ops_table(top_ops(summary)),
        messages=messages_of(diagnostics(summary, analysis), run.warnings),
        xprof=XprofReading(
            step_time_ms=step_time_ms(analysis),
            statements=[sentence for sentence in sentences if sentence],
            tips=[XprofTip(heading, text) for _, text, heading in _tips(summary)],
            figures=[XprofFigure(name, general[key], key) for key, name in _FIGURES.items() if general.get(key)],
        ),
    )


_FIGURES = {
    "flop_rate_utilization_relative_to_roofline": "FLOPS utilization",
    "mxu_utilization_percent": "MXU utilization",
    "device_duty_cycle_percent": "TPU duty cycle",
    "hbm_utilization_percent": "HBM utilization",
    "memory_bw_utilization_relative_to_hw_limit": "Memory bandwidth utilization",
    "tc_active_ms_average": "TensorCore active per step (ms)",
    "sc_steptime_average": "SparseCore step time (ms)",
    "sc_infeed_time_avg": "SparseCore input (ms)",
    "sc_outfeed_time_avg": "SparseCore output (ms)",
    "sc_idle_time_avg": "SparseCore idle (ms)",
    "host_idle_time_percent": "Host idle time",
    "device_idle_time_percent": "TPU idle time",
    "host_tf_op_percent": "TF op placement: host",
    "device_tf_op_percent": "TF op placement: device",
    "host_op_time_eager_percent": "Op time spent on eager execution: host",
    "device_op_time_eager_percent": "Op time spent on eager execution: device",
    "device_compute_16bit_percent": "Device compute precisions: 16 bit",
    "device_compute_32bit_percent": "Device compute precisions: 32 bit",
}
"""Properties of the table of ops that XProf's page shows, with their names there."""


def _general(summary: RunSummary, analysis: StepAnalysis) -> dict[str, str]:
    """The properties of the table of ops: utilization of hosts and devices."""
    gpu = summary.environment.hardware is Hardware.GPU
    device = framework_ops(summary.device)
    on_host, on_device = placement_percent(summary, device)
    return {
        "remark_text": "",
        "remark_color": "",
        "host_trace_level": "0",
        "mxu_utilization_percent": _recorded_percent(summary.mxu_percent),
        "hbm_utilization_percent": _recorded_percent(summary.hbm_percent),
        "host_tf_op_percent": _percent(on_host),
        "device_tf_op_percent": _percent(on_device),
        "host_op_time_eager_percent": _percent(eager_percent(summary.host.ops)),
        "device_op_time_eager_percent": _percent(eager_percent(device)),
        **(_precision(summary) if gpu else _busy(summary, analysis)),
    }


def _percent(percent: float) -> str:
    return f"{percent:.1f}%"


def _recorded_percent(value: float) -> str:
    """A percentage that the profiler measured; one that is negative or no number is unknown."""
    return _percent(value) if value >= 0 else "unknown"


def _precision(summary: RunSummary) -> dict[str, str]:
    half, full = summary.steps.compute_16_ps, summary.steps.compute_32_ps
    return {
        "device_compute_16bit_percent": _percent(100.0 * ratio(half, half + full)),
        "device_compute_32bit_percent": _percent(100.0 * ratio(full, half + full)),
    }


def _busy(summary: RunSummary, analysis: StepAnalysis) -> dict[str, str]:
    on_tpu = summary.environment.hardware is Hardware.TPU
    properties = {
        # Not computed by XProf either; our document has the efficiency.
        "flop_rate_utilization_relative_to_roofline": "0.0%",
        "memory_bw_utilization_relative_to_hw_limit": "0.0%",
        "device_idle_time_percent": _idle(summary.device) if on_tpu else "0.0%",
        "host_idle_time_percent": _idle(summary.host.ops) if on_tpu else "0.0%",
        "device_duty_cycle_percent": _percent(summary.duty.percent),
        "device_duty_cycle_high_confidence_percent": _percent(summary.duty.sure_percent),
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
    return _percent(100.0 * (1.0 - ratio(table.op_ps, table.total_ps)))


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
    return Table(_ENVIRONMENT, [()] * len(_ENVIRONMENT), properties)


def _latency_table(latency: RequestLatency | None) -> Table:
    """Latency of requests: the mean, and the request at each percentile."""
    ids = ("label", "host_ms", "device_ms", "communication_ms", "total_ms")
    cells = attributes([] if latency is None else latency.percentiles, *ids)
    return Table(_LATENCY, [cells[id_] for id_ in ids])


_FAQ = ("faq", "Refer to the TF2 Profiler FAQ", "Tool troubleshooting / FAQ")
_HOST = "Next steps for reducing the Host time"
_DEVICE = "Next steps for reducing the Device time"
_SECTION_3 = "especially Section 3 for the breakdown of input operations on the Host"
_TIMELINE = "look at the activities on the timeline of each"


def _tips(summary: RunSummary) -> tuple[tuple[str, str, str], ...]:
    """Kind, text and heading of each tip, in display order."""
    hardware = summary.environment.hardware
    tool = "op_profile" if hardware is Hardware.TPU else "framework_op_stats"
    core = "TPU core" if hardware is Hardware.TPU else hardware.value
    return (
        _FAQ,
        ("host", f"input_pipeline_analyzer ({_SECTION_3})", _HOST),
        ("host", f"trace_viewer ({_TIMELINE} Host Thread near the bottom of the trace view)", _HOST),
        ("device", f"{tool} (identify the time-consuming operations executed on the {hardware.value})", _DEVICE),
        ("device", f"trace_viewer ({_TIMELINE} {core} in the trace view)", _DEVICE),
        _guide("data_performance_analysis", "Analyze tf.data performance with the TF Profiler"),
        _guide("data_performance", "Better performance with the tf.data API"),
    )


def _guide(page: str, title: str) -> tuple[str, str, str]:
    return "doc", f"[{title}](https://www.tensorflow.org/guide/{page})", "Other useful resources"


def _verdicts(summary: RunSummary, analysis: StepAnalysis) -> dict[str, str]:
    """Bottleneck statements of CPUs and GPUs; empty for TPU steps as in XProf, see the step table."""
    verdict = analysis.verdict
    half, full = summary.steps.compute_16_ps, summary.steps.compute_32_ps
    statements = {
        "bottleneck": verdict.input.bottleneck,
        "statement": input_statement(verdict.input),
        "kernel_launch_bottleneck": verdict.kernel_launch.level,
        "kernel_launch_statement": kernel_launch_statement(verdict.kernel_launch, analysis.input.uses_dataset),
        "all_other_bottleneck": verdict.all_others.level,
        "all_other_statement": all_others_statement(verdict),
        "device_collectives_bottleneck": verdict.collectives.level,
        "device_collectives_statement": collectives_statement(verdict.collectives),
        "precision_statement": precision_statement(100.0 * ratio(half, half + full), half + full > 0),
        "non_bottleneck_tip_types": {"host": "device", "device": "host"}.get(verdict.input.bottleneck, ""),
    }
    return dict.fromkeys(statements, "") if analysis.tpu is not None and analysis.steps else statements


TOOL = replace(OURS, build=build, params=(), needs=(host_summary, host_inference, DEVICE_OPS))
READING = replace(OURS, build=read)
