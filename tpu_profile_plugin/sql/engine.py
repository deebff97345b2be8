"""Runs a checked statement in DuckDB, in the worker process: a new database for each, closed to files and network."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpu_profile_plugin.errors import QueryStopped
from tpu_profile_plugin.sql.check import failed
from tpu_profile_plugin.sql.limits import COLUMNS, Limits

_THREADS = 2
_BATCH_ROWS = 16_384
_CLOSED = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
}
# Variables of this program are no tables, and its output is not read.
_OFF = ("python_enable_replacements", "python_scan_all_frames", "enable_progress_bar")
_MEMORY = "The query needs more memory than it may use."
_LOCKS = ("SET enable_external_access = false", "SET lock_configuration = true")


def connect(memory_bytes: int) -> Any:
    """A connection to an empty database in memory, which still may open files."""
    import duckdb

    limits = {"threads": str(_THREADS), "memory_limit": f"{memory_bytes}B"}
    config: dict[str, Any] = {**_CLOSED, **limits}
    connection = duckdb.connect(":memory:", config=config)
    for setting in _OFF:
        connection.execute(f"SET {setting} = false")
    return connection


def lock(connection: Any) -> None:
    """Closes a database to files, network, extensions and settings, for good."""
    for statement in _LOCKS:
        connection.execute(statement)


@contextlib.contextmanager
def translated(statement: str) -> Iterator[None]:
    """A context that raises errors of DuckDB about a statement as ours."""
    import duckdb
    import pyarrow

    try:
        yield
    except (MemoryError, duckdb.OutOfMemoryException):
        raise QueryStopped(_MEMORY, limit="memory") from None
    except duckdb.Error as error:
        raise failed(error, statement) from None
    except (pyarrow.ArrowException, OSError) as error:  # errors of DuckDB while rows are read
        if any(word in str(error).lower() for word in ("memory", "allocation failure")):
            raise QueryStopped(_MEMORY, limit="memory") from None
        raise failed(error, statement) from None
    except RecursionError:
        raise QueryStopped("The statement is nested too deeply.") from None


def run(
    statement: str,
    files: Mapping[str, Sequence[str]],
    empty: Mapping[str, Sequence[tuple[str, str]]],
    limits: Limits,
) -> tuple[dict[str, Any], Any]:
    """Facts about the result, and its rows as a pyarrow.Table.

    Args:
      statement: a statement that `check` accepts.
      files: the Parquet files of each table that is read.
      empty: the columns of the other tables, (name, type) each.
      limits: of the result; its memory is that of this process too.

    Raises errors of DuckDB, and QueryStopped beyond a limit.
    """
    begin = time.monotonic()
    with contextlib.closing(connect(limits.memory_bytes)) as connection:
        _bind(connection, files, empty)
        lock(connection)
        rows, cut = _rows(_relation(connection, statement), limits)
        return {"cut": cut, "seconds": time.monotonic() - begin}, rows


def _bind(connection: Any, files: Mapping[str, Sequence[str]], empty: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Creates the tables; the files stay readable when all others are closed."""
    for name, columns in empty.items():
        connection.execute(f"CREATE TABLE {name} ({', '.join(f'{_quoted(id_)} {kind}' for id_, kind in columns)})")
    listed = sorted({path for paths in files.values() for path in paths})
    if listed:
        connection.execute(f"SET allowed_paths = {_texts(listed)}")
    for name, paths in files.items():
        source = f"read_parquet({_texts(paths)}, hive_partitioning = false)"
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {source}")  # noqa: S608 - names and paths are ours


def _relation(connection: Any, statement: str) -> Any:
    """The statement, bound but not run."""
    import duckdb

    try:
        return connection.sql(statement)
    except duckdb.Error as error:
        try:
            connection.execute(f"EXPLAIN\n{statement}")  # the same error, with its place
        except duckdb.Error as placed:
            if str(placed).startswith(str(error).partition("\n")[0]):
                raise failed(placed, statement, above=1) from None
        raise


def _rows(relation: Any, limits: Limits) -> tuple[Any, bool]:
    """The first rows, and whether there are more; they are made while they are read."""
    import pyarrow

    if relation is None:
        raise QueryStopped("The statement has no result.")
    if len(relation.columns) > COLUMNS:
        raise QueryStopped(f"The result has {len(relation.columns):,} columns; the most are {COLUMNS:,}.")
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # the name before DuckDB 1.4
    reader = read(_BATCH_ROWS)
    batches: list[Any] = []
    count = size = 0
    for batch in reader:
        batches.append(batch.slice(0, limits.rows - count) if count + batch.num_rows > limits.rows else batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        if size > limits.result_bytes:
            message = f"The result has more than {limits.result_bytes:,} bytes: select fewer rows or columns."
            raise QueryStopped(message, limit="size")
        if count > limits.rows:
            break
    names = _distinct(relation.columns)
    schema = pyarrow.schema([field.with_name(name) for field, name in zip(reader.schema, names, strict=True)])
    renamed = [pyarrow.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches]
    return _plain(pyarrow.Table.from_batches(renamed, schema)), count > limits.rows


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, numbered where they repeat: a, a_2."""
    taken: set[str] = set()
    result = []
    for name in names:
        number, free = 1, name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        taken.add(free)
        result.append(free)
    return result


def _plain(table: Any) -> Any:
    """Decimals, which sums of integers are, as int64 where all fit, else float64; intervals as texts."""
    import pyarrow

    for at, field in enumerate(table.schema):
        kind, column = field.type, table.column(at)
        if pyarrow.types.is_decimal(kind):
            column = _number(column)
        elif pyarrow.types.is_interval(kind):
            texts = [None if value is None else str(value) for value in column.to_pylist()]
            column = pyarrow.chunked_array([texts], pyarrow.string())
        elif pyarrow.types.is_null(kind):
            column = column.cast(pyarrow.string())
        else:
            continue
        table = table.set_column(at, field.name, column)
    return table


def _number(column: Any) -> Any:
    import pyarrow

    if column.type.scale == 0:
        with contextlib.suppress(pyarrow.ArrowInvalid):
            return column.cast(pyarrow.int64())
    return column.cast(pyarrow.float64())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _texts(values: Sequence[str]) -> str:
    listed = (f"'{_escaped(value)}'" for value in values)
    return f"[{', '.join(listed)}]"


def _escaped(text: str) -> str:
    return text.replace("'", "''")
