"""Lookups that grouping needs on one plane: events by name, stats as columns, mutated events."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tpu_profile_plugin.analysis.common.mapper import Mapper, both
from tpu_profile_plugin.analysis.common.op_names import TENSORFLOW, TF_DATA, parse_op
from tpu_profile_plugin.analysis.common.planes import HOST_THREADS, TPU_PREFIX, grouping_line
from tpu_profile_plugin.analysis.common.stat_columns import SparseColumn, StatColumns
from tpu_profile_plugin.analysis.grouping.event_names import NO_KERNELS, NO_LAUNCHES, EventsByName
from tpu_profile_plugin.analysis.grouping.mutators import (
    Links,
    Regions,
    event_stats,
    links,
    masked_run_ids,
    root_levels,
    threadpool_regions,
)
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I32, I64

NO_OP, TF_OP, DATA_OP = 0, 1, 2
_MANY_EVENTS = 100_000
"""With fewer events, a second thread costs more than it saves."""


@dataclass(frozen=True, slots=True, eq=False)
class PlaneLookup:
    """Lookups of one plane; `grouping_line` is None except on TPU cores that have one."""

    plane: Plane
    events: EventsByName
    stat_columns: StatColumns
    root_level: SparseColumn
    run_id: SparseColumn
    regions: Regions | None
    process_id: int | None
    grouping_line: int | None
    _links: list[Links] = field(default_factory=list, init=False)

    def links(self) -> Links:
        """What its events produce and consume; looked for when it is first needed, by whichever thread needs it."""
        if not self._links:
            self._links.append(links(self.plane, self.events, self.stat_columns, self.run_id))
        return self._links[0]

    def forget_links(self) -> None:
        """Drops the links, which take about as much memory as the begins of all events."""
        self._links.clear()

    @property
    def is_tpu(self) -> bool:
        """True for planes with a TPU name, including ones that are not cores."""
        return self.plane.name.startswith(TPU_PREFIX)

    def ops(self) -> I32:
        """Per row of the event metadata: TF_OP or DATA_OP if the name is that of an op, else NO_OP."""
        code = {TENSORFLOW: TF_OP, TF_DATA: DATA_OP}
        table = np.zeros(len(self.plane.event_metadata.id), dtype=np.int32)
        for row, name in enumerate(self.plane.event_metadata.names):
            if ":" in name:
                table[row] = code.get(parse_op(name).category, NO_OP)
        return table

    def kernels(self) -> I64:
        """Events at either end of a launch: with a correlation id, and a name that is neither an op's nor known."""
        events = self.stat_columns.owners("correlation_id")
        if len(events) == 0:
            return events
        known = NO_LAUNCHES if self.launches else NO_KERNELS
        unknown = np.array([name not in known for name in self.plane.event_metadata.names], np.bool_)
        kernels: I64 = events[((self.ops() == NO_OP) & unknown)[self.plane.events.metadata[events]]]
        return kernels

    @property
    def launches(self) -> bool:
        """True if kernels of this plane are launched (host threads), False if they run on it."""
        return self.plane.name == HOST_THREADS


def look_up_plane(space: XSpace, plane: Plane, mapper: Mapper = map) -> PlaneLookup:
    """Builds the lookups of one plane; `mapper` works on the passes over the events and stats of a large one."""

    def named() -> tuple[EventsByName, StatColumns]:
        events = EventsByName(plane)
        return events, StatColumns(space, plane, plane.events.stats, event_stats(plane, events))

    if len(plane.events.begin_ps) < _MANY_EVENTS:
        mapper = map
    (events, stat_columns), regions = both(mapper, named, lambda: threadpool_regions(plane))
    process = StatColumns(space, plane, plane.stats, ["process_id"]).ints("process_id")
    return PlaneLookup(
        plane,
        events,
        stat_columns,
        root_levels(events, stat_columns),
        masked_run_ids(events, stat_columns),
        regions,
        int(process.value[0]) if len(process) else None,
        grouping_line(plane),
    )
