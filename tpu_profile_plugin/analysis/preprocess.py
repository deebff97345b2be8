"""Preprocessing one host: from the columns of a file to groups, steps, flows and derived lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tpu_profile_plugin.analysis import event_names as names
from tpu_profile_plugin.analysis.derived import ABSENT, Codes, ExtraLine, Ints, PlaneExtras, Preprocessed
from tpu_profile_plugin.analysis.derived_gpu import derive_steps, derive_streams, fill_groups
from tpu_profile_plugin.analysis.derived_tpu import derive_tpu
from tpu_profile_plugin.analysis.facts import PlaneFacts, facts_of
from tpu_profile_plugin.analysis.flows import flows
from tpu_profile_plugin.analysis.grouping import Grouped, group
from tpu_profile_plugin.analysis.hlo import HloPrograms, hlo_programs
from tpu_profile_plugin.analysis.picked import Picked, Sparse, override
from tpu_profile_plugin.analysis.plane_roles import GPU_PREFIX, is_device, is_host, tensor_core
from tpu_profile_plugin.analysis.tpu_steps import Steps, group_lines, merge_steps, removed_steps

if TYPE_CHECKING:
    from tpu_profile_plugin.columns import Plane, XSpace

_NO_ROWS = np.zeros(0, dtype=np.uint32)
_NO_WORDS = np.zeros(0, dtype=np.uint64)


def preprocess(space: XSpace, *, derive: bool = True) -> Preprocessed:
    """Groups one host's events and derives what no profiler writes.

    Args:
      space: the host's columns; they are not changed.
      derive: also flows and derived lines; without, only groups, steps, step names and what ran eagerly.
    """
    if already_grouped(space.planes):
        return _as_in_file(space)
    planes = [facts_of(space, plane) for plane in space.planes]
    grouped = group(planes)
    programs = hlo_programs(space)
    extras = [_plane_extras(space, index, facts, grouped, programs, derive) for index, facts in enumerate(planes)]
    return Preprocessed(tuple(extras), grouped.names, grouped.links)


def already_grouped(planes: Sequence[Plane]) -> bool:
    """True when every plane of the host and of a device knows group ids."""
    relevant = [plane for plane in planes if is_host(plane.name) or is_device(plane.name)]
    return bool(relevant) and all(plane.stat_metadata.row("group_id") is not None for plane in relevant)


def _as_in_file(space: XSpace) -> Preprocessed:
    extras = []
    for plane in space.planes:
        picked = Picked(space, plane, plane.events.stats, ("group_id", "step_name", "is_eager", "flow"))
        own = picked.ints("group_id")
        group_id = None
        if len(own):
            group_id = np.full(len(plane.events.begin_ps), ABSENT, dtype=np.int64)
            group_id[own.event] = own.value
        flow, eager = picked.ints("flow"), picked.ints("is_eager")
        step_event, step_code, step_names = picked.texts("step_name")
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
                run_id_event=_NO_ROWS,
                run_id_value=np.zeros(0, dtype=np.int64),
                lines=(),
            )
        )
    none = np.zeros(0, dtype=np.int64)
    return Preprocessed(tuple(extras), {}, (none, none), already_grouped=True)


class _StepNames:
    """Codes of step names: of the file's own, and of groups."""

    def __init__(self, texts: Sequence[str], groups: Mapping[int, str]) -> None:
        self.texts = list(texts)
        self._groups = groups

    def of(self, group: Ints) -> Codes:
        """A code for each group, -1 for groups without a name."""
        distinct, place = np.unique(group, return_inverse=True)
        codes = []
        for number in distinct.tolist():
            name = self._groups.get(number)
            codes.append(-1 if name is None else len(self.texts))
            if name is not None:
                self.texts.append(name)
        return np.array(codes, dtype=np.int32)[place.reshape(-1)] if codes else np.zeros(0, dtype=np.int32)


