"""The tables of a plane: frozen dataclasses of read-only arrays.

Texts are not copied: a *text value* (uint64) is the offset in the profile's bytes of a length prefix, NO_TEXT if the
text is absent or empty. `XSpace.texts` reads them; names of metadata are read on first use and cached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import I64, U8, U32, U64, Bools

NO_TEXT = 2**64 - 1
"""The text value of an absent or empty text."""

_TEXT_BYTES = 100
"""Estimated bytes of a str of some fifty letters and its slot in a list."""


class Kind(IntEnum):
    """The kind of a stat's value: the number of its field of XStat."""

    UNSET = 0
    DOUBLE = _native.STAT_KINDS["double_value"]
    UINT64 = _native.STAT_KINDS["uint64_value"]
    INT64 = _native.STAT_KINDS["int64_value"]
    STR = _native.STAT_KINDS["str_value"]
    BYTES = _native.STAT_KINDS["bytes_value"]
    REF = _native.STAT_KINDS["ref_value"]
    COMPRESSED_STR = _native.STAT_KINDS["compressed_str_value"]


class Texts:
    """The text values of one column, decoded into a list of str on first use."""

    __slots__ = ("_data", "_list", "values")

    def __init__(self, data: U8, values: U64) -> None:
        self.values = values
        self._data = data
        self._list: list[str] | None = None

    def __call__(self) -> list[str]:
        """One str per value; do not modify the list."""
        if self._list is None:
            self._list = _native.texts(self._data, self.values)
        return self._list

    @property
    def nbytes(self) -> int:
        """Bytes held: the values and, once decoded, an estimate for the texts."""
        return self.values.nbytes + (0 if self._list is None else _TEXT_BYTES * len(self._list))


@dataclass(frozen=True, slots=True, eq=False)
class Stats:
    """Stats in compressed sparse row form: owner i has `start[i]:start[i + 1]`, in file order.

    Attributes:
      start: uint32[owners + 1].
      key: uint32[k], row of the stat metadata.
      kind: uint8[k], a `Kind`.
      value: uint64[k]: bits of the double, two's complement of the integer, text value (str, bytes, compressed str), or
        row of the stat metadata whose name is the text (ref).
    """

    start: U32
    key: U32
    kind: U8
    value: U64

    def find(self, key_row: int | None) -> I64:
        """int64[owners]: index of the first stat with this key per owner, -1 where there is none (or no key)."""
        if key_row is None:
            return np.full(len(self.start) - 1, -1, np.int64)
        return _native.first_stats(self.start, self.key, key_row)

    def where(self, key_row: int | None) -> tuple[I64, I64]:
        """The owners that have this key, ascending, and the index of the first stat of each (both int64).

        The sparse form of `find`, for keys that few owners have.
        """
        if key_row is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return _native.stat_owners(self.start, self.key, key_row)


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The lines of a plane in file order; the events of line l are `event_start[l]:event_start[l + 1]`.

    Attributes:
      id, display_id: int64[L]; display_id 0: not set.
      name, display_name: L texts, "" when absent.
      timestamp_ns, duration_ps: int64[L], as in the file.
      filled: bool[L], whether the line has events in the file; of a filtered plane not all of them are in its table.
      event_start: int64[L + 1].
    """

    id: I64
    display_id: I64
    name: tuple[str, ...]
    display_name: tuple[str, ...]
    timestamp_ns: I64
    duration_ps: I64
    filled: Bools
    event_start: I64

    def __len__(self) -> int:
        return len(self.name)

    def events_of(self, line: int) -> slice:
        """The rows of one line in the plane's event table."""
        return slice(int(self.event_start[line]), int(self.event_start[line + 1]))


