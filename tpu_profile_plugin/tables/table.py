"""The one form of tabular results: declared columns, their values as NumPy arrays, and both as CSV and HTML."""

from __future__ import annotations

import copy
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from tpu_profile_plugin.tables import frames
from tpu_profile_plugin.tables.column import Array, Column, flags, integers, numbers, python_values, texts

__all__ = [
    "ROWS",
    "Column",
    "Table",
    "attributes",
    "csv_text",
    "flags",
    "html_text",
    "integers",
    "numbers",
    "property_text",
    "texts",
]

ROWS = 4096
"""Rows to convert to Python values at a time, which take more memory than arrays."""


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Columns and their values; iterating yields each row as a dict by column id.

    Attributes:
      columns: the declarations.
      data: the values of each column, all of the same length: given as any sequences, in order or by column id, with
        None for an empty cell; kept as the arrays of `Column.array`, in order, or `Coded` for texts given so.
      properties: custom properties of the table; values are texts (see `property_text`).
      name: id of the table within its answer; "" if there is just one.
      formatted: the texts to display in place of the values, by column id; only of some columns.
    """

    columns: tuple[Column, ...]
    data: Any
    properties: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    formatted: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = self.data
        if isinstance(given, Mapping):
            if set(given) != set(self.ids):
                raise ValueError(f"columns {', '.join(self.ids)}, but data for {', '.join(given)}")
            given = [given[id_] for id_ in self.ids]
        if len(given) != len(self.columns):
            raise ValueError(f"{len(self.columns)} columns, but data for {len(given)}")
        lengths = {len(values) for values in given}
        if len(lengths) > 1:
            raise ValueError(f"columns of different lengths: {sorted(lengths)}")
        arrays = (column.array(values) for column, values in zip(self.columns, given, strict=True))
        object.__setattr__(self, "data", tuple(arrays))

    @classmethod
    def of(
        cls, columns: tuple[Column, ...], figure: object, cells: Mapping[str, Any] | None = None, name: str = ""
    ) -> Table:
        """The table of a figure; `cells` are columns that the figure does not tell, by id."""
        given = cells or {}
        return cls(columns, [given[c.id] if c.id in given else c.value(figure) for c in columns], name=name)

    @classmethod
    def of_rows(
        cls, columns: tuple[Column, ...], rows: Iterable[object], cells: Mapping[str, Any] | None = None, name: str = ""
    ) -> Table:
        """The table that has a row for each of `rows`; `cells` are columns that these do not tell, by id."""
        given, listed = cells or {}, list(rows)
        data = [given[c.id] if c.id in given else [c.value(row) for row in listed] for c in columns]
        return cls(columns, data, name=name)

    @classmethod
    def on_demand(cls, columns: tuple[Column, ...], data: Sequence[Any], name: str) -> Table:
        """A table with these very columns of arrays, such as a sequence that makes each on first use."""
        table = cls(columns, [[] for _ in columns], name=name)
        object.__setattr__(table, "data", data)
        return table

    def with_properties(self, more: Mapping[str, str]) -> Table:
        """This table with more properties."""
        table = copy.copy(self)
        object.__setattr__(table, "properties", {**self.properties, **more})
        return table

    def take(self, rows: Sequence[int] | Array) -> Table:
        """The rows with these numbers, in this order."""
        chosen = np.asarray(rows, np.intp)
        formatted = {id_: [cells[row] for row in chosen] for id_, cells in self.formatted.items()}
        return replace(self, data=[values[chosen] for values in self.data], formatted=formatted)

    @property
    def ids(self) -> list[str]:
        """The columns' ids."""
        return [column.id for column in self.columns]

    @property
    def labels(self) -> list[str]:
        """The columns' headers."""
        return [column.label for column in self.columns]

    @property
    def units(self) -> list[str]:
        """The columns' units, "" for none."""
        return [column.unit for column in self.columns]

    def __len__(self) -> int:
        return len(self.data[0]) if self.data else 0

    def __getitem__(self, id_: str) -> Array:
        """The values of a column as a read-only array, NaN, None or masked where a cell is empty; raises KeyError.

        Texts of tables of a run's events and other relations are `Coded`, of which NumPy makes an array.
        """
        for at, column in enumerate(self.columns):
            if column.id == id_:
                array: Array = self.data[at]
                return array
        raise KeyError(id_)

    def column(self, id_: str) -> list[Any]:
        """The values of a column as Python values, None where a cell is empty; raises KeyError."""
        return python_values(self[id_])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields each row as a dict of Python values by column id."""
        ids = self.ids
        for first in range(0, len(self), ROWS):
            block = [python_values(values[first : first + ROWS]) for values in self.data]
            for cells in zip(*block, strict=True):
                yield dict(zip(ids, cells, strict=True))

    __iter__ = rows

    def to_pandas(self) -> Any:
        """A pandas DataFrame with the ids as column names; `attrs` has labels and units by id.

        Raises MissingPackage without pandas.
        """
        return frames.to_pandas(self.columns, self.data)

    def to_arrow(self) -> Any:
        """A pyarrow.Table; the metadata of each field has its label, unit and sentence.

        Raises MissingPackage without pyarrow.
        """
        return frames.to_arrow(self.columns, self.data, self.properties)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule protocol, by which Polars, DuckDB and others read the table.

        Raises MissingPackage without pyarrow.
        """
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        return html_text(self)

    def __repr__(self) -> str:
        return f"<Table {self.name!r}, {len(self)} rows: {', '.join(self.ids)}>"


