"""Assembles the server: the table of routes, method checks, and conversion of errors to answers."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Request

from tpu_profile_plugin.cache.files import user_directory
from tpu_profile_plugin.cache.store import DiskStore, MemoryStore
from tpu_profile_plugin.errors import NotFound, ProfileError, WrongMethod
from tpu_profile_plugin.logdir import AllowedRoots, ContentCache, Logdir
from tpu_profile_plugin.logdir.remote import is_remote
from tpu_profile_plugin.server.answer import Answer, StartResponse, content_policy, error_answer, send
from tpu_profile_plugin.server.assets import Assets
from tpu_profile_plugin.server.cache_routes import CacheRoutes
from tpu_profile_plugin.server.capture_routes import HINT, CaptureRoutes
from tpu_profile_plugin.server.catalog import Catalog
from tpu_profile_plugin.server.guard import Guard
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.server.options import Options
from tpu_profile_plugin.server.progress import hung_up
from tpu_profile_plugin.server.query import Query
from tpu_profile_plugin.server.results import Results
from tpu_profile_plugin.server.routes import Routes
from tpu_profile_plugin.server.warming import Warmer

if TYPE_CHECKING:
    from tpu_profile_plugin.run.kept import Summaries

_LOG = logging.getLogger("tpu_profile_plugin")

WsgiApp = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class Server:
    """The plugin's HTTP server. The constructor accesses neither the logdir nor the cache."""

    def __init__(self, options: Options, *, logdir: Logdir | None = None, assets: Assets | None = None) -> None:
        self._options = options
        remote = any(is_remote(path) for path in (options.logdir, *options.allowed_roots))
        copies = ContentCache(self._private("content") if remote else None, options.remote_bytes)
        self.logdir = logdir or Logdir(options.logdir, limit_s=options.scan_limit_s, cache=copies)
        self._catalog = Catalog(
            self.logdir, AllowedRoots(options.allowed_roots, copies), copies.location, self.summaries
        )
        self._results_lock = threading.Lock()
        self._results: Results | None = None
        self._summaries_lock = threading.Lock()
        self._summaries: Summaries | None = None
        self._routes = Routes(options, self._catalog, self.results, assets or Assets())
        self._capture = CaptureRoutes(options)
        self._guard = Guard(options.server_names, closed=options.server_names_only)
        self._policy = content_policy(options.framing)
        self._tools_requested = False
        self._caches = CacheRoutes(Guard(options.server_names), self._catalog, self._routes.data)
        self._warmer = Warmer(options.warm_bytes, self.logdir.newest, self._routes.data)

    def results(self) -> Results:
        """Computes and caches answers; created on first use because it imports the columns and NumPy."""
        load_tools()
        with self._results_lock:
            if self._results is None:
                from tpu_profile_plugin.cache.profiles import ProfileCache
                from tpu_profile_plugin.workers.executor import Executor

                cache = ProfileCache(self._options.columns_bytes)
                executor = Executor(self._options.executor, workers=self._options.workers)
                memory = MemoryStore(self._options.results_bytes)
                self._results = Results(cache, memory, self._disk(), executor, self.summaries())
            return self._results

    def summaries(self) -> Summaries | None:
        """Summaries of hosts on disk; None when the disk cache is off. Created on first use, as the results."""
        directory = self._private("summaries")
        if directory is None or self._options.disk_bytes == 0:
            return None
        with self._summaries_lock:
            if self._summaries is None:
                from tpu_profile_plugin.run.kept import Summaries

                self._summaries = Summaries(directory, self._options.disk_bytes)
            return self._summaries

    def close(self) -> None:
        """Ends worker processes; they also end with the server, and when idle."""
        with self._results_lock:
            if self._results is not None:
                self._results.close()

    def apps(self) -> Mapping[str, WsgiApp]:
        """A WSGI application per route, below the plugin's own prefix."""
        routes = self._routes
        read_routes = {
            "/": self._then_load(routes.page),
            "/index.html": self._then_load(routes.page),
            "/local": self._then_load(routes.page),
            "/index.js": self._then_load(routes.entry),
            "/config": routes.config,
            "/version": routes.version,
            "/status": routes.status,
            "/runs": self._then_load(self._then_warm(routes.runs)),
            "/runs_info": self._then_load(self._then_warm(routes.runs_info)),
            "/run_tools": routes.run_tools,
            "/run_info": routes.run_info,
            "/hosts": routes.hosts,
            "/module_list": routes.module_list,
            "/data": routes.data,
            "/data_csv": routes.data_csv,
            "/progress": routes.progress,
        }
        capture = self._capture
        write_routes: dict[str, Callable[[Request], Answer]] = {
            "/capture_profile": capture.capture,
            "/capture_cancel": capture.cancel,
            "/capture_continuous": capture.continuous,
            "/capture_probe": capture.probe,
            "/generate_cache": self._caches.start,
        }
        job_routes = {
            "/capture_status": capture.status,
            "/capture_jobs": capture.history,
            "/generate_cache_status": self._caches.status,
        }
        apps: dict[str, WsgiApp] = {
            path: functools.partial(self._serve, ("GET", "HEAD"), handler) for path, handler in read_routes.items()
        }
        for path, handle in write_routes.items():
            methods = ("POST", "GET") if path == "/capture_profile" else ("POST",)
            apps[path] = functools.partial(self._answer, methods, handle)
        for path, handle in job_routes.items():
            apps[path] = functools.partial(self._answer, ("GET", "HEAD"), handle)
        apps["/static/*"] = self._static
        apps["/*"] = self._unknown
        return apps

    def _serve(
        self,
        methods: tuple[str, ...] | None,
        handler: Callable[[Query], Answer],
        environ: dict[str, Any],
        start_response: StartResponse,
    ) -> Iterable[bytes]:
        return self._answer(methods, lambda request: handler(_query(request)), environ, start_response)

    def _answer(
        self,
        methods: tuple[str, ...] | None,
        handler: Callable[[Request], Answer],
        environ: dict[str, Any],
        start_response: StartResponse,
    ) -> Iterable[bytes]:
        request = Request(environ)
        try:
            self._guard.check_read(request)
            if methods is not None and request.method not in methods:
                raise _wrong_method(request, methods)
            with self._warmer.request():
                answer = handler(request)
        except ProfileError as error:
            answer = error_answer(error)
        except Exception:
            _LOG.exception("request %r failed", request.path)
            answer = error_answer(ProfileError("The server failed on this request; see its log for the reason."))
        return send(answer, request, start_response, self._policy)

    def _then_load(self, handler: Callable[[Query], Answer]) -> Callable[[Query], Answer]:
        """Answers, then loads the tools in the background: who opens the page or lists runs requests data next."""

        def handle(query: Query) -> Answer:
            answer = handler(query)
            if not self._tools_requested:
                self._tools_requested = True
                threading.Thread(target=_preload_tools, name="profile-load", daemon=True).start()
            return answer

        return handle

    def _then_warm(self, handler: Callable[[Query], Answer]) -> Callable[[Query], Answer]:
        def handle(query: Query) -> Answer:
            answer = handler(query)
            self._warmer.runs_listed()
            return answer

        return handle

    def _static(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        name = str(environ.get("PATH_INFO", "")).partition("/static/")[2]
        return self._serve(("GET", "HEAD"), lambda _: self._routes.static(name), environ, start_response)

    def _unknown(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        def refuse(_: Query) -> Answer:
            raise NotFound("No such route.")

        return self._serve(None, refuse, environ, start_response)

    def _disk(self) -> DiskStore | None:
        directory = self._private("results")
        if directory is None or self._options.disk_bytes == 0:
            return None
        return DiskStore(directory, self._options.disk_bytes)

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


def _query(request: Request) -> Query:
    connection = request.environ.get("werkzeug.socket")
    return Query(request.args.to_dict(), request.if_none_match.contains_weak, lambda: hung_up(connection))


def _wrong_method(request: Request, methods: tuple[str, ...]) -> WrongMethod:
    method, allow = request.method[:20], ", ".join(methods)
    if request.path.endswith("/capture_profile"):
        return WrongMethod(HINT.format(method=method), allow="POST")
    return WrongMethod(f"This route accepts only {allow}, not {method}.", allow=allow)
