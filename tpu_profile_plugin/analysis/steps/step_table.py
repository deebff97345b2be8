"""Step tables: steps by core with their parts, and those of several hosts as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.spans import PartTimes, side_by_side
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.units import PS_PER_MS


class EventClass(IntEnum):
    """Classes of events in CPU and GPU steps. Where events overlap, the time counts for the higher number."""

    UNKNOWN = 0
    HOST_COMPUTE = 10
    HOST_COMPILE = 60
    HOST_TO_HOST = 70
    HOST_TO_DEVICE = 80
    HOST_PREPARE = 90
    DEVICE_COLLECTIVES = 100
    HOST_WAIT_INPUT = 110
    DEVICE_TO_DEVICE = 120
    DEVICE_TO_HOST = 130
    DEVICE_COMPUTE_32 = 140
    DEVICE_COMPUTE_16 = 150
    DEVICE_WAIT_DEVICE = 160
    DEVICE_WAIT_HOST = 170


CLASSES: tuple[EventClass, ...] = tuple(EventClass)


class TpuPart(IntEnum):
    """Parts of a TPU core's step; they add up to the step, or to its ops when these are longer."""

    COMPUTE = 0
    INFEED = 1
    OUTFEED = 2
    HOST_SEND = 3
    HOST_RECV = 4
    SEND = 5
    RECV = 6
    COLLECTIVE = 7
    MEGACORE = 8
    ASYNC_DONE = 9
    SPARSE_INFEED = 10
    SPARSE_OUTFEED = 11
    IDLE = 12
    SPARSE_WAIT = 13
    SPARSE_TRANSFORM = 14


_CATEGORIES_OF_PART = {
    TpuPart.INFEED: ("infeed",),
    TpuPart.OUTFEED: ("outfeed",),
    TpuPart.HOST_SEND: ("host send", "host send-done"),
    TpuPart.HOST_RECV: ("host recv", "host recv-done"),
    TpuPart.SEND: ("send", "send-done"),
    TpuPart.RECV: ("recv", "recv-done"),
    TpuPart.COLLECTIVE: ("all-reduce", "all-reduce fusion", "all-to-all"),
    TpuPart.MEGACORE: ("megacore fusion",),
    TpuPart.ASYNC_DONE: ("async-done",),
    TpuPart.SPARSE_INFEED: ("sparsecorev0 infeed",),
    TpuPart.SPARSE_OUTFEED: ("sparsecorev0 outfeed",),
    TpuPart.SPARSE_WAIT: ("sparsecorev0 infeed wait",),
    TpuPart.SPARSE_TRANSFORM: ("sparsecorev0 infeed transform",),
    TpuPart.IDLE: ("IDLE",),
}
PART_OF_CATEGORY = {name: part for part, names in _CATEGORIES_OF_PART.items() for name in names}

SPARSE_CORE_IDS = 1_000_000
"""Core ids of one host at or above this are SparseCores; lower ones are TensorCores, GPUs and CPUs."""
_HOST_IDS, _FAR_HOST_IDS = 1000, 10_000_000
_FAR_HOSTS = SPARSE_CORE_IDS // _HOST_IDS


def core_in_run(host: int, core: int) -> int:
    """Id of a host's core in a run of several hosts, by the index of the host: host * 1000 + core.

    From host 1000 on, where that would collide with SparseCore ids, the stride is larger.
    """
    return host * (_HOST_IDS if host < _FAR_HOSTS else _FAR_HOST_IDS) + core


def is_sparse(core: int) -> bool:
    """True if a core id, of a host or a run, is that of a SparseCore."""
    return (core % _FAR_HOST_IDS if core >= _FAR_HOSTS * _FAR_HOST_IDS else core) >= SPARSE_CORE_IDS


def _zeros(*shape: int) -> I64:
    return np.zeros(shape, np.int64)


