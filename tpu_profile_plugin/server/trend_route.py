"""The route of the trend: the runs of the logdir over time; runs that are not known are read in slices of a second."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from tpu_profile_plugin.server.catalog import Catalog, LocatedRun
from tpu_profile_plugin.server.http.answer import NEVER, Answer, json_answer
from tpu_profile_plugin.server.http.query import Query
from tpu_profile_plugin.server.loading import load_tools

if TYPE_CHECKING:
    from tpu_profile_plugin.logdir import RunFiles
    from tpu_profile_plugin.trend.reading import ReadRuns
    from tpu_profile_plugin.trend.summaries import KeptSummaries, Listed


class TrendRoutes:
    """The handler."""

    def __init__(self, catalog: Catalog, kept: Callable[[], KeptSummaries | None]) -> None:
        """`kept`: where summaries of runs outlast the server; None: nowhere."""
        self._catalog = catalog
        self._kept = kept
        self._creating = threading.Lock()
        self._runs: ReadRuns | None = None

    def trend(self, query: Query) -> Answer:
        """The trend of the runs that are known, and how many remain.

        With `read=true` some of these are read for about a second, and only the numbers of runs are told.
        """
        load_tools()
        from tpu_profile_plugin.trend.reading import columns

        listed = self._listed()
        if query.flag("read", default=False):
            remaining = self._read_runs().read(listed)
            return json_answer({"listed": len(listed), "remaining": remaining}, cache=NEVER)
        return json_answer({"listed": len(listed), **columns(self._read_runs().trend(listed))}, cache=NEVER)

    def _read_runs(self) -> ReadRuns:
        from tpu_profile_plugin.trend.reading import ReadRuns

        with self._creating:
            if self._runs is None:
                self._runs = ReadRuns(self._kept())
            return self._runs

    def _listed(self) -> list[Listed]:
        from tpu_profile_plugin.trend.summaries import Listed, labels_in

        logdir = self._catalog.logdir

        def listed(files: RunFiles) -> Listed:
            located = LocatedRun(files, logdir.read, lambda: logdir.run(files.name), logdir.address)
            return Listed(files, self._catalog.open(located, files.hosts), lambda: labels_in(logdir.labels(files)))

        return [listed(files) for files in logdir.runs() if files.hosts or files.problems]
