"""Counter samples: the values of counters on the lines of a TPU plane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tpu_profile_plugin.analysis.common.planes import TPU_PREFIX, is_tensor_core
from tpu_profile_plugin.analysis.common.rows import rows_of
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.counters.units import Chip, chip
from tpu_profile_plugin.columns import Plane, Stats, XSpace
from tpu_profile_plugin.columns.arrays import I64, U64

COUNTER_ID, VALUE = "performance_counter_id", "counter_value"
DEVICE_ID, DEVICE_TYPE, CHIP_ID = "device_id", "device_type_string", "global_chip_id"
WRAP = 1 << 64
"""Counters have 64 bits, and so have sums of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Events of a plane that have a value of a counter, in file order.

    Attributes:
      event: int64[n], rows of the event table.
      id: uint64[n], ids of the counters.
      value: uint64[n], the values, rounded down.
    """

    event: I64
    id: U64
    value: U64


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The counters of one line.

    Attributes:
      line: index of the line.
      id: uint64[n], ids of counters, ascending.
      value: uint64[n], their values.
    """

    line: int
    id: U64
    value: U64

    def of(self, ids: U64) -> int:
        """The sum of the counters with these ids, of 64 bits; absent ones are 0."""
        index = np.searchsorted(self.id, ids)
        inside = index < len(self.id)
        index, ids = index[inside], ids[inside]
        return int(self.value[index[self.id[index] == ids]].sum(dtype=np.uint64))

    def one(self, id: int) -> int:
        """The value of one counter; 0 if absent."""
        index = int(np.searchsorted(self.id, np.uint64(id)))
        return int(self.value[index]) if index < len(self.id) and int(self.id[index]) == id else 0


def plane_integer(space: XSpace, plane: Plane, name: str) -> int | None:
    """The last value of an integer stat of a plane, 0 if it is of another type; None without the stat."""
    stats = StatColumns(space, plane, _each(plane.stats), (name,))
    values = stats.ints(name).value
    return int(values[-1]) if len(values) else None


def device_type(space: XSpace, plane: Plane) -> str:
    """The type of device as recorded; "" if it is not."""
    owner, code, texts = StatColumns(space, plane, _each(plane.stats), (DEVICE_TYPE,)).texts(DEVICE_TYPE)
    return texts[code[-1]] if len(owner) else ""


def _each(stats: Stats) -> Stats:
    """The stats of a plane, each with an owner of its own, so that every stat of a name is found."""
    return replace(stats, start=np.arange(len(stats.key) + 1, dtype=np.uint32))


def chip_of(space: XSpace, plane: Plane) -> Chip | None:
    """The type of chip of a TPU plane, if its counters are known."""
    return chip(device_type(space, plane)) if plane.name.startswith(TPU_PREFIX) else None


def counted(space: XSpace, plane: Plane) -> Counted:
    """The events with a value of a counter; the value and the id may be stats of the event or of its metadata."""
    metadata = plane.events.metadata
    on_events = StatColumns(space, plane, plane.events.stats, (COUNTER_ID, VALUE))
    shared = StatColumns(space, plane, plane.event_metadata.stats, (COUNTER_ID, VALUE))
    if not on_events.has(VALUE) and not shared.has(VALUE):
        none = np.zeros(0, np.uint64)
        return Counted(np.zeros(0, np.int64), none, none)
    by_name, named = _values(shared, len(plane.event_metadata))
    value, present = by_name[metadata], named[metadata]
    owners = on_events.owners(VALUE)
    value[owners], present[owners] = _numbers(on_events), True
    ids = np.zeros(len(plane.event_metadata), np.int64)
    shared_ids = shared.ints(COUNTER_ID)
    ids[shared_ids.event] = shared_ids.value
    id = ids[metadata]
    own_ids = on_events.ints(COUNTER_ID)
    id[own_ids.event] = own_ids.value
    id = np.where(id == 0, plane.event_metadata.id[metadata], id)
    event = np.flatnonzero(present & (id != 0))
    return Counted(event, id[event].view(np.uint64), value[event])


def _values(stats: StatColumns, owners: int) -> tuple[U64, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    value, present = np.zeros(owners, np.uint64), np.zeros(owners, np.bool_)
    rows = stats.owners(VALUE)
    value[rows], present[rows] = _numbers(stats), True
    return value, present


def _numbers(stats: StatColumns) -> U64:
    """The values as whole numbers of 64 bits: doubles within the range, integers as they are."""
    doubles = stats.doubles(VALUE)[1]
    return np.where(doubles == 0, stats.ints(VALUE).value.view(np.uint64), _within(doubles))


def _within(doubles: np.ndarray[tuple[int], np.dtype[np.float64]]) -> U64:
    """Doubles as whole numbers of 64 bits; those beyond the range are its ends, and not-a-number is 0."""
    inside = np.clip(np.nan_to_num(doubles, nan=0.0), 0.0, np.nextafter(2.0**64, 0)).astype(np.uint64)
    inside[doubles >= 2.0**64] = np.uint64(WRAP - 1)
    return inside


def samples(plane: Plane, counters: Counted, *, add: bool) -> Iterator[Sample]:
    """The counters of every line that has any.

    Args:
      plane: the plane.
      counters: of the plane.
      add: whether values of a counter add up; otherwise the last value counts (see `in_order`).
    """
    counters = rows_of(counters, in_order(plane, counters.event))
    line_of = np.searchsorted(plane.lines.event_start, counters.event, side="right") - 1
    order = np.lexsort((counters.id, line_of))
    line_of, id, value = line_of[order], counters.id[order], counters.value[order]
    for line in np.unique(line_of).tolist():
        part = slice(*np.searchsorted(line_of, [line, line + 1]).tolist())
        ids, first = np.unique(id[part], return_index=True)
        values = value[part]
        if add:
            # XProf keeps these as doubles, which shows from 2**53 on.
            merged = np.add.reduceat(_within(values.astype(np.float64)), first)
        else:
            merged = values[np.append(first[1:], len(values)) - 1]
        yield Sample(line, ids, merged)


def in_order(plane: Plane, events: I64) -> I64:
    """The order of events of a line: on TensorCores by begin, longest first; elsewhere file order, as in XProf."""
    if not is_tensor_core(plane):
        return np.arange(len(events))
    return np.lexsort((-plane.events.duration_ps[events], plane.events.begin_ps[events]))


def declares_values(plane: Plane) -> bool:
    """Whether a plane declares values of counters; the plane need not be decoded."""
    return plane.declared.stat_metadata.row(VALUE) is not None
