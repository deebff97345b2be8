"""Where something shows in the timeline, as the address keys of evidence, and how events are named in sentences."""

from __future__ import annotations

from collections.abc import Mapping

TIMELINE = "trace_viewer@"


def timeline(host: str, begin_ps: int, end_ps: int, find: str = "") -> Mapping[str, str]:
    """Address keys of the timeline around a span of time on the host's axis, with as much room on each side."""
    room = end_ps - begin_ps
    window = f"{max(begin_ps - room, 0)},{end_ps + room}"
    return {"host": host, "window": window, **({"find": find} if find else {})}


def shown(event: str) -> str:
    """An event's name in a sentence: a Python function as `file.py:line function`."""
    return event.removeprefix("$")
