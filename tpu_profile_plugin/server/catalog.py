"""Resolves a request to a run, its hosts and its facts; names are looked up in listings, never used as paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.errors import EMPTY_FILE, BadRequest, CorruptProfile, NotFound, ProfileError
from tpu_profile_plugin.logdir import AllowedRoots, HostFile, Logdir, Problem, RunFiles
from tpu_profile_plugin.logdir.files import Files, file_changed, mapping_faults, may_be_mapped, read_host
from tpu_profile_plugin.logdir.remote import address_of, is_web
from tpu_profile_plugin.logdir.single import SingleRun
from tpu_profile_plugin.server.http.query import Place
from tpu_profile_plugin.server.loading import load_tools
from tpu_profile_plugin.system.process import available_cores

if TYPE_CHECKING:
    from tpu_profile_plugin.run.facts import RunFacts
    from tpu_profile_plugin.run.hosts import OnProgress
    from tpu_profile_plugin.run.run import Run, Source
    from tpu_profile_plugin.tools.tool import HostChoice

ALL_HOSTS = "ALL_HOSTS"

_MAX_THREADS = 4
_MOST_RELATED = 50

Reader = Callable[[HostFile], Any]


@dataclass(frozen=True)
class LocatedRun:
    """A run, a function that reads its files, and one that lists it again.

    Attributes:
      address: the address for opening its filesystem in another process, "" for local files; None: impossible.
    """

    run: RunFiles
    read: Reader
    relist: Callable[[], RunFiles]
    address: str | None = None


@dataclass(frozen=True)
class InspectedRun:
    """The result of opening a run's files: facts of the readable ones, problems by file name of the others.

    `losses`: of the run and of all its files, the unreadable ones included.
    """

    facts: RunFacts
    problems: dict[str, Problem]
    losses: tuple[Problem, ...] = ()


class Catalog:
    """The runs of the logdir and, where allowed, outside of it."""

    def __init__(
        self,
        logdir: Logdir | SingleRun,
        allowed: AllowedRoots,
        source: Callable[[], Source],
    ) -> None:
        """`source`: caches and executor that all runs share."""
        self.logdir = logdir
        self._source = source
        self._allowed = allowed

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
        # Another process would not check redirects.
        away = outside is not None and is_web(outside)
        address = None if away else self.logdir.address if outside is None else address_of(outside)
        return LocatedRun(run, read, lambda: self.locate(place).run, address)

    def open(self, located: LocatedRun, hosts: Sequence[HostFile], done: OnProgress | None = None) -> Run:
        """A run with these hosts; nothing is read yet. `done`: see `RunHosts.on_progress`."""
        load_tools()
        from tpu_profile_plugin.run.hosts import ignore_progress
        from tpu_profile_plugin.run.run import Run

        source = replace(self._source(), read=located.read, address=located.address)
        return Run.of(located.run.name, hosts, source, done or ignore_progress, located.run.problems_of(hosts))

    def outdated(self, located: LocatedRun, hosts: Sequence[HostFile], faults: int) -> list[HostFile]:
        """The files that changed since they were listed; drops what was read of them.

        All of them if a mapped file was cut since `mapping_faults` were `faults`, or the run can no longer be listed.
        """
        try:
            now = located.relist().hosts if mapping_faults() == faults else ()
        except (ProfileError, OSError):
            now = ()
        changed_ns = {file.identity: file.ctime_ns for file in now}
        # What is mapped may have been overwritten by a program that sets the modification time back.
        changed = [
            file
            for file in hosts
            if file.identity not in changed_ns
            or (may_be_mapped(file.size, file.mtime_ns) and file.ctime_ns != changed_ns[file.identity])
        ]
        for file, profile in zip(hosts, self.open(located, hosts).profiles, strict=True) if changed else ():
            if file in changed:
                profile.withdraw()
        return changed

    def inspect(self, located: LocatedRun) -> InspectedRun:
        """Reads the facts of every file of the run; facts of unchanged files are cached."""
        load_tools()
        from tpu_profile_plugin.run.facts import combine_facts, host_facts
        from tpu_profile_plugin.run.host import LocalThreads, losses_in

        problems = {file.name: file.problem for file in located.run.hosts if file.problem is not None}
        files = [file for file in located.run.hosts if file.problem is None or file.problem.code == EMPTY_FILE]
        faults = mapping_faults()
        # Starting other processes would take longer; remote files and formats that are converted take long to read.
        threads = LocalThreads(_MAX_THREADS if located.address else min(_MAX_THREADS, available_cores()))
        run = replace(self.open(located, files), executor=lambda _: threads)
        known = all(host.has(host_facts) for host in run.profiles)
        facts = run.examine_hosts(host_facts)
        outdated = [] if known else self.outdated(located, files, faults)
        valid: list[RunFacts] = []
        damages: list[Problem] = []
        for file, host, found in zip(files, run.profiles, facts, strict=True):
            if not isinstance(found, Problem):
                valid.append(found)
                damages += dict.fromkeys((*losses_in([found], file), *host.losses))
            elif found.code == CorruptProfile.code and file in outdated:
                problems[file.name] = Problem.of(file_changed(file.name), file.name, file.host)
            else:
                problems[file.name] = found
        about_run = [one for one in located.run.problems if one.file is None or one.file not in problems]
        return InspectedRun(combine_facts(valid), problems, (*about_run, *problems.values(), *damages))

    def related(self, place: Place) -> list[tuple[str, float]]:
        """The runs beside one that share programs with it, most first, and how much.

        Looks at the first host of the newest `_MOST_RELATED` runs; none of remote files, which it would have to copy.
        """
        load_tools()
        from tpu_profile_plugin.run.facts import most_related_first

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
