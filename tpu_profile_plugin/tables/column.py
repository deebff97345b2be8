"""A column: its declaration, and its values as one NumPy array, the same for lists, tuples and arrays of any width.

An absent integer is masked (`numpy.ma`), an absent number NaN, an absent text or flag None; all are null in Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tpu_profile_plugin.tables.coded import Coded

Array = np.ndarray[Any, np.dtype[Any]]
Computed = Callable[[Any], Any]
"""Computes the values of a column from the figure that a table shows, or a cell from what a row is about."""


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
      dtype: NumPy's name of the type of numbers, such as "int64", which then does not depend on the values; "" for
        integers if all values are, else float64.
      of: how it is computed; None: the figure, or what a row is about, has an attribute named as the id.
    """

    id: str
    label: str
    type: Literal["string", "number", "boolean"]
    unit: str = ""
    sentence: str = ""
    role: str = ""
    dtype: str = ""
    of: Computed | None = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without `of`, which cannot be pickled."""
        return {**vars(self), "of": None}

    def value(self, figure: object) -> Any:
        """The values of this column for a figure, or the cell of a row."""
        return getattr(figure, self.id) if self.of is None else self.of(figure)

    def array(self, values: Sequence[Any] | Array | Coded) -> Array | Coded:
        """The values as a read-only array.

        Numbers are integers, or float64 with NaN for an empty cell (None, numbers that are not finite). Integers of a
        declared type, and those given so, are a masked array if a cell is empty. Texts are objects, or `Coded` if given
        so, booleans bool, or objects if a cell is empty (None).
        """
        if isinstance(values, Coded):
            if self.type != "string":
                raise ValueError(f"texts for {self.id}, a {self.type}")
            return values
        arrays = {"string": _texts, "number": self._of_type if self.dtype else _numbers, "boolean": _booleans}
        array: Array = arrays[self.type](values).view()
        array.flags.writeable = False
        return array

    def _of_type(self, values: Sequence[Any] | Array) -> Array:
        """Numbers of the declared type."""
        dtype = np.dtype(self.dtype)
        if not isinstance(values, np.ndarray) and dtype.kind in "iu":
            empty = [value is None for value in values]
            filled = np.array([0 if value is None else value for value in values], dtype)
            return _without_needless_mask(np.ma.MaskedArray(filled, empty)) if any(empty) else filled
        if isinstance(values, np.ma.MaskedArray) and dtype.kind == "f":
            values = np.where(np.ma.getmaskarray(values), np.nan, values.data)
        numbers_ = _numbers(values)
        if numbers_.dtype.kind == "f" and dtype.kind in "iu":
            raise ValueError(f"numbers that may be fractions for {self.id}, which holds {self.dtype}")
        return numbers_.astype(dtype, copy=False)


def numbers(id_: str, label: str, unit: str, sentence: str, of: Computed | None = None, *, role: str = "") -> Column:
    """Declares a column of numbers."""
    return Column(id_, label, "number", unit, sentence, role, of=of)


def integers(id_: str, label: str, unit: str, sentence: str, of: Computed | None = None) -> Column:
    """Declares a column of int64, masked where a cell is empty."""
    return Column(id_, label, "number", unit, sentence, dtype="int64", of=of)


def texts(id_: str, label: str, sentence: str, of: Computed | None = None, *, role: str = "") -> Column:
    """Declares a column of texts."""
    return Column(id_, label, "string", "", sentence, role, of=of)


def flags(id_: str, label: str, sentence: str, of: Computed | None = None) -> Column:
    """Declares a column of booleans."""
    return Column(id_, label, "boolean", "", sentence, of=of)


def python_values(values: Array | Coded) -> list[Any]:
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
        return _without_needless_mask(values)
    doubles = values.astype(np.float64, copy=False)
    infinite = np.isinf(doubles)
    return np.where(infinite, np.nan, doubles) if infinite.any() else doubles


def _without_needless_mask(values: Array) -> Array:
    if isinstance(values, np.ma.MaskedArray) and not np.ma.is_masked(values):
        plain: Array = values.data
        return plain
    return values


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
