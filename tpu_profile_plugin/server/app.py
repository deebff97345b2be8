"""Assembles the server: the table of routes, method checks, and conversion of errors to answers."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Request

from tpu_profile_plugin.cache.bodies import DiskStore, MemoryStore
from tpu_profile_plugin.cache.files import user_directory
from tpu_profile_plugin.errors import NotFound, ProfileError, WrongMethod
from tpu_profile_plugin.logdir import AllowedRoots, ContentCache, Logdir
from tpu_profile_plugin.logdir.remote import is_remote
from tpu_profile_plugin.logdir.single import SingleRun
from tpu_profile_plugin.server.ahead import AheadRoutes, JobQueue, NewestSession
from tpu_profile_plugin.server.captures import HINT, CaptureRoutes
from tpu_profile_plugin.server.catalog import Catalog
from tpu_profile_plugin.server.http.answer import Answer, Assets, StartResponse, content_policy, error_answer, send
from tpu_profile_plugin.server.http.guard import Guard
from tpu_profile_plugin.server.http.query import Query
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.server.options import Options
from tpu_profile_plugin.server.queries import QueryRoutes
from tpu_profile_plugin.server.reading import Routes
from tpu_profile_plugin.server.report_route import ReportRoutes
from tpu_profile_plugin.server.results import Results
from tpu_profile_plugin.server.sources import SourceRoutes
from tpu_profile_plugin.server.trend_route import TrendRoutes
from tpu_profile_plugin.system.terminal import LOG as _LOG

if TYPE_CHECKING:
    from tpu_profile_plugin.run.run import Source
    from tpu_profile_plugin.sql.table_files import TableFiles
    from tpu_profile_plugin.trend.summaries import KeptSummaries
    from tpu_profile_plugin.workers.executor import Executor


WsgiApp = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]
Handler = Callable[[Request], Answer]
QueryHandler = Callable[[Query], Answer]

_READ = ("GET", "HEAD")
_WRITE = ("POST",)


class Server:
    """The plugin's HTTP server. The constructor accesses neither the logdir nor the cache."""

    def __init__(
        self,
        options: Options,
        *,
        logdir: Logdir | SingleRun | None = None,
        assets: Assets | None = None,
        source: Source | None = None,
    ) -> None:
        """`source`: decoded profiles of this process that the server shares; None: it has its own."""
        self._options = options
        remote = any(is_remote(path) for path in (options.logdir, *options.allowed_roots))
        copies = ContentCache(self._private("content") if remote else None, options.remote_bytes)
        self.logdir = logdir or Logdir(options.logdir, limit_s=options.scan_limit_s, cache=copies)
        allowed = AllowedRoots(options.allowed_roots, copies)
        self._catalog = Catalog(self.logdir, allowed, self.source)
        self._copies = copies.location
        self._creating = threading.RLock()
        self._source = source
        self._executor: Executor | None = None
        self._results: Results | None = None
        self._tables: TableFiles | None = None
        self._assets = assets or Assets()
        self._routes = Routes(options, self._catalog, self.results)
        reading = ("config", "runs_info", "run_info", "module_list", "page")
        self._trend = TrendRoutes(self._catalog, self._kept_runs)
        read = {name: getattr(self._routes, name) for name in reading}
        self.reports = ReportRoutes({**read, "trend": self._trend.trend})
        self._capture = CaptureRoutes(options)
        self._sources = SourceRoutes(options.source_root)
        self._sql = QueryRoutes(Guard(options.server_names), self._catalog, self._table_files, self._kept_runs)
        self._queue = JobQueue(self._routes.page)
        self._ahead = AheadRoutes(Guard(options.server_names), self._catalog, self._queue)
        self._newest = NewestSession(options.warm_bytes, self.logdir.newest) if options.warm_bytes else None
        self._guard = Guard(options.server_names, closed=options.server_names_only)
        self._policy = content_policy(options.framing)
        self._tools_requested = False

    def results(self) -> Results:
        """Computes and caches answers; created on first use because it imports the columns and NumPy."""
        load_tools()
        with self._creating:
            if self._results is None:
                directory = self._private("results") if self._options.disk_bytes else None
                disk = None if directory is None else DiskStore(directory, self._options.disk_bytes)
                self._results = Results(self._catalog, MemoryStore(self._options.results_bytes), disk)
            return self._results

    def source(self) -> Source:
        """Decoded profiles, results per host on disk and where hosts are read, for all runs; created on first use."""
        load_tools()
        with self._creating:
            if self._source is None:
                from tpu_profile_plugin.cache.profiles import ProfileCache
                from tpu_profile_plugin.run.kept import Summaries
                from tpu_profile_plugin.run.run import Source
                from tpu_profile_plugin.workers.executor import Executor

                directory = self._private("summaries") if self._options.disk_bytes else None
                kept = None if directory is None else Summaries(directory, self._options.disk_bytes)
                self._executor = Executor(self._options.executor, workers=self._options.workers)
                columns = ProfileCache(self._options.columns_bytes)
                self._source = Source(self.logdir.read, columns, self._executor.choose, kept, copies=self._copies)
            return self._source

    def close(self) -> None:
        """Ends worker processes and queries; they also end with the server, and when idle."""
        self._sql.queries.close()
        with self._creating:
            if self._executor is not None:
                self._executor.close()
            if self._tables is not None:
                self._tables.close()
                self._tables = None

    def apps(self) -> Mapping[str, WsgiApp]:
        """A WSGI application per route, below the plugin's own prefix."""
        routes, capture, assets = self._routes, self._capture, self._assets
        of_query: dict[str, QueryHandler] = {
            "/": self._then_load(lambda _: assets.page()),
            "/index.html": self._then_load(lambda _: assets.page()),
            "/local": self._then_load(lambda _: assets.page()),
            "/index.js": self._then_load(lambda _: assets.entry()),
            "/config": routes.config,
            "/version": routes.version,
            "/status": routes.status,
            "/runs": self._then_load(routes.runs, opens_newest=True),
            "/runs_info": self._then_load(routes.runs_info, opens_newest=True),
            "/base_runs": routes.base_runs,
            "/run_tools": routes.run_tools,
            "/run_info": routes.run_info,
            "/hosts": routes.hosts,
            "/module_list": routes.module_list,
            "/data": routes.data,
            "/page": routes.page,
            "/data_csv": routes.data_csv,
            "/progress": routes.progress,
            "/report": self.reports.report,
            "/source_text": self._sources.text,
            "/trend": self._trend.trend,
            "/query_about": self._sql.about,
            "/query_status": self._sql.status,
            "/query_result": self._sql.result,
        }
        table: dict[str, tuple[tuple[str, ...], Handler]] = {
            path: (_READ, _parsing(handler)) for path, handler in of_query.items()
        }
        table |= {
            "/capture_profile": (("POST", "GET"), capture.capture),
            "/capture_cancel": (_WRITE, capture.cancel),
            "/capture_continuous": (_WRITE, capture.continuous),
            "/capture_probe": (_WRITE, capture.probe),
            "/capture_status": (_READ, capture.status),
            "/capture_jobs": (_READ, capture.history),
            "/query": (_WRITE, self._sql.start),
            "/query_cancel": (_WRITE, self._sql.cancel),
            "/generate_cache": (_WRITE, self._ahead.start),
            "/generate_cache_status": (_READ, self._ahead.status),
            "/static/*": (_READ, lambda request: assets.static(request.path.partition("/static/")[2])),
            "/*": ((), _refuse),
        }
        return {path: functools.partial(self._answer, *route) for path, route in table.items()}

    def _answer(
        self, methods: tuple[str, ...], handler: Handler, environ: dict[str, Any], start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answers one request; `methods` are the accepted methods, all if empty."""
        request = Request(environ)
        try:
            self._guard.check_read(request)
            if methods and request.method not in methods:
                raise _wrong_method(request, methods)
            with self._queue.request():
                answer = handler(request)
        except ProfileError as error:
            answer = error_answer(error)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # of native code, too: no failure may end the connection without an answer
            _LOG.exception("request %r failed", request.path)
            answer = error_answer(ProfileError("The server failed on this request; see its log for the reason."))
        return send(answer, request, start_response, self._policy)

    def _then_load(self, handler: QueryHandler, *, opens_newest: bool = False) -> QueryHandler:
        """Answers, then loads the tools in the background: clients that open the page or list runs request data next.

        With `opens_newest`, the newest session is opened in advance, if that is enabled.
        """

        def handle(query: Query) -> Answer:
            answer = handler(query)
            if not self._tools_requested:
                self._tools_requested = True
                threading.Thread(target=_preload_tools, name="profile-load", daemon=True).start()
            if opens_newest and self._newest is not None:
                self._queue.when_idle(self._newest.steps())
            return answer

        return handle

    def _table_files(self) -> TableFiles:
        """Where SQL finds the tables of runs; without a disk cache they end with the server."""
        with self._creating:
            if self._tables is None:
                from tpu_profile_plugin.sql.table_files import TableFiles

                directory = self._private("tables") if self._options.disk_bytes else None
                self._tables = TableFiles(directory, self._options.disk_bytes or Options.disk_bytes)
            return self._tables

    def _kept_runs(self) -> KeptSummaries | None:
        """Where summaries of runs outlast the server; None: nowhere."""
        from tpu_profile_plugin.trend.summaries import KeptSummaries

        directory = self._private("runs") if self._options.disk_bytes else None
        return None if directory is None else KeptSummaries(directory)

    def _private(self, name: str) -> Path | None:
        """A directory of the cache by name; None when the disk cache is off."""
        chosen = self._options.cache_dir
        if chosen == "off":
            return None
        return user_directory(name) if chosen is None else Path(chosen).expanduser() / name


def _preload_tools() -> None:
    try:
        load_tools()
    except Exception:
        _LOG.exception("loading the tools failed")


def _parsing(handler: QueryHandler) -> Handler:
    return lambda request: handler(Query(request.args.to_dict(), request))


def _refuse(_: Request) -> Answer:
    raise NotFound("No such route.")


def _wrong_method(request: Request, methods: tuple[str, ...]) -> WrongMethod:
    method, allow = request.method[:20], ", ".join(methods)
    if request.path.endswith("/capture_profile"):
        return WrongMethod(HINT.format(method=method), allow="POST")
    return WrongMethod(f"This route accepts only {allow}, not {method}.", allow=allow)
