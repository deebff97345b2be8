"""Tables: column declarations, and their output as DataTable JSON, CSV and documentation."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring as _quoted
from typing import Any, Literal

import numpy as np

_ROWS = 4096
"""Rows that are formatted at a time."""

ColumnType = Literal["string", "number", "boolean", "bool"]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
      id: stable key of the column.
      label: its header.
      type: "string", "number" (sent as doubles) or "boolean"; "bool" where other clients expect that spelling.
      unit: e.g. "ps", "us", "bytes", "GiB/s", "%"; "" for none.
      sentence: one sentence that explains the values.
      format: "bytes" or "hex" adds a formatted text to each number; "given": cells are pairs of value and formatted
        text; "plain": values only.
      role: role of the column in charts, e.g. "tooltip" or "interval"; "" for values.
    """

    id: str
    label: str
    type: ColumnType
    unit: str = ""
    sentence: str = ""
    format: Literal["plain", "bytes", "hex", "given"] = "plain"
    role: str = ""

    def declaration(self) -> dict[str, Any]:
        """The column as DataTable JSON; `unit` and `help` are extensions for our own pages."""
        declaration: dict[str, Any] = {"id": self.id, "label": self.label, "type": self.type}
        if self.unit:
            declaration["unit"] = self.unit
        if self.sentence:
            declaration["help"] = self.sentence
        if self.role:
            declaration["p"] = {"role": self.role}
        return declaration


@dataclass(frozen=True)
class Table:
    """Columns and their values.

    Attributes:
      columns: the declarations.
      data: one sequence (list or NumPy array) per column, all of the same length; None is an empty cell.
      properties: custom properties of the table; values are texts (see `property_text`).
      row_properties: custom properties per row, or None.
    """

    columns: tuple[Column, ...]
    data: Sequence[Any]
    properties: Mapping[str, str] = field(default_factory=dict)
    row_properties: Sequence[Mapping[str, str]] | None = None

    def __post_init__(self) -> None:
        if len(self.data) != len(self.columns):
            raise ValueError(f"{len(self.columns)} columns, but data for {len(self.data)}")
        lengths = {len(values) for values in self.data}
        if len(lengths) > 1:
            raise ValueError(f"columns of different lengths: {sorted(lengths)}")

    @classmethod
    def from_rows(
        cls, columns: Sequence[Column], rows: Iterable[Sequence[Any]], properties: Mapping[str, str] | None = None
    ) -> Table:
        """A table from rows of cells."""
        listed = list(rows)
        data = [[row[i] for row in listed] for i in range(len(columns))]
        return cls(tuple(columns), data, properties or {})

    def __len__(self) -> int:
        return len(self.data[0]) if self.data else 0

    def to_json(self) -> bytes:
        """DataTable JSON in UTF-8; numbers are doubles, numbers that are not finite are null."""
        head = _json({"cols": [column.declaration() for column in self.columns]})
        parts = [head[:-1] + ',"rows":[']
        # In blocks of rows: their texts take more memory than the table.
        for first in range(0, len(self), _ROWS):
            parts += ["," if first else "", ",".join(self._rows(slice(first, first + _ROWS)))]
        parts.append(f'],"p":{_json(dict(self.properties))}}}' if self.properties else "]}")
        return "".join(parts).encode("utf-8", errors="replace")

    def _rows(self, part: slice) -> Iterator[str]:
        """The rows in a slice as JSON."""
        texts = [_cells(column, values[part]) for column, values in zip(self.columns, self.data, strict=True)]
        row = '{"c":[' + ",".join(['{"v":%s}'] * len(texts)) + "]"
        if self.row_properties is not None:
            texts.append([f',"p":{_json(dict(p))}' if p else "" for p in self.row_properties[part]])
            row += "%s"
        row += "}"
        return map(row.__mod__, zip(*texts, strict=True))

    def to_csv(self) -> str:
        """The table as CSV, by the same rules as `csv_of`."""
        return csv_of(json.loads(self.to_json()))


def table_in(value: Any) -> Mapping[str, Any] | None:
    """A DataTable, or the first one among the entries of an object; None for other values."""
    if not isinstance(value, dict):
        return None
    return next((one for one in (value, *value.values()) if isinstance(one, dict) and "cols" in one), None)


def csv_of(table: Mapping[str, Any]) -> str:
    """CSV of one DataTable: a header of labels (else ids), every field quoted, newline ends, null is empty."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([column.get("label") or column.get("id", "") for column in table["cols"]])
    for row in table.get("rows", ()):
        writer.writerow([_csv_field(cell) for cell in row["c"]])
    return out.getvalue()


def _csv_field(cell: Mapping[str, Any] | None) -> Any:
    value = cell.get("v") if cell else None
    return "" if value is None else value


def property_text(value: float) -> str:
    """A number as text for a custom property: six significant digits, e.g. "1525.5" or "2.51658e+06"."""
    return f"{value:g}"


def bytes_text(count: float) -> str:
    """A number of bytes in readable form: "17B", "1.5KiB", "2.25MiB"."""
    size = float(count)
    if abs(size) < 1024:
        return f"{size:.0f}B"
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        size /= 1024
        if abs(size) < 1024 or unit == "PiB":
            break
    return f"{size:.1f}{unit}" if unit == "KiB" else f"{size:.2f}{unit}"


def markdown_of(columns: Sequence[Column]) -> str:
    """The documentation of a table's columns, one Markdown row each."""
    lines = ["| Column | Type | Unit | Meaning |", "|---|---|---|---|"]
    lines += [f"| {c.label or c.id} (`{c.id}`) | {c.type} | {c.unit} | {c.sentence} |" for c in columns]
    return "\n".join(lines) + "\n"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _cells(column: Column, values: Any) -> Sequence[str]:
    """The JSON after `"v":` in each cell of a column."""
    if column.type == "number" and column.format != "given":
        numbers = _doubles(values)
        texts = _json(numbers)[1:-1].split(",")
        if column.format == "plain":
            return texts
        # Of whole numbers, not of the doubles that are sent: those are rounded from 2**53 on.
        exact = [bytes_text(n or 0) for n in numbers] if column.format == "bytes" else map(_hex_text, _plain(values))
        pairs = zip(numbers, texts, exact, strict=True)
        cells = (text if n is None else f'{text},"f":{_json(shown)}' for n, text, shown in pairs)
        return list(cells)
    if column.format == "given":
        return [f'{_json(value)},"f":{_json(text)}' for value, text in values]
    plain = _plain(values)
    if column.type == "string":
        return ["null" if value is None else _quoted(str(value)) for value in plain]
    return ["null" if value is None else "true" if value else "false" for value in plain]


def _plain(values: Any) -> Iterable[Any]:
    """Python values of a list or NumPy array (tolist is much faster than converting each element)."""
    tolist = getattr(values, "tolist", None)
    return values if tolist is None else tolist()  # type: ignore[no-any-return]


def _doubles(values: Any) -> list[float | None]:
    """Numbers as doubles; None for empty cells and non-finite numbers."""
    array = np.array(values, np.float64)  # None becomes NaN
    numbers: list[float | None] = array.tolist()
    for row in np.flatnonzero(~np.isfinite(array)).tolist():
        numbers[row] = None
    return numbers


def _hex_text(number: float | None) -> str:
    return "" if number is None or number != number else f"0x{int(number):x}"
