"""What devices do in a step, as if each part of it took as long on all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.devices.model import Work
from tpu_profile_plugin.analysis.replay.graph import Graph
from tpu_profile_plugin.analysis.replay.host_graph import MAIN
from tpu_profile_plugin.columns.arrays import F64, I64


@dataclass(frozen=True, slots=True, eq=False)
class EqualRanks:
    """Factors of time: per node of main threads, and per host and content of each run of an op."""

    nodes: F64
    runs: tuple[tuple[F64, ...], ...]


def equal_ranks(graph: Graph) -> EqualRanks:
    """The n-th run of an op takes the mean of what the n-th run of its name takes on all devices.

    It is counted from the begin of the step, or the last collective of all devices. Work is spread evenly: all ops of a
    device between two such points take the mean of all devices, as ops may have other names elsewhere, as those of
    other stages of a pipeline. So does the main thread of a host with one device.
    """
    labels: dict[tuple[str, int], int] = {}
    columns: list[tuple[I64, I64, I64, I64]] = []
    sizes = []
    periods = _Periods(graph)
    for number, host in enumerate(graph.hosts):
        for _, content in host.contents:
            ops, spans = host.devices[content.device].ops, content.spans
            label = np.array([labels.setdefault((op.name, op.program), len(labels)) for op in ops], np.int64)[spans.op]
            device = graph.first_device[number] + content.device
            period = periods.at(device, spans.begin_ps + graph.shift_ps[number])
            period = np.where(spans.work == Work.COMMUNICATION, -1, period)
            columns.append((period, label, np.full(len(label), device), spans.end_ps - spans.begin_ps))
            sizes.append(len(label))
    factor = _factors(*(np.concatenate(column) for column in zip(*columns, strict=True)))
    parts = iter(np.split(factor, np.cumsum(sizes)[:-1]))
    runs = tuple(tuple(next(parts) for _ in host.contents) for host in graph.hosts)
    nodes = np.ones(len(graph))
    alone = [number for number, host in enumerate(graph.hosts) if len(host.devices) == 1]
    mine = np.flatnonzero(np.isin(graph.host, alone) & (graph.chain == MAIN))
    owner = np.array(graph.first_device)[graph.host[mine]]
    period = np.full(len(mine), -1)
    for one in np.unique(owner).tolist():
        rows = np.flatnonzero(owner == one)
        period[rows] = periods.at(one, graph.begin_ps[mine[rows]])
    cell, first = row_codes(period, owner)
    took = np.bincount(cell, graph.duration_ps[mine], minlength=len(first)).astype(np.int64)
    whole = _factors(period[first], np.zeros(len(first), np.int64), owner[first], took)
    nodes[mine] = whole[cell]
    return EqualRanks(nodes, runs)


class _Periods:
    """Numbers the times between collectives of all devices and ends of steps, alike on all devices."""

    def __init__(self, graph: Graph) -> None:
        meetings, steps = graph.meetings, graph.recorded
        devices = graph.first_device[-1]
        everyone = np.bincount(meetings.instance) == devices if devices > 1 else np.zeros(0, np.bool_)
        mine = np.flatnonzero(everyone[meetings.instance]) if len(everyone) else np.zeros(0, np.int64)
        arrives = graph.begin_ps[meetings.arrival[mine]]
        self.bounds = [
            (np.sort(arrives[meetings.device[mine] == device]), np.sort(steps.begins[:, device]), steps.ends[:, device])
            for device in range(devices)
        ]

    def at(self, device: int, time: I64) -> I64:
        """The period of each time on a device; -1 before the first step and after the last."""
        arrives, begins, ends = self.bounds[device]
        inside = (time >= begins[0]) & (time < ends.max())
        count = np.searchsorted(arrives, time) + np.searchsorted(begins, time, side="right")
        return np.where(inside, count, -1)


def _factors(period: I64, label: I64, device: I64, took: I64) -> F64:
    """Per row the factor with which it takes the mean over devices; rows of a device are in order of time."""
    factor = np.ones(len(period))
    rows = np.flatnonzero((period >= 0) & (took > 0))
    if not len(rows):
        return factor
    period, label, device, own = period[rows], label[rows], device[rows], took[rows].astype(np.float64)
    devices = len(np.unique(device))
    group = row_codes(period, label, device)[0]
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], group)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    wanted = _means(row_codes(period, label, number - first)[0], own, devices)
    place, one = row_codes(period, device)
    whole, left = (np.bincount(place, values).astype(np.float64) for values in (own, wanted))
    mean = _means(row_codes(period[one])[0], whole, devices)
    factor[rows] = wanted / own * (mean / left)[place]
    return factor


def _means(code: I64, value: F64, devices: int) -> F64:
    """Per row the mean over all devices of the values with its code, 0 for devices without one."""
    mean: F64 = (np.bincount(code, value) / devices)[code]
    return mean
