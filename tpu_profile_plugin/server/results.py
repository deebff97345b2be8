"""Answers of tools: identified by content, computed once, cached in memory and on disk."""

from __future__ import annotations

import functools
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tpu_profile_plugin.cache.bodies import Body, DiskStore, MemoryStore
from tpu_profile_plugin.cache.files import build_identity
from tpu_profile_plugin.cache.memory import SingleFlight
from tpu_profile_plugin.errors import BadRequest, CorruptProfile, NoData, Problem, ProfileError
from tpu_profile_plugin.logdir import HostFile
from tpu_profile_plugin.logdir.files import file_changed, mapping_faults, may_be_mapped
from tpu_profile_plugin.server.catalog import Catalog, LocatedRun

if TYPE_CHECKING:
    from tpu_profile_plugin.run.host import PerHost
    from tpu_profile_plugin.run.hosts import OnProgress
    from tpu_profile_plugin.run.run import Run
    from tpu_profile_plugin.tools.payload import Payload, Raw
    from tpu_profile_plugin.tools.tool import Tool

# Progress of running computations, for the waiting page, and the clients that wait for them.


class Abandoned(ProfileError):
    """All clients that waited for the answer have closed their connections."""

    code = "abandoned"

    def __init__(self) -> None:
        super().__init__("The answer was given up because its clients closed their connections.")


class HostsRead(NamedTuple):
    """The numbers of finished and of all hosts of an answer, and the names of the first few that are missing."""

    done: int
    total: int
    missing: Sequence[str]


