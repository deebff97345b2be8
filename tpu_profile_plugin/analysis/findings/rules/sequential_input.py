"""A tf.data pipeline runs one element at a time, or not ahead of the program, while the program waits for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.budget.categories import IDLE_INPUT
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.periods import share_of_period
from tpu_profile_plugin.analysis.findings.places import TIMELINE, timeline
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import BOTTLENECK_SHARE, INPUT_SHARE
from tpu_profile_plugin.analysis.tf_data.pipelines import Pipeline, data_calls, has_iterators, summarize_tf_data
from tpu_profile_plugin.analysis.tf_data.settings import Stage
from tpu_profile_plugin.units import PS_PER_MS

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.host_view import HostView

_PARALLEL = re.compile(r"Parallel|MapAndBatch")
"""Transformations with a parallelism; one at a time is a choice of the program."""
_ONE_AT_A_TIME = re.compile(r"(?:Map|Interleave)(?:V\d+)?\Z")
"""Those that have a parallel form, which the program did not ask for."""
_AHEAD = re.compile(r"Prefetch|Parallel|MapAndBatch")
_PAGE = "tf_data_bottleneck_analysis"


@dataclass(frozen=True, slots=True)
class Sequential:
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


def gather(host: HostView) -> Sequential | None:
    """None unless devices wait for input and the host has a pipeline of tf.data with a bottleneck."""
    time, plane = host.budget.time_ps, host.plane
    if plane is None or int(time[:, :, IDLE_INPUT].sum()) < INPUT_SHARE * max(int(time.sum()), 1):
        return None
    if not any(name.startswith("Iterator::") for name in plane.declared.event_metadata.names):
        return None
    if not has_iterators(plane):
        return None
    found = summarize_tf_data(host.space, data_calls(host.space), 0).pipelines
    known = [one for one in found if not one.is_device and one.facts is not None]
    return _sequential(max(known, key=lambda one: one.calls * one.mean_ps)) if known else None


def _sequential(pipeline: Pipeline) -> Sequential:
    run, facts = pipeline.runs[0], pipeline.facts
    assert run.bottleneck is not None and facts is not None
    own = facts.own
    consumers = [one.name for one in facts.consumers if one.name != "Root"]
    return Sequential(
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


def judge(run: RunView, gathered: Sequence[Sequential | None]) -> Finding | Silence:
    """Speaks if waiting for input takes `INPUT_SHARE` of the step and the slowest transformation is sequential."""
    if not run.summary.input_events:
        return Silence("The profile has no event of an input pipeline.", looked=False)
    lost = run.part_ps(IDLE_INPUT)
    share = run.share(lost)
    found = [(one, host) for one, host in zip(gathered, run.hosts, strict=True) if one is not None]
    if share < INPUT_SHARE or share_of_period(run, lost) < INPUT_SHARE:
        return Silence(f"Devices wait for input for {share:.1%} of the {run.base}.")
    if not found:
        return Silence("No pipeline of tf.data has a transformation that its calls wait for.", looked=False)
    worst, host = max(found, key=lambda one: one[0].calls * one[0].mean_ps)
    if worst.share < BOTTLENECK_SHARE or not (worst.alone or worst.late):
        where = f"{worst.name} takes {worst.share:.1%} of the longest call of {worst.pipeline}"
        return Silence(f"{where}; it is parallel or ahead of the program.")
    how = "one element at a time" if worst.alone else "only when the program asks for an element"
    return Finding(
        f"Devices wait {share:.1%} of the {run.base} for input: {worst.name} runs {how}",
        lost,
        "time in which the device waits for input, per step and device",
        "high",
        _evidence(run, lost, worst, host),
        _advice(worst),
        (host,),
    )


def _evidence(run: RunView, lost: int, worst: Sequential, host: str) -> tuple[Evidence, ...]:
    page = {"host": host}
    found = [
        Evidence(f"Idle because of input, of the {run.base}", 100 * run.share(lost), "%", "time_budget"),
        Evidence("Slowest transformation", f"{worst.name} ({worst.dataset})" if worst.dataset else worst.name, "",
                 _PAGE, page),
        Evidence("Its self time, of the longest call", 100 * worst.share, "%", _PAGE, page),
        Evidence("Mean wait of the program for a batch", worst.mean_ps / PS_PER_MS, "ms", _PAGE, page),
        Evidence("Longest wait", (worst.window[1] - worst.window[0]) / PS_PER_MS, "ms", TIMELINE,
                 timeline(host, *worst.window)),
    ]  # fmt: skip
    if worst.parallelism is not None:
        found.insert(2, Evidence("Elements that it works on at once", worst.parallelism, "", _PAGE, page))
    return tuple(found)


def _advice(worst: Sequential) -> Advice:
    """For this transformation."""
    ahead = "End the pipeline with prefetch(tf.data.AUTOTUNE), so that it works while the devices compute."
    if not worst.alone:
        return Advice(f"{ahead} {worst.name} then prepares the next batch during the current step.")
    call = "interleave" if "Interleave" in worst.name else "map"
    return Advice(
        f"Give the Dataset.{call} behind {worst.name} num_parallel_calls=tf.data.AUTOTUNE. {ahead} "
        "A Python function in it (tf.py_function, tf.numpy_function) still runs one call at a time."
    )


RULE = Rule("sequential_input", "Sequential input pipeline", judge, gather)
