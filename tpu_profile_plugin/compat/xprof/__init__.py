"""XProf's answers: everything that is as it is because XProf answers so; pages, commands and Python do without it."""

from __future__ import annotations

from tpu_profile_plugin.compat.xprof import (
    counters,
    framework_op_stats,
    graph_viewer,
    hlo_stats,
    inference_profile,
    input_pipeline_analyzer,
    kernel_stats,
    megascale_stats,
    memory_profile,
    memory_viewer,
    op_profile,
    overview_page,
    pod_viewer,
    roofline_model,
    smart_suggestion,
    tf_data_bottleneck_analysis,
    trace_viewer,
)
from tpu_profile_plugin.compat.xprof.capture import capture
from tpu_profile_plugin.logdir.model import RunFiles
from tpu_profile_plugin.tools import registry
from tpu_profile_plugin.tools.tool import Tool

ORDER = (
    *("overview_page", "trace_viewer", "trace_viewer@", "graph_viewer"),
    *("op_profile", "hlo_op_profile", "input_pipeline_analyzer"),
    *("input_pipeline", "kernel_stats", "memory_profile", "memory_viewer"),
    *("roofline_model", "perf_counters", "pod_viewer"),
    *("framework_op_stats", "tensorflow_stats", "hlo_op_stats", "hlo_stats"),
    *("inference_profile", "megascale_stats", "kernel_utilization"),
    *("smart_suggestion", "utilization_viewer"),
)
"""The order of XProf's tools."""

LISTED = frozenset(ORDER) - {"pod_viewer", "inference_profile"}
"""Tools that XProf lists; the others it answers only."""

ALWAYS_LISTED = frozenset({"op_profile", "memory_profile", "roofline_model", "framework_op_stats", "hlo_stats"})
"""Tools that XProf lists whether or not the run has data for them."""

NO_MODULE = "NO_MODULE"
"""The module that XProf lists for a run with profiles but without modules: the name of a marker file."""

_ALL_ONLY = frozenset({"overview_page", "pod_viewer", "smart_suggestion"})
_ALL_AND_EACH = frozenset({"input_pipeline_analyzer", "framework_op_stats", "kernel_stats", "megascale_stats"})

__all__ = ["ALWAYS_LISTED", "FORMS", "LISTED", "NO_MODULE", "ORDER", "capture", "form_of", "hosts_listed", "reading_of"]

FORMS: dict[str, Tool] = {
    tool.id: tool
    for tool in (
        counters.PERF_COUNTERS,
        counters.UTILIZATION_VIEWER,
        counters.KERNEL_UTILIZATION,
        framework_op_stats.TOOL,
        graph_viewer.TOOL,
        hlo_stats.TOOL,
        inference_profile.TOOL,
        input_pipeline_analyzer.TOOL,
        kernel_stats.TOOL,
        megascale_stats.TOOL,
        memory_profile.TOOL,
        memory_viewer.TOOL,
        op_profile.TOOL,
        overview_page.TOOL,
        pod_viewer.TOOL,
        trace_viewer.LEGACY,
        trace_viewer.TOOL,
        smart_suggestion.TOOL,
        tf_data_bottleneck_analysis.TOOL,
        roofline_model.TOOL,
    )
}
"""Tools whose answer XProf makes in a form of its own, by id."""

READINGS: dict[str, Tool] = {
    tool.id: tool for tool in (input_pipeline_analyzer.READING, overview_page.READING, pod_viewer.READING)
}
"""Tools of which our document can show XProf's figures, by id."""


def form_of(tag: str) -> Tool | None:
    """The tool as XProf answers it; None for one that XProf and the TensorBoard plugin before it lack."""
    tool = registry.named(tag)
    return FORMS.get(registry.canonical(tag) if tool is None else tool.id)


def reading_of(tag: str) -> Tool | None:
    """The tool that makes our document with XProf's figures; None for one without."""
    found = registry.named(tag)
    return None if found is None else READINGS.get(found.id)


def hosts_listed(run: RunFiles, tag: str) -> list[str]:
    """The hosts that `/hosts` lists for a tool of XProf's; unknown ones take one host."""
    names = list(run.host_names)
    if len(names) < 2:
        return names
    if tag in _ALL_ONLY:
        return ["ALL_HOSTS"]
    return ["ALL_HOSTS", *names] if tag in _ALL_AND_EACH else names
