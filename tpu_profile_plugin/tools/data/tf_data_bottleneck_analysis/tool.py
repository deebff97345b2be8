"""tf.data bottleneck analysis: slow input pipelines, their bottleneck iterators and advice."""

from __future__ import annotations

from collections.abc import Iterator as Rows
from html import escape
from typing import Any

from tpu_profile_plugin.analysis.tf_data.model import IteratorTimes, Pipeline, Settings
from tpu_profile_plugin.analysis.tf_data.model import Run as PipelineRun
from tpu_profile_plugin.analysis.tf_data.pipelines import SLOW_CALL_PS
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Column, Table
from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis import run as tf_data_run
from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis.hosts import HostData, hosts_data, slowest_first
from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis.rules import OTHER, advice_for
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Payload
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool

_PS_PER_US = 1_000_000
_HOST = Column("host", "Host", "string", "", "The host that ran the pipeline.")
_PIPELINE = Column("input_pipeline", "Input Pipeline", "string", "", "Name of the pipeline, counted per host.")


def _us(id_: str, label: str, sentence: str) -> Column:
    return Column(id_, label, "number", "us", sentence)


def _ps(id_: str, label: str, sentence: str) -> Column:
    return Column(id_, label, "number", "ps", sentence)


GRAPH_COLUMNS = (
    _HOST,
    _PIPELINE,
    Column("rank", "Rank", "number", "", "0 is the pipeline's longest call, 1 the second longest, and so on."),
    Column("name", "Name", "string", "", "Id of the iterator.", format="given"),
    Column("parent", "Parent", "string", "", "Id of the iterator that called it; empty for the root."),
    Column("type", "Type", "number", "", "2 the bottleneck, 1 else on the critical path, 0 not on it."),
    Column("iterator", "Iterator", "string", "", "Kind of the iterator."),
    Column("long_name", "Long Name", "string", "", "Kinds of the iterator and of all its consumers, the root first."),
    _ps("start_ps", "Start", "Begin of the first execution, on the axis of the trace viewer."),
    _ps("duration_ps", "Total Duration", "Sum of the durations of all executions."),
    _ps(
        "self_ps",
        "Self Duration",
        "Total duration without that of the iterators it called; negative if several of them ran at once.",
    ),
    Column("num_calls", "# Calls", "number", "", "Number of executions."),
)
SUMMARY_COLUMNS = (
    _HOST,
    _PIPELINE,
    _us("min", "Min (us)", "Shortest call."),
    _us("mean", "Avg (us)", "Mean over the calls."),
    _us("max", "Max (us)", "Longest call."),
    Column("num_calls", "# calls", "number", "", "Number of elements that the program requested."),
    Column("num_slow_calls", "# slow calls", "number", "", "Calls that took more than 50 us."),
    Column("kind", "Kind", "string", "", "host, or device: copies elements to one of several devices."),
    Column("long_name", "Long Name", "string", "", "The root iterator of the pipeline."),
    Column("name", "Dataset", "string", "", "Name of the root's dataset in the program's graph."),
    Column("request_host", "Host in requests", "string", "", "Name of the host in requests."),
    _ps("min_ps", "Min", "Shortest call, not truncated."),
    _ps("mean_ps", "Avg", "Mean over the calls, not truncated."),
    _ps("max_ps", "Max", "Longest call, not truncated."),
)
BOTTLENECK_COLUMNS = (
    _HOST,
    _PIPELINE,
    _us("max_latency", "Max Latency (us)", "Longest call of the pipeline."),
    Column(
        "bottleneck",
        "Bottleneck",
        "string",
        "",
        "Iterator on the critical path with the longest self duration.",
    ),
    Column("suggestion", "Suggestion", "string", "", "Suggestions, as HTML."),
    Column("id", "Bottleneck id", "string", "", "Id of the bottleneck."),
    Column("iterator", "Iterator", "string", "", "Kind of the bottleneck."),
    Column("long_name", "Long Name", "string", "", "Kinds of the bottleneck and of all its consumers, the root first."),
    _us("latency_us", "Latency", "Self duration of the bottleneck in that call."),
    Column("advice", "Class", "string", "", "Class of iterators that share a rule."),
    Column("advice_text", "Advice", "string", "", "Suggestions, one per line, code in backticks."),
    Column("advice_links", "Links", "string", "", "Documentation: title, tab, address, one per line."),
    Column("parallelism", "Parallelism", "number", "", "Elements, or inputs, that the bottleneck works on at once."),
    Column("autotune", "Autotune", "string", "", "true: tf.data chooses parallelism or buffer size; false: fixed."),
    Column("settings", "Settings", "string", "", "Recorded settings of the bottleneck, and CPUs for tf.data."),
    _ps("self_ps", "Self Duration", "Self duration of the bottleneck in that call, not truncated."),
)

