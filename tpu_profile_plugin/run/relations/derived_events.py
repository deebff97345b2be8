"""`derived_events`: rows of the trace viewer that were not recorded: framework ops and name scopes of devices, ...."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tpu_profile_plugin.analysis.common.planes import ABSENT, ExtraLine, shown_names
from tpu_profile_plugin.analysis.timeline.tracks import step_groups
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.run.catalogue.events import DERIVED
from tpu_profile_plugin.run.figures.summary import preprocessed
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.relations.common import StepNumbers, each_host
from tpu_profile_plugin.run.relations.events import step_columns
from tpu_profile_plugin.run.relations.relation import Relation
from tpu_profile_plugin.tables.coded import Coded, joined, same
from tpu_profile_plugin.tables.table import Table


def _batches(run: RunHosts) -> Iterator[Table]:
    """A table per plane with derived events, host by host."""
    number_steps = StepNumbers(run)
    for host, _ in each_host(run, lambda host: host.space.decode()):
        extras = preprocessed(host)
        steps = step_groups(host.space, extras)
        for plane, extra in zip(host.space.planes, extras.planes, strict=True):
            lines = [line for line in extra.lines if len(line.begin_ps)]
            if lines:
                yield _table(run.name, host, plane.name, lines, steps, number_steps)


def _table(
    run: str, host: HostProfile, plane: str, lines: Sequence[ExtraLine], steps: I64, number_steps: StepNumbers
) -> Table:
    lengths = [len(line.begin_ps) for line in lines]
    count = sum(lengths)
    groups = [np.full(len(line.begin_ps), ABSENT) if line.group_id is None else line.group_id for line in lines]
    step, group = step_columns(np.concatenate(groups).astype(np.int64, copy=False), steps)
    return Table(
        DERIVED,
        [
            same(run, count),
            same(host.name, count),
            same(plane, count),
            Coded.of(np.repeat(np.arange(len(lines)), lengths), [line.name for line in lines], empty=False),
            np.repeat(np.array([line.id for line in lines], np.int64), lengths),
            joined(
                [Coded.of(line.metadata, shown_names(line.names, line.display_names), empty=False) for line in lines]
            ),
            np.concatenate([line.begin_ps for line in lines]),
            np.concatenate([line.duration_ps for line in lines]),
            number_steps(host, step),
            group,
        ],
        name="derived_events",
    )


DERIVED_EVENTS = Relation(
    "derived_events",
    "One row per event of the trace viewer that is derived from recorded ones, and that the table of events lacks.",
    DERIVED,
    _batches,
)
