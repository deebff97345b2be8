"""Opens logdirs for scripts and commands: their runs, with the tables of every tool.

No server is needed. Tools and SQL are imported when they are asked for. Runs of many hosts are read by worker
processes; decoded profiles stay in memory, results per host of such runs and copies of remote files in the user's
private cache directory, which TensorBoard uses as well.
"""

from __future__ import annotations

import difflib
import functools
import gzip
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tpu_profile_plugin.cache.files import user_directory
from tpu_profile_plugin.cache.profiles import ProfileCache
from tpu_profile_plugin.columns import XSpace
from tpu_profile_plugin.errors import BadRequest, NoData, NotAvailable, NotFound
from tpu_profile_plugin.logdir import ContentCache, Logdir, Problem, RunFiles
from tpu_profile_plugin.logdir.names import matching
from tpu_profile_plugin.logdir.remote import is_remote
from tpu_profile_plugin.logdir.single import Memory, SingleFile, SingleRun, is_local_file
from tpu_profile_plugin.profile_data import Given, profile_bytes, recorded_host
from tpu_profile_plugin.run.html_text import bold, paragraphs, plain, rows
from tpu_profile_plugin.run.kept import Summaries
from tpu_profile_plugin.run.run import Run, Source
from tpu_profile_plugin.sql import Limits
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.units import GIB, MIB, MS_PER_S
from tpu_profile_plugin.workers.executor import Executor

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.trend.summary import RunSummary
    from tpu_profile_plugin.report.file import SavedReport
    from tpu_profile_plugin.run.hosts import RunHosts
    from tpu_profile_plugin.sql import Query, Result
    from tpu_profile_plugin.tools.payload import Payload
    from tpu_profile_plugin.trend.trend import OnRun, Trend

_COLUMNS_BYTES = GIB
_COPIES_BYTES = 4 * GIB
_SUMMARIES_BYTES = GIB
_MOST_NAMED = 10
_MOST_LOSSES = 3
_REPR_BYTES = 32 * MIB
"""Larger runs are not read in order to be shown as a text."""
_BACKEND = "backend"
NO_RUN = (
    "No profile found: a run is a directory plugins/profile/<session> with <host>.xplane.pb files, "
    "or any directory with <rank>.pt.trace.json files."
)


