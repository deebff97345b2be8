"""The input pipeline analyzer as XProf answers it, five tables, and our document with XProf's figures."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.analysis.steps.breakdown import InputBreakdown, TpuBreakdown
from tpu_profile_plugin.analysis.summary.host_summary import RunSummary
from tpu_profile_plugin.compat.xprof.steps import (
    as_html,
    core_name,
    diagnostics_table,
    input_statement,
    next_step,
    output_statement,
    step_table,
    step_time_ms,
    waiting_share,
    xprof_steps,
)
from tpu_profile_plugin.run.figures.steps import analyse
from tpu_profile_plugin.run.figures.summary import Diagnostics, host_summary, run_summary, step_warnings
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.column import Column
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.common.steps import XprofReading, messages_of
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.summary.input_pipeline_analyzer import TOOL as OURS
from tpu_profile_plugin.tools.summary.input_pipeline_analyzer import InputPipeline, input_op_cells, input_processing
from tpu_profile_plugin.tools.summary.input_pipeline_analyzer import build as document

_OPS = (
    Column("opName", "Input Op", "string"),
    Column("count", "Count", "number"),
    Column("timeInMs", "Total Time (in ms)", "number"),
    Column("timeInPercent", "Total Time (as % of total input-processing time)", "number"),
    Column("selfTimeInMs", "Total Self Time (in ms)", "number"),
    Column("selfTimeInPercent", "Total Self Time (as % of total input-processing time)", "number"),
    Column("category", "Category", "string"),
)


def build(run: Run, query: Query) -> Json:
    """Cores with the longest wait, steps, input ops, recommendations, messages."""
    summary = run_summary(run)
    analysis = analyse(summary)
    warnings = step_warnings(analysis.steps, summary.steps.empty_intersection)
    tips = [as_html(kind.tip) for kind in reversed(input_processing(analysis.input))]
    return Json(
        [
            Table((), ()) if analysis.tpu is None else _waiting_cores(summary, analysis.tpu),
            step_table(analysis, summary.environment.hardware),
            _op_table(analysis.input),
            Table((Column("link", "link", "string"),), [tips]),
            diagnostics_table(Diagnostics(warnings=warnings)),
        ],
    )


def read(run: Run, query: Query) -> InputPipeline:
    """Our document with XProf's steps, statements and messages."""
    own = document(run, query)
    summary = run_summary(run)
    analysis = analyse(summary)
    warnings = step_warnings(analysis.steps, summary.steps.empty_intersection)
    statements = (input_statement(analysis.verdict.input), output_statement(analysis.verdict.output))
    return replace(
        own,
        steps=xprof_steps(analysis, summary.environment.hardware),
        messages=messages_of(Diagnostics(warnings=warnings), ()),
        next=next_step(analysis.verdict.input, analysis.input.uses_dataset),
        xprof=XprofReading(
            step_time_ms=step_time_ms(analysis),
            statements=[sentence for sentence in statements if sentence],
            waiting=None if analysis.tpu is None else waiting_share(summary, analysis.tpu),
        ),
    )


def _waiting_cores(summary: RunSummary, steps: TpuBreakdown) -> Table:
    """Per step the core that waited longest for input: two rows, one column per step."""
    columns = [Column(str(i), str(i), "string") for i in range(len(steps.labels))]
    cores = [core_name(summary, core) for core in steps.infeed_core]
    cells = [("Step number", "Core name"), *zip(steps.labels, cores, strict=True)]
    return Table((Column("index", "Index", "string"), *columns), cells)


def _op_table(source: InputBreakdown) -> Table:
    """The host's input ops, with the breakdown of input processing as properties."""
    times = {
        "enqueue_us": source.enqueue_us,
        "demanded_file_read_us": source.demanded_read_us,
        "advanced_file_read_us": source.advanced_read_us,
        "preprocessing_us": source.preprocessing_us,
        "unclassified_nonequeue_us": source.unclassified_us,
    }
    return Table(_OPS, input_op_cells(source), {name: f"{us:.3f}" for name, us in times.items()})


TOOL = replace(OURS, build=build, needs=(host_summary,))
READING = replace(OURS, build=read)
