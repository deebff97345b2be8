"""The SQL queries of this process: running ones, and the results of the last few."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Request

from tpu_profile_plugin.cache.bodies import Body
from tpu_profile_plugin.errors import BadRequest, NotFound, ProfileError
from tpu_profile_plugin.logdir.names import matching
from tpu_profile_plugin.server.catalog import Catalog, all_hosts
from tpu_profile_plugin.server.http.answer import JSON, NEVER, Answer, json_answer, json_body
from tpu_profile_plugin.server.http.guard import Guard
from tpu_profile_plugin.server.http.query import Place, Query
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.system.terminal import LOG as _LOG
from tpu_profile_plugin.units import MIB

if TYPE_CHECKING:
    from tpu_profile_plugin.run.run import Run
    from tpu_profile_plugin.server.catalog import LocatedRun
    from tpu_profile_plugin.sql import Limits, Result
    from tpu_profile_plugin.sql import Query as RunningQuery
    from tpu_profile_plugin.sql.table_files import TableFiles
    from tpu_profile_plugin.tables.table import Table
    from tpu_profile_plugin.trend.summaries import KeptSummaries


MAX_RUNNING = 4
"""The most simultaneous queries."""
MAX_KEPT = 8
"""Queries that have ended; the results of older ones are forgotten, first those that clients have fetched."""
RESULT_BYTES = 64 * MIB
"""The largest result of one query; the kept ones take `MAX_KEPT` times as much at most."""
LEASE_S = 120.0
"""A query whose status is not asked for during this time is cancelled. Browsers let a hidden page ask once a minute."""

_LEAST_LOOK_S = 0.05
_ENDED = ("done", "failed", "cancelled")


class Held:
    """A query with its id.

    Attributes:
      asked: when it was last asked for.
      fetched: whether a client has received its result or its error.
    """

    def __init__(self, query: RunningQuery) -> None:
        self.id = secrets.token_urlsafe(12)
        self.query = query
        self.asked = time.monotonic()
        self.fetched = False

    @property
    def ended(self) -> bool:
        """True once it has a result or an error."""
        return self.query.status().state in _ENDED

    def wait(self, seconds: float) -> None:
        """Waits for the end, but not longer than this."""
        with contextlib.suppress(Exception):  # described below
            self.query.result(seconds)

    def result(self) -> Result:
        """The result, which counts as fetched; raises what the query raises, BadRequest before its end."""
        result = self._result()
        self.fetched = True
        return result

    def _result(self) -> Result:
        try:
            return self.query.result(0)
        except ProfileError:
            raise
        except TimeoutError:
            raise BadRequest("The query has not ended yet.", parameter="query") from None
        except Exception as error:
            _LOG.error("query %s failed", self.id, exc_info=error)
            raise ProfileError("The server failed on this query; see its log for the reason.") from None

    def describe(self) -> dict[str, Any]:
        """Its state as a JSON object."""
        status = self.query.status()
        facts = {
            "query": self.id,
            "state": status.state,
            "progress": status.doing,
            "seconds": round(status.elapsed_s, 3),
            "error": None,
            "rows": None,
            "cut": False,
            "notes": [],
        }
        if status.state not in _ENDED:
            return facts
        try:
            result = self._result()
        except ProfileError as error:
            self.fetched = True
            return {**facts, "error": {"code": error.code, "message": error.message, "details": error.details}}
        return {**facts, "rows": len(result), "cut": result.cut, "notes": list(result.notes)}


class Queries:
    """Queries by id; thread-safe.

    Attributes:
      limits: those of `sql.Limits` that differ from the usual ones.
    """

    def __init__(self, lease_s: float = LEASE_S) -> None:
        self.limits: dict[str, Any] = {"result_bytes": RESULT_BYTES}
        self._lease_s = lease_s
        self._lock = threading.Lock()
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._timer: threading.Timer | None = None

    def start(self, begin: Callable[[Limits], RunningQuery]) -> Held:
        """Starts a query; raises BadRequest if too many are running, and what `begin` raises."""
        from tpu_profile_plugin.sql import Limits

        with self._lock:
            if sum(not held.ended for held in self._held.values()) >= MAX_RUNNING:
                raise BadRequest(f"{MAX_RUNNING} queries are already running; wait for one to end, or cancel one.")
            held = Held(begin(Limits(**self.limits)))
            self._held[held.id] = held
            ended = [other for other in self._held.values() if other is not held and other.ended]
            ended.sort(key=self._is_unfetched)
            for old in ended[: max(0, len(ended) + 1 - MAX_KEPT)]:
                del self._held[old.id]
            if self._timer is None:
                self._watch(self._lease_s)
        return held

    def find(self, query_id: str) -> Held:
        """A query by its id, whose lease begins anew; raises NotFound."""
        with self._lock:
            held = self._held.get(query_id)
        if held is None:
            raise NotFound("The result of this query is no longer kept; run it again.", code="query_not_found")
        held.asked = time.monotonic()
        return held

    def close(self) -> None:
        """Cancels what is running."""
        with self._lock:
            held, self._held = list(self._held.values()), OrderedDict()
        for one in held:
            one.query.cancel()

    def _is_unfetched(self, held: Held) -> bool:
        """Whether no client has fetched the result of a query that has ended, and its lease has not ended."""
        return not held.fetched and time.monotonic() - held.asked < self._lease_s

    def _watch(self, seconds: float) -> None:
        """Looks after queries whose page is gone in so many seconds, on one thread for all of them; needs the lock."""
        self._timer = threading.Timer(seconds, self._look)
        self._timer.daemon = True
        self._timer.start()

    def _look(self) -> None:
        """Cancels them, and looks again when the lease of a running one ends."""
        with self._lock:
            running = [held for held in self._held.values() if not held.ended]
            left = [held.asked + self._lease_s - time.monotonic() for held in running]
            self._timer = None
            if running:
                self._watch(max(_LEAST_LOOK_S, min(left)))
        for held, seconds in zip(running, left, strict=True):
            if seconds <= 0:
                held.query.cancel()


# The routes of SQL: what can be asked, start, status, result, cancel.

WAIT_S = 0.2
"""Queries over tables that are kept end within it: then the first answer is the last."""
MOST_RUNS = 1000
"""The most runs that a request may name."""

_MOST_CELLS = 2_000_000
"""The most cells of an answer in JSON; files have all."""
_EXACT = 1 << 53
"""Integers up to it are exact as numbers of JSON."""
_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


class QueryRoutes:
    """The handlers. A statement only reads, but takes time: it comes by POST, from this server's pages or programs."""

    def __init__(
        self,
        guard: Guard,
        catalog: Catalog,
        files: Callable[[], TableFiles],
        summaries: Callable[[], KeptSummaries | None],
    ) -> None:
        """`files`, `summaries`: where the tables of runs, and the runs in small are kept."""
        self._guard = guard
        self._catalog = catalog
        self._files = files
        self._summaries = summaries
        self.queries = Queries()

    def about(self, _: Query) -> Answer:
        """The tables and columns, example queries, limits, and what to install if queries cannot run."""
        load_tools()
        from tpu_profile_plugin import sql

        limits = sql.Limits()
        return json_answer(
            {
                "missing": sql.missing() or None,
                "tables": [
                    {
                        "name": table.name,
                        "summary": table.summary,
                        "columns": [
                            {"id": column.id, "type": column.type, "unit": column.unit, "sentence": column.sentence}
                            for column in table.columns
                        ],
                    }
                    for table in sql.schema()
                ],
                "examples": [
                    {"id": one.id, "title": one.title, "sentence": one.sentence, "sql": one.sql, "over": one.over}
                    for one in sql.EXAMPLES
                ],
                "limits": {"seconds": limits.seconds, "rows": limits.rows, "memory_bytes": limits.memory_bytes},
            }
        )

    def start(self, request: Request) -> Answer:
        """Starts a query: 200 with its state if it ends at once, else 202."""
        self._guard.check_write(request)
        body = json_body(request)
        statement = body.get("statement")
        if not isinstance(statement, str) or not statement.strip():
            raise BadRequest("'statement' must be a SQL query.", parameter="statement")
        runs = self._runs(body.get("runs", "*"), _text(body.get("run_path")))
        from tpu_profile_plugin import sql

        held = self.queries.start(lambda limits: sql.start(runs, statement, limits, files=self._files()))
        held.wait(WAIT_S)
        return json_answer(held.describe(), 200 if held.ended else 202, NEVER)

    def status(self, query: Query) -> Answer:
        """The state of a query."""
        return json_answer(self.queries.find(query.required("query")).describe(), cache=NEVER)

    def result(self, query: Query) -> Answer:
        """The rows of a query that has ended: JSON (the first `rows`), or all as a CSV or Parquet file."""
        result = self.queries.find(query.required("query")).result()
        kind = query.optional("format") or "json"
        if kind == "json":
            from tpu_profile_plugin.tools.payload import encode

            most = min(_whole(query.optional("rows"), len(result)), _MOST_CELLS // len(result.part(0, 0).columns))
            first = result.part(0, most)
            return Answer(Body(encode(_exact(first)).body, JSON), cache=NEVER)
        if kind not in _TYPES:
            raise BadRequest("'format' must be json, csv or parquet.", parameter="format")
        if kind == "parquet":
            data = result.to_parquet()
        else:
            data = result.to_csv(spreadsheet=query.flag("spreadsheet", default=True)).encode("utf-8", "replace")
        headers = (("Content-Disposition", f'attachment; filename="query.{kind}"'),)
        return Answer(Body(data, _TYPES[kind]), cache=NEVER, headers=headers)

    def cancel(self, request: Request) -> Answer:
        """Stops a query."""
        self._guard.check_write(request)
        held = self.queries.find(_text(json_body(request).get("query")))
        held.query.cancel()
        held.wait(WAIT_S)
        return json_answer(held.describe(), cache=NEVER)

    def _runs(self, wanted: Any, below: str) -> Sequence[Run]:
        """The runs that a pattern or a list of names selects; raises NotFound, NoData for a named run without profiles,
        or BadRequest for anything else.
        """
        place = Place(None, below=below or None)
        if isinstance(wanted, str):
            # A run without profiles has no rows but those of its problems.
            listed = [run.name for run in self._catalog.runs(place) if run.hosts or run.problems]
            names = matching(listed, wanted)
            if not names:
                message = f"No run matches {wanted[:200]!r}." if listed else "There is no run with a profile."
                raise NotFound(message, code="run_not_found")
        elif isinstance(wanted, list) and wanted and all(isinstance(name, str) for name in wanted):
            names = list(dict.fromkeys(wanted))
        else:
            raise BadRequest("'runs' must be a pattern such as \"*\", or a list of names.", parameter="runs")
        if len(names) > MOST_RUNS:
            raise BadRequest(f"A query reads {MOST_RUNS} runs at most, not {len(names)}.", parameter="runs")
        located = [self._catalog.locate(Place(name, below=place.below)) for name in names]
        if not isinstance(wanted, str):
            for one in located:
                all_hosts(one.run)  # raises NoData
        from tpu_profile_plugin.trend.summaries import labels_in, summarizing

        kept, logdir = self._summaries(), self._catalog.logdir

        def opened(one: LocatedRun) -> Run:
            def labels() -> Mapping[str, str]:
                return {} if below else labels_in(logdir.labels(one.run))

            return replace(self._catalog.open(one, one.run.hosts), summarize=summarizing(one.run, labels, kept))

        return list(map(opened, located))


def _exact(table: Table) -> Table:
    """The table with columns of integers that doubles would round, as ids of threads, as columns of texts."""
    columns, data = list(table.columns), list(table.data)
    for at, (column, values) in enumerate(zip(table.columns, table.data, strict=True)):
        if column.type != "number" or values.dtype.kind not in "iu":
            continue
        cells = table.column(column.id)
        if any(cell is not None and abs(cell) > _EXACT for cell in cells):
            columns[at] = replace(column, type="string", unit="", dtype="")
            data[at] = [None if cell is None else str(cell) for cell in cells]
    return replace(table, columns=tuple(columns), data=data)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(text: str | None, default: int) -> int:
    """A number of rows; raises BadRequest."""
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise BadRequest("'rows' must be a whole number.", parameter="rows")
    return int(text)
