"""What devices do between two collectives, as if it took the median of all devices."""

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
    """Ops before a collective take the median of what the ops of that name take on the devices that take part.

    Ops that most devices lack take no time. The main thread of a host with one device takes the median as well.
    """
    labels: dict[tuple[str, int], int] = {}
    columns: list[tuple[I64, I64, I64, I64]] = []
    sizes = []
    for number, host in enumerate(graph.hosts):
        for _, content in host.contents:
            ops, spans = host.devices[content.device].ops, content.spans
            label = np.array([labels.setdefault((op.name, op.program), len(labels)) for op in ops], np.int64)[spans.op]
            device = graph.first_device[number] + content.device
            meeting = _next_meeting(graph, device, spans.begin_ps + graph.shift_ps[number])
            meeting = np.where(spans.work == Work.COMMUNICATION, -1, meeting)
            columns.append((meeting, label, np.full(len(label), device), spans.end_ps - spans.begin_ps))
            sizes.append(len(label))
    factor = _factors(graph, *(np.concatenate(column) for column in zip(*columns, strict=True)))
    parts = iter(np.split(factor, np.cumsum(sizes)[:-1]))
    runs = tuple(tuple(next(parts) for _ in host.contents) for host in graph.hosts)
    nodes = np.ones(len(graph))
    alone = [number for number, host in enumerate(graph.hosts) if len(host.devices) == 1]
    mine = np.flatnonzero(np.isin(graph.host, alone) & (graph.chain == MAIN))
    owner = np.array(graph.first_device)[graph.host[mine]]
    following = np.full(len(mine), -1)
    for one in np.unique(owner).tolist():
        rows = np.flatnonzero(owner == one)
        following[rows] = _next_meeting(graph, one, graph.begin_ps[mine[rows]])
    nodes[mine] = _factors(graph, following, np.zeros(len(mine), np.int64), owner, graph.duration_ps[mine])
    return EqualRanks(nodes, runs)


def _next_meeting(graph: Graph, device: int, time: I64) -> I64:
    """The collective that a device takes part in next at each time; -1 without one."""
    rows = np.flatnonzero(graph.meetings.device == device)
    arrives = graph.begin_ps[graph.meetings.arrival[rows]]
    order = np.argsort(arrives, kind="stable")
    return np.append(graph.meetings.instance[rows[order]], -1)[np.searchsorted(arrives[order], time)]


def _factors(graph: Graph, meeting: I64, label: I64, device: I64, took: I64) -> F64:
    """Per row the factor with which the sums by meeting, label and device are the medians over devices."""
    factor = np.ones(len(meeting))
    rows = np.flatnonzero((meeting >= 0) & (took > 0))
    if not len(rows):
        return factor
    cell, first = row_codes(meeting[rows], label[rows], device[rows])
    own = np.bincount(cell, took[rows]).astype(np.float64)
    of_meeting, of_device = meeting[rows][first], device[rows][first]
    ranks = np.bincount(graph.meetings.instance, minlength=int(meeting.max()) + 1)
    # By op, then all ops of a device together: ops may have other names elsewhere.
    wanted = _medians(row_codes(of_meeting, label[rows][first])[0], own, ranks[of_meeting])
    place, some = row_codes(of_meeting, of_device)
    whole, left = (np.bincount(place, values).astype(np.float64) for values in (own, wanted))
    median = _medians(row_codes(of_meeting[some])[0], whole, ranks[of_meeting[some]])
    scale = np.where(left > 0, median / np.maximum(left, 1), 0.0)[place]
    of_cell = np.where(left[place] > 0, wanted / own * scale, (median / whole)[place])
    factor[rows] = of_cell[cell]
    return factor


def _medians(code: I64, value: F64, count: I64) -> F64:
    """Per row the median over the values with its code and as many zeros as are missing to `count`."""
    order = np.lexsort((value, code))
    first = np.searchsorted(code[order], code)
    present = np.searchsorted(code[order], code, side="right") - first
    middle = []
    for half in ((count - 1) // 2, count // 2):
        index = half - (count - present)
        middle.append(np.where(index >= 0, value[order[first + np.maximum(index, 0)]], 0.0))
    median: F64 = (middle[0] + middle[1]) / 2
    return median
