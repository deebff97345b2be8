"""`start`: runs a statement over the tables of some runs, in a process of its own, and returns its handle at once."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tpu_profile_plugin.cache.files import user_directory
from tpu_profile_plugin.errors import MissingPackage, NoData, NotFound, ProfileError, QueryFailed, QueryStopped
from tpu_profile_plugin.sql.engine import MEMORY_EXIT, Limits, decoded
from tpu_profile_plugin.sql.result import Result
from tpu_profile_plugin.units import GIB
from tpu_profile_plugin.workers.processes import Process, WorkerDied, WorkerNotStarted, Workers

if TYPE_CHECKING:
    from tpu_profile_plugin.run.hosts import RunHosts
    from tpu_profile_plugin.run.relations.relation import Relation
    from tpu_profile_plugin.sql.table_files import TableFiles

State = Literal["waiting", "reading", "running", "done", "failed", "cancelled"]

_KEPT_BYTES = 4 * GIB
_ATTEMPTS = 4
"""A file of a table may be damaged each time, where something writes into the cache."""
_PROCESSES, _IDLE_S = 2, 120.0
"""Idle processes are kept for a while, because starting one takes half a second."""
_NEEDED = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "PYTHONHOME", "SYSTEMROOT", "TZ")
"""Variables that a Python program may need to start; others, which may hold secrets, are not passed on."""
_SQL_TYPES = {"string": "VARCHAR", "boolean": "BOOLEAN", "int64": "BIGINT", "int32": "INTEGER", "uint64": "UBIGINT"}
_CANCELLED = "The query was cancelled."


@dataclass(frozen=True)
class Status:
    """How far a query is.

    Attributes:
      state: "waiting" for a free process, "reading" profiles into tables (the first query of a run), "running" the
        statement, or ended: "done", "failed", "cancelled".
      elapsed_s: since the start, or until the end.
      doing: a phrase such as "Reading events of run 2026_01_15"; "" when there is nothing to tell.
      done, total: tables of runs that are ready, of those that the statement reads; total 0 before it is known.
    """

    state: State
    elapsed_s: float
    doing: str = ""
    done: int = 0
    total: int = 0


class Query:
    """A query that runs, or has run."""

    def __init__(self, runs: Sequence[RunHosts], statement: str, limits: Limits, files: TableFiles | None) -> None:
        self._runs, self._statement, self._limits = tuple(runs), statement, limits
        self._files = files
        self._begin = time.monotonic()
        self._status = Status("waiting", 0)
        self._cancelled = threading.Event()
        self._ended = threading.Event()
        self._process: Process | None = None
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._temporary: list[str] = []
        threading.Thread(target=self._work, name="query", daemon=True).start()

    def status(self) -> Status:
        """How far it is; returns at once."""
        status = self._status
        if self._ended.is_set():
            return status
        return dataclasses.replace(status, elapsed_s=time.monotonic() - self._begin)

    def cancel(self) -> None:
        """Stops it: its process is killed. Returns at once; without effect on a query that has ended."""
        self._cancelled.set()
        process = self._process
        if process is not None:
            process.kill()

    def result(self, timeout: float | None = None) -> Result:
        """Waits for the result, for `timeout` seconds at most (TimeoutError).

        Raises what went wrong: `QueryRefused` for a statement that is not allowed, `QueryFailed` for one that DuckDB
        cannot run (a typing error, an unknown column), `QueryStopped` for one that was cancelled or reached a limit,
        and what reading the profiles raises if no run can be read. `details` of the first two may have `line` and
        `column`, counted from 1; of the third, `limit` is "cancelled", "time", "memory" or "size".
        """
        if not self._ended.wait(timeout):
            raise TimeoutError("The query has not ended yet.")
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def _work(self) -> None:
        state: State = "failed"
        try:
            self._result = self._run()
            state = "done"
        except BaseException as error:
            self._error = error
            if isinstance(error, QueryStopped) and error.details.get("limit") == "cancelled":
                state = "cancelled"
        finally:
            self._drop(self._temporary)
            self._status = dataclasses.replace(self._status, state=state, elapsed_s=self._elapsed(), doing="")
            self._ended.set()

    def _run(self) -> Result:
        known = {relation.name: relation for relation in schema()}
        checked, _ = self._ask({"do": "check", "statement": self._statement, "tables": list(known)})
        named = checked["tables"]
        tables = [
            (run, known[name])
            for run in self._runs
            for name in named
            if run.name in (named[name] or [run.name])
            # Without profiles, a run has problems and nothing else.
            and (run.profiles or not known[name].lasting)
        ]
        request = {"do": "run", "statement": checked["statement"]}
        for attempt in range(_ATTEMPTS):
            files, notes = self._read(tables)
            self._tell("running")
            empty = {name: _sql_types(relation) for name, relation in known.items() if name not in files}
            failure: QueryFailed | None = None
            try:
                facts, rows = self._ask({**request, "files": files, "empty": empty})
            except QueryFailed as error:
                failure = error
            damaged = self._damaged(files, failure)
            if not damaged:
                if failure is not None:
                    raise failure
                break
            if attempt + 1 == _ATTEMPTS:
                from tpu_profile_plugin.sql.table_files import too_small

                raise too_small(next(iter(damaged)))
            for paths in damaged.values():
                self._drop(paths)
        if facts["cut"]:
            notes = [f"Only the first {self._limits.rows:,} rows are shown.", *notes]
        return Result(
            self._statement, rows, [known[name] for name in named], bool(facts["cut"]), tuple(notes), self._elapsed()
        )

    def _read(self, tables: Sequence[tuple[RunHosts, Relation]]) -> tuple[dict[str, list[str]], list[str]]:
        """The files of each table, and sentences about what is missing."""
        store = self._files = self._files or table_files()
        files: dict[str, list[str]] = {}
        notes: dict[str, None] = {}
        first: ProfileError | None = None
        total = len(tables)
        for number, (run, relation) in enumerate(tables):
            begin = f"Reading {relation.name} of {run.name}"
            self._tell("reading", begin, number, total)
            try:
                path, missing, drop = store.get(run, relation, functools.partial(self._on_rows, begin, number, total))
            except NoData:
                continue
            except QueryStopped:
                raise
            except ProfileError as error:
                first = first or error
                notes[f"Run {run.name} is left out: {error.message}"] = None
                continue
            if drop:
                self._temporary.append(str(path))
            files.setdefault(relation.name, []).append(str(path))
            notes.update(dict.fromkeys(missing))
        if first is not None and not files:
            raise first
        self._tell("waiting", "", total, total)
        return files, list(notes)

    def _damaged(self, files: Mapping[str, list[str]], failure: QueryFailed | None) -> dict[str, list[str]]:
        """By table the files that another program damaged or deleted, perhaps while they were read."""
        damaged: dict[str, list[str]] = {}
        for name, paths in files.items():
            if failure is not None and failure.details.get("table") == name:
                damaged[name] = paths
            elif self._files is not None:
                kept = [path for path in paths if path not in self._temporary]
                damaged[name] = self._files.damaged(kept)
        return {name: paths for name, paths in damaged.items() if paths}

    def _drop(self, paths: Sequence[str]) -> None:
        if self._files is not None:
            for path in paths:
                self._files.drop(Path(path))

    def _on_rows(self, begin: str, number: int, total: int, rows: int) -> None:
        self._tell("reading", f"{begin}: {rows:,} rows" if rows else begin, number, total)

    def _tell(self, state: State, doing: str = "", done: int | None = None, total: int | None = None) -> None:
        """Sets the status; raises QueryStopped if the query was cancelled."""
        self._check_cancelled()
        last = self._status
        counts = (last.done if done is None else done, last.total if total is None else total)
        self._status = Status(state, 0, doing, *counts)

    def _check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise QueryStopped(_CANCELLED, limit="cancelled")

    def _ask(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], memoryview]:
        """The answer of a process, and its rows; the process is killed when time is up."""
        data = json.dumps({**request, "limits": dataclasses.asdict(self._limits)}).encode()
        try:
            with _processes().process(self._check_cancelled) as process:
                self._process = process
                if self._cancelled.is_set():
                    process.kill()
                answer = process.ask(data, self._limits.seconds)
        except WorkerDied as died:
            raise self._reason(died) from None
        finally:
            self._process = None
        return decoded(answer)

    def _reason(self, died: WorkerDied) -> QueryStopped:
        if self._cancelled.is_set():
            return QueryStopped(_CANCELLED, limit="cancelled")
        if died.late:
            return QueryStopped(f"The query took longer than {self._limits.seconds:g} s.", limit="time")
        most = self._limits.memory_bytes / GIB
        if died.status == MEMORY_EXIT:
            return QueryStopped(f"The query needs more memory than it may use ({most:.1f} GiB).", limit="memory")
        return QueryStopped(
            f"The query ended its process ({died}), probably by too much memory or nesting.", limit="memory"
        )

    def _elapsed(self) -> float:
        return time.monotonic() - self._begin


def schema() -> tuple[Relation, ...]:
    """The tables: each has `name`, `summary` (a sentence) and `columns` (id, label, type, unit, sentence)."""
    from tpu_profile_plugin.run.relations import RELATIONS  # takes the analysis along

    return RELATIONS


def _sql_types(relation: Relation) -> list[tuple[str, str]]:
    """The columns and their types in DuckDB, as those of the Parquet files are."""
    return [(c.id, _SQL_TYPES.get(c.dtype if c.type == "number" else c.type, "DOUBLE")) for c in relation.columns]


def start(
    runs: Sequence[RunHosts], statement: str, limits: Limits | None = None, *, files: TableFiles | None = None
) -> Query:
    """Starts a query over these runs, whose rows the tables hold together (`run` and `host` tell them apart).

    Returns before anything is read; `files` is where tables are kept, by default in the user's private cache. Raises
    MissingPackage if DuckDB or pyarrow is not installed (`missing()` says so beforehand), and NotFound without runs.
    """
    if sentence := missing():
        raise MissingPackage(sentence)
    if not runs:
        raise NotFound("There is no run to query.", code="run_not_found")
    return Query(runs, statement, limits or Limits(), files)


def missing() -> str:
    """What to install for SQL, as a sentence; "" if everything is there. Imports nothing."""
    absent = [name for name in ("duckdb", "pyarrow") if importlib.util.find_spec(name) is None]
    if not absent:
        return ""
    return f'SQL needs {" and ".join(absent)}: pip install "tpu-profile-plugin[sql]"'


@functools.cache
def table_files() -> TableFiles:
    """Where tables are kept by default."""
    from tpu_profile_plugin.sql.table_files import TableFiles

    return TableFiles(user_directory("tables"), _KEPT_BYTES)


@functools.cache
def _processes() -> Workers:
    return Workers(_PROCESSES, _IDLE_S, _started)


def _started() -> Process:
    environment = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    # Arrow's own allocator takes memory by the GiB, which counts against the limit before it is used.
    environment["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    root = Path(sys.executable).anchor or None
    try:
        return Process("tpu_profile_plugin.sql.engine", environment=environment, directory=root)
    except WorkerNotStarted as error:
        raise QueryStopped(f"The process for queries could not be started: {error}.") from None
