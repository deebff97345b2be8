"""Stats of a plane as columns: sparse integers gathered in one pass, or one typed column per stat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns import Kind, Plane, Stats, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64, U8, U64, Bools

_MAX_SLOTS = 254
_NONE = np.zeros(0, dtype=np.int64)
_NONE.flags.writeable = False
_Gathered = tuple[I64, U8, U64]


@dataclass(frozen=True, slots=True)
class SparseColumn:
    """An integer for some events: the events, strictly ascending, and their values."""

    event: I64
    value: I64

    def __len__(self) -> int:
        return len(self.event)

    def at(self, events: I64) -> tuple[I64, Bools]:
        """The values at the ascending `events` (0 where missing) and a mask of those that have one."""
        if self.event is events or np.array_equal(self.event, events):
            return self.value, np.ones(len(events), dtype=np.bool_)
        if len(self.event) == 0:
            return np.zeros(len(events), dtype=np.int64), np.zeros(len(events), dtype=np.bool_)
        row = _native.lookup(self.event, events)
        present: Bools = row >= 0
        if bool(present.all()):
            return self.value[row], present
        return np.where(present, self.value[row], 0), present

    def dense(self, count: int, absent: int) -> I64:
        """The values of `count` events, `absent` where missing."""
        column = np.full(count, absent, dtype=np.int64)
        column[self.event] = self.value
        return column

    def where(self, keep: np.ndarray[Any, Any]) -> SparseColumn:
        """The rows selected by `keep`, a mask or ascending indices."""
        return SparseColumn(self.event[keep], self.value[keep])


EMPTY = SparseColumn(_NONE, _NONE)


def override(base: SparseColumn, *later: SparseColumn) -> SparseColumn:
    """Merges columns; for an event in several of them the last column's value wins."""
    out = base
    for column in later:
        if len(out) == 0 or len(column) == 0:
            out = column if len(column) else out
            continue
        take = _native.merge_rows(out.event, column.event, True)
        event, value = np.concatenate([out.event, column.event]), np.concatenate([out.value, column.value])
        out = SparseColumn(event[take], value[take])
    return out


def per_event(plane: Plane, own: tuple[I64, Any], shared: tuple[I64, Any], absent: Any = 0) -> Any:
    """A value for every event of a plane: its own, else that of its metadata, else `absent`.

    Args:
      own: the events that have a value, and their values.
      shared: the rows of the event metadata that have one, and their values.
    """
    column = np.full(len(plane.event_metadata) if len(shared[0]) else len(plane.events), absent, own[1].dtype)
    if len(shared[0]):
        column[shared[0]] = shared[1]
        column = column[plane.events.metadata]
    column[own[0]] = own[1]
    return column


