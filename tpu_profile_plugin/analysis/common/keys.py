"""Integer keys: codes for rows of several columns, membership in a list, pairing of openings and closings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import I64, Bools

_MOST_SLOTS = 1 << 22
"""Size of the tables of `dense_codes`; beyond it, sorting is quicker."""


def row_codes(*columns: np.ndarray[tuple[int], np.dtype[np.integer]]) -> tuple[I64, I64]:
    """The number of each row among the distinct rows, which are in ascending order, and the first of each distinct row.

    Args:
      columns: at least one, of equal length.
    """
    _, code = np.unique(columns[0], return_inverse=True)
    for column in columns[1:]:
        distinct, column_code = np.unique(column, return_inverse=True)
        if len(distinct) > 1:
            # Numbers stay below rows * rows, because the earlier ones are made dense first.
            _, code = np.unique(code.reshape(-1) * len(distinct) + column_code.reshape(-1), return_inverse=True)
    code = code.reshape(-1).astype(np.int64)
    first = np.zeros(int(code.max(initial=-1)) + 1, np.int64)
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1)  # of equal indices the last value stays
    return code, first


def extents(key: I64, begin: I64, end: I64) -> tuple[I64, I64, I64]:
    """The distinct keys, ascending, and the least begin and greatest end of each."""
    keys, where = np.unique(key, return_inverse=True)
    first, last = (np.full(len(keys), limit) for limit in (np.iinfo(np.int64).max, np.iinfo(np.int64).min))
    np.minimum.at(first, where.reshape(-1), begin)
    np.maximum.at(last, where.reshape(-1), end)
    return keys, first, last


def among(values: I64, ascending: I64) -> Bools:
    """Which of the values are in an ascending list; numpy.isin hashes both, which takes longer."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    is_listed: Bools = ascending[place] == values
    return is_listed


def pair_in_order(key: I64, opens: Bools) -> tuple[I64, I64]:
    """Pairs openings with closings of the same key, first in first out; both as indices, by closing.

    Args:
      key: per event, in order of time; small numbers. Events with a negative key take no part.
      opens: whether it opens; a closing without an open opening, and an opening that is never closed, have no pair.
    """
    return _native.pair_in_order(np.ascontiguousarray(key, np.int64), np.ascontiguousarray(opens))


def dense_codes(columns: Sequence[tuple[I64, int]]) -> tuple[I64, I64]:
    """The number of each row among the distinct rows, which are in ascending order, and a row with each number.

    In time linear in the rows, unlike `row_codes`, where the columns have few distinct values.

    Args:
      columns: at least one, of equal length: codes from 0, and a bound that they do not reach.
    """
    key: I64 = np.zeros(len(columns[0][0]), np.int64)
    bound = 1
    for column, size in columns:
        if bound * size > _MOST_SLOTS:
            key, _ = row_codes(key, column)
            bound = int(key.max(initial=-1)) + 1
            continue
        key, bound = key * size + column, bound * size
        used = np.zeros(bound, np.bool_)
        used[key] = True
        number = np.cumsum(used) - 1
        key, bound = number[key], int(used.sum())
    first = np.zeros(bound, np.int64)
    first[key] = np.arange(len(key))
    return key, first
