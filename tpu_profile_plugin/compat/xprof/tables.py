"""XProf's tables made of ours: its columns and labels, 0 where nothing was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tpu_profile_plugin.tables.column import Column
from tpu_profile_plugin.tables.table import Table


def xprof_table(
    table: Table,
    labels: Mapping[str, str],
    properties: Mapping[str, str] | None = None,
    **cells: Sequence[Any] | np.ndarray[Any, np.dtype[Any]],
) -> Table:
    """The table with XProf's columns: labels by id, in this order.

    Empty numbers become 0, `cells` replaces columns and adds texts that our table lacks.
    """
    by_id = {column.id: column for column in table.columns}
    columns, data = [], []
    for id_, label in labels.items():
        known = by_id.get(id_, Column(id_, label, "string"))
        columns.append(replace(known, label=label, unit="", sentence=""))
        data.append(cells[id_] if id_ in cells else _zeros(table[id_]))
    return Table(tuple(columns), data, properties or {}, table.name)


def _zeros(values: Any) -> Any:
    if isinstance(values, np.ma.MaskedArray):
        return values.filled(0)
    return np.nan_to_num(values, nan=0.0) if isinstance(values, np.ndarray) and values.dtype.kind == "f" else values
