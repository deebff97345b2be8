"""Reads stats by name, one value per owner, vectorised. The first stat of that name wins.

`stats` is one of the three separate namespaces of a plane: `plane.events.stats`, `plane.event_metadata.stats` or
`plane.stats`. Every function returns a default (0, 0.0, code -1) for owners without the stat.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import Bools
from tpu_profile_plugin.columns.space import Plane, XSpace
from tpu_profile_plugin.columns.tables import Kind, Stats

Value: TypeAlias = int | float | str | bytes | None


def ints(space: XSpace, plane: Plane, stats: Stats, name: str) -> tuple[NDArray[np.int64], Bools]:
    """Integers written as uint64 or int64 (uint64 from 2^63 on wraps to negative), 0 for other kinds."""
    values, present = _values(plane, stats, name, (Kind.UINT64, Kind.INT64))
    return values.view(np.int64), present


def int64s(space: XSpace, plane: Plane, stats: Stats, name: str) -> tuple[NDArray[np.int64], Bools]:
    """Integers written as int64; 0 for other kinds, uint64 among them."""
    values, present = _values(plane, stats, name, (Kind.INT64,))
    return values.view(np.int64), present


def uints(space: XSpace, plane: Plane, stats: Stats, name: str) -> tuple[NDArray[np.uint64], Bools]:
    """Integers written as uint64; 0 for other kinds, int64 among them."""
    return _values(plane, stats, name, (Kind.UINT64,))


def of_kind(plane: Plane, stats: Stats, name: str, kind: Kind) -> tuple[NDArray[np.uint64], Bools]:
    """The bits of the first stat of that name, and whether there is one of exactly this kind; 0 for the others."""
    index = stats.find(plane.stat_metadata.row(name))
    present = index >= 0
    present[present] = stats.kind[index[present]] == kind
    values: NDArray[np.uint64] = np.zeros(len(index), np.uint64)
    values[present] = stats.value[index[present]]
    return values, present


def doubles(space: XSpace, plane: Plane, stats: Stats, name: str) -> tuple[NDArray[np.float64], Bools]:
    """Doubles; 0.0 for other kinds."""
    values, present = _values(plane, stats, name, (Kind.DOUBLE,))
    return values.view(np.float64), present


def strings(space: XSpace, plane: Plane, stats: Stats, name: str) -> tuple[NDArray[np.int32], list[str]]:
    """Texts written as str or ref: (codes int32[owners], table of distinct texts); "" for other kinds."""
    owners, index = stats.where(plane.stat_metadata.row(name))
    codes: NDArray[np.int32] = np.full(len(stats.start) - 1, -1, np.int32)
    kind, value = stats.kind[index], stats.value[index]
    table: dict[str, int] = {}
    texts = kind == Kind.STR
    if texts.any():
        local, firsts = _native.text_codes(space.data, value[texts])
        codes[owners[texts]] = _merge(table, space.texts(firsts))[local]
    refs = kind == Kind.REF
    if refs.any():
        codes[owners[refs]] = _ref_codes(plane, table, value[refs])
    others = ~(texts | refs)
    if others.any():
        codes[owners[others]] = table.setdefault("", len(table))
    return codes, list(table)


def _ref_codes(plane: Plane, table: dict[str, int], rows: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Codes of texts stored as rows of the stat metadata; only names that occur enter the table."""
    code_of_row: NDArray[np.int32] = np.full(len(plane.stat_metadata), -1, np.int32)
    code_of_row[rows] = 0
    used = np.flatnonzero(code_of_row == 0)
    names = plane.stat_metadata.names
    code_of_row[used] = _merge(table, [names[row] for row in used.tolist()])
    return code_of_row[rows]


def items(space: XSpace, plane: Plane, stats: Stats, owner: int) -> list[tuple[str, Kind, Value]]:
    """All stats of one owner, in file order: (name, kind, value). Refs are resolved; a compressed str stays bytes."""
    named = []
    for i in range(int(stats.start[owner]), int(stats.start[owner + 1])):
        kind = Kind(int(stats.kind[i]))
        named.append((plane.stat_metadata.names[stats.key[i]], kind, _value(space, plane, kind, stats.value[i])))
    return named


def text_of(space: XSpace, plane: Plane, stats: Stats, owner: int, name: str) -> str:
    """The text of one owner's first stat of that name; "" when there is none or it is not a text."""
    row = plane.stat_metadata.row(name)
    first, last = int(stats.start[owner]), int(stats.start[owner + 1])
    for i in np.flatnonzero(stats.key[first:last] == row)[:1].tolist() if row is not None else ():
        value = _value(space, plane, Kind(int(stats.kind[first + i])), stats.value[first + i])
        return value if isinstance(value, str) else ""
    return ""


def _values(
    plane: Plane, stats: Stats, name: str, kinds: tuple[Kind, ...]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    row = plane.stat_metadata.row(name)
    if row is None:
        owners = len(stats.start) - 1
        return np.zeros(owners, np.uint64), np.zeros(owners, np.bool_)
    kind_mask = sum(1 << kind for kind in kinds)
    return _native.stat_values(stats.start, stats.key, stats.kind, stats.value, row, kind_mask)


def _merge(table: dict[str, int], texts: list[str]) -> NDArray[np.int32]:
    return np.array([table.setdefault(text, len(table)) for text in texts], np.int32)


def _value(space: XSpace, plane: Plane, kind: Kind, value: Any) -> Value:
    match kind:
        case Kind.UNSET:
            return None
        case Kind.DOUBLE:
            return float(value.view(np.float64))
        case Kind.UINT64:
            return int(value)
        case Kind.INT64:
            return int(value.view(np.int64))
        case Kind.REF:
            return plane.stat_metadata.names[int(value)]
        case Kind.STR:
            return space.blob(int(value)).decode(errors="replace")
        case _:
            return space.blob(int(value))
