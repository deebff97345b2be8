"""`steps`: the steps of each device, and the parts of the time budget that each consists of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, LABELS, PARTS
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.run.figures.budget import run_decomposition
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.relations.common import coded
from tpu_profile_plugin.run.relations.relation import HOST, RUN, Relation
from tpu_profile_plugin.tables.coded import same
from tpu_profile_plugin.tables.table import Table, flags, integers, texts

COLUMNS = (
    RUN,
    HOST,
    texts("device", "Device", "Device of the host; Host if no device was recorded."),
    integers("step", "Step", "", "Number of the step, the same on all hosts and devices."),
    texts("name", "Name", "Name of the step's marker, if it has one."),
    integers("begin_ps", "Begin", "ps", "Begin of the step on the device, on the axis of the trace viewer."),
    integers("duration_ps", "Duration", "ps", "Time from the begin to the end of the step; the parts add up to it."),
    flags("takes_part", "Takes part", "Whether the device works in the step; averages on the pages leave out others."),
    texts(
        "source",
        "Steps from",
        "device, host: markers; inferred: repeating events; dispatch: equal parts; recording: all of it as one step.",
    ),
    *(integers(f"{category}_ps", LABELS[category].name, "ps", LABELS[category].sentence) for category in CATEGORIES),
)


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
        COLUMNS,
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
    COLUMNS,
    _batches,
)
