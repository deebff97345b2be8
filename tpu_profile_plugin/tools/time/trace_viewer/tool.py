"""Trace viewer: when every operation ran on every device and thread, at any zoom level.

The page asks for the boxes of a window, hits of a search, one event, sums over a rectangle, the longest gaps, and
the binding path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tpu_profile_plugin.analysis.timeline.host import HostTrace
from tpu_profile_plugin.analysis.timeline.packets import Packets
from tpu_profile_plugin.analysis.timeline.window import Preview, Window, recording, visible
from tpu_profile_plugin.errors import BadRequest, OutOfRange
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import BINARY_TYPE, Json, Payload, Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.time.trace_viewer import binding, canvas
from tpu_profile_plugin.tools.time.trace_viewer.timelines import Timelines
from tpu_profile_plugin.tools.time.trace_viewer.trace_events import check_size, window_events
from tpu_profile_plugin.tools.tool import HostChoice, Tool
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

SWITCH = ("0", "1", "false", "true")


def _clocks(query: Query) -> list[str]:
    return query.text(CLOCKS.name).split(",")


def as_recorded(query: Query) -> bool:
    """Whether devices have the times of their own clocks."""
    return AS_RECORDED in _clocks(query)


def clock_shifts(query: Query) -> dict[str, int]:
    """Offsets in ps for the times of the hosts that the parameter `clocks` names. Raises BadRequest."""
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


RESOLUTION = 2000
_MOST_COLUMNS = 1_000_000


def columns(timelines: Timelines, query: Query) -> Raw:
    """The boxes of a window; of a large profile that is not in memory, those of recorded lines if asked for."""
    asked = int(min(max(resolution(query, RESOLUTION), 1), _MOST_COLUMNS))
    if query.flag("preview") and (early := timelines.previews()):
        shown, fixed = [one for one, _ in early], [header for _, header in early]
        return Raw(canvas.preview(shown, _window(shown, query), asked, fixed), BINARY_TYPE)
    hosts, headers = timelines.hosts, timelines.page_headers  # both are made of the columns
    timelines.release_columns()
    return Raw(canvas.columns(hosts, _window(timelines.traces, query), asked, headers), BINARY_TYPE)


def search(timelines: Timelines, query: Query) -> Raw:
    """The events whose name, or argument, matches a text. Raises BadRequest."""
    text = query.text("query")
    if not text:
        raise BadRequest("A search needs the parameter 'query'.", parameter="query")
    wanted = canvas.matcher(text, regex=is_on(query, "regex"), case=is_on(query, "case"), whole=is_on(query, "whole"))
    args = timelines.args(folded=False) if is_on(query, "args") else []
    in_args = [(part, text, not is_on(query, "case")) for part in args]
    body = canvas.search(timelines.hosts, timelines.page_headers, wanted, in_args, query.integer("limit"))
    return Raw(body, BINARY_TYPE)


def event(timelines: Timelines, query: Query) -> Json:
    """One event with everything that is known of it. Raises BadRequest for several hosts, NoData without it."""
    if len(timelines.run.profiles) != 1:
        raise BadRequest("A single event belongs to one host; select it with 'host'.", parameter="host")
    numbers = query.integer("pid"), query.integer("tid"), query.integer("event")
    return Json(canvas.event(timelines.hosts[0], timelines.args(folded=True)[0], *numbers))


def details(timelines: Timelines, query: Query) -> Json:
    """Answers of `event` for the events that matter most in a window, by `PID.TID.EVENT`: see `canvas.details`.

    Raises BadRequest for several hosts.
    """
    if len(timelines.run.profiles) != 1:
        raise BadRequest("Events belong to one host; select it with 'host'.", parameter="host")
    asked = int(min(max(resolution(query, RESOLUTION), 1), _MOST_COLUMNS))
    args = timelines.args(folded=True)[0]
    body = canvas.columns(timelines.hosts, _window(timelines.traces, query), asked, timelines.page_headers)
    return Json(canvas.details(timelines.hosts[0], args, body, query.integer("limit")))


def sums(timelines: Timelines, query: Query) -> Json:
    """Sums per name over the events of a rectangle."""
    part, limit = _window(timelines.traces, query), query.integer("limit")
    return Json(canvas.name_sums(timelines.hosts, timelines.pid_offsets, query.text("areas"), part, limit))


def gaps(timelines: Timelines, query: Query) -> Json:
    """The longest gaps of the devices, each with the process that shows its device. Raises NoData without devices."""
    run = timelines.run
    found = run.gaps()
    shift: dict[str, int] = {}
    pid: dict[tuple[str, int], int] = {}
    hosts = zip(timelines.profiles, timelines.positions, timelines.traces, timelines.pid_offsets, strict=True)
    for host, position, trace, offset in hosts:
        shift[host.name] = timelines.shifts[position]
        pid |= {(host.name, section.plane): section.pid + offset for section in trace.sections}
    rows = zip(found.table, found.plane.tolist(), found.traced.tolist(), strict=True)
    listed = [
        {
            **row,
            "begin_ps": row["begin_ps"] + shift[row["host"]],
            "pid": pid.get((row["host"], plane)),
            "traced": traced,
        }
        for row, plane, traced in rows
    ]
    return Json({"gaps": listed})


def path(timelines: Timelines, query: Query) -> Json:
    """The binding path of a device in a window. Raises BadRequest for an unknown device."""
    return Json(binding.path(timelines, query.text("device"), _window(timelines.traces, query)))


def slack(timelines: Timelines, query: Query) -> Json:
    """How much longer one event may take before its step does. Raises BadRequest for several hosts."""
    if len(timelines.run.profiles) != 1:
        raise BadRequest("A single event belongs to one host; select it with 'host'.", parameter="host")
    numbers = query.integer("pid"), query.integer("tid"), query.integer("event")
    return Json(binding.slack(timelines, query.text("device"), *numbers))


def _window(traces: Sequence[HostTrace | Preview], query: Query) -> Window:
    begin, end = window(query)
    full = recording(traces)
    return full[0] if begin is None else begin, full[1] if end is None else end


def events(timelines: Timelines, query: Query) -> Raw:
    """All events of a window, as trace-event JSON. Raises TooLarge."""
    return Raw(window_events(timelines, _window(timelines.traces, query)), disk=False)


def perfetto(timelines: Timelines, query: Query) -> Raw:
    """All events of a window as a file of Perfetto. Raises TooLarge."""
    part, hosts = _window(timelines.traces, query), len(timelines.run.profiles)
    check_size(sum(len(visible(trace, part, 0, 0, full_dma=True)) for trace in timelines.traces), hosts, with_args=True)
    file = Packets()
    described = zip(timelines.hosts, timelines.args(folded=True), timelines.titles, strict=True)
    body = b"".join(
        packets
        for (name, trace), args, titles in described
        for packets in file.of_host(name, trace, args, titles, several=hosts > 1, window=part)
    )
    return Raw(body, BINARY_TYPE, disk=False, memory=False)


FORMS: dict[str, Callable[[Timelines, Query], Payload]] = {
    "columns": columns,
    "search": search,
    "event": event,
    "events": events,
    "details": details,
    "sums": sums,
    "gaps": gaps,
    "path": path,
    "slack": slack,
    "perfetto": perfetto,
}

PARAMS = (
    Param("format", "string", "columns", "What is asked.", choices=tuple(FORMS)),
    Param("start_time_ms", "float", None, "Begin of the window in ms; absent: begin of the trace."),
    Param("end_time_ms", "float", None, "End of the window in ms; absent or 0: end of the trace."),
    Param("resolution", "float", None, "Number of units across the window; 0: every event.", minimum=0),
    Param("query", "string", None, "Text to search for (format=search)."),
    Param("regex", "string", "0", "Whether the query is a regular expression.", choices=SWITCH),
    Param("case", "string", "0", "Whether the search is case-sensitive.", choices=SWITCH),
    Param("whole", "string", "0", "Whether the query is the whole name of an event.", choices=SWITCH),
    Param("args", "string", "0", "Whether arguments are searched, too.", choices=SWITCH),
    Param("limit", "int", 10_000, "Maximum number of hits, names of sums, or details.", minimum=1, maximum=1_000_000),
    Param("areas", "string", "", "Tracks to add up, PID.TID.FIRST_ROW.LAST_ROW joined by commas (format=sums)."),
    Param("pid", "int", -1, "Process of the event (format=event, slack)."),
    Param("tid", "int", -1, "Thread of the event (format=event, slack)."),
    Param("event", "int", -1, "Number of the event on its thread (format=event, slack)."),
    Param("device", "string", "", "Device whose binding path is asked for; absent: that which the others wait for."),
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


def build(run: Run, query: Query) -> Payload:
    """The answer in the form that is asked for."""
    run = run.as_recorded() if as_recorded(query) else run
    shifts = clock_shifts(query)
    timelines = Timelines(run, [shifts.get(host, 0) for host in run.hosts], query.text("reading") == "own")
    return FORMS[query.text("format")](timelines, query)


TOOL = Tool(
    id="trace_viewer@",
    title="Trace viewer",
    group="Time",
    summary="Timeline of all devices and threads.",
    build=build,
    hosts=HostChoice.SEVERAL,
    params=PARAMS,
)
