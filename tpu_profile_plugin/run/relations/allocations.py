"""`allocations`: every recorded allocation and deallocation of memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tpu_profile_plugin.analysis.memory.allocations import Allocations, memory_peak
from tpu_profile_plugin.run.catalogue.memory import RELATION
from tpu_profile_plugin.run.figures.memory import host_allocations
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.relations.relation import Relation, StepNumbers, each_host
from tpu_profile_plugin.tables.coded import same
from tpu_profile_plugin.tables.table import Table


def _batches(run: RunHosts) -> Iterator[Table]:
    """A table per host and allocator."""
    steps = StepNumbers(run)
    for host, recorded in each_host(run, _recorded):
        if recorded is not None:
            for rows in recorded.by_memory().values():
                yield _of_allocator(run.name, host, rows, steps)


def _recorded(host: HostProfile) -> Allocations | None:
    return host_allocations(host, since_recording=True)[0]


def _of_allocator(run: str, host: HostProfile, recorded: Allocations, steps: StepNumbers) -> Table:
    """The events of one allocator by time, with what the memory profile finds out about them."""
    peak = memory_peak(recorded)
    rows = peak.rows
    live = np.zeros(len(rows), np.bool_)
    live[peak.live] = True
    # The memory profile gives every event a step; here, events outside of steps have none.
    group = recorded.step[np.searchsorted(recorded.event, rows.event)]
    cells = {
        "run": same(run, len(rows)),
        "host": same(host.name, len(rows)),
        "at_peak": live,
        "step": steps(host, np.ma.MaskedArray(group, group < 0)),
    }
    return Table.of(RELATION, rows, cells, name="allocations")


ALLOCATIONS = Relation(
    "allocations",
    "One row per allocation and deallocation: its size, use, and the memory of its allocator after it.",
    RELATION,
    _batches,
)
