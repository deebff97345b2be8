"""Tables as Parquet files, written part by part: at most one row group is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from tpu_profile_plugin.tables.optional import module
from tpu_profile_plugin.tables.stream import TableStream

ROW_GROUP = 1 << 19
"""Most rows of a row group."""
_DICTIONARY_BYTES = 16 << 20
"""Longer lists of distinct texts are not shared by the rows of a row group; texts of HLO have thousands of bytes."""


def ignore_rows(rows: int) -> None:
    """The default of `on_rows`."""


def write_parquet(stream: TableStream, target: Path | IO[bytes], on_rows: Callable[[int], None] = ignore_rows) -> int:
    """Writes a table, compressed by zstd, and returns its number of rows.

    Fields have label, unit and sentence of their column in their metadata.

    Args:
      stream: the table.
      target: a path, or a file open for writing.
      on_rows: called with the number of rows written so far.

    Raises NotAvailable without pyarrow, OSError, and what making the rows raises; the file is incomplete then.
    """
    parquet, arrow = module("pyarrow.parquet"), module("pyarrow")
    rows = 0
    reader = stream.reader()
    with parquet.ParquetWriter(
        target, reader.schema, compression="zstd", dictionary_pagesize_limit=_DICTIONARY_BYTES
    ) as writer:
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
