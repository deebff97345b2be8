"""Rows of data files and of columns: dataclasses of equally long arrays, integer codes of rows, membership, pairing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import I64, Bools

T = TypeVar("T")


def no_rows() -> I64:
    """A column without rows."""
    return np.zeros(0, np.int64)


def rows_of(table: T, rows: Any) -> T:
    """The rows selected by a slice, mask or indices; fields other than arrays stay."""
    columns: Any = table
    values = {field.name: getattr(table, field.name) for field in fields(columns)}
    selected: T = replace(columns, **{k: v[rows] for k, v in values.items() if isinstance(v, np.ndarray)})
    return selected


def joined(tables: Sequence[T]) -> T:
    """Concatenates one or more tables; fields other than arrays and tuples come from the first."""
    first: Any = tables[0]
    columns: dict[str, Any] = {}
    for field in fields(first):
        values = [getattr(table, field.name) for table in tables]
        if isinstance(values[0], np.ndarray):
            columns[field.name] = np.concatenate(values)
        elif isinstance(values[0], tuple):
            columns[field.name] = tuple(chain.from_iterable(values))
    together: T = replace(first, **columns)
    return together


def row_codes(*columns: np.ndarray[tuple[int], np.dtype[np.integer]]) -> tuple[I64, I64]:
    """The number of each row among the distinct rows, which are in ascending order, and the first of each distinct row.

    Args:
      columns: at least one, of equal length.
    """
    widths = [int(column.max()) - int(column.min()) + 1 for column in columns] if len(columns[0]) else []
    # Values that lie close together make one number of a row, which is numbered once.
    if len(columns) > 1 and math.prod(widths) <= 4 * len(columns[0]):
        code = np.zeros(len(columns[0]), np.int64)
        for column, width in zip(columns, widths, strict=True):
            code = code * width + _above_least(column).astype(np.int64)
        columns = (code,)
    count, code = _codes(columns[0])
    for column in columns[1:]:
        distinct, column_code = _codes(column)
        if distinct > 1:
            # Numbers stay below rows * rows, because the earlier ones are made dense first.
            count, code = _codes(code * distinct + column_code)
    first = np.zeros(count, np.int64)
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1)  # of equal indices the last value stays
    return code, first


def _codes(column: np.ndarray[tuple[int], np.dtype[np.integer]]) -> tuple[int, I64]:
    """Count of distinct values, and the number of each value among them in ascending order.

    Values that lie close together are numbered by a table, others by sorting.
    """
    if not len(column):
        return 0, np.zeros(0, np.int64)
    spread = int(column.max()) - int(column.min())
    if not spread:
        return 1, np.zeros(len(column), np.int64)
    if spread > 4 * len(column):
        distinct, code = np.unique(column, return_inverse=True)
        return len(distinct), code.reshape(-1).astype(np.int64)
    place = _above_least(column)
    used = np.zeros(spread + 1, np.bool_)
    used[place] = True
    number = np.cumsum(used) - 1
    return int(number[-1]) + 1, number[place]


def _above_least(column: np.ndarray[tuple[int], np.dtype[np.integer]]) -> Any:
    """Each value less the least, which fits the unsigned type, but not always the signed one."""
    return (column - column.min()).view(f"u{column.itemsize}")


def sums_by(code: np.ndarray[Any, np.dtype[np.integer]], values: np.ndarray[Any, Any], count: int) -> Any:
    """Sums of the values with each code from 0 to `count` - 1: exact for integers, unlike those of `numpy.bincount`."""
    sums = np.zeros((count, *values.shape[1:]), values.dtype)
    np.add.at(sums, code, values)
    return sums


def members(first: I64, count: I64) -> tuple[I64, I64]:
    """The members of ranges that begin at `first` and have `count` members: the range of each, and its index."""
    owner = np.repeat(np.arange(len(count)), count)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count) + first[owner]


def extents(key: I64, begin: I64, end: I64) -> tuple[I64, I64, I64]:
    """The distinct keys, ascending, and the least begin and greatest end of each."""
    keys, where = np.unique(key, return_inverse=True)
    first, last = (np.full(len(keys), limit) for limit in (np.iinfo(np.int64).max, np.iinfo(np.int64).min))
    np.minimum.at(first, where.reshape(-1), begin)
    np.maximum.at(last, where.reshape(-1), end)
    return keys, first, last


def among(values: I64, ascending: I64) -> Bools:
    """Mask of the values that are in an ascending list; numpy.isin hashes both, which takes longer."""
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


# Data tables of the package are text files beside the module that reads them.


def file_rows(module: str, name: str) -> list[list[str]]:
    """The words of each line of the file `name` beside a module (`__file__`); empty lines and comments are skipped."""
    lines = Path(module).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def file_sections(module: str, name: str) -> list[tuple[list[str], list[list[str]]]]:
    """The sections of such a file: the words of each heading, a line that begins with "=", and those of its lines."""
    sections: list[tuple[list[str], list[list[str]]]] = []
    for first, *words in file_rows(module, name):
        if first == "=":
            sections.append((words, []))
        else:
            sections[-1][1].append([first, *words])
    return sections