class Progress:
    """Which hosts have been read, by the key of the answer; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[str, HostsRead] = {}
        self._clients: dict[str, list[Callable[[], bool]]] = {}

    @contextmanager
    def waiting(self, key: str, gone: Callable[[], bool]) -> Iterator[None]:
        """A client waits for the answer until the context ends; `gone` tells whether it has hung up."""
        with self._lock:
            self._clients.setdefault(key, []).append(gone)
        try:
            yield
        finally:
            with self._lock:
                self._clients[key].remove(gone)
                if not self._clients[key]:
                    del self._clients[key]

    def _abandoned(self, key: str) -> bool:
        with self._lock:
            clients = list(self._clients.get(key, ()))
        return bool(clients) and all(gone() for gone in clients)

    @contextmanager
    def watching(self, key: str) -> Iterator[OnProgress]:
        """Yields a function that records the parts of `HostsRead`, until the context ends.

        It raises Abandoned when all clients have hung up.
        """

        def record(done: int, total: int, missing: Sequence[str]) -> None:
            with self._lock:
                self._read[key] = HostsRead(done, total, missing)
            if done < total and self._abandoned(key):
                raise Abandoned

        try:
            yield record
        finally:
            with self._lock:
                self._read.pop(key, None)

    def of(self, key: str) -> HostsRead | None:
        """The progress recorded last; None if the answer is not being computed or no host was started."""
        with self._lock:
            return self._read.get(key)


_FORMAT = 3


@dataclass(frozen=True)
class Side:
    """A run with the files of the chosen hosts."""

    located: LocatedRun
    hosts: tuple[HostFile, ...]

    @property
    def facts(self) -> list[Any]:
        """The identity of its content."""
        return [self.located.run.name, [[file.host, file.name, file.identity] for file in self.hosts]]

    @property
    def mapped(self) -> bool:
        """Whether files were mapped, so that the bytes read may include later changes."""
        local = self.located.address == ""
        return local and any(may_be_mapped(file.size, file.mtime_ns) for file in self.hosts)


@dataclass(frozen=True)
class ToolRequest:
    """A request for a tool's answer, with everything that the answer depends on.

    `csv` names the table to answer as CSV, "" the first one; None: the whole answer. `form`: what the page receives,
    the same with XProf's figures ("reading"), or XProf's answer ("data"). `needs`: per-host steps that are asked for
    next; the answer does not depend on them. `spreadsheet`: whether the CSV is for one.
    """

    located: LocatedRun
    tool: Tool
    hosts: tuple[HostFile, ...]
    params: Mapping[str, Any]
    csv: str | None = None
    base: Side | None = None
    form: Literal["page", "reading", "data"] = "page"
    needs: tuple[PerHost[Any], ...] = ()
    spreadsheet: bool = False

    @property
    def recorded(self) -> bool:
        """True for times as they were recorded."""
        return self.form != "page"

    @property
    def sides(self) -> tuple[Side, ...]:
        """The run and, if there is one, the base."""
        return Side(self.located, self.hosts), *([] if self.base is None else [self.base])

    @functools.cached_property
    def key(self) -> str:
        """Equal for equal answers: content of the files, tool, parameters and versions."""
        facts = [
            _FORMAT,
            build_identity(),
            self.tool.id,
            self.tool.version,
            self.csv,
            self.spreadsheet,
            self.form,
            [side.facts for side in self.sides],
            sorted(self.params.items()),
        ]
        return hashlib.blake2b(json.dumps(facts).encode(), digest_size=20).hexdigest()


class Results:
    """Computes answers, or returns them from the caches."""

    def __init__(self, catalog: Catalog, memory: MemoryStore, disk: DiskStore | None) -> None:
        self.progress = Progress()
        self._catalog = catalog
        self._memory = memory
        self._disk = disk
        self._flights: SingleFlight[Body] = SingleFlight()

    def get(self, request: ToolRequest, *, fresh: bool = False, gone: Callable[[], bool] = lambda: False) -> Body:
        """The answer to a request; `fresh` computes it without looking in the caches.

        Raises Abandoned if the clients of all requests for it are `gone` before all hosts have been read.
        """
        if not fresh:
            body = self._memory.get(request.key)
            if body is not None:
                return body
        with self.progress.waiting(request.key, gone):
            while True:
                try:
                    return self._flights.do((request.key, fresh), lambda: self._load_or_compute(request, fresh))
                except Abandoned:
                    if gone():
                        raise  # otherwise this client arrived just after the last other client left

    def _load_or_compute(self, request: ToolRequest, fresh: bool) -> Body:
        if not fresh:
            body = self._memory.get(request.key)  # another call may have just finished
            if body is None and self._disk is not None:
                body = self._disk.get(request.key)
                if body is not None:
                    self._memory.put(request.key, body)
            if body is not None:
                return body
        before = mapping_faults()
        try:
            body, durable = self._build(request)
        except Exception as error:
            about_content = not isinstance(error, ProfileError) or isinstance(error, (CorruptProfile, NoData))
            if about_content and not self._is_stable(request, before):
                raise file_changed(request.hosts[0].name) from error  # the error is about outdated bytes
            raise
        body.stable = self._is_stable(request, before)
        if not body.stable and (mapping_faults() != before or any(side.mapped for side in request.sides)):
            raise file_changed(request.hosts[0].name)
        if body.stable:  # otherwise the key may not match the bytes that were read
            if body.kept:
                self._memory.put(request.key, body)
            if durable and self._disk is not None:
                self._disk.put(request.key, body)
        return body

    def _is_stable(self, request: ToolRequest, faults: int) -> bool:
        """Whether no file has changed since the request was resolved."""
        return not [side for side in request.sides if self._catalog.outdated(side.located, side.hosts, faults)]

    def _build(self, request: ToolRequest) -> tuple[Body, bool]:
        from tpu_profile_plugin.tools.payload import BINARY_TYPE, encode, with_left_out
        from tpu_profile_plugin.tools.query import Query

        with self.progress.watching(request.key) as done:
            needs = (*request.tool.needs, *request.needs)
            runs = (self._catalog.open(side.located, side.hosts, done).needing(needs) for side in request.sides)
            run, *bases = (run.as_recorded() for run in runs) if request.recorded else runs
            payload = request.tool.build(run, Query(request.params, *bases))
        missing = [*run.left_out]
        missing += [replace(host, host=f"{host.host} (base)") for base in bases for host in base.left_out]
        if request.csv is not None:
            raw = _csv(payload, request.csv, request.spreadsheet)
        else:
            raw = encode(with_left_out(payload, missing) if missing else payload)
        durable = raw.disk if raw.disk is not None else raw.content_type != BINARY_TYPE
        headers = (*raw.headers, *_about_hosts(run, missing))
        if raw.encoding == "gzip":
            body = Body(None, raw.content_type, headers, packed=raw.body)
        else:
            body = Body(raw.body, raw.content_type, headers)
        permanent = all(host.permanent for host in missing)  # otherwise a later request may find all hosts
        body.kept, body.complete = raw.memory and permanent, permanent
        # Answers on disk have no headers: whoever could write there would choose them.
        return body, durable and permanent and not raw.headers and not missing


def _about_hosts(run: Run, missing: Sequence[Problem]) -> list[tuple[str, str]]:
    """The headers of an answer over several hosts: which are missing, and where the others were read."""
    from tpu_profile_plugin.tools.payload import left_out_header, read_by_header

    engines = run.engines if len(run.profiles) > 1 else []
    return [
        *([left_out_header(missing)] if missing else ()),
        *([read_by_header(engines)] if engines else ()),
    ]


def _csv(payload: Payload, name: str, spreadsheet: bool) -> Raw:
    """The table of this name, or the first one, as CSV."""
    from tpu_profile_plugin.tables.table import csv_text
    from tpu_profile_plugin.tools.payload import Raw, tables_in

    if payload == ():
        raise NoData("This tool has no table for this run.")
    tables = tables_in(payload)
    if not tables:
        raise BadRequest("This tool's answer is not a table, so it has no CSV form.", parameter="tag")
    if name and name not in tables:
        raise BadRequest(f"The answer has no table {name[:80]!r}; it has: {', '.join(tables)}.", parameter="table")
    table = tables[name] if name else next(iter(tables.values()))
    return Raw(csv_text(table, spreadsheet=spreadsheet).encode("utf-8", "replace"), "text/csv; charset=utf-8")
