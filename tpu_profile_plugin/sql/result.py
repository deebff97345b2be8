"""The result of a query."""

from __future__ import annotations

import csv
import functools
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.tables.column import Column, flags, numbers, texts
from tpu_profile_plugin.tables.table import Table, html_text, no_formulas

if TYPE_CHECKING:
    from tpu_profile_plugin.run.relations.relation import Relation


_BLOCK = 10_000
"""Rows that become Python objects at a time."""


class Result:
    """Rows of a query; behaves as a `Table`.

    Attributes:
      statement: the SQL.
      cut: whether rows beyond the limit were dropped.
      notes: sentences about what is missing, such as rows beyond the limit, hosts and runs that cannot be read.
      elapsed_s: how long the query took, in seconds.
    """

    def __init__(
        self,
        statement: str,
        rows: memoryview,
        relations: Sequence[Relation],
        cut: bool,
        notes: tuple[str, ...],
        elapsed_s: float,
    ) -> None:
        self.statement, self.cut, self.notes, self.elapsed_s = statement, cut, notes, elapsed_s
        self._rows = rows
        self._known = {column.id: column for relation in relations for column in relation.columns}

    @functools.cached_property
    def _arrow(self) -> Any:
        import pyarrow

        return pyarrow.ipc.open_stream(self._rows).read_all()

    @functools.cached_property
    def table(self) -> Table:
        """The rows as a `Table`; values other than numbers, texts and booleans are texts."""
        return self._table_of(self._arrow)

    def part(self, first: int, rows: int) -> Table:
        """At most `rows` rows from the row `first`, made anew: nothing but the rows in Arrow's form is kept."""
        return self._table_of(self._arrow.slice(first, rows))

    def _table_of(self, arrow: Any) -> Table:
        import pyarrow.types as kinds

        columns, data = [], []
        for field, values in zip(arrow.schema, arrow.columns, strict=True):
            known = self._known.get(field.name)
            if kinds.is_integer(field.type) or kinds.is_floating(field.type):
                kind = numbers(field.name, field.name, _unit(field.name), "")
                data.append(_numbers(values))
            elif kinds.is_boolean(field.type):
                kind = flags(field.name, field.name, "")
                data.append(values.to_pylist())
            else:
                kind = texts(field.name, field.name, "")
                data.append([None if value is None else str(value) for value in values.to_pylist()])
            same = known is not None and known.type == kind.type
            # Of another type of numbers: a mean of integers may have their name.
            columns.append(replace(known, dtype="") if same and known is not None else kind)
        return Table(tuple(columns), data, name="query")

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns; one that has the id of a column of a table has its label, unit and sentence."""
        return self.table.columns

    def __len__(self) -> int:
        return int(self._arrow.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.table)

    def __getitem__(self, id_: str) -> Any:
        """The values of a column as a read-only array, NaN, None or masked where a cell is empty; raises KeyError."""
        return self.table[id_]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields each row as a dict of Python values by column id."""
        return self.table.rows()

    def to_arrow(self) -> Any:
        """A pyarrow.Table, with lists, times and structs as DuckDB made them."""
        return self._arrow

    def to_pandas(self) -> Any:
        """A pandas DataFrame. Needs pandas."""
        return self._arrow.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule protocol, by which Polars, DuckDB and others read the rows."""
        return self._arrow.__arrow_c_stream__(requested_schema)

    def to_csv(self, *, spreadsheet: bool = False) -> str:
        """Comma-separated text with the columns' ids as header; integers have all their digits.

        `spreadsheet`: texts that it would compute have an apostrophe before them.
        """
        out = io.StringIO()
        # Quoted for spreadsheets, which may take another character than the comma to end a cell.
        if spreadsheet:
            writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        else:
            writer = csv.writer(out, lineterminator="\n")
        names = self._arrow.schema.names
        writer.writerow(no_formulas(names) if spreadsheet else names)
        for first in range(0, len(self), _BLOCK):
            part = self.part(first, _BLOCK)
            cells = [part.column(id_) for id_ in part.ids]
            writer.writerows(zip(*(map(no_formulas, cells) if spreadsheet else cells), strict=True))
        return out.getvalue()

    def to_json(self) -> str:
        """A JSON list with an object per row."""
        rows = ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in self.table)
        return f"[{rows}]\n"

    def to_parquet(self) -> bytes:
        """A Parquet file."""
        import pyarrow.parquet

        target = io.BytesIO()
        pyarrow.parquet.write_table(self._arrow, target, compression="zstd")
        return target.getvalue()

    def _repr_html_(self) -> str:
        """The first rows and the notes, for notebooks."""
        return html_text(self.table) + "".join(f"<p>{escape(note)}</p>" for note in self.notes)

    def __repr__(self) -> str:
        return f"<Result, {len(self)} rows: {', '.join(self._arrow.schema.names)}>"


def _unit(name: str) -> str:
    """The unit of a computed column, by the end of its name."""
    rates = {"flop_per_s": "FLOP/s", "tflop_per_s": "TFLOP/s", "gb_per_s": "GB/s"}
    if name.endswith("_per_s"):
        return rates.get(name, "")
    units = {"_ps": "ps", "_ns": "ns", "_us": "us", "_ms": "ms", "_s": "s", "_bytes": "bytes", "_percent": "%"}
    return next((unit for end, unit in units.items() if name.endswith(end) or name == end[1:] != "s"), "")


def _numbers(values: Any) -> Any:
    """An array of numbers; integers stay integers, masked where there is none."""
    import numpy as np
    import pyarrow

    if not values.null_count:
        return values.to_numpy()
    if pyarrow.types.is_floating(values.type):
        return values.to_numpy(zero_copy_only=False)
    return np.ma.MaskedArray(values.fill_null(0).to_numpy(), values.is_null().to_numpy(zero_copy_only=False))
