"""The visible events of a preprocessed profile as tuples, for comparison with literal or recorded answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from builders.xspace_text import build
from tpu_profile_plugin.analysis.common.planes import Preprocessed
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.columns.space import Plane, XSpace


class Shown(NamedTuple):
    """One event as the viewer shows it; group -1: none."""

    plane: str
    track: int
    name: str
    begin_ps: int
    duration_ps: int
    group: int


def profile(text: str) -> XSpace:
    """The columns of a profile in the text notation."""
    return load(build(text))


def shown(space: XSpace, result: Preprocessed | None = None) -> Counter[Shown]:
    """Every visible event of the file, and every derived one."""
    result = result or preprocess(space)
    out: Counter[Shown] = Counter()
    for index, plane in enumerate(space.planes):
        out.update(_file_events(plane, result, index))
        out.update(_extra_events(plane, result, index))
    return out


def _file_events(plane: Plane, result: Preprocessed, index: int) -> Iterator[Shown]:
    extras, lines, metadata = result.planes[index], plane.lines, plane.event_metadata
    steps = dict(zip(extras.step_event.tolist(), extras.step_code.tolist(), strict=True))
    for line in range(len(lines)):
        moved = 0 if extras.line_display_id is None else int(extras.line_display_id[line])
        track = (moved or int(lines.display_id[line]) or int(lines.id[line])) & 0xFFFFFFFF
        for event in range(*lines.events_of(line).indices(len(plane.events))):
            if extras.removed is not None and extras.removed[event]:
                continue
            row = plane.events.metadata[event]
            name = metadata.display_names[row] or metadata.names[row]
            if steps.get(event, -1) >= 0:
                name = extras.step_names[steps[event]]
            group = -1 if extras.group_id is None else int(extras.group_id[event])
            span = int(plane.events.begin_ps[event]), int(plane.events.duration_ps[event])
            yield Shown(plane.name, track, name, *span, group)


def _extra_events(plane: Plane, result: Preprocessed, index: int) -> Iterator[Shown]:
    extras = result.planes[index]
    for line in extras.lines:
        for event in range(len(line.begin_ps)):
            row = line.metadata[event]
            name = line.display_names[row] or line.names[row]
            if line.step_code is not None and line.step_code[event] >= 0:
                name = extras.step_names[line.step_code[event]]
            group = -1 if line.group_id is None else int(line.group_id[event])
            span = int(line.begin_ps[event]), int(line.duration_ps[event])
            yield Shown(plane.name, line.display_id or line.id, name, *span, group)


def groups(space: XSpace, plane: int = 0) -> dict[str, list[int]]:
    """Group ids of one plane's events by name, in file order."""
    result, table = preprocess(space), space.planes[plane]
    column: Any = result.planes[plane].group_id
    if column is None:
        column = np.full(len(table.events), -1)
    out: dict[str, list[int]] = {}
    for row, group in zip(table.events.metadata.tolist(), column.tolist(), strict=True):
        out.setdefault(table.event_metadata.names[row], []).append(group)
    return out
