"""Selected stats of a plane, gathered in one pass as sparse columns: owners ascending, one value each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns import Plane, Stats, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64, U8, U64, Bools

_DOUBLE, _UINT64, _INT64, _STR, _REF = 2, 3, 4, 5, 7
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
        self._ints: dict[str, SparseColumn] = {}
        self._signed: dict[str, SparseColumn] = {}
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
        if name not in self._gathered:
            return EMPTY
        if name not in self._ints:
            owner, kind, value = self._gathered[name]
            self._ints[name] = _integers(owner, value, (kind == _UINT64) | (kind == _INT64))
        return self._ints[name]

    def signed(self, name: str) -> SparseColumn:
        """Values written as int64; other types, including uint64, read as 0, as XProf does for some stats."""
        if name not in self._gathered:
            return EMPTY
        if name not in self._signed:
            owner, kind, value = self._gathered[name]
            self._signed[name] = _integers(owner, value, kind == _INT64)
        return self._signed[name]

    def doubles(self, name: str) -> tuple[I64, np.ndarray[Any, np.dtype[np.float64]]]:
        """Owners that have the stat and its values; types other than double read as 0."""
        if name not in self._gathered:
            return _NONE, np.zeros(0, dtype=np.float64)
        owner, kind, value = self._gathered[name]
        return owner, np.where(kind == _DOUBLE, value.view(np.float64), 0.0)

    def texts(self, name: str) -> tuple[I64, I32, list[str]]:
        """Owners with a non-empty text, the code of each, and the distinct texts in order of appearance."""
        if name not in self._gathered:
            return _NONE, np.zeros(0, dtype=np.int32), []
        owner, kind, value = self._gathered[name]
        code_of: dict[str, int] = {}
        code = np.full(len(owner), -1, dtype=np.int32)
        plain, ref = kind == _STR, kind == _REF
        if plain.any():
            local, first = _native.text_codes(self._space.data, value[plain])
            code[plain] = _codes(code_of, self._space.texts(first))[local]
        if ref.any():
            rows, inverse = np.unique(value[ref], return_inverse=True)
            stat_names = self._plane.stat_metadata.names
            code[ref] = _codes(code_of, [stat_names[row] for row in rows.tolist()])[inverse.reshape(-1)]
        keep = code >= 0
        return (owner, code, list(code_of)) if bool(keep.all()) else (owner[keep], code[keep], list(code_of))


def _integers(owner: I64, value: U64, number: Bools) -> SparseColumn:
    """The values as signed integers, 0 for values that are not numbers."""
    signed = value.view(np.int64)
    return SparseColumn(owner, signed if bool(number.all()) else np.where(number, signed, 0))


def _codes(code_of: dict[str, int], texts: list[str]) -> I32:
    """A code for each text, -1 for the empty text; adds new texts to `code_of`."""
    return np.array([code_of.setdefault(text, len(code_of)) if text else -1 for text in texts], dtype=np.int32)
