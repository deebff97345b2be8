"""Shared by the tables of a run: texts as codes, and hosts one after the other in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np

from tpu_profile_plugin.run.host import Derived, HostProfile
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.coded import Coded

T = TypeVar("T")


def coded(texts: Iterable[str | None]) -> Coded:
    """One text per row; None and texts without letters are empty cells."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(text, len(numbers)) if text else -1 for text in texts]
    return Coded(np.array(codes, np.int32), tuple(numbers))


def each_host(
    run: RunHosts, make: Callable[[HostProfile], T], *derived: Derived[..., object]
) -> Iterator[tuple[HostProfile, T]]:
    """The hosts with `make(host)`, lazily; with several hosts, each one's columns are dropped before the next is read.

    `derived` are functions whose results for the host refer to its columns, and are dropped with them.
    """
    for host, result in run.iterate_hosts(make):
        yield host, result
        if len(run.profiles) > 1:
            host.release(*derived, least=0)