@dataclass(frozen=True, slots=True)
class StepTable:
    """Steps by number ascending, per core.

    Attributes:
      on_tpu: the parts of `times` are of TpuPart; else of EventClass.
      number: int64[s]; names: name of the step marker, "" when only the number is known.
      cores: core ids, ascending; for several hosts as by `core_in_run`.
      begin_ps, duration_ps: int64[s, c], on each host's own time axis.
      times: what the steps are spent on, by part, step and core.
      categories, category_ps: self time per HLO category, int64[s, k], summed over TensorCores.
      costs: float64[s, 3], FLOPs, bytes and seconds at peak rates of the ops of all TensorCores.
      collective_ps: int64[s, c], time in collectives with a recorded instance id.
      collective_key, collective_least_ps: int64[k, 2] and int64[k]: for each (step index, instance id) the time of the
        fastest core.
      compute_16_ps, compute_32_ps: device computation in half and full precision, including that outside of steps.
      empty_intersection: several hosts have steps, but none in common.
    """

    on_tpu: bool = False
    number: I64 = field(default_factory=lambda: _zeros(0))
    names: tuple[str, ...] = ()
    cores: tuple[int, ...] = ()
    begin_ps: I64 = field(default_factory=lambda: _zeros(0, 0))
    duration_ps: I64 = field(default_factory=lambda: _zeros(0, 0))
    times: PartTimes = field(default_factory=PartTimes)
    categories: tuple[str, ...] = ()
    category_ps: I64 = field(default_factory=lambda: _zeros(0, 0))
    costs: F64 = field(default_factory=lambda: np.zeros((0, 3)))
    collective_ps: I64 = field(default_factory=lambda: _zeros(0, 0))
    collective_key: I64 = field(default_factory=lambda: _zeros(0, 2))
    collective_least_ps: I64 = field(default_factory=lambda: _zeros(0))
    compute_16_ps: int = 0
    compute_32_ps: int = 0
    empty_intersection: bool = False

    def __len__(self) -> int:
        return len(self.number)

    @property
    def dense(self) -> slice | list[int]:
        """Selects the columns of `dense_cores`: by a slice, which copies nothing, if there are no others."""
        cores = self.dense_cores
        return slice(None) if len(cores) == len(self.cores) else cores

    @property
    def dense_cores(self) -> list[int]:
        """Indices of the cores other than SparseCores."""
        return [i for i, core in enumerate(self.cores) if not is_sparse(core)]

    @property
    def sparse_cores(self) -> list[int]:
        return [i for i, core in enumerate(self.cores) if is_sparse(core)]

    def label(self, step: int) -> str:
        return self.names[step] or str(int(self.number[step]))

    def step_ms(self) -> list[float]:
        """Duration of each step on its slowest core, SparseCores excluded, in ms."""
        dense = self.dense_cores
        if not len(self) or not dense:
            return [0.0] * len(self)
        longest = self.duration_ps[:, dense].max(axis=1)
        return [float(ps) / PS_PER_MS for ps in longest]

    def select(self, steps: Any) -> StepTable:
        """The steps selected by a slice, mask or indices, on the same cores."""
        if isinstance(steps, slice) and steps.indices(len(self)) == (0, len(self), 1):
            return self
        rows = np.arange(len(self))[steps]
        key, least = self.collectives(steps)
        return replace(
            self,
            number=self.number[steps],
            names=tuple(self.names[i] for i in rows.tolist()),
            begin_ps=self.begin_ps[steps],
            duration_ps=self.duration_ps[steps],
            times=self.times.where(steps),
            category_ps=self.category_ps[steps],
            costs=self.costs[steps] if self.costs.size else self.costs,
            collective_ps=self.collective_ps[steps] if self.collective_ps.size else self.collective_ps,
            collective_key=key,
            collective_least_ps=least,
        )

    def collectives(self, steps: Any) -> tuple[I64, I64]:
        """`collective_key` and `collective_least_ps` of the selected steps, counted among these."""
        if not len(self.collective_key):
            return self.collective_key, self.collective_least_ps
        rows = np.arange(len(self))[steps]
        position = np.full(len(self), -1, np.int64)
        position[rows] = np.arange(len(rows))
        selected = position[self.collective_key[:, 0]] >= 0
        key = self.collective_key[selected]
        return np.stack([position[key[:, 0]], key[:, 1]], axis=1), self.collective_least_ps[selected]


def step_labels(names: Sequence[str], number: I64) -> list[str]:
    """The names of steps, or their numbers where they have none."""
    return [name or str(step) for name, step in zip(names, number.tolist(), strict=True)]


def longest_spans(spans: Iterable[tuple[int, int, int]]) -> dict[int, tuple[int, int]]:
    """Begin and end of the longest span of each group, the first among equals; `spans` are (group, begin, end)."""
    longest: dict[int, tuple[int, int]] = {}
    for group, begin, end in spans:
        if group not in longest or end - begin > longest[group][1] - longest[group][0]:
            longest[group] = (begin, end)
    return longest


MOST_KEPT_WHOLE = 5
"""Of more marked steps the first and last are dropped."""


def drop_incomplete(steps: StepTable) -> StepTable:
    """Drops the first and last of more than five CPU or GPU steps, which the recording may have truncated."""
    return steps if steps.on_tpu or len(steps) <= MOST_KEPT_WHOLE else steps.select(slice(1, -1))


