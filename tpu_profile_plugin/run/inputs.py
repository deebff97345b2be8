"""Inputs of a tool: the chosen hosts and the parsed parameters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.run.host import HostExecutor, HostProfile, LocalThreads, PerHost
from tpu_profile_plugin.run.map_hosts import HostFailure, LeftOutHost, empty_host, left_out, map_hosts
from tpu_profile_plugin.system.process import available_cores
from tpu_profile_plugin.tools.params import ParamValue

T = TypeVar("T")
S = TypeVar("S")
_MOST_NAMED = 3
_LOCAL = LocalThreads(min(8, available_cores()))


def _local(_: Sequence[HostProfile]) -> HostExecutor:
    """The default of `Inputs.executor`: threads of this process."""
    return _LOCAL


def _ignore_progress(done: int, total: int) -> None:
    """The default of `Inputs.on_progress`."""


@dataclass(frozen=True)
class Inputs:
    """All inputs that a tool's answer may depend on.

    Attributes:
      run: the run's name.
      hosts: the chosen hosts, in file-name order; at least one.
      params: every declared parameter, parsed, defaults filled in.
      executor: returns the executor of per-host steps for the given hosts.
      on_progress: called with (hosts finished, hosts in total) whenever that changes.
      left_out: hosts that are empty or found to be unreadable, by index; filled while the tool runs.
      base: the run that this one is compared with; None for tools that show one run.
    """

    run: str
    hosts: tuple[HostProfile, ...]
    params: Mapping[str, ParamValue]
    executor: Callable[[Sequence[HostProfile]], HostExecutor] = _local
    on_progress: Callable[[int, int], None] = _ignore_progress
    left_out: dict[int, LeftOutHost] = field(default_factory=dict)
    base: Inputs | None = None

    def __post_init__(self) -> None:
        """Leaves out empty files, unless all are empty: they decode, to a profile without steps."""
        empty = [at for at, host in enumerate(self.hosts) if host.empty]
        if len(empty) < len(self.hosts):
            self.left_out.update((at, empty_host(self.hosts[at])) for at in empty)

    @property
    def host(self) -> HostProfile:
        """The only host, for tools that take exactly one."""
        return self.hosts[0]

    @property
    def readable(self) -> tuple[HostProfile, ...]:
        """The hosts that are not left out; host indices of merged results count these."""
        return tuple(host for at, host in enumerate(self.hosts) if at not in self.left_out)

    def map_hosts(self, step: PerHost[T]) -> list[T]:
        """The result of a step for every readable host, in order.

        A host that fails is left out from here on. If there is only one, or all fail, the first error is raised.
        """
        if len(self.hosts) == 1:
            return [self.host.compute(step)]
        chosen = [(at, host) for at, host in enumerate(self.hosts) if at not in self.left_out]
        missing = [host for _, host in chosen if not host.has(step)]
        executor = self.executor(missing) if missing else _LOCAL
        outcomes = map_hosts([host for _, host in chosen], step, executor, self.on_progress)
        failed = {
            at: outcome for (at, _), outcome in zip(chosen, outcomes, strict=True) if isinstance(outcome, HostFailure)
        }
        if len(failed) == len(chosen):
            raise next(iter(failed.values())).error
        self.left_out.update((at, failure.about) for at, failure in failed.items())
        return [outcome for outcome in outcomes if not isinstance(outcome, HostFailure)]

    def iterate_hosts(self, fn: Callable[[HostProfile], T]) -> Iterator[tuple[HostProfile, T]]:
        """The readable hosts with `fn(host)`, lazily and one after the other in this process.

        For results that are quick to compute and too large to send between processes. Hosts that fail are left out
        as by `map_hosts`.
        """
        first: ProfileError | None = None
        for at, host in enumerate(self.hosts):
            if at in self.left_out:
                continue
            try:
                result = fn(host)
            except ProfileError as error:
                if len(self.hosts) == 1:
                    raise
                first = first or error
                self.left_out[at] = left_out(host, error)
                continue
            yield host, result
        if first is not None and not self.readable:
            raise first

    def derive(self, key: Hashable, fn: Callable[[tuple[HostProfile, ...]], T]) -> T:
        """`fn(hosts)` over the readable hosts, computed once per process for this set of hosts.

        The arguments are as those of `HostProfile.derive`; several tools may share a key.
        """
        return self.readable[0].derive_over(self.readable, key, fn)

    def map_reduce(self, key: Hashable, step: PerHost[T], reduce: Callable[[Sequence[T]], S]) -> S:
        """`reduce(results)` over the readable hosts, cached under `key` for this set of hosts."""
        results = self.map_hosts(step)
        return self.derive(key, lambda _: reduce(results))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Diagnostics about the hosts that are left out: a sentence per host, or a single one if there are many."""
        missing = [self.left_out[at] for at in sorted(self.left_out)]
        if len(missing) <= _MOST_NAMED:
            return tuple(host.sentence for host in missing)
        names = ", ".join(host.host for host in missing[:_MOST_NAMED])
        more = f"{names} and {len(missing) - _MOST_NAMED} more. The first: {missing[0].message}"
        return (f"{len(missing)} of {len(self.hosts)} hosts are left out: {more}",)

    def text(self, name: str) -> str:
        """The value of a string parameter; "" when it is absent and has no default."""
        value = self.params[name]
        return "" if value is None else str(value)

    def integer(self, name: str) -> int:
        """The value of an int parameter; it must have a default."""
        value = self.params[name]
        assert isinstance(value, int)
        return value

    def number(self, name: str) -> float:
        """The value of a float parameter; it must have a default."""
        value = self.params[name]
        assert isinstance(value, (int, float))
        return float(value)

    def flag(self, name: str) -> bool:
        """The value of a bool parameter."""
        return bool(self.params[name])
