"""Chip and ordinal of a TPU core, from the plane stat `core_details`."""

from __future__ import annotations

from typing import Any

from tpu_profile_plugin.columns import Kind, Plane, XSpace
from tpu_profile_plugin.protos import parse


def core_details(space: XSpace, plane: Plane) -> Any | None:
    """The plane's CoreDetails; None if absent or unreadable. Absent numbers are 0, as the format defines."""
    row = plane.stat_metadata.row("core_details")
    if row is None:
        return None
    stat = int(plane.stats.find(row)[0])
    if stat < 0 or plane.stats.kind[stat] != Kind.BYTES:
        return None
    return parse("tensorflow.profiler.CoreDetails", space.blob(int(plane.stats.value[stat])))


def chip_of(space: XSpace, plane: Plane) -> int | None:
    """The chip on this host that the core belongs to; None if not recorded."""
    details = core_details(space, plane)
    return None if details is None else int(details.local_chip_id)
