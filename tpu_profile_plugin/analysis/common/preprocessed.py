"""Results of preprocessing: columns alongside the file's own (groups, flows, step names) and derived lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tpu_profile_plugin.columns.arrays import I32, I64, U8, U32, U64, Bools

Arg: TypeAlias = I64 | tuple[I32, tuple[str, ...]]

ABSENT = -1
"""Missing value of integer columns: no group, no such argument, no row."""

# Ids reserved for derived lines. XProf stores them as signed 32-bit numbers and displays them unsigned.
FIRST_DERIVED_ID = 0xDEADBEEF
STEPS_ID = FIRST_DERIVED_ID
LAUNCH_STATS_ID = FIRST_DERIVED_ID + 1
NAME_SCOPE_ID = FIRST_DERIVED_ID + 2
FRAMEWORK_OPS_ID = FIRST_DERIVED_ID + 3
SOURCE_ID = FIRST_DERIVED_ID + 7
HOST_OFFLOAD_ID = FIRST_DERIVED_ID + 8
HOST_OFFLOAD_ROWS = 41
HOST_REGION_ID = HOST_OFFLOAD_ID + HOST_OFFLOAD_ROWS
HOST_REGION_IDS = 241
STREAM_ID = HOST_REGION_ID + HOST_REGION_IDS
STREAM_IDS = 100
IDS_PER_STREAM = 6
LAST_DERIVED_ID = STREAM_ID + STREAM_IDS - 1

STEPS, LAUNCH_STATS, XLA_MODULES, XLA_OPS = "Steps", "Launch Stats", "XLA Modules", "XLA Ops"
FRAMEWORK_OPS, NAME_SCOPE, SOURCE = "Framework Ops", "Framework Name Scope", "Source code"
HOST_OFFLOAD = "Host Offload Ops row "


def is_derived_line(line_id: int) -> bool:
    """True for ids of derived lines, written signed or unsigned."""
    return FIRST_DERIVED_ID <= line_id & 0xFFFFFFFF <= LAST_DERIVED_ID


@dataclass(frozen=True, slots=True)
class ExtraLine:
    """Derived events; if `id` is the id of a line in the file, the events are added to that line's track.

    Attributes:
      id: unsigned line id.
      display_id: 0 to use `id`.
      begin_ps, duration_ps: per event, on the time axis of the plane's own events.
      metadata: per event, a row of `names`, `display_names` ("" = none) and `metadata_source`.
      metadata_source: per metadata row, the row of the plane's event metadata whose stats it inherits, or ABSENT; None
        if no row inherits stats.
      event_source: per event, the event of the plane whose stats it inherits, or ABSENT; None if no event does.
      group_id: per event, ABSENT = none; None if no event has a group.
      step_code: per event, code into the plane's `step_names`, or ABSENT; None if no event has a step name.
      extra_args: further stats by name, overriding inherited ones; ABSENT where an integer is missing.
    """

    id: int
    name: str
    begin_ps: I64
    duration_ps: I64
    metadata: U32
    names: tuple[str, ...]
    display_names: tuple[str, ...]
    display_id: int = 0
    metadata_source: I64 | None = None
    event_source: I64 | None = None
    group_id: I64 | None = None
    step_code: I32 | None = None
    extra_args: Mapping[str, Arg] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlaneExtras:
    """Preprocessing results of one plane. Sparse columns come in pairs: the events, ascending, and their values.

    Attributes:
      group_id: per event of the file, ABSENT = none; None when no event has a group.
      removed: per event of the file, true if an event of `lines` replaces it; None when nothing is removed.
      line_display_id: per line of the file, 0 = as in the file; None when no line has another.
      flow_event, flow_value: flows as direction (2 bits) | id (56 bits) << 2 | category (6 bits) << 58; of several
        flows of one event the last takes effect.
      step_event, step_code: events with a step name, a code into `step_names`.
      eager_event, eager_value: events for which it was determined whether they ran eagerly (1) or not (0).
      run_id_event, run_id_value: events whose run id differs from the one in the file.
      lines: derived lines and additions to lines of the file.
    """

    group_id: I64 | None
    removed: Bools | None
    line_display_id: I64 | None
    flow_event: U32
    flow_value: U64
    step_event: U32
    step_code: I32
    step_names: tuple[str, ...]
    eager_event: U32
    eager_value: U8
    run_id_event: U32
    run_id_value: I64
    lines: tuple[ExtraLine, ...]

    def line(self, name: str) -> ExtraLine | None:
        """The first derived line with the given name, None without one."""
        return next((line for line in self.lines if line.name == name), None)


@dataclass(frozen=True, slots=True)
class Preprocessed:
    """Preprocessing results of one host.

    Attributes:
      planes: one entry per plane of the profile, in file order.
      group_names: group id -> name.
      group_links: (parents, children): pairs of groups connected by an event link; sorted, unique.
    """

    planes: tuple[PlaneExtras, ...]
    group_names: Mapping[int, str]
    group_links: tuple[I64, I64]