def merge_steps(tables: Sequence[StepTable], has_device: Sequence[bool]) -> StepTable:
    """The steps common to all hosts, renumbered from 0; the steps of a single host are returned unchanged.

    Hosts without a device are ignored if others have one. Steps are matched by time since the start of each host's own
    recording: the chief is the host with the shortest series, and every other host is shifted by the number of steps
    that maximises the overlap with it.
    """
    if len(tables) == 1:
        return tables[0]
    workers = [i for i in range(len(tables)) if has_device[i] or not any(has_device)]
    if not workers:
        return StepTable()
    spans = {i: _spans(tables[i]) for i in workers}
    chief = shortest(spans)
    # Steps of TPUs and of GPUs have no parts in common.
    workers = [i for i in workers if tables[i].on_tpu == tables[chief].on_tpu]
    offset, first, last = align({i: spans[i] for i in workers}, chief)
    if last <= first:
        all_have_steps = any(len(tables[i]) for i in workers) and all(len(tables[i]) for i in workers)
        return StepTable(on_tpu=tables[chief].on_tpu, empty_intersection=bool(all_have_steps))
    parts = [(i, tables[i], slice(first - offset[i], last - offset[i])) for i in workers]
    return _side_by_side(parts, tables[chief].select(slice(first, last)))


def align(spans: Mapping[int, tuple[I64, I64]], chief: int) -> tuple[dict[int, int], int, int]:
    """Index offset (chief - host) of each host's steps, and the chief's first step and last (exclusive) that all have.

    Args:
      spans: begins and ends of the steps of each host, the chief's among them, on the hosts' own time axes.
      chief: the host that the others are shifted to.
    """
    first, last = 0, len(spans[chief][0])
    offset = {chief: 0}
    for i, steps in spans.items():
        if i != chief:
            offset[i] = _native.step_shift(spans[chief], steps)
            first = max(first, offset[i])
            last = min(last, offset[i] + len(steps[0]))
    return offset, first, last


def _spans(table: StepTable) -> tuple[I64, I64]:
    """First begin and last end of each step over the host's cores."""
    if not len(table):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return table.begin_ps.min(axis=1), (table.begin_ps + table.duration_ps).max(axis=1)


def shortest(spans: Mapping[int, tuple[I64, I64]]) -> int:
    """The host whose steps, given by begins and ends, take the shortest time; the first among equals."""

    def length(host: int) -> int:
        begin, end = spans[host]
        return int(end.max()) - int(begin.min()) if len(begin) else 0

    return min(spans, key=length)


def _side_by_side(parts: Sequence[tuple[int, StepTable, slice]], lead: StepTable) -> StepTable:
    """The hosts' tables, each with the rows of the common steps; what is one for all hosts is that of `lead`."""
    categories = tuple(dict.fromkeys(c for _, table, _ in parts for c in table.categories))
    category_ps = np.zeros((len(lead), len(categories)), np.int64)
    for _, table, rows in parts:
        category_ps[:, [categories.index(c) for c in table.categories]] += table.category_ps[rows]
    collectives = [table.collectives(rows) for _, table, rows in parts]
    key, least = least_by_key(*(np.concatenate(column) for column in zip(*collectives, strict=True)))
    per_core = ["begin_ps", "duration_ps", *(["collective_ps"] if lead.on_tpu else [])]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(table, name)[rows] for _, table, rows in parts], axis=1) for name in per_core
    }
    return replace(
        lead,
        number=np.arange(len(lead), dtype=np.int64),
        cores=tuple(core_in_run(host, core) for host, table, _ in parts for core in table.cores),
        **columns,
        times=side_by_side([table.times.where(rows) for _, table, rows in parts]),
        categories=categories,
        category_ps=category_ps,
        costs=np.sum([table.costs[rows] for _, table, rows in parts], axis=0) if lead.on_tpu else lead.costs,
        collective_key=key,
        collective_least_ps=least,
        compute_16_ps=sum(table.compute_16_ps for _, table, _ in parts),
        compute_32_ps=sum(table.compute_32_ps for _, table, _ in parts),
    )


def least_by_key(keys: I64, durations: I64) -> tuple[I64, I64]:
    """Distinct rows of `keys`, and the minimum duration of each."""
    distinct, where = np.unique(keys, axis=0, return_inverse=True)
    least = np.full(len(distinct), np.iinfo(np.int64).max, np.int64)
    np.minimum.at(least, where.reshape(-1), durations)
    return distinct, least
