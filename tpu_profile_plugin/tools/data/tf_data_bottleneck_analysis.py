"""tf.data bottleneck analysis: slow input pipelines, their bottleneck iterators and advice; one run in detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tpu_profile_plugin.analysis.common.reasons import NO_TF_DATA, Reason
from tpu_profile_plugin.analysis.tf_data import (
    SLOW_CALL_PS,
    DataCalls,
    Pipeline,
    RunDetail,
    Settings,
    TfData,
    data_calls,
    pipeline_names,
    run_detail,
    summarize_tf_data,
)
from tpu_profile_plugin.analysis.tf_data import Run as PipelineRun
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.errors import BadRequest, NoData, ProfileError
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.host import HostProfile, derived, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table, attributes, integers, numbers, texts
from tpu_profile_plugin.tools.data.iterator_advice import Advice, advice_for
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool

_TRACE = "\nSource: trace."
PIPELINES = (
    texts("host", "Host", "Host that the pipeline runs on."),
    texts("input_pipeline", "Input pipeline", "Numbered per host in the order of the first call."),
    texts("kind", "Kind", "host: produces elements in host memory; device: transfers elements to a device."),
    integers("min_ps", "Min", "ps", "Fastest call." + _TRACE),
    integers("mean_ps", "Avg", "ps", "Mean over the calls." + _TRACE),
    integers("max_ps", "Max", "ps", "Slowest call." + _TRACE),
    integers("calls", "Calls", "", "Number of requested elements." + _TRACE),
    integers("slow_calls", "Slow calls", "", "Calls that took longer than 50 us." + _TRACE),
    texts("bottleneck", "Bottleneck",
          "Iterator of the critical path with the largest self time in the slowest call; host pipelines only."),
    integers("bottleneck_ps", "Bottleneck's self time", "ps", "Self time of the bottleneck in the slowest call."),
    integers("parallelism", "Parallelism", "", "Elements, or inputs, that the bottleneck works on at once." + _TRACE),
    texts("autotune", "Autotune",
          "on: tf.data chooses the bottleneck's parallelism or buffer size; off: the program fixes it." + _TRACE),
    numbers("slow_share", "Slow calls (share)", "fraction", "Share of the calls that took longer than 50 us."),
    texts("long_name", "Long name of the bottleneck", "The iterator with all its consumers in the pipeline."),
    texts("suggestion", "Suggestion", "Recommendations for this kind of bottleneck, code in backticks."),
    texts("settings", "Settings", "Recorded settings of the bottleneck, and CPUs for tf.data."),
    texts("dataset", "Dataset", "Name of the root's dataset in the program's graph."),
    texts("request_host", "Host in requests", "Name of the host in requests."),
)  # fmt: skip


@dataclass(frozen=True)
class GuideLink:
    """A page of documentation."""

    title: str
    address: str


@dataclass(frozen=True)
class PipelineAdvice:
    """Suggestions for the bottlenecks of slow pipelines.

    Attributes:
      kind: class of iterators with the same rule.
      steps: in order, code in backticks.
      pipelines: rows of the table of pipelines, slowest first.
    """

    kind: str
    steps: Sequence[str]
    links: Sequence[GuideLink]
    pipelines: Sequence[int]


@dataclass(frozen=True)
class DataPipelines(Document):
    """The tf.data input pipelines of the chosen hosts.

    Attributes:
      input_bound: whether a call took longer than 50 us.
      message: that in sentences, or that there are none.
      pipelines: one row per pipeline, host after host.
      pipelines_left_out: number of the quickest ones that have no row.
      advice: each once, of the slowest pipeline first.
      problems: sentences about damage.
    """

    input_bound: bool
    message: str
    pipelines: Table
    pipelines_left_out: int
    advice: Sequence[PipelineAdvice]
    problems: Sequence[str]


@dataclass(frozen=True)
class PipelineIterator:
    """An iterator in a run of a pipeline.

    Attributes:
      id: of 64 bits.
      parent: id of the iterator that consumes its elements; "" for the root.
      name: its kind.
      long_name: kinds of the iterator and of all its consumers, the root first.
      dataset: its name in the program's graph; "" for none.
      begin_ps: first execution.
      duration_ps: sum over its executions.
      self_ps: without the iterators that it called; negative if several of them ran at once.
      calls: number of executions.
      role: 2 the bottleneck, 1 else on the critical path, 0 not on it.
      settings: as recorded with its first call in the run.
    """

    id: str
    parent: str
    name: str
    long_name: str
    dataset: str
    begin_ps: int
    duration_ps: int
    self_ps: int
    calls: int
    role: Literal[0, 1, 2]
    settings: Mapping[str, int | bool]


@dataclass(frozen=True)
class IteratorThread:
    """A thread that iterators ran on; ids as in the trace viewer."""

    pid: int
    tid: int
    name: str


@dataclass(frozen=True)
class IteratorSpans:
    """Executions of iterators, an entry of each member per span; times are on the axis of the trace viewer.

    Attributes:
      iterator: position among the iterators.
      thread: position among the threads.
      blocking: whether the consumer waited.
      count: number of executions that are one span because they are short.
    """

    iterator: I64
    thread: I64
    begin_ps: I64
    duration_ps: I64
    blocking: Bools
    count: I64


@dataclass(frozen=True)
class DataPipelineRun(Document):
    """One run of an input pipeline: the call of its root that returned an element.

    Attributes:
      kind: "host" or "device".
      rank: 0 for the longest run of the pipeline.
      runs: number of runs of the pipeline.
      window_ps: from the begin of the first execution, which may precede the run, to the end of the last.
      bottleneck: id of an iterator; "" if none blocked.
      iterators_left_out: number of those that are not listed because there are too many.
      executions: number of executions before they are merged.
      resolution: units of the time axis to which executions are merged.
      truncated: only the longest executions are listed.
      problems: sentences about damage.
    """

    host: str
    pipeline: str
    kind: str
    rank: int
    runs: int
    begin_ps: int
    duration_ps: int
    window_ps: tuple[int, int]
    bottleneck: str
    iterators: Sequence[PipelineIterator]
    iterators_left_out: int
    threads: Sequence[IteratorThread]
    spans: IteratorSpans
    executions: int
    resolution: int
    truncated: bool
    problems: Sequence[str]


SLOW = (
    "At least one input pipeline took longer than 50 us to return an element, so the program waited for input. For "
    "each pipeline the table shows the bottleneck of its longest call and suggestions."
)
QUICK = (
    "No input pipeline took longer than 50 us to return an element. Hosts that were not profiled may still wait for "
    "input."
)
NONE = "The profile contains no tf.data activity. If the program uses tf.data, profile it for longer."

MAX_ROWS = 3_000
"""Approximate limit on the rows of the iterator table; it always has the longest call of each pipeline."""


@dataclass(frozen=True, slots=True)
class HostData:
    """The pipelines of one host: `label` is its name in the profile, `name` its name in requests."""

    label: str
    name: str
    data: TfData


@derived()
def calls_of(host: HostProfile) -> DataCalls | None:
    """The iterator calls of one host; None without any."""
    return data_calls(host.lazy)


@per_host()
def host_pipelines(host: HostProfile, rows: int) -> TfData:
    """The pipelines of one host, with about `rows` iterator rows, from its columns."""
    return summarize_tf_data(host.lazy, calls_of(host), rows)


def hosts_data(run: Run) -> list[HostData]:
    """The chosen hosts in order; labels shared by several hosts are replaced by request names."""
    summaries = run.map_hosts(host_pipelines.given(max(1, MAX_ROWS // len(run.profiles))))
    labels = [data.host for data in summaries]
    return [
        HostData(data.host if data.host and labels.count(data.host) == 1 else host.name, host.name, data)
        for host, data in zip(run.readable, summaries, strict=True)
    ]


def build(run: Run, query: Query) -> DataPipelines:
    """All pipelines, and advice for the slow ones."""
    hosts = hosts_data(run)
    rows = [(host, pipeline) for host in hosts for pipeline in host.data.pipelines]
    bound, message = verdict(hosts)
    pipelines = [pipeline for _, pipeline in rows]
    bottlenecks = [bottleneck_of(pipeline) for pipeline in pipelines]
    settings = [Settings() if found is None else found.settings for found in bottlenecks]
    data = {
        "host": [host.label for host, _ in rows],
        "kind": ["device" if pipeline.is_device else "host" for pipeline in pipelines],
        **attributes(pipelines, "min_ps", "mean_ps", "max_ps", "calls", "slow_calls", input_pipeline="name"),
        "bottleneck": [found and found.name for found in bottlenecks],
        "bottleneck_ps": [found and found.self_ps for found in bottlenecks],
        "parallelism": [recorded.parallelism for recorded in settings],
        "autotune": [{None: None, True: "on", False: "off"}[recorded.autotune] for recorded in settings],
        "slow_share": [pipeline.slow_calls / pipeline.calls if pipeline.calls else None for pipeline in pipelines],
        "long_name": [found and found.long_name for found in bottlenecks],
        "suggestion": [found and found.advice.text() for found in bottlenecks],
        "settings": [found and settings_text(found.settings, found.cpu_budget) for found in bottlenecks],
        "dataset": [pipeline.root.dataset for pipeline in pipelines],
        "request_host": [host.name for host, _ in rows],
    }
    return DataPipelines(
        input_bound=bound,
        message=message,
        pipelines=Table(PIPELINES, data),
        pipelines_left_out=sum(host.data.left_out for host in hosts),
        advice=_shared_advice(pipelines, bottlenecks),
        problems=problems(hosts),
    )


def slowest_first(hosts: Sequence[HostData]) -> list[tuple[HostData, Pipeline]]:
    """The host pipelines, longest call first."""
    pairs = [(host, pipeline) for host in hosts for pipeline in host.data.pipelines if not pipeline.is_device]
    return sorted(pairs, key=lambda pair: -pair[1].max_ps)


def verdict(hosts: Sequence[HostData]) -> tuple[bool, str]:
    """Whether a call of a host pipeline is slow, and that in sentences."""
    pipelines = slowest_first(hosts)
    bound = bool(pipelines) and pipelines[0][1].max_ps > SLOW_CALL_PS
    return bound, SLOW if bound else QUICK if pipelines else NONE


def problems(hosts: Sequence[HostData]) -> list[str]:
    """Problems of the profiles, as sentences."""
    return _cut(sum(host.data.cut_runs for host in hosts))


def _cut(cut_runs: int) -> list[str]:
    if not cut_runs:
        return []
    return [
        f"{cut_runs} {'run reaches' if cut_runs == 1 else 'runs reach'} the same iterator calls in very many ways and "
        "could not be followed to the end; their durations and calls are too low. The profile is damaged."
    ]


def _shared_advice(pipelines: Sequence[Pipeline], bottlenecks: Sequence[Bottleneck | None]) -> list[PipelineAdvice]:
    """Advice for slow host pipelines."""
    rows: dict[Advice, list[int]] = {}
    for row in sorted(range(len(pipelines)), key=lambda row: -pipelines[row].max_ps):
        bottleneck = bottlenecks[row]
        if bottleneck is not None and pipelines[row].max_ps > SLOW_CALL_PS:
            rows.setdefault(bottleneck.advice, []).append(row)
    return [
        PipelineAdvice(
            advice.kind,
            [step.text for step in advice.steps],
            [GuideLink(*link) for link in dict.fromkeys(link for step in advice.steps for link in step.links)],
            of,
        )
        for advice, of in rows.items()
    ]


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The bottleneck of a pipeline's longest call."""

    id: str
    name: str
    long_name: str
    self_ps: int
    advice: Advice
    settings: Settings
    cpu_budget: int | None


