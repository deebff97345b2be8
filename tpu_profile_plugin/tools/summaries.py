"""From the chosen hosts to one summary of the run: each host by itself, in parallel, then all together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.host_summary import (
    HostSummary,
    RunSummary,
    may_have_groups,
    reduce_summaries,
    summarize,
)
from tpu_profile_plugin.analysis.inference import Inference, inference, may_have_requests
from tpu_profile_plugin.analysis.preprocess import preprocess

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.derived import Preprocessed
    from tpu_profile_plugin.columns import XSpace
    from tpu_profile_plugin.tools.inputs import HostProfile, Inputs

_THREADS = min(8, os.cpu_count() or 1)


def groups_of(host: HostProfile) -> Preprocessed:
    """The host's groups, steps and links, without the derived lines that only the timeline shows."""
    return host.derive("groups", _groups)


def summary_of(host: HostProfile) -> HostSummary:
    """The summary of one host, kept beside its columns."""

    def make(space: XSpace) -> HostSummary:
        return summarize(space, groups_of(host) if may_have_groups(space) else None)

    return host.derive("host_summary", make)


def inference_of(host: HostProfile) -> Inference:
    """The requests and batches of one host."""

    def make(space: XSpace) -> Inference:
        return inference(space, groups_of(host)) if may_have_requests(space) else Inference()

    return host.derive("inference", make)


def host_summaries(hosts: Sequence[HostProfile]) -> list[HostSummary]:
    """The summaries of several hosts, in their order."""
    if len(hosts) == 1:
        return [summary_of(hosts[0])]
    with ThreadPoolExecutor(min(_THREADS, len(hosts))) as pool:
        return list(pool.map(summary_of, hosts))


def run_summary(inputs: Inputs, *, drop_edges: bool = True) -> RunSummary:
    """The chosen hosts as one; `drop_edges` leaves out the first and last step of CPUs and GPUs, which may be cut."""

    def merge(hosts: tuple[HostProfile, ...]) -> RunSummary:
        return reduce_summaries(host_summaries(hosts), drop_edges=drop_edges)

    return inputs.derive(("run_summary", drop_edges), merge)


def _groups(space: XSpace) -> Preprocessed:
    return preprocess(space, derive=False)
