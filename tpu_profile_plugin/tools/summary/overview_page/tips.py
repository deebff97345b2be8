"""Recommendations of the overview: tools and documents to consult next, and the bottleneck statements."""

from __future__ import annotations

from tpu_profile_plugin.analysis.common.statistics import ratio
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.run.figures.steps import StepAnalysis
from tpu_profile_plugin.tables.table import Table, texts
from tpu_profile_plugin.tools.common import step_texts

COLUMNS = (
    texts("tip_type", "tip_type", "faq, host, device, doc or inference."),
    texts("link", "link", "A tool by name, or a document."),
    texts("description", "description", "Heading of the tip."),
)
_GUIDE = "https://www.tensorflow.org/guide/"
_FAQ = ("faq", "Refer to the TF2 Profiler FAQ", "Tool troubleshooting / FAQ")
_HOST = "Next steps for reducing the Host time"
_DEVICE = "Next steps for reducing the Device time"
_OTHER = "Other useful resources"
_SECTION_3 = "especially Section 3 for the breakdown of input operations on the Host"
_TIMELINE = "look at the activities on the timeline of each"


def _document(page: str, title: str) -> tuple[str, str, str]:
    return "doc", f'<a href="{_GUIDE}{page}" target="_blank">{title}</a>', _OTHER


def recommendations(summary: RunSummary, analysis: StepAnalysis) -> Table:
    """Tips in display order, with the bottleneck statements as properties."""
    hardware = summary.environment.hardware
    tool = "op_profile" if hardware is Hardware.TPU else "framework_op_stats"
    core = "TPU core" if hardware is Hardware.TPU else hardware.value
    rows = (
        _FAQ,
        ("host", f"input_pipeline_analyzer ({_SECTION_3})", _HOST),
        ("host", f"trace_viewer ({_TIMELINE} Host Thread near the bottom of the trace view)", _HOST),
        ("device", f"{tool} (identify the time-consuming operations executed on the {hardware.value})", _DEVICE),
        ("device", f"trace_viewer ({_TIMELINE} {core} in the trace view)", _DEVICE),
        _document("data_performance_analysis", "Analyze tf.data performance with the TF Profiler"),
        _document("data_performance", "Better performance with the tf.data API"),
    )
    return Table(COLUMNS, list(zip(*rows, strict=True)), _verdicts(summary, analysis))


def _verdicts(summary: RunSummary, analysis: StepAnalysis) -> dict[str, str]:
    """Bottleneck statements of CPUs and GPUs; empty for TPU steps as in XProf, see the step table."""
    verdict = analysis.verdict
    half, full = summary.steps.compute_16_ps, summary.steps.compute_32_ps
    launch = step_texts.kernel_launch_statement(verdict.kernel_launch, analysis.input.uses_dataset)
    statements = {
        "bottleneck": verdict.input.bottleneck,
        "statement": step_texts.input_statement(verdict.input),
        "kernel_launch_bottleneck": verdict.kernel_launch.level,
        "kernel_launch_statement": launch,
        "all_other_bottleneck": verdict.all_others.level,
        "all_other_statement": step_texts.all_others_statement(verdict),
        "device_collectives_bottleneck": verdict.collectives.level,
        "device_collectives_statement": step_texts.collectives_statement(verdict.collectives),
        "precision_statement": step_texts.precision_statement(100.0 * ratio(half, half + full), half + full > 0),
        "non_bottleneck_tip_types": {"host": "device", "device": "host"}.get(verdict.input.bottleneck, ""),
    }
    return dict.fromkeys(statements, "") if analysis.tpu is not None and analysis.steps else statements
