"""Columns as JSON text, written by the native core: much quicker than `json` for tables of thousands of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.columns.arrays import I64

Member: TypeAlias = np.ndarray[Any, Any] | Sequence[str]
"""int64[n], int64[n, k] (a list in each object), float64[n] (null where it is not finite), or texts."""


def integers_as_json(values: I64) -> bytes:
    """Integers of any shape as nested lists."""
    return _native.json_integers(np.ascontiguousarray(values, np.int64))


def records_as_json(columns: Mapping[str, Member]) -> bytes:
    """A list of objects with the same members; raises ValueError for columns of different length."""
    plain = [
        (name, np.ascontiguousarray(column) if isinstance(column, np.ndarray) else column)
        for name, column in columns.items()
    ]
    return _native.json_records(plain, len(plain[0][1]) if plain else 0)