@dataclass(frozen=True, slots=True)
class OtherStats:
    """Stats that were left out of a plane's tables.

    Attributes:
      lines: names of the lines whose events have their stats.
      decode: decodes the stats of all events.
    """

    lines: frozenset[str]
    decode: Callable[[], Stats]


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """The events of a plane, line by line, in file order.

    Attributes:
      metadata: uint32[n], row of the event metadata (never an id).
      begin_ps: int64[n], line.timestamp_ns * 1000 + offset_ps, counted from the space's `origin_ns` where that applies.
      duration_ps: int64[n].
      occurrences: int64[n], 0 for ordinary events; None if the plane has no aggregated event.
      decoded_stats: owner = event; stats of some lines only if there are `others`.
      others: the omitted stats, for events decoded with the stats of some lines only.
    """

    metadata: U32
    begin_ps: I64
    duration_ps: I64
    occurrences: I64 | None
    decoded_stats: Stats
    others: OtherStats | None = None

    def __len__(self) -> int:
        return len(self.metadata)

    @property
    def stats(self) -> Stats:
        """The stats of all events (owner = event); if they were left out, the plane is decoded in full."""
        return self.decoded_stats if self.others is None else self.others.decode()

    def stats_on(self, *lines: str) -> Stats:
        """At least the stats of events on lines with these names (owner = event)."""
        return self.stats if self.others is None or not self.others.lines.issuperset(lines) else self.decoded_stats


@dataclass(frozen=True, slots=True, eq=False)
class EventMetadata:
    """One row per entry of the plane's event metadata map, then one per id that only events use.

    Attributes:
      id: int64[m].
      metadata: uint64[m], text values of the opaque bytes.
      stats: owner = row.
      child_start, child_id: children of row i are the ids `child_id[child_start[i]:child_start[i + 1]]`.
      name_texts, display_name_texts: the names as text values in `.values`.
    """

    id: I64
    metadata: U64
    stats: Stats
    child_start: U32
    child_id: I64
    name_texts: Texts = field(repr=False)
    display_name_texts: Texts = field(repr=False)

    def __len__(self) -> int:
        return len(self.id)

    @property
    def names(self) -> list[str]:
        """One name per row, "" when absent; do not modify the list."""
        return self.name_texts()

    @property
    def display_names(self) -> list[str]:
        """One display name per row, "" when absent; do not modify the list."""
        return self.display_name_texts()


@dataclass(frozen=True, slots=True, eq=False)
class StatMetadata:
    """One row per entry of the plane's stat metadata map, then one per id that only stats use.

    Attributes:
      id: int64[s].
      name_texts, description_texts: as text values in `.values`.
    """

    id: I64
    name_texts: Texts = field(repr=False)
    description_texts: Texts = field(repr=False)
    _rows: dict[str, int] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.id)

    @property
    def names(self) -> list[str]:
        """One name per row, "" when absent; do not modify the list."""
        return self.name_texts()

    @property
    def descriptions(self) -> list[str]:
        """One description per row, "" when absent; do not modify the list."""
        return self.description_texts()

    def row(self, name: str) -> int | None:
        """The first row with this name, None if there is none."""
        if not self._rows:
            # In reverse, so that the first of equal names is written last. Of a dict, so that other threads find all
            # rows or none: an update of single rows lets them in between.
            self._rows.update({text: row for row, text in reversed(list(enumerate(self.names)))})
        return self._rows.get(name)


@dataclass(frozen=True, slots=True, eq=False)
class PlaneTables:
    """The tables of a plane, and what was made of them; see `Plane` and `Plane.once`."""

    lines: Lines
    events: Events
    event_metadata: EventMetadata
    stat_metadata: StatMetadata
    stats: Stats
    made: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def moved(self, ps: int) -> PlaneTables:
        """The tables with `ps` added to the begin of all events."""
        if not ps:
            return self
        events = replace(self.events, begin_ps=self.events.begin_ps + ps)
        events.begin_ps.flags.writeable = False
        return replace(self, events=events)

    @property
    def nbytes(self) -> int:
        return _array_bytes(self) + sum(map(_array_bytes, list(self.made.values())))


def collect_arrays(table: Any, arrays: list[NDArray[Any]]) -> None:
    """Appends the arrays of a table, and of the tables in it, to `arrays`."""
    if isinstance(table, np.ndarray):
        arrays.append(table)
    elif isinstance(table, Texts):
        arrays.append(table.values)
    elif is_dataclass(table):
        for column in fields(table):
            collect_arrays(getattr(table, column.name), arrays)


def _array_bytes(table: Any) -> int:
    if isinstance(table, (np.ndarray, Texts)):
        return table.nbytes
    if is_dataclass(table):
        return sum(_array_bytes(getattr(table, column.name)) for column in fields(table))
    return 0
