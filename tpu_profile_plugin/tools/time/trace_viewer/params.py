"""The parameters of the timeline, and what several of its forms read from them."""

from __future__ import annotations

from tpu_profile_plugin.errors import BadRequest, OutOfRange
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.units import PS_PER_MS

CLOCKS = Param(
    "clocks",
    "string",
    "",
    "Picoseconds to add to the times of hosts, HOST:PS joined by commas; with `recorded` among them, times of devices "
    "whose clocks disagree with their host's are not moved.",
)
AS_RECORDED = "recorded"
FARTHEST_PS = 10**17
"""A little more than a day."""


_FARTHEST_MS = 2.0**62 / PS_PER_MS
"""53 days: picoseconds are 64-bit integers."""

_FORMS = ("json", "pb", "columns", "event", "details", "search", "sums", "gaps")
_SWITCH = ("0", "1", "false", "true")

PARAMS = (
    Param("format", "string", "json", "Form of the answer.", choices=_FORMS),
    Param("start_time_ms", "float", None, "Begin of the window in ms; absent: begin of the trace."),
    Param("end_time_ms", "float", None, "End of the window in ms; absent or 0: end of the trace."),
    Param("resolution", "float", None, "Number of units across the window; 0: every event.", minimum=0),
    Param("full_dma", "bool", False, "Also events in the middle of flows on TPUs, such as transfers."),
    Param("full_args", "string", "0", "Whether events have all their arguments.", choices=_SWITCH),
    Param("event_name", "string", None, "Name of one event to answer with all its arguments."),
    Param("duration_ms", "float", 0.0, "Duration of that event in ms."),
    Param("unique_id", "int", 0, "Number of that event among those that begin at the same time."),
    Param("search_prefix", "string", None, "Prefix of the names of events to answer."),
    Param("search_metadata", "bool", False, "Whether the found events have their arguments."),
    Param("query", "string", None, "Text to search for (format=search)."),
    Param("regex", "string", "0", "Whether the query is a regular expression.", choices=_SWITCH),
    Param("case", "string", "0", "Whether the search is case-sensitive.", choices=_SWITCH),
    Param("args", "string", "0", "Whether arguments are searched, too.", choices=_SWITCH),
    Param("limit", "int", 10_000, "Maximum number of hits, names of sums, or details.", minimum=1, maximum=1_000_000),
    Param("areas", "string", "", "Tracks to add up, PID.TID.FIRST_ROW.LAST_ROW joined by commas (format=sums)."),
    Param("pid", "int", -1, "Process of the event (format=event)."),
    Param("tid", "int", -1, "Thread of the event (format=event)."),
    Param("event", "int", -1, "Number of the event on its thread (format=event)."),
    Param(
        "reading",
        "string",
        "own",
        "Rows and names of the page's forms: broken at idle times and named as in the user documents, or XProf's.",
        choices=("own", "xprof"),
    ),
    Param("preview", "bool", False, "Boxes of recorded lines at once if a large profile is not in memory yet."),
    CLOCKS,
)


def _clocks(query: Query) -> list[str]:
    return query.text(CLOCKS.name).split(",")


def as_recorded(query: Query) -> bool:
    """Whether devices have the times of their own clocks."""
    return AS_RECORDED in _clocks(query)


def clock_shifts(query: Query) -> dict[str, int]:
    """What to add to the times of the hosts that the parameter `clocks` names, in ps. Raises BadRequest."""
    shifts: dict[str, int] = {}
    for part in filter(None, _clocks(query)):
        if part == AS_RECORDED:
            continue
        name, colon, number = part.rpartition(":")
        digits = number.removeprefix("-")
        if not colon or not digits.isascii() or not digits.isdigit() or len(digits) > 18 or int(digits) > FARTHEST_PS:
            message = f"Parameter 'clocks' must be HOST:PS joined by commas, not {part[:80]!r}."
            raise BadRequest(message, parameter=CLOCKS.name, value=part[:80])
        shifts[name] = int(number)
    return shifts


def is_on(query: Query, name: str) -> bool:
    """Whether a switch is on."""
    return query.text(name) in ("1", "true")


def window(query: Query) -> tuple[int | None, int | None]:
    """Begin and end of the window in ps; None for those of the trace. Raises OutOfRange."""
    begin = None if query.params["start_time_ms"] is None else ps(query, "start_time_ms")
    return begin, ps(query, "end_time_ms") or None


def ps(query: Query, name: str) -> int:
    """A time in milliseconds as picoseconds; 0 when absent. Raises OutOfRange."""
    value = query.params[name]
    number = float(value) if isinstance(value, (int, float)) else 0.0
    if abs(number) > _FARTHEST_MS:
        raise OutOfRange(f"Parameter {name!r} is beyond the longest possible profile.", parameter=name, value=number)
    return round(number * PS_PER_MS)


def resolution(query: Query, default: int) -> float:
    """Units across the window."""
    value = query.params["resolution"]
    return float(value) if isinstance(value, (int, float)) else float(default)
