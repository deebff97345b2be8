"""Resolves a request to a run, its hosts and its facts; names are looked up in listings, never used as paths."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.errors import BadRequest, CorruptProfile, NoData, NotFound, ProfileError
from tpu_profile_plugin.logdir import AllowedRoots, HostFile, Logdir, Problem, RunFiles
from tpu_profile_plugin.logdir.files import Files, file_changed, mapping_faults
from tpu_profile_plugin.logdir.remote import address_of
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.server.query import Query

if TYPE_CHECKING:
    from tpu_profile_plugin.run.facts import RunFacts
    from tpu_profile_plugin.run.kept import Summaries
    from tpu_profile_plugin.tools.tool import HostChoice

ALL_HOSTS = "ALL_HOSTS"

_ALL_ONLY = frozenset({"overview_page", "pod_viewer", "smart_suggestion"})
_ALL_AND_EACH = frozenset({"input_pipeline_analyzer", "framework_op_stats", "kernel_stats", "megascale_stats"})
_MAX_CACHED_FACTS = 4096
_MAX_THREADS = 4

Reader = Callable[[HostFile], Any]


@dataclass(frozen=True)
class LocatedRun:
    """A run, a function that reads its files, and one that lists it again.

    Attributes:
      address: the address for opening its filesystem in another process, "" for local files; None: it cannot.
      copies: `ContentCache.location` for another process; None: no cache.
    """

    run: RunFiles
    read: Reader
    relist: Callable[[], RunFiles]
    address: str | None = None
    copies: tuple[str, int] | None = None


@dataclass(frozen=True)
class InspectedRun:
    """The result of opening a run's files: facts of the readable ones, problems by file name of the others.

    `damages` are problems of files that are readable otherwise.
    """

    facts: RunFacts
    problems: dict[str, Problem]
    damages: tuple[Problem, ...] = ()


class Catalog:
    """The runs of the logdir and, where allowed, outside of it."""

    def __init__(
        self,
        logdir: Logdir,
        allowed: AllowedRoots,
        copies: tuple[str, int] | None = None,
        summaries: Callable[[], Summaries | None] = lambda: None,
    ) -> None:
        """`summaries` keeps the facts of runs with several hosts beyond this process; None: nothing does."""
        self.logdir = logdir
        self._summaries = summaries
        self._copies = copies
        self._allowed = allowed
        self._lock = threading.Lock()
        self._facts: OrderedDict[Hashable, Any] = OrderedDict()

    def names(self, query: Query) -> list[str]:
        """The names of the runs of a request, descending."""
        session = query.optional("session_path")
        if session is not None:
            return [self._allowed.session(session)[0].name]
        below = query.optional("run_path")
        if below is not None:
            return sorted(self._allowed.below(below), reverse=True)
        return self.logdir.names()

    def runs(self, query: Query) -> list[RunFiles]:
        """The same runs with their files."""
        session, below = query.optional("session_path"), query.optional("run_path")
        if session is not None:
            return [self._allowed.session(session)[0]]
        if below is not None:
            by_name = self._allowed.below(below)
            return [by_name[name][0] for name in sorted(by_name, reverse=True)]
        return self.logdir.runs()

    def locate(self, query: Query) -> LocatedRun:
        """The run of a request; raises BadRequest, Forbidden or NotFound."""
        run, read = self._find(query)
        outside = query.optional("session_path") or query.optional("run_path")
        address = self.logdir.address if outside is None else address_of(outside)
        return LocatedRun(run, read, lambda: self._find(query)[0], address, self._copies)

    def _find(self, query: Query) -> tuple[RunFiles, Reader]:
        session, below = query.optional("session_path"), query.optional("run_path")
        if session is not None:
            run, files = self._allowed.session(session)
            if query.optional("run") not in (None, run.name):
                raise BadRequest("Parameter 'run' is not the last part of session_path.", parameter="run")
            return run, _reader(files)
        name = query.required("run").rstrip("/")
        if below is None:
            return self.logdir.run(name), self.logdir.read
        runs = self._allowed.below(below)
        if name not in runs:
            message = f"There is no run {name[:200]!r} in this run_path."
            raise NotFound(message, code="run_not_found", run=name[:200])
        run, files = runs[name]
        return run, _reader(files)

    def inspect(self, located: LocatedRun) -> InspectedRun:
        """Reads the facts of every file of the run; facts of unchanged files are cached."""
        load_tools()
        from tpu_profile_plugin.run.facts import combine_facts

        valid, damages = [], []
        problems = {file.name: file.problem for file in located.run.hosts if file.problem is not None}
        readable = [file for file in located.run.hosts if file.problem is None or file.problem.code == "empty_file"]
        before = mapping_faults()
        results = self._facts_of_all(located, readable)
        for file, facts in zip(readable, self._remember(located, readable, results, before), strict=True):
            if isinstance(facts, Problem):
                problems[file.name] = facts
            else:
                valid.append(facts)
                damages += [Problem(defect.code, defect.message, file.name, defect.offset) for defect in facts.defects]
        return InspectedRun(combine_facts(valid), problems, tuple(damages))

    def _facts_of_all(self, located: LocatedRun, files: Sequence[HostFile]) -> list[Any]:
        """The facts of each file; remote files are read in parallel."""
        if not located.address or len(files) < 2:
            return [self._facts_of(located, file) for file in files]
        with ThreadPoolExecutor(_MAX_THREADS, "profile-inspect") as pool:
            return list(pool.map(lambda file: self._facts_of(located, file), files))

    def _facts_of(self, located: LocatedRun, file: HostFile) -> Any:
        """The facts of one file, or the Problem that prevented reading it."""
        with self._lock:
            if file.identity in self._facts:
                self._facts.move_to_end(file.identity)
                return self._facts[file.identity]
        kept = self._kept(located)
        if kept is not None:
            with contextlib.suppress(KeyError):
                facts: Any = kept.facts(file.identity)
                with self._lock:
                    self._facts[file.identity] = facts
                return facts
        from tpu_profile_plugin.run.host_facts import host_facts

        try:
            facts = host_facts(file.host, located.read(file))
        except ProfileError as error:
            facts = Problem(error.code, error.message, file.name, error.details.get("offset"))
        return facts

    def _kept(self, located: LocatedRun) -> Summaries | None:
        return self._summaries() if len(located.run.hosts) > 1 else None

    def _remember(
        self, located: LocatedRun, files: Sequence[HostFile], results: Sequence[Any], before: int
    ) -> list[Any]:
        """Caches facts of files that did not change; for others, a corruption is reported as a change instead."""
        with self._lock:
            new = [file for file in files if file.identity not in self._facts]
        if not new:
            return list(results)
        try:
            now = {file.identity for file in located.relist().hosts} if mapping_faults() == before else set()
        except (ProfileError, OSError):
            now = set()
        checked = []
        kept = self._kept(located)
        with self._lock:
            for file, facts in zip(files, results, strict=True):
                broken = isinstance(facts, Problem) and facts.code == CorruptProfile.code
                if file.identity in self._facts or (isinstance(facts, Problem) and not broken):
                    checked.append(facts)  # other problems may disappear although the file stays the same
                elif file.identity in now:
                    self._facts[file.identity] = facts
                    checked.append(facts)
                    if kept is not None and not broken:
                        kept.put_facts(file.identity, facts)
                else:
                    error = file_changed(file.name)
                    checked.append(Problem(error.code, error.message, file.name) if broken else facts)
            while len(self._facts) > _MAX_CACHED_FACTS:
                self._facts.popitem(last=False)
        return checked


def _reader(files: Files) -> Reader:
    return lambda file: files.read(file.path, file.size, file.mtime_ns, file.tag)


def hosts_listed(run: RunFiles, tag: str) -> list[str]:
    """The hosts that `/hosts` lists for a tool, as the original does; unknown tools take one host."""
    names = list(run.host_names)
    if len(names) < 2:
        return names
    if tag in _ALL_ONLY:
        return [ALL_HOSTS]
    return [ALL_HOSTS, *names] if tag in _ALL_AND_EACH else names


def hosts_offered(run: RunFiles, choice: HostChoice) -> list[str]:
    """The hosts that our page offers for a tool."""
    names = list(run.host_names)
    if len(names) < 2:
        return names
    if choice.value == "all":
        return [ALL_HOSTS]
    return [ALL_HOSTS, *names] if choice.value == "one_or_all" else names


def chosen_hosts(run: RunFiles, choice: HostChoice, query: Query) -> tuple[HostFile, ...]:
    """The files that a data request selects; raises BadRequest, NotFound (host_not_found) or NoData."""
    everything = all_hosts(run)
    host, several = query.optional("host"), query.names("hosts")
    if several and (choice.value == "several" or host is None):
        if choice.value != "several" and len(several) > 1:
            raise BadRequest(
                "This tool does not accept several 'hosts'; pass one 'host', or none for all.", parameter="hosts"
            )
        if ALL_HOSTS in several:
            return everything
        selected = {_host(run, name).host for name in several}
        return tuple(file for file in run.hosts if file.host in selected)
    if host is not None and host != ALL_HOSTS:
        return (_host(run, host),)
    if choice.value == "one" and len(run.hosts) > 1:
        raise BadRequest(
            "This run has several hosts and the tool shows one at a time: select one with 'host'.",
            parameter="host",
            hosts=list(run.host_names),
        )
    return everything


def all_hosts(run: RunFiles) -> tuple[HostFile, ...]:
    """All files of a run; raises NoData if it has none."""
    if not run.hosts:
        raise NoData(" ".join(p.message for p in run.problems) or "This run contains no profile.", run=run.name)
    return run.hosts


def _host(run: RunFiles, name: str) -> HostFile:
    for file in run.hosts:
        if file.host == name:
            return file
    raise NotFound(
        f"There is no host {name[:200]!r} in run {run.name!r}.", code="host_not_found", hosts=list(run.host_names)
    )
