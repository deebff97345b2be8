"""Shared by the tables of a run: texts as codes, and hosts one after the other in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from tpu_profile_plugin.run.figures.devices import host_devices
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.figures.summary import groups_of
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.coded import Coded

T = TypeVar("T")
_OF_COLUMNS = (groups_of, hlo_ops, host_devices)
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
