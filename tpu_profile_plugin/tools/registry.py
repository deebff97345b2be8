"""The list of all tools, in menu order; a new tool needs an import and an entry here."""

from __future__ import annotations

from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.tools.data import events, query, tf_data_bottleneck_analysis
from tpu_profile_plugin.tools.fleet import megascale_stats, pod_viewer
from tpu_profile_plugin.tools.memory import memory_profile, memory_viewer, over_time
from tpu_profile_plugin.tools.ops import (
    counters,
    framework_op_stats,
    graph_viewer,
    hlo_stats,
    kernel_stats,
    op_profile,
    roofline_model,
    source_view,
)
from tpu_profile_plugin.tools.summary import (
    compare,
    inference_profile,
    input_pipeline_analyzer,
    overview_page,
    profile_contents,
    smart_suggestion,
    time_budget,
    what_if,
)
from tpu_profile_plugin.tools.time import communication, python_stacks
from tpu_profile_plugin.tools.time.trace_viewer import tool as trace_viewer
from tpu_profile_plugin.tools.tool import Tool

TOOLS: tuple[Tool, ...] = (
    overview_page.TOOL,
    trace_viewer.TOOL,
    graph_viewer.TOOL,
    op_profile.TOOL,
    input_pipeline_analyzer.TOOL,
    kernel_stats.TOOL,
    memory_profile.TOOL,
    memory_viewer.TOOL,
    roofline_model.TOOL,
    counters.PERF_COUNTERS,
    pod_viewer.TOOL,
    framework_op_stats.TOOL,
    hlo_stats.TOOL,
    inference_profile.TOOL,
    megascale_stats.TOOL,
    counters.KERNEL_UTILIZATION,
    smart_suggestion.TOOL,
    counters.UTILIZATION_VIEWER,
    tf_data_bottleneck_analysis.TOOL,
    tf_data_bottleneck_analysis.RUN,
    time_budget.TOOL,
    what_if.TOOL,
    communication.TOOL,
    source_view.TOOL,
    over_time.PROGRAM,
    over_time.ALLOCATOR,
    python_stacks.TOOL,
    compare.TOOL,
    profile_contents.TOOL,
    query.TOOL,
    events.TOOL,
)

_RENAMED = {"tensorflow_stats": "framework_op_stats"}

_BY_ID: dict[str, Tool] = {name: tool for tool in TOOLS for name in (tool.id, *tool.aliases)}


def find(tag: str) -> Tool:
    """The tool with the given id, alias or old spelling; raises NotFound (code tool_not_found)."""
    tool = named(tag)
    if tool is None:
        known = [tool.id for tool in TOOLS if tool.offered]
        message = f"There is no tool {tag[:80]!r}; there are {', '.join(known)}."
        raise NotFound(message, code="tool_not_found", tools=known)
    return tool


def named(tag: str) -> Tool | None:
    """The tool with the given id, alias or old spelling; None if there is none."""
    return _BY_ID.get(canonical(tag))


def canonical(tag: str) -> str:
    """The current spelling of a tool id, without the `^` or `#` that older links append for the source format."""
    plain = tag.rstrip("^#")
    return _RENAMED.get(plain, plain)
