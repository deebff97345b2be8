"""Tables as Parquet and Arrow files, written part by part: at most one part is in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from tpu_profile_plugin.tables.frames import package
from tpu_profile_plugin.tables.stream import TableStream

ROW_GROUP = 1 << 18
"""Most rows of a row group: what is in memory of the table at a time, besides the part that is being made."""
_DICTIONARY_BYTES = 16 << 20
"""Longer lists of distinct texts are not shared by the rows of a row group; texts of HLO have thousands of bytes."""
_RISING = "begin_ps"
"""Column of numbers that differ from row to row, and rise within a line: stored as differences."""


def ignore_rows(rows: int) -> None:
    """The default of `on_rows`."""


def write_parquet(stream: TableStream, target: Path | IO[bytes], on_rows: Callable[[int], None] = ignore_rows) -> int:
    """Writes a table, compressed by zstd, and returns its number of rows.

    Fields have label, unit and sentence of their column in their metadata.

    Args:
      stream: the table.
      target: a path, or a file open for writing.
      on_rows: called with the number of rows written so far.

    Raises MissingPackage without pyarrow, OSError, and what making the rows raises; the file is incomplete then.
    """
    parquet, arrow = package("pyarrow.parquet"), package("pyarrow")
    reader = stream.reader()
    rising = [name for name in reader.schema.names if name == _RISING]
    encodings = {
        "use_dictionary": [name for name in reader.schema.names if name not in rising],
        "column_encoding": dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
        "dictionary_pagesize_limit": _DICTIONARY_BYTES,
    }
    rows = 0
    with parquet.ParquetWriter(target, reader.schema, compression="zstd", **encodings) as writer:
        for group in row_groups(reader, ROW_GROUP):
            table = arrow.Table.from_batches(group, reader.schema)
            writer.write_table(table if len(group) == 1 else table.unify_dictionaries().combine_chunks(), ROW_GROUP)
            rows += table.num_rows
            on_rows(rows)
    return rows


def row_groups(batches: Any, most: int) -> Iterator[list[Any]]:
    """The rows of record batches in groups of at most this many; small batches are put together."""
    group: list[Any] = []
    rows = 0
    for batch in batches:
        for first in range(0, batch.num_rows, most):
            part = batch.slice(first, most)
            if rows + part.num_rows > most:
                yield group
                group, rows = [], 0
            group.append(part)
            rows += part.num_rows
    if group:
        yield group


def write_arrow(stream: TableStream, target: Path, on_rows: Callable[[int], None] = ignore_rows) -> int:
    """Writes a table as an Arrow file (Feather 2), not compressed so that it can be mapped; returns its number of rows.

    A file has one list of the distinct texts of a column, in front of the rows. It is known when all rows are made, so
    they are kept in a temporary file until then.

    Raises MissingPackage without pyarrow, OSError, and what making the rows raises; the file is incomplete then.
    """
    arrow, ipc = package("pyarrow"), package("pyarrow.ipc")
    reader = stream.reader()
    lists = _Lists(arrow, reader.schema)
    rows = 0
    with tempfile.TemporaryFile(dir=target.parent) as spool:
        with ipc.new_stream(spool, lists.numbered) as writer:
            for group in row_groups(reader, ROW_GROUP):
                for batch in group:
                    writer.write_batch(lists.number(batch))
                    rows += batch.num_rows
                on_rows(rows)
        spool.seek(0)
        with ipc.open_stream(spool) as again, ipc.new_file(str(target), reader.schema) as file:
            for batch in again:
                file.write_batch(lists.spell(batch))
    return rows


class _Lists:
    """The distinct texts of each text column over all record batches."""

    def __init__(self, arrow: Any, schema: Any) -> None:
        self._arrow, self._schema = arrow, schema
        self._coded = [i for i, field in enumerate(schema) if arrow.types.is_dictionary(field.type)]
        self._numbers: dict[int, dict[str | None, int]] = {i: {} for i in self._coded}
        self._texts: dict[int, Any] = {}
        fields = [
            arrow.field(field.name, arrow.int32()) if i in self._numbers else field for i, field in enumerate(schema)
        ]
        self.numbered = arrow.schema(fields)

    def number(self, batch: Any) -> Any:
        """The batch with the numbers of texts in the lists of all rows so far."""
        columns = list(batch.columns)
        for i in self._coded:
            numbers = self._numbers[i]
            own = [numbers.setdefault(text, len(numbers)) for text in columns[i].dictionary.to_pylist()]
            table = self._arrow.array(np.array(own, np.int32))
            columns[i] = table.take(columns[i].indices)
        return self._arrow.RecordBatch.from_arrays(columns, schema=self.numbered)

    def spell(self, batch: Any) -> Any:
        """The batch with its texts, after all batches were numbered."""
        columns = list(batch.columns)
        for i in self._coded:
            if i not in self._texts:
                self._texts[i] = self._arrow.array(list(self._numbers[i]), self._schema.field(i).type.value_type)
            columns[i] = self._arrow.DictionaryArray.from_arrays(columns[i], self._texts[i])
        return self._arrow.RecordBatch.from_arrays(columns, schema=self._schema)
