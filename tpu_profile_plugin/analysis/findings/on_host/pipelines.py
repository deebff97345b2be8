"""The transformation of a tf.data pipeline that the program waits for, and whether it could be parallel or ahead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.budget.categories import IDLE_INPUT
from tpu_profile_plugin.analysis.findings.thresholds import INPUT_SHARE
from tpu_profile_plugin.analysis.tf_data.pipelines import Pipeline, data_calls, summarize_tf_data
from tpu_profile_plugin.analysis.tf_data.settings import Stage

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.host_view import HostView

_PARALLEL = re.compile(r"Parallel|MapAndBatch")
"""Transformations with a parallelism; one at a time is a choice of the program."""
_ONE_AT_A_TIME = re.compile(r"(?:Map|Interleave)(?:V\d+)?\Z")
"""Those that have a parallel form, which the program did not ask for."""
_AHEAD = re.compile(r"Prefetch|Parallel|MapAndBatch")


@dataclass(frozen=True, slots=True)
class Slowest:
    """The slowest transformation of the pipeline that the program waits for most.

    Attributes:
      pipeline, calls, mean_ps: its name, and the calls by the program; window: the longest call.
      name, dataset: the transformation and its name in the program.
      share: its self time, of that call.
      parallelism: as recorded, None for transformations without one.
      alone: it works on one element at a time; late: nothing prefetches its elements.
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

    @property
    def shown(self) -> str:
        """Its kind, and its name in the program."""
        return f"{self.name} ({self.dataset})" if self.dataset else self.name


def slowest_stage(host: HostView) -> Slowest | None:
    """None unless devices wait for input and the host has a pipeline of tf.data with a bottleneck."""
    time, plane = host.budget.time_ps, host.plane
    if plane is None or int(time[:, :, IDLE_INPUT].sum()) < INPUT_SHARE * max(int(time.sum()), 1):
        return None
    if not any(name.startswith("Iterator::") for name in plane.declared.event_metadata.names):
        return None
    found = summarize_tf_data(host.space, data_calls(host.space), 0).pipelines
    known = [one for one in found if not one.is_device and one.facts is not None]
    return _slowest(max(known, key=lambda one: one.calls * one.mean_ps)) if known else None


def _slowest(pipeline: Pipeline) -> Slowest:
    run, facts = pipeline.runs[0], pipeline.facts
    assert run.bottleneck is not None
    assert facts is not None
    own = facts.own
    consumers = [one.name for one in facts.consumers if one.name != "Root"]
    return Slowest(
        pipeline.name,
        pipeline.calls,
        pipeline.mean_ps,
        (run.begin_ps, run.begin_ps + run.duration_ps),
        own.name,
        own.dataset,
        min(run.iterators[run.bottleneck].self_ps / max(run.duration_ps, 1), 1.0),
        own.settings.parallelism,
        _alone(own),
        not any(_AHEAD.search(name) for name in consumers) and not own.name.startswith("Prefetch"),
    )


def _alone(stage: Stage) -> bool:
    settings = stage.settings
    if _PARALLEL.search(stage.name):
        return settings.parallelism == 1 and settings.autotune is False
    return _ONE_AT_A_TIME.match(stage.name) is not None