@dataclass(frozen=True, eq=False)
class OpenRun(Run):
    """One recording, with the answers of every tool.

    Attributes:
      files: its files as they were when the run was opened.
      source: where they are read from.
      logdir: the path of the logdir, as given.
    """

    files: RunFiles = field(kw_only=True, repr=False)
    source: Source = field(kw_only=True, repr=False)
    logdir: str = field(kw_only=True, default="", repr=False)

    @property
    def size(self) -> int:
        """Total size of its profiles, in bytes."""
        return self.files.bytes

    @property
    def mtime_ms(self) -> int:
        """When its profiles were last written, ms since 1970; 0 when unknown."""
        return self.files.mtime_ms

    @property
    def problems(self) -> list[str]:
        """Problems of the run's files found without decoding them."""
        return [problem.message for problem in self.files.problems]

    def on(self, host: str | None) -> OpenRun:
        """The run reduced to one host; None keeps all. Raises NotFound, NoData or Forbidden without hosts."""
        if not self.files.hosts:
            raise self.files.without_hosts()
        if host is None or host == "ALL_HOSTS":
            return self
        chosen = [file for file in self.files.hosts if file.host == host]
        if not chosen:
            message = f"There is no host {host!r}; the hosts are {', '.join(self.hosts)}."
            raise NotFound(message, code="host_not_found")
        return replace(self, profiles=self.source.profiles(chosen), listed=self.files.problems_of(chosen))

    def columns(self, host: str | None = None) -> XSpace:
        """The decoded profile of one host as NumPy columns; `host` is optional if there is only one."""
        return self.on(host).profiles[0].space

    def tools(self) -> dict[str, str | None]:
        """Tool id -> None if the tool is available for this run, else the reason."""
        from tpu_profile_plugin.tools import registry

        return {tool.id: tool.available(self.facts) for tool in registry.TOOLS if tool.offered}

    def table(self, tool: str, name: str | int = 0, /, host: str | None = None, **params: str | float | bool) -> Table:
        """A table of a tool's answer by its name, such as "ops", or its position; `host` None: all hosts.

        Raises NotFound for an unknown tool or host, BadRequest for an invalid parameter, CorruptProfile, and NoData if
        there is no such table.
        """
        tables = self.tables(tool, host, **params)
        if isinstance(name, str) and name in tables:
            return tables[name]
        if isinstance(name, int) and -len(tables) <= name < len(tables):
            return list(tables.values())[name]
        raise NoData(f"The answer of {tool!r} has no table {name!r}; it has: {', '.join(tables) or 'none'}.")

    def tables(self, tool: str, host: str | None = None, **params: str | float | bool) -> dict[str, Table]:
        """All tables of a tool's answer by name, in order; empty for an answer without tables."""
        from tpu_profile_plugin.tools.payload import tables_in

        return tables_in(self.payload(tool, host, params))

    def answer(self, tool: str, host: str | None = None, **params: str | float | bool) -> Any:
        """A tool's answer as the route `/data` gives it, for XProf's tools in XProf's form and of times as recorded.

        Parsed JSON, or bytes if it is not JSON.
        """
        return _parsed(*self.encoded(tool, host, params))

    def document(self, tool: str, host: str | None = None, **params: str | float | bool) -> Any:
        """What the page of a tool receives: parsed JSON, or bytes if it is not JSON."""
        return _parsed(*self.encoded(tool, host, params, page=True))

    def encoded(
        self, tool: str, host: str | None, params: Mapping[str, str | float | bool], *, page: bool = False
    ) -> tuple[bytes, str]:
        """The bytes that a server would send for a tool, uncompressed, and their content type; `page`: to its page."""
        from tpu_profile_plugin.tools.payload import encode

        raw = encode(self.payload(tool, host, params, page=page))
        return gzip.decompress(raw.body) if raw.encoding == "gzip" else raw.body, raw.content_type

    def payload(
        self,
        tag: str,
        host: str | None = None,
        params: Mapping[str, str | float | bool] | None = None,
        *,
        base: OpenRun | None = None,
        page: bool = True,
    ) -> Payload:
        """A tool's answer before encoding; `left_out` lists the missing hosts. `page`: what its page receives."""
        from tpu_profile_plugin.compat import xprof_form
        from tpu_profile_plugin.tools import registry
        from tpu_profile_plugin.tools.payload import with_left_out

        xprofs = None if page else xprof_form(tag)
        tool = xprofs or registry.find(tag)
        known = {param.name for param in tool.params}
        for name in params or ():
            if name not in known:
                options = ", ".join(sorted(known)) or "none"
                raise BadRequest(f"{tag!r} has no parameter {name!r}; it has: {options}.", parameter=name)
        # As on the pages: without a device, op tools show the ops of the CPU.
        chosen = {**({_BACKEND: "auto"} if _BACKEND in known else {}), **(params or {})}
        run = self.on(host).needing(tool.needs)
        if tool.hosts.value == "one" and len(run.profiles) > 1:
            raise BadRequest(
                f"{tag!r} shows one host at a time: select one of {', '.join(self.hosts)}.", parameter="host"
            )
        query = tool.query({name: str(value) for name, value in chosen.items()}, base and base.on(None))
        payload = tool.build(run if xprofs is None else run.as_recorded(), query)
        return with_left_out(payload, run.left_out) if run.left_out else payload

    def widget(self, page: str = "overview_page", host: str | None = None, height: int = 800, **query: str) -> Any:
        """The pages of this run in the notebook's cell, answered by its kernel without a server: a `ProfileWidget`.

        Raises NotFound for an unknown page or host, MissingPackage without the extra `notebook`.

        Args:
          page: the id of the tool that is shown first, such as "trace_viewer@".
          host: the host that is shown first.
          height: of the widget, in pixels.
          query: further keys of the page's address, such as window="0,1000000" or base="RUN".
        """
        from tpu_profile_plugin.tools import registry
        from tpu_profile_plugin.widget.view import ProfileWidget

        registry.find(page)
        view = {"tool": page, **({} if host is None else {"host": self.on(host).hosts[0]}), **query}
        place, name = self.place, self.name
        source: Given = self.profiles[0].data if isinstance(place, Memory) else self.logdir
        return ProfileWidget(self, lambda: OpenLogdir(source).run(name), view, height)

    def show(
        self,
        page: str = "overview_page",
        host: str | None = None,
        height: int = 800,
        *,
        by: Literal["widget", "server", "report"] | None = None,
        **query: str,
    ) -> Any:
        """A page of this run in the notebook: return it from a cell. Its text says by what it is shown.

        A `ProfileWidget` where the notebook can have one, which needs the extra `notebook`; else a frame of a server on
        this machine, whose `url` opens in a browser, too; where a browser cannot reach this machine, the report.

        Raises NotFound for an unknown page or host, NotAvailable for a server where a browser cannot reach it.

        Args:
          page: the id of a tool, such as "trace_viewer@".
          host: the host that is shown first.
          height: of the cell, in pixels.
          by: what shows it; None: the first that is possible here.
          query: further keys of the page's address, such as window="0,1000000".
        """
        from tpu_profile_plugin import serving
        from tpu_profile_plugin.tools import registry

        registry.find(page)
        keys = {"run": self.name, "tool": page, **({} if host is None else {"host": self.on(host).hosts[0]}), **query}
        chosen = by or serving.door(self.logdir)
        if chosen == "widget":
            return self.widget(page, host, height, **query)
        if chosen == "report":
            return replace(self.report(), height=height)
        return serving.shown(self.logdir, keys, height)

    def report(
        self,
        base: OpenRun | None = None,
        window: tuple[float, float] | None = None,
        *,
        redact: bool = False,
        trend: Trend | None = None,
    ) -> SavedReport:
        """The pages of this run in one HTML file without a server: `save(path)` it, or return it from a cell.

        Args:
          base: a run of the same logdir to compare with.
          window: begin and end of the timeline in ms; None: the slowest step and its neighbours.
          redact: replace names of hosts, runs, programs, source files and scopes by placeholders.
          trend: of the logdir, as `logdir.trend()` returns it, for the page *Trend*; None: the report has none.

        Raises BadRequest for a base of another logdir, NotAvailable if the frontend is not built.
        """
        if base is not None and base.logdir != self.logdir:
            raise BadRequest(f"The base is in {base.logdir}: a report compares runs of one logdir.", parameter="base")
        from tpu_profile_plugin.plugin import report_of
        from tpu_profile_plugin.report.file import SavedReport
        from tpu_profile_plugin.report.redact import LEFT, REPLACED, Redactor, names_of, unnamed, with_summaries
        from tpu_profile_plugin.trend.reading import columns
        from tpu_profile_plugin.trend.trend import of_summaries

        told, redactor = trend, None
        if redact:
            names = names_of([self] if base is None else [self, base])
            redactor = Redactor(names if trend is None else with_summaries(names, trend.runs))
            told = None if trend is None else of_summaries(map(unnamed, trend.runs), trend.unread)
        over = None if told is None else columns(told)
        data = report_of(self.place, self.name, None if base is None else base.name, window, redactor, over)
        return SavedReport(data, self.logdir, f"{REPLACED}; {LEFT}" if redact else "")

    def annotated(self, form: str = "text", source: str | Path = "") -> str:
        """Time, memory and findings of each source line beside its code, as `annotations()` has them.

        Args:
          form: "text" with a gutter, "json", "sarif" (2.1.0) for editors and code hosts, or "html".
          source: directory with the program's source files; "": lines are shown without their code.

        Raises NoData if nothing has a line, BadRequest for an unknown form.
        """
        from tpu_profile_plugin.export.annotations import FORMS, written
        from tpu_profile_plugin.logdir.source_files import SourceRoot

        if form not in FORMS:
            raise BadRequest(f"There is no form {form[:80]!r}.", parameter="form", choices=list(FORMS))
        return written(self.annotations(), form, SourceRoot(str(source)))

    @property
    def place(self) -> str | SingleRun:
        """The logdir, or what stands for one, in which a server finds the run."""
        if is_local_file(self.logdir):
            return SingleFile(self.logdir)
        in_memory = self.source.address is None and not Path(self.logdir).is_dir()
        return Memory(self.profiles[0].data, self.hosts[0]) if in_memory else self.logdir

    def _told_losses(self) -> tuple[str, ...]:
        """The first losses as sentences; of remote and large files those that are known, so that nothing waits."""
        from tpu_profile_plugin.run.losses import known_losses, sentences

        quick = self.size <= _REPR_BYTES and not self.source.address
        return tuple(sentences(self, self.losses if quick else known_losses(self), _MOST_LOSSES))

    def __repr__(self) -> str:
        losses = " ".join(self._told_losses())
        return f"<OpenRun {self.name!r}, hosts: {', '.join(self.hosts)}{f'; {losses}' if losses else ''}>"

    def _repr_html_(self) -> str:
        names = self.hosts
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        hosts = f"{len(names)} host{'' if len(names) == 1 else 's'}: {', '.join(names[:_MOST_NAMED])}{more}"
        written = _written(self.mtime_ms)
        facts = f"{hosts}. {self.size / MIB:,.1f} MiB{f', written {written}' if written else ''}."
        return paragraphs(bold(f"Run {self.name}"), plain(facts), *map(plain, self._told_losses()))