def attributes(rows: Iterable[object], /, *names: str, **renamed: str) -> dict[str, list[Any]]:
    """Columns that show attributes of the rows, by id; `renamed` has the attribute of each other id."""
    listed = list(rows)
    columns = dict(zip(names, names, strict=True)) | renamed
    return {id_: [getattr(row, name) for row in listed] for id_, name in columns.items()}


def property_text(value: float) -> str:
    """A number as text for a custom property: six significant digits, e.g. "1525.5" or "2.51658e+06"."""
    return f"{value:g}"


def csv_text(table: Table, *, spreadsheet: bool = False) -> str:
    """A header of labels (else ids) and the rows, all quoted; numbers are doubles, an empty cell is an empty field.

    `spreadsheet`: texts that it would compute have an apostrophe before them.
    """
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    head = [column.label or column.id for column in table.columns]
    writer.writerow(no_formulas(head) if spreadsheet else head)
    data = [v.astype(np.float64) if v.dtype.kind in "iu" else v for v in table.data]
    for first in range(0, len(table), ROWS):
        part = [python_values(values[first : first + ROWS]) for values in data]
        writer.writerows(zip(*(map(no_formulas, part) if spreadsheet else part), strict=True))
    return out.getvalue()


def no_formulas(cells: Sequence[Any]) -> list[Any]:
    """The cells of a column for a spreadsheet, which computes texts that begin with one of a few letters."""
    return [f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell for cell in cells]


_FORMULA = re.compile(r"(?![+-]?\d{1,30}(?:\.\d{0,30})?\Z)[\x00-\x20\ufeff]*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""Numbers are none."""
_MOST_ROWS = 20
_MOST_LETTERS = 120


def html_text(table: Table, *, whole: bool = True) -> str:
    """The first rows with ids and units as headers; the line below counts the rows if the table is `whole`."""
    first = list(table.take(range(min(len(table), _MOST_ROWS))))
    names = "".join(f'<th title="{escape(c.sentence)}">{escape(c.id + _unit(c.unit))}</th>' for c in table.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in first)
    count = f"{len(table):,} rows" if whole else "more rows may follow"
    below = "" if whole and len(table) == len(first) else f"<p>The first {len(first)}; {count}.</p>"
    return f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>{below}"


def _unit(unit: str) -> str:
    return f" ({unit})" if unit else ""


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    text = f"{value:,.6g}" if isinstance(value, float) else str(value)
    shown = text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"
    side = ' style="text-align:left"' if isinstance(value, str) else ""
    return f"<td{side}>{escape(shown)}</td>"
