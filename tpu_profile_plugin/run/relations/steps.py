"""`steps`: the steps of each device, and the parts of the time budget that each consists of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import PARTS
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.run.catalogue.steps import RELATION
from tpu_profile_plugin.run.figures.budget import run_decomposition
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.relations.relation import Relation
from tpu_profile_plugin.tables.coded import coded, same
from tpu_profile_plugin.tables.table import Table


def _batches(run: RunHosts) -> Iterator[Table]:
    """A table per host."""
    budget = run_decomposition(run)
    names = [host.name for host in run.readable]
    for position, source in zip(budget.hosts, budget.sources, strict=True):
        yield _of_host(run.name, names[position], budget, position, source)


def _of_host(run: str, host: str, budget: RunBudget, position: int, source: str) -> Table:
    """The steps of one host, step after step; `position` is that of the host in the budget."""
    devices = [i for i, device in enumerate(budget.devices) if device.host == position]
    rows = len(budget) * len(devices)
    times = budget.time_ps.where(devices=devices)
    return Table(
        RELATION,
        [
            same(run, rows),
            same(host, rows),
            coded([budget.devices[i].name for i in devices] * len(budget)),
            np.repeat(budget.number, len(devices)),
            coded(name for name in budget.names for _ in devices),
            budget.begin_ps[:, devices].ravel(),
            budget.duration_ps[:, devices].ravel(),
            budget.takes_part[:, devices].ravel(),
            same(source, rows),
            *(times[part].ravel() for part in PARTS),
        ],
        name="steps",
    )


STEPS = Relation(
    "steps",
    "One row per step and device: when it was, and what its time was spent on, as in the time budget.",
    RELATION,
    _batches,
)