class StatColumns:
    """The first stat of each requested name, per owner (event or metadata row).

    Args:
      space: the profile, to decode texts.
      plane: the plane that the stats belong to.
      stats: stats of its events or of its event metadata.
      names: stat names; names missing from the plane's stat metadata cost nothing.
      owners: restricts the result to these owners; all by default.
    """

    def __init__(
        self, space: XSpace, plane: Plane, stats: Stats, names: Iterable[str], owners: slice | None = None
    ) -> None:
        self._space, self._plane = space, plane
        stat_names = plane.stat_metadata.names
        slots = {name: slot for slot, name in enumerate(dict.fromkeys(names))}
        assert len(slots) < _MAX_SLOTS
        self._gathered: dict[str, _Gathered] = {}
        self._integer_columns: dict[tuple[str, bool], SparseColumn] = {}
        table = np.fromiter((slots.get(name, 255) for name in stat_names), dtype=np.uint8, count=len(stat_names))
        if len(stats.key) == 0 or not bool(np.any(table != 255)):
            return
        first = owners.start if owners else 0
        start = stats.start[first : owners.stop + 1] if owners else stats.start
        gathered = _native.gather_stats(start, stats.key, stats.kind, stats.value, table, len(slots))
        if first:
            gathered = [(owner + first, kind, value) for owner, kind, value in gathered]
        self._gathered = {name: gathered[slot] for name, slot in slots.items() if len(gathered[slot][0])}

    def has(self, name: str) -> bool:
        """True when at least one owner has the stat."""
        return name in self._gathered

    def owners(self, name: str) -> I64:
        """Owners that have the stat, of any type."""
        return self._gathered[name][0] if name in self._gathered else _NONE

    def ints(self, name: str) -> SparseColumn:
        """Values written as int64 or uint64 (two's complement); other types read as 0."""
        return self._integers(name, signed=False)

    def signed(self, name: str) -> SparseColumn:
        """Values written as int64; other types, including uint64, read as 0, as XProf does for some stats."""
        return self._integers(name, signed=True)

    def _integers(self, name: str, *, signed: bool) -> SparseColumn:
        if name not in self._gathered:
            return EMPTY
        if (name, signed) not in self._integer_columns:
            owner, kind, value = self._gathered[name]
            is_number = kind == Kind.INT64 if signed else (kind == Kind.UINT64) | (kind == Kind.INT64)
            numbers = value.view(np.int64)
            if not bool(is_number.all()):
                numbers = np.where(is_number, numbers, 0)
            self._integer_columns[name, signed] = SparseColumn(owner, numbers)
        return self._integer_columns[name, signed]

    def flagged(self, name: str, owners: int) -> Bools | None:
        """Whether each of `owners` has the stat as an int64 other than 0; None if none has the stat."""
        if name not in self._gathered:
            return None
        flags = np.zeros(owners, dtype=np.bool_)
        column = self.signed(name)
        flags[column.event[column.value != 0]] = True
        return flags

    def doubles(self, name: str) -> tuple[I64, np.ndarray[Any, np.dtype[np.float64]]]:
        """Owners that have the stat and its values; types other than double read as 0."""
        if name not in self._gathered:
            return _NONE, np.zeros(0, dtype=np.float64)
        owner, kind, value = self._gathered[name]
        return owner, np.where(kind == Kind.DOUBLE, value.view(np.float64), 0.0)

    def texts(self, name: str) -> tuple[I64, I32, list[str]]:
        """Owners with a non-empty text, the code of each, and the distinct texts in order of appearance."""
        if name not in self._gathered:
            return _NONE, np.zeros(0, dtype=np.int32), []
        owner, kind, value = self._gathered[name]
        code_of: dict[str, int] = {}
        code = np.full(len(owner), -1, dtype=np.int32)
        plain, ref = kind == Kind.STR, kind == Kind.REF
        if plain.any():
            local, first = _native.text_codes(self._space.data, value[plain])
            code[plain] = _codes(code_of, self._space.texts(first))[local]
        if ref.any():
            rows, inverse = np.unique(value[ref], return_inverse=True)
            stat_names = self._plane.stat_metadata.names
            code[ref] = _codes(code_of, [stat_names[row] for row in rows.tolist()])[inverse.reshape(-1)]
        keep = code >= 0
        return (owner, code, list(code_of)) if bool(keep.all()) else (owner[keep], code[keep], list(code_of))


def _codes(code_of: dict[str, int], texts: list[str]) -> I32:
    """A code for each text, -1 for the empty text; adds new texts to `code_of`."""
    return np.array([code_of.setdefault(text, len(code_of)) if text else -1 for text in texts], dtype=np.int32)


StatType = Literal["int64", "uint64", "float64", "text"]
_WHOLE = (Kind.UINT64, Kind.INT64)
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class RecordedKinds:
    """The kinds and the range of the values of a stat.

    Attributes:
      others: whether some are texts or bytes.
      doubles: whether some are doubles.
      least, greatest: of the integers, None without any.
    """

    others: bool = False
    doubles: bool = False
    least: int | None = None
    greatest: int | None = None

    def __or__(self, other: RecordedKinds) -> RecordedKinds:
        whole = [n for n in (self.least, self.greatest, other.least, other.greatest) if n is not None]
        return RecordedKinds(
            self.others or other.others,
            self.doubles or other.doubles,
            min(whole, default=None),
            max(whole, default=None),
        )

    def __bool__(self) -> bool:
        return self.others or self.doubles or self.least is not None

    @property
    def type(self) -> StatType:
        """The type that holds all values: integers if all are, else doubles, else texts.

        Integers of which some are negative and some beyond int64 are texts: no type of NumPy holds both.
        """
        if self.others:
            return "text"
        if self.doubles:
            return "float64"
        least, greatest = self.least or 0, self.greatest or 0
        if greatest <= _LARGEST:
            return "int64"
        return "uint64" if least >= 0 else "text"


def recorded_kinds(planes: Iterable[Plane], name: str) -> RecordedKinds:
    """The kinds of a stat's values in some planes; false if no event and no metadata of an event has it."""
    kinds = RecordedKinds()
    for plane in planes:
        row = plane.stat_metadata.row(name)
        for stats in () if row is None else (plane.event_metadata.stats, plane.events.stats):
            _, index = stats.where(row)
            kinds |= _recorded(stats, index)
    return kinds


