"""The summary of a run: environment, ops, steps and what its recording covers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tpu_profile_plugin.analysis.common.planes import Preprocessed
from tpu_profile_plugin.analysis.derived import preprocess as preprocessing
from tpu_profile_plugin.analysis.serving import Inference, inference, may_have_requests
from tpu_profile_plugin.analysis.summary.host_summary import (
    HostSummary,
    RunSummary,
    may_have_groups,
    reduce_summaries,
    summarize,
)
from tpu_profile_plugin.columns import XSpace, give_back_memory
from tpu_profile_plugin.run.host import HostProfile, derived, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.system.process import threads_for


def preprocess(space: XSpace, *, derive: bool = True) -> Preprocessed:
    """Groups one host's events; see `analysis.derived.preprocess`, on several threads if it is large."""
    made = preprocessing.preprocess(space, derive=derive, mapper=threads_for(len(space.data)))
    if derive:
        give_back_memory()  # about as much was freed as the results take, and the timeline needs more than other tools
    return made


@derived()
def groups_of(host: HostProfile) -> Preprocessed:
    """The host's groups, steps and links, without the derived lines, which only the timeline needs."""
    return preprocess(host.space, derive=False)


@derived()
def preprocessed(host: HostProfile) -> Preprocessed:
    """The host's groups, flows and derived lines."""
    return preprocess(host.space)


def groups_if_any(host: HostProfile) -> Preprocessed | None:
    """The host's groups; None, without reading its events, if none of them can begin a group."""
    return groups_of(host) if may_have_groups(host.lazy) else None


@per_host()
def host_inference(host: HostProfile) -> Inference:
    """The requests and batches of one host."""
    space = host.lazy
    return inference(space, groups_of(host)) if may_have_requests(space) else Inference()


@per_host()
def host_summary(host: HostProfile) -> HostSummary:
    """The summary of one host."""
    summary = summarize(host.lazy, groups_if_any(host), host.mapper)
    give_back_memory()
    return summary


def run_summary(run: RunHosts, *, drop_edges: bool = True) -> RunSummary:
    """The summary of the chosen hosts.

    Args:
      run: the run.
      drop_edges: drop the first and last step of CPUs and GPUs, which may be truncated.
    """
    hosts = run.map_hosts(host_summary)
    summary = run.once(("run_summary", drop_edges), lambda: reduce_summaries(hosts, drop_edges=drop_edges))
    return replace(summary, warnings=(*summary.warnings, *run.warnings))


# Diagnostics of a recording: errors, warnings and missing steps.

NO_STEP_MARKER = (
    "No step marker observed and hence the step time is unknown. This may happen if (1) training steps are not "
    "instrumented (e.g., if you are not using Keras) or (2) the profiling duration is shorter than the step time. For "
    "(1), you need to add step instrumentation; for (2), you may try to profile longer."
)
EMPTY_INTERSECTION = (
    "Although there are steps observed on some host(s), the intersection of the steps over all hosts is empty. "
    "Consequently, the overview of the steps is not available. Profile all hosts at the same time, or one host alone."
)
NO_DEVICE_TRACE = (
    "No TensorCore device trace was collected. The devices may have been idle or busy with another profile; try again "
    "a little later."
)


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Messages for users by severity, without duplicates."""

    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


def step_warnings(steps: int, empty_intersection: bool) -> tuple[str, ...]:
    """Yields the reason why there are no steps; nothing if there are steps."""
    if steps:
        return ()
    return (EMPTY_INTERSECTION if empty_intersection else NO_STEP_MARKER,)


def run_diagnostics(
    errors: Iterable[str], warnings: Iterable[str], device_type: str, device_cores: int, about_steps: tuple[str, ...]
) -> Diagnostics:
    """Combines messages of the profiler with warnings about missing data."""
    distinct_errors = tuple(sorted(set(errors)))
    if not distinct_errors and device_type != "CPU" and device_cores <= 0:
        distinct_errors = (NO_DEVICE_TRACE,)
    return Diagnostics(warnings=(*dict.fromkeys(warnings), *about_steps), errors=distinct_errors)