def prepare() -> None:
    """Where a notebook shows widgets, imports what findings and pages need: before a recording, not after it."""
    from tpu_profile_plugin import serving

    if serving.has_widgets():
        with suppress(NotAvailable):  # pages that are not built; `show` says so
            from tpu_profile_plugin.widget import pages, view  # noqa: F401

            pages.prepare()


class OpenLogdir:
    """The runs of a logdir; every call scans it anew."""

    def __init__(self, source: Given, executor: str = "") -> None:
        """Takes what `tpu_profile_plugin.open` takes; raises NotFound, BadRequest, NotAvailable, CorruptProfile."""
        self._chosen = executor
        self._copies: tuple[str, int] | None = None
        self._logdir: Logdir | SingleRun
        if not isinstance(source, (str, os.PathLike)):
            data = profile_bytes(source)
            self._logdir = Memory(data, recorded_host(data))
        elif _names_file(path := os.fspath(source)):
            self._logdir = SingleFile(path)
            self._logdir.newest()  # raises NotFound
        else:
            copies = ContentCache(user_directory("content"), _COPIES_BYTES) if is_remote(path) else None
            self._logdir = Logdir(path, cache=copies)
            self._copies = copies.location if copies is not None else None

    @property
    def path(self) -> str:
        """The path or URL of the logdir; "memory" for bytes."""
        return self._logdir.path

    @property
    def problems(self) -> list[Problem]:
        """Problems of the logdir as a whole."""
        return [] if isinstance(self._logdir, SingleRun) else list(self._logdir.scan().problems)

    @functools.cached_property
    def _executor(self) -> Executor:
        return Executor(self._chosen)

    @functools.cached_property
    def _source(self) -> Source:
        return Source(
            read=self._logdir.read,
            cache=ProfileCache(_COLUMNS_BYTES),
            executor=lambda hosts: self._executor.choose(hosts),
            kept=Summaries(user_directory("summaries"), _SUMMARIES_BYTES),
            address=self._logdir.address,
            copies=self._copies,
        )

    def _open(self, files: RunFiles) -> OpenRun:
        source = self._source
        return OpenRun(
            *(files.name, source.profiles(files.hosts), source.executor),
            listed=files.problems,
            summarize=self._summarize(files),
            files=files,
            source=source,
            logdir=self.path,
        )

    def _summarize(self, files: RunFiles) -> Callable[[RunHosts], RunSummary]:
        def summarize(run: RunHosts) -> RunSummary:
            from tpu_profile_plugin.trend.summaries import KeptSummaries, labels_in, summarizing

            return summarizing(files, lambda: labels_in(self._logdir.labels(files)), KeptSummaries())(run)

        return summarize

    def runs(self) -> list[OpenRun]:
        """All runs, the latest session first."""
        return [self._open(files) for files in self._logdir.newest_first()]

    def run(self, name: str | None = None) -> OpenRun:
        """One run, by default the newest; raises NotFound with the reason, or with the names of the runs."""
        if name is None:
            newest = self._logdir.newest()
            if newest is None:
                raise NotFound(self.why_no_run(), code="run_not_found", argument="run", choices=[])
            return self._open(newest)
        try:
            return self._open(self._logdir.run(name))
        except NotFound:
            if isinstance(self._logdir, SingleRun):
                raise
            names = self._logdir.names()
            if not names:
                raise NotFound(self.why_no_run(), code="run_not_found", argument="run", choices=[]) from None
            like = difflib.get_close_matches(name, names, _MOST_NAMED) or names[:_MOST_NAMED]
            more = f" and {len(names) - len(like)} more" if len(names) > len(like) else ""
            message = f"There is no run {name[:200]!r} in {self.path}; there are {', '.join(like)}{more}."
            raise NotFound(message, code="run_not_found", run=name[:200]) from None

    def trend(self, match: str = "*", *, on_run: OnRun | None = None, most_read: int | None = None) -> Trend:
        """The runs over time: series of comparable ones, where their step shifts, and what contributes to it.

        Args:
          match: a pattern of names of runs, such as "nightly/*".
          on_run: is told how many runs are known, of how many, and which was read.
          most_read: how many runs may be read now; the others that are not known yet are counted as unread.

        Each run is read once; its summary stays in the user's private cache. Raises NotFound without such runs.
        """
        from tpu_profile_plugin.trend.summaries import KeptSummaries, Listed, labels_in
        from tpu_profile_plugin.trend.trend import trend

        def listed(run: OpenRun) -> Listed:
            return Listed(run.files, run, lambda: labels_in(self._logdir.labels(run.files)))

        return trend(list(map(listed, self._chosen_runs(match, "match"))), KeptSummaries(), on_run, most_read)

    def sql(
        self,
        statement: str,
        runs: str | Sequence[str] = "*",
        *,
        rows: int = Limits.rows,
        seconds: float = Limits.seconds,
        memory_bytes: int = Limits.memory_bytes,
    ) -> Result:
        """The rows of a SELECT over the tables of `sql.schema()`: `events`, `steps`, `ops`, ... of all runs and hosts.

        Args:
          statement: SQL of DuckDB. It reads the tables only: no files, no network, no settings.
          runs: names of runs, or a pattern such as "train/*"; columns `run` and `host` tell their rows apart.
          rows, seconds, memory_bytes: limits of the result and of the statement; `Result.notes` says when rows are cut.

        The first query reads profiles into Parquet files in the user's private cache, later ones read these. Raises
        QueryRefused, QueryFailed, QueryStopped, NotFound without such runs, and MissingPackage without the extra `sql`.
        """
        query = self.query(statement, runs, Limits(rows, seconds, memory_bytes))
        try:
            return query.result()
        finally:
            query.cancel()  # Ctrl-C ends its process too

    def query(self, statement: str, runs: str | Sequence[str] = "*", limits: Limits | None = None) -> Query:
        """Starts what `sql` does and returns its handle, with `status()`, `cancel()` and `result()`."""
        from tpu_profile_plugin.sql import start

        return start(self._chosen_runs(runs), statement, limits)

    def _chosen_runs(self, names: str | Sequence[str], argument: str | None = None) -> list[OpenRun]:
        """The runs with these names, or whose names match a pattern; raises NotFound, BadRequest for a long pattern."""
        if not isinstance(names, str):
            return [self.run(name) for name in names]
        runs = [run for run in self.runs() if run.hosts or run.listed]  # others have no rows
        matched = set(matching((run.name for run in runs), names))
        chosen = [run for run in runs if run.name in matched]
        if chosen:
            return chosen
        known = ", ".join(run.name for run in runs[:_MOST_NAMED])
        message = f"No run matches {names[:200]!r}; there are {known}." if runs else self.why_no_run()
        raise NotFound(message, code="run_not_found", **({} if argument is None else {"argument": argument}))

    def why_no_run(self) -> str:
        """Why the logdir has no run: its problems, or the layout of a run."""
        problems = [problem.message for problem in self.problems]
        return f"{self.path}: {' '.join(problems) or NO_RUN}"

    def close(self) -> None:
        """Ends worker processes now; otherwise they end when idle, or with this process."""
        if "_executor" in self.__dict__:
            self._executor.close()

    def __iter__(self) -> Iterator[OpenRun]:
        return iter(self.runs())

    def __len__(self) -> int:
        return len(self._logdir.names())

    def __repr__(self) -> str:
        return f"<OpenLogdir {self.path!r}>"

    def _repr_html_(self) -> str:
        runs = self.runs()
        shown = runs[:_MOST_NAMED]
        more = f"{len(runs) - len(shown)} more." if len(runs) > len(shown) else ""
        table = rows(
            ("run", "hosts", "MiB", "written"),
            ((run.name, str(len(run.hosts)), f"{run.size / MIB:,.1f}", _written(run.mtime_ms)) for run in shown),
        )
        about = f"Logdir {self.path}: {len(runs)} run{'' if len(runs) == 1 else 's'}"
        return paragraphs(bold(about)) + (table if runs else paragraphs(plain(self.why_no_run()))) + paragraphs(more)


def _written(mtime_ms: int) -> str:
    """A time for people, "" when unknown."""
    return f"{datetime.fromtimestamp(mtime_ms / MS_PER_S):%Y-%m-%d %H:%M}" if mtime_ms else ""


def _names_file(path: str) -> bool:
    return path.endswith((".pb", ".riegeli")) or is_local_file(path)


def _parsed(body: bytes, kind: str) -> Any:
    return json.loads(body) if kind.startswith("application/json") else body
