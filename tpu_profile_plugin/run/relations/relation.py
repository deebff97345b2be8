"""A table of a run: its name, columns and rows; hosts one after the other, numbers of steps."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np

from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.figures.budget import budget, host_alone, run_budget, run_decomposition
from tpu_profile_plugin.run.host import HostExecutor, HostProfile, LocalThreads, PerHost
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.column import Column
from tpu_profile_plugin.tables.stream import TableStream
from tpu_profile_plugin.tables.table import Table

T = TypeVar("T")
MaskedI64: TypeAlias = np.ma.MaskedArray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Relation:
    """A table.

    Attributes:
      name: its name in SQL and of its Parquet file.
      summary: one sentence on its rows.
      columns: the declarations, `run` and `host` first.
      batches: its rows in tables of at most a few million rows each, one host after the other; nothing for a run that
        has none. Raises what reading a host raises; hosts that fail among others are left out (`RunHosts.left_out`).
      lasting: whether the same files give the same rows later.
    """

    name: str
    summary: str
    columns: tuple[Column, ...]
    batches: Callable[[RunHosts], Iterator[Table]]
    lasting: bool = True

    def of(self, run: RunHosts) -> TableStream:
        """The table of a run."""
        return TableStream(self.columns, lambda: self.batches(frugal(run)), self.name)


def each_host(run: RunHosts, make: Callable[[HostProfile], T]) -> Iterator[tuple[HostProfile, T]]:
    """The hosts with `make(host)`, lazily; of several hosts, only one has its columns in memory."""
    for host, result in run.iterate_hosts(make):
        yield host, result
        if len(run.profiles) > 1:
            host.drop()


class _OneAtATime:
    """An executor that drops what each host was computed from; threads of this process work on one host at a time."""

    def __init__(self, executor: HostExecutor) -> None:
        self._executor = executor

    def width(self, hosts: Sequence[HostProfile]) -> int:
        """As many as worker processes work on."""
        return 1 if isinstance(self._executor, LocalThreads) else self._executor.width(hosts)

    def compute(self, host: HostProfile, step: PerHost[T], needs: Sequence[PerHost[Any]] = ()) -> T:
        """The result for one host."""
        result = self._executor.compute(host, step, needs)
        host.drop()
        return result


def frugal(run: RunHosts) -> RunHosts:
    """The same hosts, of which one at a time has its columns in this process; those that fail are left out of both."""
    if len(run.profiles) == 1:
        return run
    copied, executor = copy.copy(run), run.executor
    object.__setattr__(copied, "executor", lambda hosts: _OneAtATime(executor(hosts)))
    return copied


class StepNumbers:
    """The numbers of steps that tables have: those of the table `steps`, the same on all hosts.

    Each host numbers its groups by itself; which of them are the same step is known for the steps that all hosts have.
    """

    def __init__(self, run: RunHosts) -> None:
        self._run = frugal(run)

    @cached_property
    def _of_hosts(self) -> dict[int, tuple[I64, I64]]:
        """By `HostProfile.index`, own numbers in ascending order, and those of the run."""
        whole = run_decomposition(self._run)
        parts = self._run.map_hosts(budget if run_budget(self._run).devices else host_alone)
        numbers = {}
        for position, rows in zip(whole.hosts, whole.rows, strict=True):
            steps = parts[position].steps
            assert steps is not None
            order = np.argsort(steps.number[rows], kind="stable")
            numbers[self._run.readable[position].index] = steps.number[rows][order], whole.number[order]
        return numbers

    def __call__(self, host: HostProfile, groups: MaskedI64) -> MaskedI64:
        """The steps of groups of a host, masked without one; with a single host, groups have the numbers of steps."""
        none = np.ma.getmaskarray(groups)
        if len(self._run.profiles) == 1 or none.all():
            return groups
        own, numbers = self._of_hosts.get(host.index, (none[:0], none[:0]))
        if not len(own):
            return np.ma.MaskedArray(groups.data, True)
        at = np.minimum(np.searchsorted(own, groups.data), len(own) - 1)
        return np.ma.MaskedArray(numbers[at], none | (own[at] != groups.data))
