"""Resolves a request to a run, its hosts and its facts; names are looked up in listings, never used as paths."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.cache.memory import LruCache, size_of
from tpu_profile_plugin.errors import EMPTY_FILE, BadRequest, CorruptProfile, NotFound, ProfileError
from tpu_profile_plugin.logdir import AllowedRoots, HostFile, Logdir, Problem, RunFiles
from tpu_profile_plugin.logdir.files import Files, file_changed, mapping_faults, read_host
from tpu_profile_plugin.logdir.remote import address_of
from tpu_profile_plugin.logdir.single import SingleRun
from tpu_profile_plugin.server.http.query import Place
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.system.process import available_cores

if TYPE_CHECKING:
    from tpu_profile_plugin.cache.profiles import ProfileCache
    from tpu_profile_plugin.run.facts import RunFacts
    from tpu_profile_plugin.run.kept import Summaries
    from tpu_profile_plugin.tools.tool import HostChoice

ALL_HOSTS = "ALL_HOSTS"

_FACTS_BYTES = 8 << 20
"""Facts of files in memory: some kilobytes per file, more with thousands of HLO modules."""
_MAX_THREADS = 4
_MOST_RELATED = 50

Reader = Callable[[HostFile], Any]


@dataclass(frozen=True)
class LocatedRun:
    """A run, a function that reads its files, and one that lists it again.

    Attributes:
      address: the address for opening its filesystem in another process, "" for local files; None: impossible.
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

    `losses`: of the run and of all its files, the unreadable ones included.
    """

    facts: RunFacts
    problems: dict[str, Problem]
    losses: tuple[Problem, ...] = ()


def _size(identity: Hashable, facts: Any) -> int:
    return size_of((identity, facts))


class Catalog:
    """The runs of the logdir and, where allowed, outside of it."""

    def __init__(
        self,
        logdir: Logdir | SingleRun,
        allowed: AllowedRoots,
        columns: Callable[[], ProfileCache],
        copies: tuple[str, int] | None = None,
        summaries: Callable[[], Summaries | None] = lambda: None,
    ) -> None:
        """`summaries` keeps the facts of runs with several hosts across processes; None: not kept."""
        self.logdir = logdir
        self._columns = columns
        self._summaries = summaries
        self._copies = copies
        self._allowed = allowed
        self._lock = threading.Lock()
        self._facts: LruCache[Any] = LruCache(_FACTS_BYTES, _size)

    def names(self, place: Place) -> list[str]:
        """The names of the runs of the logdir or outside of it, descending."""
        outside = place.session is not None or place.below is not None
        return [run.name for run in self.runs(place)] if outside else self.logdir.names()

    def runs(self, place: Place) -> list[RunFiles]:
        """The runs of `names`, with their files."""
        if place.session is not None:
            return [self._allowed.session(place.session)[0]]
        if place.below is not None:
            by_name = self._allowed.below(place.below)
            return [by_name[name][0] for name in sorted(by_name, reverse=True)]
        return self.logdir.runs()

    def locate(self, place: Place) -> LocatedRun:
        """The run of a request; raises BadRequest, Forbidden or NotFound."""
        read: Reader = self.logdir.read
        if place.session is not None:
            run, files = self._allowed.session(place.session)
            if place.run not in (None, run.name):
                raise BadRequest("Parameter 'run' is not the last part of session_path.", parameter="run")
            read = _reader(files)
        elif place.run is None:
            raise BadRequest("Parameter 'run' is missing.", parameter="run")
        elif place.below is not None:
            name, runs = place.run.rstrip("/"), self._allowed.below(place.below)
            if name not in runs:
                message = f"There is no run {name[:200]!r} in this run_path."
                raise NotFound(message, code="run_not_found", run=name[:200])
            run, files = runs[name]
            read = _reader(files)
        else:
            run = self.logdir.run(place.run.rstrip("/"))
        outside = place.session or place.below
        address = self.logdir.address if outside is None else address_of(outside)
        return LocatedRun(run, read, lambda: self.locate(place).run, address, self._copies)

    def inspect(self, located: LocatedRun) -> InspectedRun:
        """Reads the facts of every file of the run; facts of unchanged files are cached."""
        load_tools()
        from tpu_profile_plugin.run.facts import combine_facts
        from tpu_profile_plugin.run.host import HostProfile, losses_in

        valid: list[RunFacts] = []
        damages: list[Problem] = []
        problems = {file.name: file.problem for file in located.run.hosts if file.problem is not None}
        readable = [file for file in located.run.hosts if file.problem is None or file.problem.code == EMPTY_FILE]
        before = mapping_faults()
        results = self._facts_of_all(located, readable)
        for file, facts in zip(readable, self._remember(located, readable, results, before), strict=True):
            if isinstance(facts, Problem):
                problems[file.name] = facts
            else:
                valid.append(facts)
                read = HostProfile(file, 0, located.read, self._columns())
                damages += dict.fromkeys((*losses_in([facts], file), *read.losses))
        about_run = [one for one in located.run.problems if one.file is None or one.file not in problems]
        return InspectedRun(combine_facts(valid), problems, (*about_run, *problems.values(), *damages))

    def related(self, place: Place) -> list[tuple[str, float]]:
        """The runs beside one that share programs with it, most first, and how much.

        Looks at the first host of the newest `_MOST_RELATED` runs; none of remote files, which it would have to copy.
        """
        load_tools()
        from tpu_profile_plugin.run.related import most_related_first

        located = self.locate(place)
        if place.session is not None or located.address != "":
            return []
        runs = self.logdir.newest_first() if place.below is None else self.runs(place)
        others = [Place(run.name, below=place.below) for run in runs if run.hosts and run.name != located.run.name]
        facts = self._facts_of_first(located)
        found = [(str(other.run), self._facts_of_first(self.locate(other))) for other in others[:_MOST_RELATED]]
        return most_related_first(facts, found)

    def _facts_of_first(self, located: LocatedRun) -> RunFacts:
        """The facts of the first host, with the programs of all hosts of most runs."""
        return self.inspect(replace(located, run=replace(located.run, hosts=located.run.hosts[:1]))).facts

    def _facts_of_all(self, located: LocatedRun, files: Sequence[HostFile]) -> list[Any]:
        """The facts of each file, read in parallel: remote files take long, and so do formats that are converted."""
        threads = _MAX_THREADS if located.address else min(_MAX_THREADS, available_cores())
        if threads < 2 or len(files) < 2:
            return [self._facts_of(located, file) for file in files]
        with ThreadPoolExecutor(threads, "profile-inspect") as pool:
            return list(pool.map(lambda file: self._facts_of(located, file), files))

    def _facts_of(self, located: LocatedRun, file: HostFile) -> Any:
        """The facts of one file, or the Problem that prevented reading it."""
        with self._lock:
            known = self._facts.get(file.identity)
            if known is not None:
                return known
        kept = self._kept(located)
        if kept is not None:
            with contextlib.suppress(KeyError):
                facts: Any = kept.facts(file.identity)
                with self._lock:
                    self._facts.put(file.identity, facts)
                return facts
        from tpu_profile_plugin.run.facts import file_facts

        try:
            columns, of_file = self._columns(), (file.identity, lambda: located.read(file), file.name)
            facts = file_facts(file.host, columns.content(*of_file), columns.lazy(*of_file))
        except ProfileError as error:
            facts = Problem.of(error, file.name, file.host)
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
                    self._facts.put(file.identity, facts)
                    checked.append(facts)
                    if kept is not None and not broken:
                        kept.put_facts(file.identity, facts)
                else:
                    error = file_changed(file.name)
                    checked.append(Problem.of(error, file.name, file.host) if broken else facts)
        return checked


def _reader(files: Files) -> Reader:
    return lambda file: read_host(files, file)


def hosts_offered(run: RunFiles, choice: HostChoice) -> list[str]:
    """The hosts that our page offers for a tool."""
    names = list(run.host_names)
    if len(names) < 2:
        return names
    if choice.value == "all":
        return [ALL_HOSTS]
    return [ALL_HOSTS, *names] if choice.value == "one_or_all" else names


def chosen_hosts(run: RunFiles, choice: HostChoice, host: str | None, several: Sequence[str]) -> tuple[HostFile, ...]:
    """The files that the parameters `host` and `hosts` select; raises BadRequest, NotFound (host_not_found) or NoData.

    A request without either selects all hosts, if the tool takes several.
    """
    everything = all_hosts(run)
    names: Sequence[str] = ()
    if several and (choice.value == "several" or host is None):
        if choice.value != "several" and len(several) > 1:
            raise BadRequest(
                "This tool does not accept several 'hosts'; pass one 'host', or none for all.", parameter="hosts"
            )
        names = () if ALL_HOSTS in several else several
    elif host is not None and host != ALL_HOSTS:
        names = (host,)
    elif choice.value == "one" and len(run.hosts) > 1:
        raise BadRequest(
            "This run has several hosts and the tool shows one at a time: select one with 'host'.",
            parameter="host",
            hosts=list(run.host_names),
        )
    for name in names:
        if name not in run.host_names:
            message = f"There is no host {name[:200]!r} in run {run.name!r}."
            raise NotFound(message, code="host_not_found", hosts=list(run.host_names))
    return tuple(file for file in everything if file.host in names) if names else everything


def all_hosts(run: RunFiles) -> tuple[HostFile, ...]:
    """All files of a run; raises NoData if it has none, Forbidden if its directory cannot be read."""
    if not run.hosts:
        raise run.without_hosts()
    return run.hosts
