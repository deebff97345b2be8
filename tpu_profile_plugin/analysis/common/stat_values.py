"""A stat of a plane's events as one typed column: that of the event, else that of its metadata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns import Kind, Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64, Bools
from tpu_profile_plugin.columns.tables import Stats

StatType = Literal["int64", "uint64", "float64", "text"]
_WHOLE = (Kind.UINT64, Kind.INT64)
_TEXTS = (Kind.STR, Kind.REF)
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Recorded:
    """What values a stat has.

    Attributes:
      others: whether some are texts or bytes.
      doubles: whether some are doubles.
      least, greatest: of the integers, None without any.
    """

    others: bool = False
    doubles: bool = False
    least: int | None = None
    greatest: int | None = None

    def __or__(self, other: Recorded) -> Recorded:
        whole = [n for n in (self.least, self.greatest, other.least, other.greatest) if n is not None]
        return Recorded(
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


def recorded(planes: Iterable[Plane], name: str) -> Recorded:
    """What values a stat has in some planes; false if no event and no metadata of an event has it."""
    found = Recorded()
    for plane in planes:
        row = plane.stat_metadata.row(name)
        for stats in () if row is None else (plane.event_metadata.stats, plane.events.stats):
            _, index = stats.where(row)
            found |= _recorded(stats, index)
    return found


def _recorded(stats: Stats, index: I64) -> Recorded:
    kind, value = stats.kind[index], stats.value[index]
    signed, unsigned = value[kind == Kind.INT64].view(np.int64), value[kind == Kind.UINT64]
    whole = [int(edge) for numbers in (signed, unsigned) if len(numbers) for edge in (numbers.min(), numbers.max())]
    doubles = kind == Kind.DOUBLE
    others = ~np.isin(kind, (*_WHOLE, Kind.DOUBLE, Kind.UNSET))
    return Recorded(bool(others.any()), bool(doubles.any()), min(whole, default=None), max(whole, default=None))


def numbers(plane: Plane, name: str, kind: Literal["int64", "uint64", "float64"]) -> Any:
    """The stat of each event as a masked array of a type that holds all values; float64: as an array with NaN."""
    values: np.ndarray[Any, np.dtype[Any]] = np.zeros(len(plane.events), kind)
    absent: Bools = np.ones(len(plane.events), np.bool_)
    row = plane.stat_metadata.row(name)
    shared, has = _numbers_of(plane.event_metadata.stats, row, kind)
    if has.any():
        values, absent = shared[plane.events.metadata], ~has[plane.events.metadata]
    own, has = _numbers_of(plane.events.stats, row, kind)
    if has.any():
        values[has], absent[has] = own[has], False
    return np.where(absent, np.nan, values) if kind == "float64" else np.ma.MaskedArray(values, absent)


def _numbers_of(stats: Stats, row: int | None, kind: str) -> tuple[np.ndarray[Any, np.dtype[Any]], Bools]:
    """The numbers of each owner, and whether it has one."""
    length = len(stats.start) - 1
    values: np.ndarray[Any, np.dtype[Any]] = np.zeros(length, kind)
    has: Bools = np.zeros(length, np.bool_)
    owners, index = stats.where(row)
    kinds, bits = stats.kind[index], stats.value[index]
    for one, dtype in ((Kind.INT64, np.int64), (Kind.UINT64, np.uint64), (Kind.DOUBLE, np.float64)):
        if one == Kind.DOUBLE and kind != "float64":
            continue  # no fractions among whole numbers
        these = kinds == one
        values[owners[these]] = bits[these].view(dtype)
        has[owners[these]] = True
    return values, has


def texts(space: XSpace, plane: Plane, name: str) -> tuple[I32, Sequence[str]]:
    """The stat of each event as a code, -1 without one, and the texts; numbers in decimal, bytes as their number."""
    table: dict[str, int] = {}
    row = plane.stat_metadata.row(name)
    shared = _codes_of(space, plane, plane.event_metadata.stats, row, table)
    codes = shared[plane.events.metadata]
    own = _codes_of(space, plane, plane.events.stats, row, table)
    return np.where(own >= 0, own, codes), tuple(table)


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
        numbers_ = [table.setdefault(text, len(table)) if kind != Kind.UNSET else -1 for text in distinct]
        codes[owners[these]] = np.array(numbers_, np.int32)[local.reshape(-1)]
    return codes


def _text(space: XSpace, plane: Plane, kind: int, value: Any) -> str:
    if kind == Kind.REF:
        return plane.stat_metadata.names[int(value)]
    if kind == Kind.DOUBLE:
        return repr(float(value.view(np.float64)))
    if kind in _WHOLE:
        return str(int(value.view(np.int64) if kind == Kind.INT64 else value))
    return f"{len(space.blob(int(value)))} bytes" if kind != Kind.UNSET else ""