def bottleneck_of(pipeline: Pipeline) -> Bottleneck | None:
    """The bottleneck of a host pipeline; None if no iterator blocked."""
    run = pipeline.runs[0] if pipeline.runs else None
    if pipeline.is_device or run is None or run.bottleneck is None:
        return None
    times, facts = run.iterators[run.bottleneck], pipeline.facts
    assert facts is not None
    iterator = times.iterator
    names = str(iterator.id), iterator.name, iterator.long_name
    return Bottleneck(*names, times.self_ps, advice_for(facts), facts.own.settings, facts.cpu_budget)


def settings_text(settings: Settings, cpu_budget: int | None) -> str:
    """Settings as "name=value" pairs, separated by commas."""
    known = settings.known() | ({} if cpu_budget is None else {"cpu_budget": cpu_budget})
    return ", ".join(f"{name}={str(value).lower()}" for name, value in known.items())


def build_run(run: Run, query: Query) -> DataPipelineRun:
    """The run given by `pipeline` and `rank`, on the first chosen host that has the pipeline."""
    name, rank = query.text("pipeline"), query.integer("rank")
    host, calls, number = _find(run.profiles, name)
    first, last = int(calls.start[number]), int(calls.start[number + 1])
    if rank >= last - first:
        raise BadRequest(
            f"Pipeline {name} was called {last - first} times; ranks go from 0 to {last - first - 1}.",
            parameter="rank",
            value=rank,
        )
    resolution = query.integer("resolution")
    detail = run_detail(host.lazy, calls, first + rank, resolution)
    found, boxes, (begin, end) = detail.run, detail.boxes, detail.window_ps
    return DataPipelineRun(
        host=host.name,
        pipeline=name,
        kind="device" if calls.is_device[number] else "host",
        rank=rank,
        runs=last - first,
        begin_ps=found.begin_ps,
        duration_ps=found.duration_ps,
        window_ps=(begin, end),
        bottleneck="" if found.bottleneck is None else str(found.iterators[found.bottleneck].iterator.id),
        iterators=_iterators(detail),
        iterators_left_out=found.left_out,
        threads=[IteratorThread(track.pid, track.tid, track.name) for track in detail.tracks],
        spans=IteratorSpans(
            boxes.iterator, boxes.track, boxes.begin_ps, boxes.duration_ps, boxes.blocking, boxes.count
        ),
        executions=detail.executions,
        resolution=max(1, min(resolution, -(-(end - begin) // detail.unit_ps))),
        truncated=detail.truncated,
        problems=_cut(int(detail.cut)),
    )


def _find(hosts: tuple[HostProfile, ...], name: str) -> tuple[HostProfile, DataCalls, int]:
    known: list[str] = []
    for host in hosts:
        try:
            calls = calls_of(host)
        except ProfileError:
            if len(hosts) == 1:
                raise
            continue
        if calls is None:
            continue
        names = pipeline_names(calls)
        if name in names:
            return host, calls, names.index(name)
        known += [other for other in names[:100] if other not in known]
    if not known:
        raise NoData(NONE)
    raise BadRequest(
        f"There is no pipeline {name[:80]!r} on {'this host' if len(hosts) == 1 else 'these hosts'}.",
        parameter="pipeline",
        value=name[:80],
        pipelines=known[:100],
    )


def _iterators(detail: RunDetail) -> list[PipelineIterator]:
    listed = zip(detail.run.iterators, detail.settings, strict=True)
    return [
        PipelineIterator(
            id=str(times.iterator.id),
            parent=str(times.iterator.parent) if times.iterator.parent else "",
            name=times.iterator.name,
            long_name=times.iterator.long_name,
            dataset=times.iterator.dataset,
            begin_ps=times.start_ps,
            duration_ps=times.duration_ps,
            self_ps=times.self_ps,
            calls=times.calls,
            role=role(detail.run, index),
            settings=settings.known(),
        )
        for index, (times, settings) in enumerate(listed)
    ]


def role(run: PipelineRun, index: int) -> Literal[0, 1, 2]:
    """2 for the bottleneck, 1 for others on the critical path, 0 for the rest."""
    if index == run.bottleneck:
        return 2
    return 1 if run.iterators[index].blocking else 0


def _lacks(facts: RunFacts) -> Reason | None:
    return None if facts.tf_data else NO_TF_DATA


TOOL = Tool(
    id="tf_data_bottleneck_analysis",
    title="tf.data Bottleneck Analysis",
    group="Data",
    summary="Slow tf.data input pipelines, their bottlenecks, and suggestions.",
    build=build,
    lacks=_lacks,
)
RUN = Tool(
    id="tf_data_run",
    title="tf.data Run",
    group="Data",
    summary="One run of a tf.data input pipeline: its iterators, and their executions by thread.",
    build=build_run,
    lacks=_lacks,
    offered=False,
    params=(
        Param("pipeline", "string", "Host:0", "Name of the pipeline."),
        Param("rank", "int", 0, "0 for the longest run, 1 for the second longest, and so on.", minimum=0),
        Param("resolution", "int", 2000, "Units of the time axis.", minimum=1, maximum=100_000),
    ),
)
