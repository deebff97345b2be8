"""The process in which statements run, each in a new database of DuckDB, closed to files and network.

A request is JSON, an answer a line of JSON, which the rows of a result follow as a stream of Arrow. The process has no
secrets of its parent, may write no file, and ends when it takes too much memory or processor time.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.errors import BadRequest, ProfileError, QueryFailed, QueryRefused, QueryStopped
from tpu_profile_plugin.sql.check import check, failed
from tpu_profile_plugin.system import process as system
from tpu_profile_plugin.units import GIB, MIB

MEMORY_EXIT = 83
"""Exit status of a process that has taken too much memory."""
_ERRORS = {each.code: each for each in (QueryRefused, QueryFailed, QueryStopped)}
_UNEXPECTED = "The query failed for an unexpected reason, which the log of this program has."
_OVERHEAD_BYTES = GIB
"""Memory of the program itself, and of what DuckDB does not count."""
_ALIGNMENT = 64
_BIT = re.compile(r"\bBIT\b")
_COLUMNS = 1_000
"""The most columns of a result."""
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

_MOST = {"rows": 10**9, "seconds": 86_400, "memory_bytes": 1 << 40, "result_bytes": 1 << 40}


@dataclass(frozen=True)
class Limits:
    """The limits of one query; reading profiles into tables beforehand is not limited, but can be cancelled.

    Attributes:
      rows: the most rows of the result; further rows are dropped, which `Result.cut` tells.
      seconds: the most time of the statement; beyond it `QueryStopped`.
      memory_bytes: the most memory that DuckDB takes for data; beyond it `QueryStopped`. Its process ends if it takes
        one GiB more.
      result_bytes: the most bytes of the result; beyond it `QueryStopped`.
    """

    rows: int = 100_000
    seconds: float = 30.0
    memory_bytes: int = 1024 * MIB
    result_bytes: int = 256 * MIB

    def __post_init__(self) -> None:
        """Raises BadRequest for a limit that is not positive, or too large for the system."""
        for name, most in _MOST.items():
            if not 0 < getattr(self, name) <= most:
                raise BadRequest(f"{name} must be more than 0, and at most {most:,}.", parameter=name)


def prepare() -> Callable[[bytes], list[bytes | memoryview]]:
    """The function of the process, see `workers.processes.Process`."""
    system.write_no_files()
    import duckdb  # noqa: F401 - takes longest, before the first request
    import pyarrow  # noqa: F401

    return functools.partial(_answer, system.MemoryGuard(lambda: os._exit(MEMORY_EXIT)))


def _answer(guard: system.MemoryGuard, data: bytes) -> list[bytes | memoryview]:
    """The parts of the answer: JSON, and for rows Arrow."""
    request: dict[str, Any] = json.loads(data)
    limits = Limits(**request["limits"])
    guard.limit(limits.memory_bytes + _OVERHEAD_BYTES)
    # Several threads compute; the parent's clock ends the process earlier as a rule.
    system.limit_processor_time(3 * limits.seconds + 2)
    try:
        with _translated(request["statement"]):
            if request["do"] == "check":
                return [_json(_checked(request, limits))]
            facts, rows = _run(request["statement"], request["files"], request["empty"], limits)
            return [_json(facts), _arrow(rows)]
    except ProfileError as error:
        return [_json({"error": _described(error, request.get("files", {}))})]
    except Exception:
        traceback.print_exc()  # for the log of the parent
        return [_json({"error": {"code": QueryFailed.code, "message": _UNEXPECTED, "details": {}}})]


def decoded(answer: bytes) -> tuple[dict[str, Any], memoryview]:
    """What an answer says, and its rows in Arrow's form; raises the error that it describes, in the parent."""
    end = answer.index(b"\n") + 1
    facts: dict[str, Any] = json.loads(answer[:end])
    if error := facts.get("error"):
        raise _ERRORS.get(error["code"], QueryFailed)(error["message"], **error["details"])
    return facts, memoryview(answer)[end:]


def _described(error: ProfileError, files: dict[str, list[str]]) -> dict[str, Any]:
    """The error without paths of this machine; `details` names a table whose file cannot be read."""
    message, details = error.message, dict(error.details)
    for name, paths in files.items():
        for path in paths:
            if path in message:
                message, details["table"] = message.replace(path, name), name
    return {"code": error.code, "message": message, "details": details}


def _checked(request: dict[str, Any], limits: Limits) -> dict[str, Any]:
    checked = check(_parser(limits.memory_bytes), request["statement"], request["tables"])
    runs = {name: None if named is None else sorted(named) for name, named in checked.runs.items()}
    return {"statement": checked.statement, "tables": {name: runs.get(name) for name in sorted(checked.tables)}}


@functools.lru_cache(1)
def _parser(memory_bytes: int) -> Any:
    """An empty, closed database, which parses statements."""
    connection = connect(memory_bytes)
    lock(connection)
    return connection


def _json(value: dict[str, Any]) -> bytes:
    """A line, padded so that rows behind it are aligned."""
    text = json.dumps(value).encode()
    return text + b" " * (-(len(text) + 1) % _ALIGNMENT) + b"\n"


def _arrow(rows: Any) -> memoryview:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return memoryview(sink.getvalue())


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
def _translated(statement: str) -> Iterator[None]:
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


def _run(
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
    if len(relation.columns) > _COLUMNS:
        raise QueryStopped(f"The result has {len(relation.columns):,} columns; the most are {_COLUMNS:,}.")
    names = _distinct(relation.columns)
    relation = _without_bits(relation)
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
    schema = pyarrow.schema([field.with_name(name) for field, name in zip(reader.schema, names, strict=True)])
    renamed = [pyarrow.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches]
    return _plain(pyarrow.Table.from_batches(renamed, schema)), count > limits.rows


def _without_bits(relation: Any) -> Any:
    """The rows with BIT columns as texts such as 101; Arrow has the engine's own bytes for them."""
    has_bits = [_BIT.search(str(kind)) is not None for kind in relation.types]
    if not any(has_bits):
        return relation
    parts = (f"#{at}::VARCHAR" if bits else f"#{at}" for at, bits in enumerate(has_bits, 1))
    return relation.project(", ".join(parts))


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
