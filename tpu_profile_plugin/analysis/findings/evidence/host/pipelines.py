"""The transformation of a tf.data pipeline that the program waits for, and whether it could be parallel or ahead."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.budget.categories import members
from tpu_profile_plugin.analysis.common.planes import events_named
from tpu_profile_plugin.analysis.findings.host_view import HostView, once
from tpu_profile_plugin.analysis.findings.lost import INPUT_SHARE, LEAST_SHARE, lost_to
from tpu_profile_plugin.analysis.ops.pipeline_ops import PipelineOps, passes, pipeline_ops, work_times
from tpu_profile_plugin.analysis.tf_data import (
    Pipeline,
    Stage,
    bottleneck_facts,
    data_calls,
    has_iterators,
    summarize_tf_data,
)
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64


@once
def input_time(host: HostView) -> tuple[I64, bool]:
    """The time that devices wait for input, by part of the time budget and summed over steps and devices, with what
    pipelines of tf.data take of the computation of CPUs; and whether that is a part of it that counts.
    """
    waits = host.blame.by_part(np.isin(host.blame.part % BETWEEN, members("input")))
    plane = host.plane
    if plane is None or not plane.decoded or not host.on_cpus or not has_iterators(plane):
        return waits, False
    beside = host.beside(work_times(plane))
    return waits + beside, bool(beside.sum() > LEAST_SHARE * waits.sum())


_PARALLEL = re.compile(r"Parallel|MapAndBatch")
"""Transformations with a parallelism; one at a time is a choice of the program."""
_ONE_AT_A_TIME = re.compile(r"(?:Map|Interleave)(?:V\d+)?\Z")
"""Transformations with a parallel form that the program did not ask for."""
_BUFFER = re.compile(r"Prefetch|Root\Z")
"""Transformations that only pass on elements: waiting in them is waiting for what is behind."""
SEEN_ITERATORS = 400
"""Iterators of a pipeline's longest calls that are looked at, altogether."""
_LEAST_STEPS = 3
_AHEAD = re.compile(r"Prefetch|Parallel|MapAndBatch")


@dataclass(frozen=True, slots=True)
class Slowest:
    """The slowest transformation of the pipeline that the program waits for most.

    Attributes:
      pipeline, calls, mean_ps: its name, and the calls by the program; window: the longest call.
      name, dataset: the transformation and its name in the program.
      share: its self time, of that call.
      parallelism: as recorded, None for transformations without one; autotune: chosen by tf.data, None if unknown.
      cpus: how many tf.data may use; None if unknown.
      alone: it works on one element at a time; late: nothing prefetches its elements.
      cached: its elements go into a cache; caches: the host's pipelines have one, anywhere.
      buffer: batches that the prefetch behind it holds; None without one.
      passes: how often the data was begun; 0 if unknown.
      ops: what the host's pipelines compute; None if unknown.
      remade: most steps make a pipeline's iterator anew.
    """

    pipeline: str
    calls: int
    mean_ps: int
    window: tuple[int, int]
    name: str
    dataset: str
    share: float
    parallelism: int | None
    alone: bool
    late: bool
    autotune: bool | None = None
    cpus: int | None = None
    cached: bool = False
    buffer: int | None = None
    passes: int = 0
    caches: bool = False
    ops: PipelineOps | None = None
    remade: bool = False

    @property
    def is_buffer(self) -> bool:
        """It only passes on elements: what it waited for was not recorded."""
        return _BUFFER.match(self.name) is not None

    @property
    def python_share(self) -> float:
        """Share of the pipelines' op time in Python functions; 0 if unknown, 1 for a generator."""
        if self.name == "Generator":
            return 1.0
        return self.ops.python_share if self.ops is not None else 0.0

    @property
    def shown(self) -> str:
        """Its kind, and its name in the program."""
        return f"{self.name} ({self.dataset})" if self.dataset else self.name


@once
def slowest_stage(host: HostView) -> Slowest | None:
    """The slowest transformation; None unless devices wait for input and a pipeline of tf.data has a bottleneck."""
    plane = host.plane
    least = INPUT_SHARE * host.time.base_ps * host.time.cells
    if plane is None or (lost_to(host.time, "idle_input").share < INPUT_SHARE and input_time(host)[0].sum() < least):
        return None
    calls = data_calls(host.space)
    pipelines = summarize_tf_data(host.space, calls, SEEN_ITERATORS).pipelines
    known = [one for one in pipelines if not one.is_device and one.facts is not None]
    if not known or calls is None:
        return None
    most = max(known, key=lambda one: one.calls * one.mean_ps)
    found = _slowest(_told(host, calls.plane, most))
    caches = any(name.startswith("Iterator::") and "Cache" in name for name in calls.plane.event_metadata.names)
    made = len(events_named(calls.plane, "MakeIterator::RootDataset".__eq__))
    remade = host.steps is not None and len(host.steps) >= _LEAST_STEPS and 2 * made > len(host.steps)
    return replace(found, passes=passes(calls.plane), caches=caches, ops=pipeline_ops(calls.plane), remade=remade)


def _told(host: HostView, plane: Plane, pipeline: Pipeline) -> Pipeline:
    """The pipeline with the longest call first whose bottleneck is more than a buffer.

    The elements of the first calls were prepared before the recording began: then all that shows is the wait for them.
    """
    assert pipeline.facts is not None
    if not _BUFFER.match(pipeline.facts.own.name):
        return pipeline
    for number, run in enumerate(pipeline.runs):
        if run.bottleneck is not None and not _BUFFER.match(run.iterators[run.bottleneck].iterator.name):
            other = replace(pipeline, runs=(run, *pipeline.runs[:number], *pipeline.runs[number + 1 :]))
            facts = bottleneck_facts(host.space, plane, [other])[0]
            return pipeline if facts is None else replace(other, facts=facts)
    return pipeline


def _slowest(pipeline: Pipeline) -> Slowest:
    run, facts = pipeline.runs[0], pipeline.facts
    assert run.bottleneck is not None
    assert facts is not None
    stage = facts.own
    consumers = [one.name for one in facts.consumers if one.name != "Root"]
    return Slowest(
        pipeline.name,
        pipeline.calls,
        pipeline.mean_ps,
        (run.begin_ps, run.begin_ps + run.duration_ps),
        stage.name,
        stage.dataset,
        min(run.iterators[run.bottleneck].self_ps / max(run.duration_ps, 1), 1.0),
        stage.settings.parallelism,
        _alone(stage),
        not any(_AHEAD.search(name) for name in consumers) and not stage.name.startswith("Prefetch"),
        stage.settings.autotune,
        facts.cpu_budget,
        any("Cache" in name for name in consumers),
        next((one.settings.buffer_limit for one in facts.consumers if one.name.startswith("Prefetch")), None),
    )


def _alone(stage: Stage) -> bool:
    settings = stage.settings
    if _PARALLEL.search(stage.name):
        return settings.parallelism == 1 and settings.autotune is False
    return _ONE_AT_A_TIME.match(stage.name) is not None
