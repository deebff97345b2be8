"""The tf.data pipelines of the chosen hosts, summarised per host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_profile_plugin.analysis.tf_data.model import Pipeline, TfData
from tpu_profile_plugin.analysis.tf_data.pipelines import DataCalls, data_calls, summarize_tf_data
from tpu_profile_plugin.run.host import PerHost

if TYPE_CHECKING:
    from tpu_profile_plugin.run.host import HostProfile
    from tpu_profile_plugin.run.inputs import Inputs

MAX_ROWS = 3_000
"""Approximate limit on the rows of the iterator table; it always has the longest call of each pipeline."""


@dataclass(frozen=True, slots=True)
class HostData:
    """The pipelines of one host: `label` is its name in the profile, `name` its name in requests."""

    label: str
    name: str
    data: TfData


def calls_of(host: HostProfile) -> DataCalls | None:
    """The iterator calls of one host, cached with its columns; None without any."""
    return host.derive_lazily("tf_data_calls", data_calls)


def make_pipelines(host: HostProfile, rows: int) -> TfData:
    """The pipelines of one host, with about `rows` iterator rows, from its columns."""
    return summarize_tf_data(host.lazy, calls_of(host), rows)


def hosts_data(inputs: Inputs) -> list[HostData]:
    """The chosen hosts in order; labels shared by several hosts are replaced by request names."""
    summaries = inputs.map_hosts(PerHost(make_pipelines, (max(1, MAX_ROWS // len(inputs.hosts)),)))
    labels = [data.host for data in summaries]
    return [
        HostData(data.host if data.host and labels.count(data.host) == 1 else host.name, host.name, data)
        for host, data in zip(inputs.readable, summaries, strict=True)
    ]


def slowest_first(hosts: list[HostData]) -> list[tuple[HostData, Pipeline]]:
    """The host pipelines, longest call first."""
    pairs = [(host, pipeline) for host in hosts for pipeline in host.data.pipelines if not pipeline.is_device]
    return sorted(pairs, key=lambda pair: -pair[1].max_ps)
