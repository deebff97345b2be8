"""A column: its declaration, and its values as one NumPy array, the same for lists, tuples and arrays of any width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Column:
    """The declaration of a column.

    Attributes:
      id: stable key of the column.
      label: its header.
      type: "string", "number" (sent as doubles) or "boolean".
      unit: e.g. "ps", "us", "bytes", "GiB/s", "%"; "" for none.
      sentence: one sentence that explains the values.
      role: role of the column in charts, e.g. "tooltip" or "interval"; "" for values.
      extra: whether XProf's table lacks the column.
    """

    id: str
    label: str
    type: Literal["string", "number", "boolean"]
    unit: str = ""
    sentence: str = ""
    role: str = ""
    extra: bool = False

    def array(self, values: Sequence[Any] | Array) -> Array:
        """The values as a read-only array.

        Numbers are integers, or float64 with NaN for an empty cell (None, numbers that are not finite). Texts are
        objects, booleans bool, or objects if a cell is empty (None).
        """
        arrays = {"string": _texts, "number": _numbers, "boolean": _booleans}
        array: Array = arrays[self.type](values).view()
        array.flags.writeable = False
        return array


def numbers(id_: str, label: str, unit: str, sentence: str, role: str = "", *, extra: bool = False) -> Column:
    """Declares a column of numbers."""
    return Column(id_, label, "number", unit, sentence, role, extra)


def texts(id_: str, label: str, sentence: str, role: str = "", *, extra: bool = False) -> Column:
    """Declares a column of texts."""
    return Column(id_, label, "string", "", sentence, role, extra)


def flags(id_: str, label: str, sentence: str) -> Column:
    """Declares a column of booleans."""
    return Column(id_, label, "boolean", "", sentence)


def python_values(values: Array) -> list[Any]:
    """The values of an array as Python values, None for an empty cell."""
    listed: list[Any] = values.tolist()
    if values.dtype.kind == "f":
        for row in np.flatnonzero(np.isnan(values)).tolist():
            listed[row] = None
    return listed


def _numbers(values: Sequence[Any] | Array) -> Array:
    if not isinstance(values, np.ndarray):
        kinds = set(map(type, values))
        whole = bool(kinds) and all(issubclass(kind, (int, np.integer)) for kind in kinds)
        values = np.array(values, None if whole else np.float64)
    if values.dtype.kind in "iu":
        return values
    doubles = values.astype(np.float64, copy=False)
    infinite = np.isinf(doubles)
    return np.where(infinite, np.nan, doubles) if infinite.any() else doubles


def _texts(values: Sequence[Any] | Array) -> Array:
    cells = [value if value is None else str(value) for value in _listed(values)]
    if not all(map(str.isascii, filter(None, cells))):
        # Lone surrogates, which neither UTF-8 nor Arrow can hold, become "?".
        cells = [text and text.encode("utf-8", "replace").decode() for text in cells]
    return np.array(cells, object)


def _booleans(values: Sequence[Any] | Array) -> Array:
    cells = [value if value is None else bool(value) for value in _listed(values)]
    return np.array(cells, object if None in cells else bool)


def _listed(values: Sequence[Any] | Array) -> Sequence[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else values