def _plane_extras(
    space: XSpace, index: int, facts: PlaneFacts, grouped: Grouped, programs: HloPrograms, derive: bool
) -> PlaneExtras:
    plane, group_id = facts.plane, grouped.group[index]
    own_event, own_code, own_texts = facts.picked.texts("step_name")
    step_names = _StepNames(own_texts, grouped.names)
    lines: list[ExtraLine] = []
    steps = None
    if facts.grouping_line is not None and group_id is not None:
        steps = merge_steps(space, plane, facts.grouping_line, group_id)
        group_lines(plane, facts.grouping_line, group_id, steps)
    if steps is not None:
        lines.append(_step_line(plane, steps, step_names))
    if facts.regions is not None:
        lines += _region_lines(facts, grouped.region_group[index])
    if derive and tensor_core(plane.name) is not None:
        lines += derive_tpu(space, plane, group_id)
    display_ids = None
    if plane.name.startswith(GPU_PREFIX):
        group_id = fill_groups(plane, group_id)
        if group_id is not None and (line := derive_steps(plane, group_id, step_names.of)):
            lines.append(line)
        if derive:
            streams, display_ids = derive_streams(space, plane, group_id, programs)
            lines += streams
    roots = grouped.step_roots[index]
    root_codes = step_names.of(group_id[roots] if group_id is not None else np.zeros(0, dtype=np.int64))
    step_column = override(Sparse(own_event, own_code.astype(np.int64)), Sparse(roots, root_codes.astype(np.int64)))
    flow_event, flow_value = flows(plane, facts.picked, facts.mutated) if derive else (_NO_ROWS, _NO_WORDS)
    eager_event, eager_value = grouped.eager[index]
    return PlaneExtras(
        group_id=_frozen(group_id),
        removed=None if steps is None else removed_steps(plane, steps),
        line_display_id=display_ids,
        flow_event=flow_event,
        flow_value=flow_value,
        step_event=step_column.event.astype(np.uint32),
        step_code=step_column.value.astype(np.int32),
        step_names=tuple(step_names.texts),
        eager_event=eager_event,
        eager_value=eager_value,
        run_id_event=facts.mutated.run_id.event.astype(np.uint32),
        run_id_value=facts.mutated.run_id.value,
        lines=tuple(lines),
    )


def _frozen(array: Any) -> Any:
    if array is not None:
        array.flags.writeable = False
    return array


def _step_line(plane: Plane, steps: Steps, step_names: _StepNames) -> ExtraLine:
    """The step line as it is after merging; it replaces the file's."""
    line, metadata = steps.line, plane.event_metadata
    distinct, code = np.unique(plane.events.metadata[steps.source], return_inverse=True)
    rows: list[int] = distinct.tolist()
    return ExtraLine(
        id=int(plane.lines.id[line]) & 0xFFFFFFFF,
        name=plane.lines.name[line],
        begin_ps=steps.begin_ps,
        duration_ps=steps.duration_ps,
        metadata=code.reshape(-1).astype(np.uint32),
        names=tuple(metadata.names[row] for row in rows),
        display_names=tuple(metadata.display_names[row] for row in rows),
        display_id=int(plane.lines.display_id[line]),
        metadata_source=distinct.astype(np.int64),
        event_source=steps.source,
        group_id=steps.group_id,
        step_code=step_names.of(steps.group_id),
        extra_args={
            "step_idle_time_ps": steps.idle_ps,
            "device_offset_ps": steps.device_offset_ps,
            "device_duration_ps": steps.device_duration_ps,
        },
    )


def _region_lines(facts: PlaneFacts, group_id: Ints | None) -> list[ExtraLine]:
    """The threadpool regions of a plane, as additions to the lines they lie on."""
    regions, lines = facts.regions, []
    assert regions is not None
    for line in np.unique(regions.line).tolist():
        own = np.flatnonzero(regions.line == line)
        lines.append(
            ExtraLine(
                id=int(facts.plane.lines.id[line]) & 0xFFFFFFFF,
                name=facts.plane.lines.name[line],
                begin_ps=regions.begin_ps[own],
                duration_ps=regions.duration_ps[own],
                metadata=np.zeros(len(own), dtype=np.uint32),
                names=(names.REGION,),
                display_names=("",),
                display_id=int(facts.plane.lines.display_id[line]),
                group_id=None if group_id is None else group_id[own],
            )
        )
    return lines