def _recorded(stats: Stats, index: I64) -> RecordedKinds:
    kind, value = stats.kind[index], stats.value[index]
    signed, unsigned = value[kind == Kind.INT64].view(np.int64), value[kind == Kind.UINT64]
    whole = [int(edge) for numbers in (signed, unsigned) if len(numbers) for edge in (numbers.min(), numbers.max())]
    doubles = kind == Kind.DOUBLE
    others = ~np.isin(kind, (*_WHOLE, Kind.DOUBLE, Kind.UNSET))
    return RecordedKinds(bool(others.any()), bool(doubles.any()), min(whole, default=None), max(whole, default=None))


def stat_numbers(plane: Plane, name: str, kind: Literal["int64", "uint64", "float64"]) -> Any:
    """The stat of each event as a masked array of a type that holds all values; float64: as an array with NaN."""
    values: np.ndarray[Any, np.dtype[Any]] = np.zeros(len(plane.events), kind)
    absent: Bools = np.ones(len(plane.events), np.bool_)
    row = plane.stat_metadata.row(name)
    shared, has = _numbers_of(plane.event_metadata.stats, row, kind)
    if has.any():
        values, absent = shared[plane.events.metadata], ~has[plane.events.metadata]
    of_events, has = _numbers_of(plane.events.stats, row, kind)
    if has.any():
        values[has], absent[has] = of_events[has], False
    return np.where(absent, np.nan, values) if kind == "float64" else np.ma.MaskedArray(values, absent)


def _numbers_of(stats: Stats, row: int | None, kind: str) -> tuple[np.ndarray[Any, np.dtype[Any]], Bools]:
    """The numbers of each owner, and whether it has one."""
    length = len(stats.start) - 1
    values: np.ndarray[Any, np.dtype[Any]] = np.zeros(length, kind)
    has: Bools = np.zeros(length, np.bool_)
    owners, index = stats.where(row)
    kinds, bits = stats.kind[index], stats.value[index]
    for stored, dtype in ((Kind.INT64, np.int64), (Kind.UINT64, np.uint64), (Kind.DOUBLE, np.float64)):
        if stored == Kind.DOUBLE and kind != "float64":
            continue  # no fractions among whole numbers
        these = kinds == stored
        values[owners[these]] = bits[these].view(dtype)
        has[owners[these]] = True
    return values, has


def stat_texts(space: XSpace, plane: Plane, name: str) -> tuple[I32, Sequence[str]]:
    """The stat of each event as a code, -1 without one, and the texts; numbers in decimal, bytes as their number."""
    table: dict[str, int] = {}
    row = plane.stat_metadata.row(name)
    shared = _codes_of(space, plane, plane.event_metadata.stats, row, table)
    of_events = _codes_of(space, plane, plane.events.stats, row, table)
    return np.where(of_events >= 0, of_events, shared[plane.events.metadata]), tuple(table)


def _codes_of(space: XSpace, plane: Plane, stats: Stats, row: int | None, table: dict[str, int]) -> I32:
    codes: I32 = np.full(len(stats.start) - 1, -1, np.int32)
    owners, index = stats.where(row)
    kinds, bits = stats.kind[index], stats.value[index]
    for kind in np.unique(kinds).tolist():
        these = kinds == kind
        if kind == Kind.STR:
            local: I64 | I32
            local, first = _native.text_codes(space.data, bits[these])
            distinct: Sequence[str] = space.texts(first)
        else:
            different, local = np.unique(bits[these], return_inverse=True)
            distinct = [_text(space, plane, kind, value) for value in different]
        numbers = [table.setdefault(text, len(table)) if kind != Kind.UNSET else -1 for text in distinct]
        codes[owners[these]] = np.array(numbers, np.int32)[local.reshape(-1)]
    return codes


def _text(space: XSpace, plane: Plane, kind: int, value: Any) -> str:
    if kind == Kind.REF:
        return plane.stat_metadata.names[int(value)]
    if kind == Kind.DOUBLE:
        return repr(float(value.view(np.float64)))
    if kind in _WHOLE:
        return str(int(value.view(np.int64) if kind == Kind.INT64 else value))
    return f"{len(space.blob(int(value)))} bytes" if kind != Kind.UNSET else ""
