"""Tables as Parquet files, written part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

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
