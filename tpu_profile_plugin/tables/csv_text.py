"""Tables as CSV."""

from __future__ import annotations

import csv
import io

import numpy as np

from tpu_profile_plugin.tables.column import python_values
from tpu_profile_plugin.tables.table import ROWS, Table


def csv_text(table: Table) -> str:
    """A header of labels (else ids) and the rows, all quoted; numbers are doubles, an empty cell is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([column.label or column.id for column in table.columns])
    data = [v.astype(np.float64) if v.dtype.kind in "iu" else v for v in table.data]
    for first in range(0, len(table), ROWS):
        writer.writerows(zip(*(python_values(values[first : first + ROWS]) for values in data), strict=True))
    return out.getvalue()
