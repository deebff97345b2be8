"""Dataclasses whose fields are columns of equal length: selecting rows, and concatenating tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


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
