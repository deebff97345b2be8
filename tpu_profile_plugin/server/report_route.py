"""The route of reports: a run in one HTML file, made of the answers of the other routes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

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
        """The report of `run`, compared with `base`, as a download; `window` is begin and end in ms.

        With `trend=true` it has the runs over time, as far as they are known.
        """
        load_tools()
        from tpu_profile_plugin.report.collector import window_of

        run = query.required("run")
        trend = json.loads(self._ask("trend", {})) if query.flag("trend", default=False) else None
        body = self.make(run, query.optional("base"), window_of(query.optional("window")), trend=trend)
        name = f'attachment; filename="profile_{_UNSAFE.sub("_", run)}.html"'
        return Answer(Body(body, HTML), cache=NEVER, headers=(("Content-Disposition", name),))

    def make(
        self,
        run: str,
        base: str | None,
        window: tuple[float, float] | None,
        redactor: Redactor | None = None,
        trend: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The bytes of a report. Raises NotFound, NotAvailable."""
        load_tools()
        from tpu_profile_plugin.report.file import make

        return make(self._ask, run, base, window, redactor, trend)

    def _ask(self, route: str, params: Mapping[str, str]) -> bytes:
        return self._routes[route](Query(params)).body.plain
