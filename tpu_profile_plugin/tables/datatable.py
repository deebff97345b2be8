"""Tables as XProf's DataTable JSON; units and sentences of columns are extensions for our own pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring as _quoted
from typing import Any

import numpy as np

from tpu_profile_plugin.tables.column import Array, Column, python_values
from tpu_profile_plugin.tables.table import ROWS, Table


def datatable_json(table: Table) -> bytes:
    """The table in UTF-8; numbers are doubles, empty cells null."""
    head = _json({"cols": [_declaration(column) for column in table.columns]})
    parts = [head[:-1] + ',"rows":[']
    for first in range(0, len(table), ROWS):
        parts += ["," if first else "", ",".join(_rows(table, slice(first, first + ROWS)))]
    parts.append(f'],"p":{_json(dict(table.properties))}}}' if table.properties else "]}")
    return "".join(parts).encode("utf-8", errors="replace")


def _declaration(column: Column) -> dict[str, Any]:
    declaration: dict[str, Any] = {"id": column.id, "label": column.label, "type": column.type}
    if column.unit:
        declaration["unit"] = column.unit
    if column.sentence:
        declaration["help"] = column.sentence
    if column.role:
        declaration["p"] = {"role": column.role}
    return declaration


def _rows(table: Table, part: slice) -> Iterator[str]:
    """The rows in a slice."""
    texts: list[Sequence[str]] = []
    for column, values in zip(table.columns, table.data, strict=True):
        cells = _cells(column, values[part])
        if column.id in table.formatted:
            formatted = map(_quoted, table.formatted[column.id][part])
            cells = list(map('%s,"f":%s'.__mod__, zip(cells, formatted, strict=True)))
        texts.append(cells)
    row = '{"c":[' + ",".join(['{"v":%s}'] * len(texts)) + "]}"
    return map(row.__mod__, zip(*texts, strict=True))


def _cells(column: Column, values: Array) -> Sequence[str]:
    """The JSON after `"v":` in each cell of a column."""
    if column.type == "number":
        return _json(python_values(values.astype(np.float64)))[1:-1].split(",")
    if column.type == "string":
        return ["null" if value is None else _quoted(value) for value in values.tolist()]
    return ["null" if value is None else "true" if value else "false" for value in values.tolist()]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
