"""The tf.data pipelines of the chosen hosts, summarised per host."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_profile_plugin.analysis.tf_data import DataCalls, Pipeline, TfData, data_calls, summarize_tf_data
from tpu_profile_plugin.run.host import HostProfile, derived, per_host
from tpu_profile_plugin.run.run import Run

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


def slowest_first(hosts: list[HostData]) -> list[tuple[HostData, Pipeline]]:
    """The host pipelines, longest call first."""
    pairs = [(host, pipeline) for host in hosts for pipeline in host.data.pipelines if not pipeline.is_device]
    return sorted(pairs, key=lambda pair: -pair[1].max_ps)
