"""Tables as pandas and Arrow hold them; both packages are optional."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tpu_profile_plugin.columns.arrays import I32
from tpu_profile_plugin.errors import MissingPackage
from tpu_profile_plugin.tables.coded import Coded, is_constant
from tpu_profile_plugin.tables.column import Array, Column

Values = Array | Coded
_PACKAGES = {"pandas": "pandas", "pyarrow": '"tpu-profile-plugin[sql]"'}


def package(name: str) -> Any:
    """pandas or pyarrow, or a module of them; raises MissingPackage, an ImportError."""
    try:
        return importlib.import_module(name)
    except ImportError:
        missing = name.partition(".")[0]
        message = f"{missing} is not installed, which this form of a table needs: pip install {_PACKAGES[missing]}"
        raise MissingPackage(message, package=missing) from None


def to_pandas(columns: Sequence[Column], data: Sequence[Values]) -> Any:
    """A DataFrame with the ids as column names; raises MissingPackage without pandas."""
    pandas = package("pandas")
    frame = pandas.DataFrame({c.id: _series(pandas, c, values) for c, values in zip(columns, data, strict=True)})
    frame.attrs = {"labels": {c.id: c.label for c in columns}, "units": {c.id: c.unit for c in columns}}
    return frame


def to_arrow(columns: Sequence[Column], data: Sequence[Values], properties: Mapping[str, str]) -> Any:
    """A pyarrow.Table with `properties` as metadata; raises MissingPackage without pyarrow."""
    pyarrow = package("pyarrow")
    kinds = [_kind(pyarrow, column, values) for column, values in zip(columns, data, strict=True)]
    arrays = [_array(pyarrow, values, kind) for values, kind in zip(data, kinds, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=_schema(pyarrow, columns, kinds, properties))


def stream_schema(columns: Sequence[Column], name: str) -> Any:
    """The pyarrow.Schema of tables that come one after the other: texts are dictionaries, whatever the parts hold."""
    pyarrow = package("pyarrow")
    kinds = [_declared(pyarrow, column) for column in columns]
    return _schema(pyarrow, columns, kinds, {"table": name} if name else {})


def batch(data: Sequence[Values], schema: Any) -> Any:
    """A pyarrow.RecordBatch of a `stream_schema`; columns that lie in one piece are not copied."""
    pyarrow = package("pyarrow")
    arrays = [_array(pyarrow, values, kind) for values, kind in zip(data, schema.types, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def chunked(parts: Sequence[Sequence[Values]], schema: Any) -> Any:
    """A pyarrow.Table of a `stream_schema` with a chunk per part; a column's texts are the same object in all parts."""
    pyarrow = package("pyarrow")
    columns = []
    for at, kind in enumerate(schema.types):
        values = [part[at] for part in parts]
        if values and isinstance(values[0], Coded):
            texts = _texts(pyarrow, values[0].texts)
            chunks = [_dictionary(pyarrow, part.codes, texts) for part in values if isinstance(part, Coded)]
        else:
            chunks = [_array(pyarrow, part, kind) for part in values]
        columns.append(pyarrow.chunked_array(chunks, kind))
    return pyarrow.Table.from_arrays(columns, schema=schema)


def _series(pandas: Any, column: Column, values: Values) -> Any:
    if isinstance(values, Coded):
        distinct = Coded.of(values.codes, values.texts, empty=False)
        return pandas.Categorical.from_codes(distinct.codes, list(distinct.texts))
    if isinstance(values, np.ma.MaskedArray):
        return pandas.arrays.IntegerArray(values.data.copy(), np.ma.getmaskarray(values).copy())
    if column.type == "boolean" and values.dtype == object:
        return pandas.array(values, "boolean")  # pandas would keep Python objects; it knows what to do with texts
    return values


def _schema(pyarrow: Any, columns: Sequence[Column], kinds: Sequence[Any], properties: Mapping[str, str]) -> Any:
    fields = []
    for column, kind in zip(columns, kinds, strict=True):
        described = {"label": column.label, "unit": column.unit, "sentence": column.sentence}
        fields.append(pyarrow.field(column.id, kind, metadata={key: text for key, text in described.items() if text}))
    metadata = {key: text.encode("utf-8", "replace") for key, text in properties.items()}
    return pyarrow.schema(fields, metadata=metadata)


def _kind(pyarrow: Any, column: Column, values: Values) -> Any:
    if column.type == "number":
        return pyarrow.from_numpy_dtype(values.dtype)
    if column.type == "boolean":
        return pyarrow.bool_()
    return pyarrow.dictionary(pyarrow.int32(), pyarrow.string()) if isinstance(values, Coded) else pyarrow.string()


def _declared(pyarrow: Any, column: Column) -> Any:
    if column.type == "number":
        return pyarrow.from_numpy_dtype(np.dtype(column.dtype or np.float64))
    return pyarrow.bool_() if column.type == "boolean" else pyarrow.dictionary(pyarrow.int32(), pyarrow.string())


def _array(pyarrow: Any, values: Values, kind: Any) -> Any:
    if isinstance(values, Coded):
        values = Coded.of(values.codes, values.texts, empty=False)
        return _dictionary(pyarrow, values.codes, _texts(pyarrow, values.texts))
    if pyarrow.types.is_dictionary(kind):
        return pyarrow.array(values, pyarrow.string(), from_pandas=True).dictionary_encode()
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        if is_constant(mask) and mask[0]:
            return pyarrow.nulls(len(values), kind)
        return pyarrow.array(np.ascontiguousarray(values.data), kind, mask=np.ascontiguousarray(mask))
    if pyarrow.types.is_floating(kind):
        if is_constant(values) and np.isnan(values[0]):
            return pyarrow.nulls(len(values), kind)
        values = values.astype(kind.to_pandas_dtype(), copy=False)
    return pyarrow.array(np.ascontiguousarray(values), kind, from_pandas=True)


def _dictionary(pyarrow: Any, codes: I32, texts: Any) -> Any:
    """A DictionaryArray with the codes themselves."""
    if is_constant(codes) and codes[0] < 0:
        return pyarrow.DictionaryArray.from_arrays(pyarrow.nulls(len(codes), pyarrow.int32()), texts)
    codes = np.ascontiguousarray(codes)
    empty = codes < 0
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes, mask=empty if empty.any() else None), texts)


def _texts(pyarrow: Any, texts: Sequence[str]) -> Any:
    """Texts for a dictionary, all different, as consumers expect; lone surrogates, which Arrow lacks, become "?"."""
    mended = [text if text.isascii() else text.encode("utf-8", "replace").decode() for text in texts]
    return pyarrow.array(mended, pyarrow.string())
