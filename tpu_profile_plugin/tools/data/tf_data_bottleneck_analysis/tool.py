"""tf.data bottleneck analysis: slow input pipelines, their bottleneck iterators and advice."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from tpu_profile_plugin.analysis.common.reasons import NO_TF_DATA, Reason
from tpu_profile_plugin.analysis.tf_data import SLOW_CALL_PS, IteratorTimes, Pipeline, Settings
from tpu_profile_plugin.analysis.tf_data import Run as PipelineRun
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Column, Table, attributes, numbers, texts
from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis import run as tf_data_run
from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis.advice import Advice
from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis.hosts import HostData, hosts_data, slowest_first
from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis.rules import OTHER, advice_for
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Payload
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import PS_PER_US

_HOST = texts("host", "Host", "The host that ran the pipeline.")
_PIPELINE = texts("input_pipeline", "Input Pipeline", "Name of the pipeline, counted per host.")


def _us(id_: str, label: str, sentence: str, *, extra: bool = False) -> Column:
    return numbers(id_, label, "us", sentence, extra=extra)


def _ps(id_: str, label: str, sentence: str) -> Column:
    return numbers(id_, label, "ps", sentence, extra=True)


GRAPH_COLUMNS = (
    _HOST,
    _PIPELINE,
    numbers("rank", "Rank", "", "0 is the pipeline's longest call, 1 the second longest, and so on."),
    texts("name", "Name", "Id of the iterator."),
    texts("parent", "Parent", "Id of the iterator that called it; empty for the root."),
    numbers("type", "Type", "", "2 the bottleneck, 1 else on the critical path, 0 not on it."),
    texts("iterator", "Iterator", "Kind of the iterator.", extra=True),
    texts("long_name", "Long Name", "Kinds of the iterator and of all its consumers, the root first.", extra=True),
    _ps("start_ps", "Start", "Begin of the first execution, on the axis of the trace viewer."),
    _ps("duration_ps", "Total Duration", "Sum of the durations of all executions."),
    _ps("self_ps", "Self Duration",
        "Total duration without the iterators that it called; negative if several of them ran at once."),
    numbers("num_calls", "# Calls", "", "Number of executions.", extra=True),
)  # fmt: skip
SUMMARY_COLUMNS = (
    _HOST,
    _PIPELINE,
    _us("min", "Min (us)", "Shortest call."),
    _us("mean", "Avg (us)", "Mean over the calls."),
    _us("max", "Max (us)", "Longest call."),
    numbers("num_calls", "# calls", "", "Number of elements that the program requested."),
    numbers("num_slow_calls", "# slow calls", "", "Calls that took more than 50 us."),
    texts("kind", "Kind", "host, or device: copies elements to one of several devices.", extra=True),
    texts("long_name", "Long Name", "The root iterator of the pipeline.", extra=True),
    texts("name", "Dataset", "Name of the root's dataset in the program's graph.", extra=True),
    texts("request_host", "Host in requests", "Name of the host in requests.", extra=True),
    _ps("min_ps", "Min", "Shortest call, not truncated."),
    _ps("mean_ps", "Avg", "Mean over the calls, not truncated."),
    _ps("max_ps", "Max", "Longest call, not truncated."),
)
BOTTLENECK_COLUMNS = (
    _HOST,
    _PIPELINE,
    _us("max_latency", "Max Latency (us)", "Longest call of the pipeline."),
    texts("bottleneck", "Bottleneck", "Iterator on the critical path with the longest self duration."),
    texts("suggestion", "Suggestion", "Suggestions, as HTML."),
    texts("id", "Bottleneck id", "Id of the bottleneck.", extra=True),
    texts("iterator", "Iterator", "Kind of the bottleneck.", extra=True),
    texts("long_name", "Long Name", "Kinds of the bottleneck and of all its consumers, the root first.", extra=True),
    _us("latency_us", "Latency", "Self duration of the bottleneck in that call.", extra=True),
    texts("advice", "Class", "Class of iterators with the same rule.", extra=True),
    texts("advice_text", "Advice", "Suggestions, one per line, code in backticks.", extra=True),
    texts("advice_links", "Links", "Documentation: title, tab, address, one per line.", extra=True),
    numbers("parallelism", "Parallelism", "", "Elements or inputs that the bottleneck works on at once.", extra=True),
    texts("autotune", "Autotune", "true: tf.data chooses parallelism or buffer size; false: fixed.", extra=True),
    texts("settings", "Settings", "Recorded settings of the bottleneck, and CPUs for tf.data.", extra=True),
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
    rows = [
        (host.label, pipeline.name, rank, run, index)
        for host in hosts
        for pipeline in host.data.pipelines
        for rank, run in enumerate(pipeline.runs)
        for index in range(len(run.iterators))
    ]
    times = [run.iterators[index] for *_, run, index in rows]
    iterators = [one.iterator for one in times]
    data = {
        "host": [host for host, *_ in rows],
        "input_pipeline": [pipeline for _, pipeline, *_ in rows],
        "rank": [rank for _, _, rank, *_ in rows],
        "parent": [one.parent or "" for one in iterators],
        "type": [node_type(run, index) for *_, run, index in rows],
        **attributes(iterators, "long_name", name="id", iterator="name"),
        **attributes(times, "start_ps", "duration_ps", "self_ps", num_calls="calls"),
    }
    pipelines = [pipeline for host in hosts for pipeline in host.data.pipelines]
    properties = {
        "pipelines_with_more_runs": sum(len(pipeline.runs) < pipeline.calls for pipeline in pipelines),
        "iterators_left_out": sum(run.left_out for pipeline in pipelines for run in pipeline.runs),
    }
    texts = {name: str(count) for name, count in properties.items() if count}
    return Table(GRAPH_COLUMNS, data, texts, formatted={"name": list(map(node_html, times))})


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
    return -(-ps // PS_PER_US) if ps < 0 else ps // PS_PER_US


def _summary_table(hosts: list[HostData]) -> Table:
    rows = [(host, pipeline) for host in hosts for pipeline in host.data.pipelines]
    pipelines = [pipeline for _, pipeline in rows]
    data = {
        "host": [host.label for host, _ in rows],
        "min": [_whole_us(one.min_ps) for one in pipelines],
        "mean": [_whole_us(one.mean_ps) for one in pipelines],
        "max": [_whole_us(one.max_ps) for one in pipelines],
        "kind": ["device" if one.is_device else "host" for one in pipelines],
        "long_name": [one.root.long_name for one in pipelines],
        "name": [one.root.dataset for one in pipelines],
        "request_host": [host.name for host, _ in rows],
        **attributes(pipelines, "min_ps", "mean_ps", "max_ps", input_pipeline="name"),
        **attributes(pipelines, num_calls="calls", num_slow_calls="slow_calls"),
    }
    left_out = sum(host.data.left_out for host in hosts)
    return Table(SUMMARY_COLUMNS, data, {"pipelines_left_out": str(left_out)} if left_out else {})


def _bottleneck_table(hosts: list[HostData]) -> Table:
    pipelines = slowest_first(hosts)
    bound = bool(pipelines) and pipelines[0][1].max_ps > SLOW_CALL_PS
    message = SLOW if bound else QUICK if pipelines else NONE
    properties = {"is_input_bound": "true" if bound else "false", "summary_message": message}
    problems = tf_data_run.problems(sum(host.data.cut_runs for host in hosts))
    if problems:
        properties["problems"] = "\n".join(problems)
    bottlenecks = [_bottleneck(pipeline) for _, pipeline in pipelines]
    settings = [one.settings for one in bottlenecks]
    data = {
        "host": [host.label for host, _ in pipelines],
        "input_pipeline": [pipeline.name for _, pipeline in pipelines],
        "max_latency": [_whole_us(pipeline.max_ps) for _, pipeline in pipelines],
        "bottleneck": [_bottleneck_html(one.name, one.long_name, _whole_us(one.self_ps)) for one in bottlenecks],
        "suggestion": [one.advice.html() for one in bottlenecks],
        **attributes(bottlenecks, "id", "long_name", "self_ps", iterator="name"),
        "latency_us": [_whole_us(one.self_ps) for one in bottlenecks],
        "advice": [one.advice.kind for one in bottlenecks],
        "advice_text": [one.advice.text() for one in bottlenecks],
        "advice_links": [one.advice.links() for one in bottlenecks],
        "parallelism": [one.parallelism for one in settings],
        "autotune": ["" if one.autotune is None else str(one.autotune).lower() for one in settings],
        "settings": [settings_text(one.settings, one.cpu_budget) for one in bottlenecks],
    }
    return Table(BOTTLENECK_COLUMNS, data, properties)


_UNKNOWN = Settings()


@dataclass(frozen=True, slots=True)
class _Bottleneck:
    """The bottleneck of a pipeline's longest call; the defaults are for a call without one."""

    id: str = ""
    name: str = ""
    long_name: str = ""
    self_ps: int = 0
    advice: Advice = OTHER
    settings: Settings = _UNKNOWN
    cpu_budget: int | None = None


