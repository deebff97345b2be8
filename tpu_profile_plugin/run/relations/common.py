"""Shared by the tables of a run: texts as codes, hosts one after the other, numbers of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.figures.budget import budget, host_alone, run_budget, run_decomposition
from tpu_profile_plugin.run.figures.devices import host_devices
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.figures.summary import groups_of, preprocessed
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.coded import Coded

T = TypeVar("T")
_OF_COLUMNS = (groups_of, preprocessed, hlo_ops, host_devices)
"""Results that refer to the columns of a host."""


def coded(texts: Iterable[str | None]) -> Coded:
    """One text per row; None and texts without letters are empty cells."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(text, len(numbers)) if text else -1 for text in texts]
    return Coded(np.array(codes, np.int32), tuple(numbers))


def each_host(run: RunHosts, make: Callable[[HostProfile], T]) -> Iterator[tuple[HostProfile, T]]:
    """The hosts with `make(host)`, lazily; of several hosts, only one has its columns in memory."""
    for host, result in run.iterate_hosts(make):
        yield host, result
        if len(run.profiles) > 1:
            host.release(*_OF_COLUMNS, least=0)


class StepNumbers:
    """The numbers of steps that tables have: those of the table `steps`, the same on all hosts.

    Each host numbers its groups by itself; which of them are the same step is known for the steps that all hosts have.
    """

    def __init__(self, run: RunHosts) -> None:
        self._run = run

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

    def __call__(self, host: HostProfile, group: I64) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]:
        """The steps of groups of a host (-1: none), masked without one; with a single host, groups are its steps."""
        if len(self._run.profiles) == 1 or not (group >= 0).any():
            return np.ma.MaskedArray(group, group < 0)
        own, numbers = self._of_hosts.get(host.index, (group[:0], group[:0]))
        if not len(own):
            return np.ma.MaskedArray(group, np.ones(len(group), np.bool_))
        at = np.minimum(np.searchsorted(own, group), len(own) - 1)
        return np.ma.MaskedArray(numbers[at], own[at] != group)
