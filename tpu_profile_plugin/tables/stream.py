"""`TableStream`: tables with the same columns, made one after the other, such as one per plane and host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tpu_profile_plugin.system.process import map_threads
from tpu_profile_plugin.tables import frames
from tpu_profile_plugin.tables.coded import Coded, below, coded, empty, joined, together
from tpu_profile_plugin.tables.column import Array, Column
from tpu_profile_plugin.tables.table import Table, html_text


class TableStream:
    """A table in parts; nothing is made before it is asked for.

    Texts are `Coded`; in Arrow they are dictionaries, in pandas categories. Integers are of a declared type, int64 as a
    rule: where one is absent, the array is masked (`numpy.ma`), Arrow has a null and pandas `NA`. Other numbers are
    float64, NaN where absent.

    Attributes:
      columns: the declarations.
      name: id of the table.
    """

    def __init__(self, columns: tuple[Column, ...], make: Callable[[], Iterator[Table]], name: str = "") -> None:
        self.columns, self.name = columns, name
        self._make = make
        self._kept: list[Table] | None = None
        self._table: Table | None = None

    def batches(self) -> Iterator[Table]:
        """The parts in order; each is made when it is asked for, and may be forgotten then."""
        return self._make()

    def _parts(self) -> Iterator[Table]:
        return self.batches() if self._kept is None else iter(self._kept)

    def _all(self) -> list[Table]:
        """The parts that have rows, made once and kept."""
        if self._kept is None:
            self._kept = [part for part in self.batches() if len(part)]
        return self._kept

    def read(self) -> Table:
        """All parts as one table, made once and kept; each column is put together when it is asked for."""
        if self._table is None:
            parts = self._all()
            whole = _Whole(self.columns, parts)
            self._table = parts[0] if len(parts) == 1 else Table.on_demand(self.columns, whole, self.name)
        return self._table

    def __getitem__(self, id_: str) -> Array | Coded:
        """The values of a column over all parts, as a read-only array; raises KeyError."""
        return self.read()[id_]

    def __len__(self) -> int:
        return sum(map(len, self._all()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields each row as a dict of Python values by column id, part by part."""
        for part in self._parts():
            yield from part.rows()

    __iter__ = rows

    def to_pandas(self) -> Any:
        """A pandas DataFrame; texts are categories. Raises MissingPackage without pandas."""
        return self.read().to_pandas()

    def to_arrow(self) -> Any:
        """A pyarrow.Table with a chunk per part, and one dictionary per column of texts; numbers are not copied.

        Raises MissingPackage without pyarrow.
        """
        schema = frames.stream_schema(self.columns, self.name)
        parts = [part.data for part in self._parts()]
        for at, column in enumerate(self.columns):
            if column.type == "string" and parts:
                codes, texts = together([_coded(part[at]) for part in parts])
                parts = [
                    (*part[:at], Coded(own, texts), *part[at + 1 :]) for part, own in zip(parts, codes, strict=True)
                ]
        return frames.chunked(parts, schema)

    def reader(self, *, growing: bool = False) -> Any:
        """A pyarrow.RecordBatchReader that makes the parts while it is read.

        Each part has the dictionaries of its own texts; with `growing`, each dictionary begins with the one before, as
        Arrow's file format demands (`IpcWriteOptions(emit_dictionary_deltas=True)`).

        Raises MissingPackage without pyarrow.
        """
        pyarrow = frames.package("pyarrow")
        schema = frames.stream_schema(self.columns, self.name)
        data = (part.data for part in self._parts())
        batches = (frames.batch(columns, schema) for columns in (_growing(self.columns, data) if growing else data))
        return pyarrow.RecordBatchReader.from_batches(schema, batches)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule protocol, part by part. Raises MissingPackage without pyarrow."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        if self._kept is not None:
            return html_text(self.read())
        none = Table(self.columns, [[] for _ in self.columns], name=self.name)
        return html_text(next((part for part in self.batches() if len(part)), none), whole=False)

    def __repr__(self) -> str:
        return f"<TableStream {self.name!r}: {', '.join(column.id for column in self.columns)}>"


class _Whole(Sequence[Any]):
    """The columns of all parts; large ones are copied, which takes as long as making them, so only on first use."""

    def __init__(self, columns: tuple[Column, ...], parts: list[Table]) -> None:
        self._columns, self._parts = columns, parts
        self._made: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, at: Any) -> Any:
        if at not in self._made:
            column = self._columns[at]
            self._made[at] = column.array(_below(column, [part.data[at] for part in self._parts]))
        return self._made[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(map_threads(self.__getitem__, range(len(self))))


def _below(column: Column, parts: list[Any]) -> Any:
    """The values of the parts of a column below each other."""
    if not parts:
        return empty(0) if column.type == "string" else []
    if column.type == "string":
        return joined([_coded(texts) for texts in parts])
    whole = below([np.ma.getdata(numbers) for numbers in parts])
    if any(isinstance(numbers, np.ma.MaskedArray) for numbers in parts):
        return np.ma.MaskedArray(whole, below([np.ma.getmaskarray(numbers) for numbers in parts]))
    return whole


def _coded(values: Array | Coded) -> Coded:
    if isinstance(values, Coded):
        return values
    return coded(values.tolist(), empty=False)


def _growing(columns: tuple[Column, ...], parts: Iterator[Any]) -> Iterator[list[Any]]:
    """The parts with dictionaries that begin with those before."""
    known: dict[int, Sequence[str]] = {}
    for part in parts:
        data: list[Any] = list(part)
        for at, values in enumerate(data):
            if columns[at].type == "string":
                (codes,), texts = together([_coded(values)], known.get(at, ()))
                known[at] = texts
                data[at] = Coded(codes, texts)
        yield data