SLOW = (
    "At least one input pipeline took longer than 50 us to return an element, so the program waited for input. For "
    "each pipeline the table shows the bottleneck of its longest call and suggestions."
)
QUICK = (
    "No input pipeline took longer than 50 us to return an element. Hosts that were not profiled may still wait for "
    "input."
)
NONE = "The profile contains no tf.data activity. If the program uses tf.data, profile it for longer."


def build(run: Run, query: Query) -> Payload:
    """Three tables: iterators of each run, pipelines, bottlenecks; or, with `part=run`, one run in detail."""
    if query.text("part") == "run":
        return tf_data_run.build(run, query)
    hosts = hosts_data(run)
    return _graph_table(hosts), _summary_table(hosts), _bottleneck_table(hosts)


def _graph_table(hosts: list[HostData]) -> Table:
    rows = [row for host in hosts for pipeline in host.data.pipelines for row in _graph_rows(host.label, pipeline)]
    pipelines = [pipeline for host in hosts for pipeline in host.data.pipelines]
    properties = {
        "pipelines_with_more_runs": sum(len(pipeline.runs) < pipeline.calls for pipeline in pipelines),
        "iterators_left_out": sum(run.left_out for pipeline in pipelines for run in pipeline.runs),
    }
    return Table.from_rows(GRAPH_COLUMNS, rows, {name: str(count) for name, count in properties.items() if count})


def _graph_rows(host: str, pipeline: Pipeline) -> Rows[tuple[Any, ...]]:
    for rank, run in enumerate(pipeline.runs):
        for index, times in enumerate(run.iterators):
            iterator = times.iterator
            yield (
                host,
                pipeline.name,
                rank,
                (str(iterator.id), node_html(times)),
                str(iterator.parent) if iterator.parent else "",
                node_type(run, index),
                iterator.name,
                iterator.long_name,
                times.start_ps,
                times.duration_ps,
                times.self_ps,
                times.calls,
            )


def node_type(run: PipelineRun, index: int) -> int:
    """2 for the bottleneck, 1 for others on the critical path, 0 for the rest."""
    return 2 if index == run.bottleneck else int(run.iterators[index].blocking)


def node_html(times: IteratorTimes) -> str:
    """HTML of a graph node, with times in whole microseconds."""
    return (
        f"<div><b>{escape(times.iterator.name)}</b><br/>Start Time: {_whole_us(times.start_ps)} us<br/>"
        f"Total Duration: {_whole_us(times.duration_ps)} us<br/>Self Duration: {_whole_us(times.self_ps)} us<br/>"
        f"# Calls: {times.calls}</div>"
    )


