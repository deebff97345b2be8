"""The tf.data bottleneck analysis as TensorBoard's profiler before XProf answers it: three tables, cells with HTML."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape

from tpu_profile_plugin.analysis.tf_data import IteratorTimes
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table, attributes, numbers, texts
from tpu_profile_plugin.tools.data import tf_data_bottleneck_analysis as ours
from tpu_profile_plugin.tools.data.iterator_advice import OTHER, Advice, Link
from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis import (
    Bottleneck,
    HostData,
    bottleneck_of,
    hosts_data,
    role,
    slowest_first,
    verdict,
)
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.units import PS_PER_US

_PIPELINE = texts("host", "Host", ""), texts("input_pipeline", "Input Pipeline", "")
_GRAPH = (
    *_PIPELINE,
    numbers("rank", "Rank", "", ""),
    texts("name", "Name", ""),
    texts("parent", "Parent", ""),
    numbers("type", "Type", "", ""),
)
_SUMMARY = (
    *_PIPELINE,
    numbers("min", "Min (us)", "", ""),
    numbers("mean", "Avg (us)", "", ""),
    numbers("max", "Max (us)", "", ""),
    numbers("num_calls", "# calls", "", ""),
    numbers("num_slow_calls", "# slow calls", "", ""),
)
_BOTTLENECKS = (
    *_PIPELINE,
    numbers("max_latency", "Max Latency (us)", "", ""),
    texts("bottleneck", "Bottleneck", ""),
    texts("suggestion", "Suggestion", ""),
)
_CODE = re.compile(r"`([^`]*)`")


def build(run: Run, query: Query) -> tuple[Table, Table, Table]:
    """The iterators of each run, pipelines, bottlenecks."""
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
    iterators = [each.iterator for each in times]
    data = {
        "host": [host for host, *_ in rows],
        "input_pipeline": [pipeline for _, pipeline, *_ in rows],
        "rank": [rank for _, _, rank, *_ in rows],
        "parent": [iterator.parent or "" for iterator in iterators],
        "type": [role(run, index) for *_, run, index in rows],
        "name": [iterator.id for iterator in iterators],
    }
    return Table(_GRAPH, data, formatted={"name": list(map(node_html, times))})


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
        "min": [_whole_us(pipeline.min_ps) for pipeline in pipelines],
        "mean": [_whole_us(pipeline.mean_ps) for pipeline in pipelines],
        "max": [_whole_us(pipeline.max_ps) for pipeline in pipelines],
        **attributes(pipelines, input_pipeline="name", num_calls="calls", num_slow_calls="slow_calls"),
    }
    return Table(_SUMMARY, data)


def _bottleneck_table(hosts: list[HostData]) -> Table:
    pipelines = slowest_first(hosts)
    bound, message = verdict(hosts)
    bottlenecks = [bottleneck_of(pipeline) for _, pipeline in pipelines]
    data = {
        "host": [host.label for host, _ in pipelines],
        "input_pipeline": [pipeline.name for _, pipeline in pipelines],
        "max_latency": [_whole_us(pipeline.max_ps) for _, pipeline in pipelines],
        "bottleneck": list(map(_bottleneck_html, bottlenecks)),
        "suggestion": [advice_html(OTHER if found is None else found.advice) for found in bottlenecks],
    }
    return Table(_BOTTLENECKS, data, {"is_input_bound": str(bound).lower(), "summary_message": message})


def _bottleneck_html(bottleneck: Bottleneck | None) -> str:
    name, long_name, self_ps = (
        ("", "", 0) if bottleneck is None else (bottleneck.name, bottleneck.long_name, bottleneck.self_ps)
    )
    return (
        f"<div>Iterator Type: <b>{escape(name)}</b><br/>Long Name: {escape(long_name)}<br/>"
        f"Latency: {_whole_us(self_ps):,} us</div>"
    )


def advice_html(advice: Advice) -> str:
    """The suggestions as a numbered list, or a single paragraph."""
    lines = [f"{_html(step.text)}{_html_links(step.links)}" for step in advice.steps]
    if len(lines) == 1:
        return f"<div>{lines[0]}</div>"
    return "<ol>" + "".join(f"<li>{line}</li>" for line in lines) + "</ol>"


def _html(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(text, quote=False))


def _html_links(links: tuple[Link, ...]) -> str:
    anchors = [f'<a href="{escape(address)}" target="_blank">{escape(title)}</a>' for title, address in links]
    return f" ({', '.join(anchors)})" if anchors else ""


TOOL = replace(ours.TOOL, build=build)
