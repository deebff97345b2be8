"""Summary of a run: per-host summaries, computed in parallel, and their reduction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.analysis.serving.requests import Inference, inference, may_have_requests
from tpu_profile_plugin.analysis.summary.host import (
    HostSummary,
    RunSummary,
    may_have_groups,
    reduce_summaries,
    summarize,
)
from tpu_profile_plugin.run.diagnostics import time_warnings
from tpu_profile_plugin.run.host import PerHost
from tpu_profile_plugin.run.preprocessing import preprocess

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.common.preprocessed import Preprocessed
    from tpu_profile_plugin.columns import XSpace
    from tpu_profile_plugin.run.host import HostProfile
    from tpu_profile_plugin.run.inputs import Inputs


def groups_of(host: HostProfile) -> Preprocessed:
    """The host's groups, steps and links, without the derived lines, which only the timeline needs."""
    return host.derive("groups", _groups)


def groups_if_any(host: HostProfile) -> Preprocessed | None:
    """The same; None for a host of which no event can begin a group, without reading its events."""
    return groups_of(host) if may_have_groups(host.lazy) else None


def make_summary(host: HostProfile) -> HostSummary:
    """The summary of one host, from its columns."""
    return summarize(host.lazy, groups_if_any(host))


def make_inference(host: HostProfile) -> Inference:
    """The requests and batches of one host, from its columns."""
    space = host.lazy
    return inference(space, groups_of(host)) if may_have_requests(space) else Inference()


INFERENCE = PerHost(make_inference)
SUMMARY = PerHost(make_summary, prefetch=(INFERENCE,))


def summary_of(host: HostProfile) -> HostSummary:
    """The summary of one host, cached."""
    return host.compute(SUMMARY)


def inference_of(host: HostProfile) -> Inference:
    """The requests and batches of one host, cached."""
    return host.compute(INFERENCE)


def run_summary(inputs: Inputs, *, drop_edges: bool = True, prefetch: tuple[PerHost[Any], ...] = ()) -> RunSummary:
    """The summary of the chosen hosts.

    Args:
      inputs: the inputs of the tool.
      drop_edges: drop the first and last step of CPUs and GPUs, which may be truncated.
      prefetch: further per-host steps to compute if another process decodes the file.
    """
    step = replace(SUMMARY, prefetch=(*SUMMARY.prefetch, *prefetch))
    summary = inputs.map_reduce(
        ("run_summary", drop_edges), step, lambda summaries: reduce_summaries(summaries, drop_edges=drop_edges)
    )
    return replace(summary, warnings=(*summary.warnings, *time_warnings(summary.implausible), *inputs.warnings))


def _groups(space: XSpace) -> Preprocessed:
    return preprocess(space, derive=False)
