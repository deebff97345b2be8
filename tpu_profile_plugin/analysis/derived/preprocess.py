"""Preprocesses one host: groups, steps, flows and derived lines from the columns of a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tpu_profile_plugin.analysis.common.mapper import Mapper
from tpu_profile_plugin.analysis.common.planes import ABSENT, PlaneExtras, Preprocessed, is_device, is_host
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.derived.plane_extras import HostContext, plane_extras
from tpu_profile_plugin.analysis.grouping.groups import group
from tpu_profile_plugin.analysis.grouping.plane_lookup import look_up_plane
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.columns import Plane, XSpace


def preprocess(space: XSpace, *, derive: bool = True, mapper: Mapper = map) -> Preprocessed:
    """Groups one host's events and derives flows and lines that profilers do not write.

    Args:
      space: the host's columns; they are not changed.
      derive: also compute flows and derived lines; if false, only groups, steps, step names and eager execution.
      mapper: works on the planes, and on independent passes over the events of one.
    """
    if already_grouped(space.planes):
        return _as_in_file(space)
    planes = list(mapper(lambda plane: look_up_plane(space, plane, mapper), space.planes))
    grouped = group(planes, mapper, keep_links=derive)
    host = HostContext(space, planes, grouped, hlo_programs(space), derive)
    extras = mapper(lambda index: plane_extras(host, index), range(len(planes)))
    return Preprocessed(tuple(extras), grouped.names, grouped.links)


def already_grouped(planes: Sequence[Plane]) -> bool:
    """True when every host and device plane has `group_id` in its stat metadata."""
    relevant = [plane for plane in planes if is_host(plane.name) or is_device(plane.name)]
    return bool(relevant) and all(plane.stat_metadata.row("group_id") is not None for plane in relevant)


def _as_in_file(space: XSpace) -> Preprocessed:
    """Results that an earlier preprocessing stored in the file."""
    extras = []
    for plane in space.planes:
        stat_columns = StatColumns(space, plane, plane.events.stats, ("group_id", "step_name", "is_eager", "flow"))
        recorded = stat_columns.ints("group_id")
        group_id = None
        if len(recorded):
            group_id = np.full(len(plane.events.begin_ps), ABSENT, dtype=np.int64)
            group_id[recorded.event] = recorded.value
        flow, eager = stat_columns.ints("flow"), stat_columns.ints("is_eager")
        step_event, step_code, step_names = stat_columns.texts("step_name")
        extras.append(
            PlaneExtras(
                group_id=group_id,
                removed=None,
                line_display_id=None,
                flow_event=flow.event.astype(np.uint32),
                flow_value=flow.value.view(np.uint64),
                step_event=step_event.astype(np.uint32),
                step_code=step_code,
                step_names=tuple(step_names),
                eager_event=eager.event.astype(np.uint32),
                eager_value=(eager.value != 0).astype(np.uint8),
                run_id_event=np.zeros(0, dtype=np.uint32),
                run_id_value=np.zeros(0, dtype=np.int64),
                lines=(),
            )
        )
    none = np.zeros(0, dtype=np.int64)
    return Preprocessed(tuple(extras), {}, (none, none))
