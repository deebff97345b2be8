"""The page's forms of the timeline: boxes of a window, hits of a search, one event, sums over a rectangle."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.timeline.host import HostTrace
from tpu_profile_plugin.analysis.timeline.window import Preview, Window, recording
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.tools.payload import BINARY_TYPE, Json, Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.time.trace_viewer import canvas
from tpu_profile_plugin.tools.time.trace_viewer.params import is_on, resolution, window
from tpu_profile_plugin.tools.time.trace_viewer.timelines import Timelines

_RESOLUTION = 2000
_MOST_COLUMNS = 1_000_000


def columns(timelines: Timelines, query: Query) -> Raw:
    """The boxes of a window; of a large profile that is not in memory, those of recorded lines if asked for."""
    asked = int(min(max(resolution(query, _RESOLUTION), 1), _MOST_COLUMNS))
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
    wanted = canvas.matcher(text, regex=is_on(query, "regex"), case=is_on(query, "case"))
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
    """What `event` answers for the events that matter most in a window, by `PID.TID.EVENT`: see `canvas.details`.

    Raises BadRequest for several hosts.
    """
    if len(timelines.run.profiles) != 1:
        raise BadRequest("Events belong to one host; select it with 'host'.", parameter="host")
    asked = int(min(max(resolution(query, _RESOLUTION), 1), _MOST_COLUMNS))
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


def _window(traces: Sequence[HostTrace | Preview], query: Query) -> Window:
    begin, end = window(query)
    full = recording(traces)
    return full[0] if begin is None else begin, full[1] if end is None else end
