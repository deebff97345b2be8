"""The route of reports: a run in one HTML file, made of the answers of the other routes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tpu_profile_plugin.cache.bodies import Body
from tpu_profile_plugin.server.http.answer import HTML, NEVER, Answer
from tpu_profile_plugin.server.http.query import Query
from tpu_profile_plugin.server.loading import load_tools

if TYPE_CHECKING:
    from tpu_profile_plugin.report.redact import Redactor

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


class ReportRoutes:
    """The handlers; `routes` are the routes for reading by name."""

    def __init__(self, routes: Mapping[str, Callable[[Query], Answer]]) -> None:
        self._routes = routes

    def report(self, query: Query) -> Answer:
        """The report of `run`, compared with `base`, as a download; `window` is begin and end in ms."""
        load_tools()
        from tpu_profile_plugin.report.collector import window_of

        run = query.required("run")
        body = self.make(run, query.optional("base"), window_of(query.optional("window")))
        name = f'attachment; filename="profile_{_UNSAFE.sub("_", run)}.html"'
        return Answer(Body(body, HTML), cache=NEVER, headers=(("Content-Disposition", name),))

    def make(
        self, run: str, base: str | None, window: tuple[float, float] | None, redactor: Redactor | None = None
    ) -> bytes:
        """The bytes of a report. Raises NotFound, NotAvailable."""
        load_tools()
        from tpu_profile_plugin.report.file import make

        return make(self._ask, run, base, window, redactor)

    def _ask(self, route: str, params: Mapping[str, str]) -> bytes:
        return self._routes[route](Query(params)).body.plain