def _bottleneck(pipeline: Pipeline) -> _Bottleneck:
    run = pipeline.runs[0] if pipeline.runs else None
    if run is None or run.bottleneck is None:
        return _Bottleneck()
    times, facts = run.iterators[run.bottleneck], pipeline.facts
    assert facts is not None
    iterator = times.iterator
    names = str(iterator.id), iterator.name, iterator.long_name
    return _Bottleneck(*names, times.self_ps, advice_for(facts), facts.own.settings, facts.cpu_budget)


def settings_text(settings: Settings, cpu_budget: int | None) -> str:
    """Settings as "name=value" pairs, separated by commas."""
    known = settings.known() | ({} if cpu_budget is None else {"cpu_budget": cpu_budget})
    return ", ".join(f"{name}={str(value).lower()}" for name, value in known.items())


def _bottleneck_html(name: str, long_name: str, latency_us: int) -> str:
    return (
        f"<div>Iterator Type: <b>{escape(name)}</b><br/>Long Name: {escape(long_name)}<br/>"
        f"Latency: {latency_us:,} us</div>"
    )


def _lacks(facts: RunFacts) -> Reason | None:
    return None if facts.tf_data else NO_TF_DATA


TOOL = Tool(
    id="tf_data_bottleneck_analysis",
    title="tf.data Bottleneck Analysis",
    group="Data",
    summary="Slow tf.data input pipelines, their bottlenecks, and suggestions.",
    build=build,
    lacks=_lacks,
    extras=("pipelines_with_more_runs", "iterators_left_out", "pipelines_left_out", "problems"),
    params=(
        Param("part", "string", "", "run: one run of a pipeline in detail instead of the tables.", choices=("run",)),
        Param("pipeline", "string", "Host:0", "Of part=run: name of the pipeline."),
        Param("rank", "int", 0, "Of part=run: 0 for the longest call, 1 for the second longest, and so on.", minimum=0),
        Param("resolution", "int", 2000, "Of part=run: units of the time axis.", minimum=1, maximum=100_000),
    ),
)
