"""What a converted profile says: its planes and events with their stats, in plain Python."""

from __future__ import annotations

from typing import Any

from tpu_profile_plugin import columns
from tpu_profile_plugin.columns.space import Plane, XSpace
from tpu_profile_plugin.columns.stats import items
from tpu_profile_plugin.formats import unpack


def loaded(text: bytes) -> XSpace:
    return columns.load(unpack(text).space)


def plane(space: XSpace, name: str) -> Plane:
    return next(one for one in space.planes if one.name == name)


def facts(space: XSpace, own: Plane, stats: Any, owner: int = 0) -> dict[str, Any]:
    """Stats of an owner by name."""
    return {name: value for name, _, value in items(space, own, stats, owner)}


def events(space: XSpace, name: str) -> list[tuple[str, int, int, dict[str, Any]]]:
    """Line by line: name, begin since the first event and duration in ns, and stats."""
    own = plane(space, name)
    first = min(int(one.events.begin_ps.min()) for one in space.planes if len(one.events))
    found = []
    for i, row in enumerate(own.events.metadata.tolist()):
        begin, duration = int(own.events.begin_ps[i]) - first, int(own.events.duration_ps[i])
        stats = facts(space, own, own.events.stats, i)
        found.append((own.event_metadata.names[row], begin // 1000, duration // 1000, stats))
    return found
