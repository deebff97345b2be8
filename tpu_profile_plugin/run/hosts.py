"""The hosts of a run: maps functions over them, merges the results, and leaves out hosts that fail."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tpu_profile_plugin.errors import NoData, Problem, ProfileError
from tpu_profile_plugin.logdir.model import empty_file
from tpu_profile_plugin.run.host import Engine, HostExecutor, HostProfile, LocalThreads, PerHost, per_host
from tpu_profile_plugin.system.process import available_cores
from tpu_profile_plugin.system.terminal import LOG as _LOG

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.trend.summary import RunSummary

T = TypeVar("T")
S = TypeVar("S")
H = TypeVar("H", bound="RunHosts")
_MOST_NAMED = 3
_LOCAL = LocalThreads(min(8, available_cores()))


@dataclass(frozen=True, slots=True)
class _Failure:
    """Takes the place of a result: the error and its description."""

    error: Exception
    about: Problem


def local_threads(_: Sequence[HostProfile]) -> HostExecutor:
    """The default of `RunHosts.executor`: threads of this process."""
    return _LOCAL


OnProgress: TypeAlias = Callable[[int, int, Sequence[str]], None]
"""Called with the numbers of finished and of all hosts, and the names of the first few that are still missing."""


def ignore_progress(done: int, total: int, missing: Sequence[str]) -> None:
    """The default of `RunHosts.on_progress`."""


@dataclass(frozen=True, eq=False)
class RunHosts:
    """The hosts of a run, as a source of results that are computed per host and merged.

    Attributes:
      name: the run's name.
      profiles: the chosen hosts, in file-name order; at least one.
      executor: returns the executor of per-host steps for the given hosts.
      on_progress: called whenever a host is finished.
      listed: problems of the run and its files that were found without opening them.
      needs: the per-host steps of the answer, so that another process computes them on one visit to a file.
      summarize: tells a run in small, with its time and labels; None for one of which these are unknown.
    """

    name: str
    profiles: tuple[HostProfile, ...]
    executor: Callable[[Sequence[HostProfile]], HostExecutor] = local_threads
    on_progress: OnProgress = ignore_progress
    listed: tuple[Problem, ...] = field(default=(), repr=False)
    needs: tuple[PerHost[Any], ...] = field(default=(), repr=False)
    summarize: Callable[[RunHosts], RunSummary] | None = field(default=None, repr=False)
    _left_out: dict[int, Problem] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Leaves out empty files, unless all are empty: they decode, to a profile without steps."""
        empty = [i for i, host in enumerate(self.profiles) if host.empty]
        if len(empty) < len(self.profiles):
            self._left_out.update((i, empty_file(self.profiles[i].file, self.profiles[i].name)) for i in empty)

    def needing(self: H, steps: Sequence[PerHost[Any]]) -> H:
        """The run for an answer that asks for these per-host steps; hosts that fail are left out of both."""
        run = copy.copy(self)
        object.__setattr__(run, "needs", (*steps, *self.needs))
        return run

    @property
    def readable(self) -> tuple[HostProfile, ...]:
        """The hosts that are not left out; host indices of merged results count these."""
        return tuple(host for i, host in enumerate(self.profiles) if i not in self._left_out)

    @property
    def left_out(self) -> list[Problem]:
        """Why hosts are missing from answers: those that are empty or were found to be unreadable so far."""
        return [self._left_out[i] for i in sorted(self._left_out)]

    @property
    def engines(self) -> list[tuple[Engine, int]]:
        """Where hosts were read for this answer, and how many, most first; none for figures that were in memory."""
        return Counter(engine for host in self.profiles for engine in list(host.engines)).most_common()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Diagnostics about the hosts that are left out: a sentence per host, or a single one if there are many."""
        missing = self.left_out
        if len(missing) <= _MOST_NAMED:
            return tuple(map(left_out_sentence, missing))
        names = ", ".join(str(host.host) for host in missing[:_MOST_NAMED])
        more = f"{names} and {len(missing) - _MOST_NAMED} more. The first: {missing[0].message}"
        return (f"{len(missing)} of {len(self.profiles)} hosts are left out: {more}",)

    def as_recorded(self: H) -> H:
        """The run with all times as recorded, as XProf reads it; itself if none are mended."""
        if not any(self.map_hosts(is_mended)):
            return self
        return replace(self, profiles=tuple(host.recorded for host in self.profiles))

    def map_hosts(self, step: PerHost[T]) -> list[T]:
        """The result of a step for every readable host, in order.

        A host that fails stays left out. If there is only one, or all fail, the first error is raised; NoData
        without hosts.
        """
        if len(self.profiles) == 1:
            return [self.profiles[0].compute(step)]
        chosen = [(i, host) for i, host in enumerate(self.profiles) if i not in self._left_out]
        if not chosen:
            raise NoData(" ".join(self.warnings) or "This run contains no profile.")
        outcomes = self._compute_all([host for _, host in chosen], step)
        results: list[T] = []
        failures = []
        for (i, _), outcome in zip(chosen, outcomes, strict=True):
            if isinstance(outcome, _Failure):
                failures.append((i, outcome))
            else:
                results.append(outcome)
        if not results:
            raise failures[0][1].error
        self._left_out.update((i, failure.about) for i, failure in failures)
        return results

    def examine_hosts(self, step: PerHost[T]) -> list[T | Problem]:
        """The result of a step for every host in order, or why there is none; leaves no host out."""
        outcomes = self._compute_all(self.profiles, step) if self.profiles else []
        return [outcome.about if isinstance(outcome, _Failure) else outcome for outcome in outcomes]

    def report_progress(self, total: int, missing: Collection[HostProfile]) -> None:
        """Tells which of `total` hosts are still missing; raises what `on_progress` raises."""
        self.on_progress(total - len(missing), total, [host.name for host in islice(missing, _MOST_NAMED)])

    def _compute_all(self, hosts: Sequence[HostProfile], step: PerHost[T]) -> list[T | _Failure]:
        """The result for every host, or its failure; an exception of `on_progress` ends the round."""
        if all(host.in_memory(step) for host in hosts):  # thousands of hosts would take long to hand to threads
            return [_outcome(host, partial(host.compute, step)) for host in hosts]
        unknown = [host for host in hosts if not host.has(step)]
        executor = self.executor(unknown) if unknown else _LOCAL
        self.report_progress(len(hosts), hosts)
        pool = ThreadPoolExecutor(max(1, min(executor.width(hosts), len(hosts))), "profile-hosts")
        try:
            futures = [pool.submit(host.compute, step, executor, self.needs) for host in hosts]
            missing = dict(zip(futures, hosts, strict=True))
            for future in as_completed(futures):
                del missing[future]
                self.report_progress(len(hosts), missing.values())
            return [_outcome(host, future.result) for host, future in zip(hosts, futures, strict=True)]
        finally:
            pool.shutdown(cancel_futures=True)

    def iterate_hosts(self, fn: Callable[[HostProfile], T]) -> Iterator[tuple[HostProfile, T]]:
        """The readable hosts with `fn(host)`, lazily and one after the other in this process.

        For results that are quick to compute and too large to send between processes. Hosts that fail are left out
        as by `map_hosts`.
        """
        first: ProfileError | None = None
        for i, host in enumerate(self.profiles):
            if i in self._left_out:
                continue
            try:
                result = fn(host)
            except ProfileError as error:
                if len(self.profiles) == 1:
                    raise
                first = first or error
                self._left_out[i] = _failed_host(host, error)
                continue
            yield host, result
            del result  # it may be large, and the next one is made first
        if first is not None and not self.readable:
            raise first

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """`make()` over the readable hosts, computed once per process for this set of hosts."""
        return self.readable[0].once_for(self.readable, key, make)

    def merged(self, step: PerHost[T], merge: Callable[[Sequence[T]], S]) -> S:
        """`merge(results)` of a step over the readable hosts, computed once per process for this set of hosts."""
        results = self.map_hosts(step)
        return self.once((step, merge.__qualname__), lambda: merge(results))


@per_host()
def is_mended(host: HostProfile) -> bool:
    """Whether times of a host were mended: events left out, or clocks moved."""
    return bool(host.lazy.impossible) or any(clock.offset_ps for clock in host.lazy.clocks)


def _outcome(host: HostProfile, result: Callable[[], T]) -> T | _Failure:
    try:
        return result()
    except Exception as error:
        return _Failure(error, _failed_host(host, error))


def left_out_sentence(host: Problem) -> str:
    """A sentence for the diagnostics of a tool."""
    return f"Host {host.host} is left out: {host.message}"


def _failed_host(host: HostProfile, error: Exception) -> Problem:
    """Describes a host whose step failed; an unexpected error is logged with its traceback."""
    if not isinstance(error, ProfileError):
        _LOG.error("host %s failed", host.name, exc_info=error)
        message = "Internal error while processing this file; see the server log."
        return Problem("internal", message, host.file, host=host.name)
    return Problem.of(error, host.file, host.name)
