"""Tables as pandas and Arrow hold them; both packages are optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpu_profile_plugin.tables.column import Array, Column

_NEEDS = "{0} is not installed, which this form of a table needs: pip install {0}"


def to_pandas(columns: Sequence[Column], data: Sequence[Array]) -> Any:
    """A DataFrame with the ids as column names; raises ImportError without pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError(_NEEDS.format("pandas")) from None
    series = {
        # pandas would keep flags with empty cells as Python objects; it knows what to do with texts.
        column.id: pandas.array(values, "boolean") if column.type == "boolean" and values.dtype == object else values
        for column, values in zip(columns, data, strict=True)
    }
    frame = pandas.DataFrame(series)
    frame.attrs = {"labels": {c.id: c.label for c in columns}, "units": {c.id: c.unit for c in columns}}
    return frame


def to_arrow(columns: Sequence[Column], data: Sequence[Array], properties: Mapping[str, str]) -> Any:
    """A pyarrow.Table with `properties` as metadata; raises ImportError without pyarrow."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(_NEEDS.format("pyarrow")) from None
    fields, arrays = [], []
    for column, values in zip(columns, data, strict=True):
        number = pyarrow.from_numpy_dtype(values.dtype) if column.type == "number" else None
        kind = number or {"string": pyarrow.string(), "boolean": pyarrow.bool_()}[column.type]
        arrays.append(pyarrow.array(values, kind, from_pandas=True))
        described = {"label": column.label, "unit": column.unit, "sentence": column.sentence}
        fields.append(pyarrow.field(column.id, kind, metadata={key: text for key, text in described.items() if text}))
    metadata = {key: text.encode("utf-8", "replace") for key, text in properties.items()}
    return pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields, metadata=metadata))