def _whole_us(ps: int) -> int:
    """Microseconds, truncated towards 0."""
    return -(-ps // _PS_PER_US) if ps < 0 else ps // _PS_PER_US


def _summary_table(hosts: list[HostData]) -> Table:
    rows = [
        (
            host.label,
            pipeline.name,
            _whole_us(pipeline.min_ps),
            _whole_us(pipeline.mean_ps),
            _whole_us(pipeline.max_ps),
            pipeline.calls,
            pipeline.slow_calls,
            "device" if pipeline.is_device else "host",
            pipeline.root.long_name,
            pipeline.root.dataset,
            host.name,
            pipeline.min_ps,
            pipeline.mean_ps,
            pipeline.max_ps,
        )
        for host in hosts
        for pipeline in host.data.pipelines
    ]
    left_out = sum(host.data.left_out for host in hosts)
    return Table.from_rows(SUMMARY_COLUMNS, rows, {"pipelines_left_out": str(left_out)} if left_out else {})


def _bottleneck_table(hosts: list[HostData]) -> Table:
    pipelines = slowest_first(hosts)
    bound = bool(pipelines) and pipelines[0][1].max_ps > SLOW_CALL_PS
    message = SLOW if bound else QUICK if pipelines else NONE
    properties = {"is_input_bound": "true" if bound else "false", "summary_message": message}
    problems = tf_data_run.problems(sum(host.data.cut_runs for host in hosts))
    if problems:
        properties["problems"] = "\n".join(problems)
    return Table.from_rows(
        BOTTLENECK_COLUMNS, [_bottleneck_row(host, pipeline) for host, pipeline in pipelines], properties
    )


def _bottleneck_row(host: HostData, pipeline: Pipeline) -> tuple[Any, ...]:
    start = host.label, pipeline.name, _whole_us(pipeline.max_ps)
    run = pipeline.runs[0] if pipeline.runs else None
    if run is None or run.bottleneck is None:
        return (
            *start,
            _bottleneck_html("", "", 0),
            OTHER.html(),
            "",
            "",
            "",
            0,
            OTHER.kind,
            OTHER.text(),
            OTHER.links(),
            None,
            "",
            "",
            0,
        )
    times = run.iterators[run.bottleneck]
    iterator, latency = times.iterator, _whole_us(times.self_ps)
    assert pipeline.facts is not None
    advice, own = advice_for(pipeline.facts), pipeline.facts.own.settings
    return (
        *start,
        _bottleneck_html(iterator.name, iterator.long_name, latency),
        advice.html(),
        str(iterator.id),
        iterator.name,
        iterator.long_name,
        latency,
        advice.kind,
        advice.text(),
        advice.links(),
        own.parallelism,
        "" if own.autotune is None else str(own.autotune).lower(),
        settings_text(own, pipeline.facts.cpu_budget),
        times.self_ps,
    )


def settings_text(settings: Settings, cpu_budget: int | None) -> str:
    """Settings as "name=value" pairs, separated by commas."""
    known = settings.known() | ({} if cpu_budget is None else {"cpu_budget": cpu_budget})
    return ", ".join(f"{name}={str(value).lower()}" for name, value in known.items())


def _bottleneck_html(name: str, long_name: str, latency_us: int) -> str:
    return (
        f"<div>Iterator Type: <b>{escape(name)}</b><br/>Long Name: {escape(long_name)}<br/>"
        f"Latency: {latency_us:,} us</div>"
    )


def _available(facts: RunFacts) -> str | None:
    return None if facts.tf_data else "The profile contains no tf.data activity."


TOOL = Tool(
    id="tf_data_bottleneck_analysis",
    title="tf.data Bottleneck Analysis",
    group="Data",
    summary="Slow tf.data input pipelines, their bottlenecks, and suggestions.",
    build=build,
    hosts=HostChoice.ONE_OR_ALL,
    available=_available,
    params=(
        Param(
            "part",
            "string",
            "",
            "run: one run of a pipeline in detail instead of the tables.",
            choices=("run",),
        ),
        Param("pipeline", "string", "Host:0", "Of part=run: name of the pipeline."),
        Param("rank", "int", 0, "Of part=run: 0 for the longest call, 1 for the second longest, and so on.", minimum=0),
        Param("resolution", "int", 2000, "Of part=run: units of the time axis.", minimum=1, maximum=100_000),
    ),
)
