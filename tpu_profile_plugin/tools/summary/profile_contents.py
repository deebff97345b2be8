"""Profile contents: one row per line of the files' planes; useful when another page is empty."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.analysis.summary.contents import PlaneContents, contents
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Column, Table
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool

COLUMNS = (
    Column("host", "Host", "string", "", "Host whose file contains the line."),
    Column("plane", "Plane", "string", "", "Device or part of the host, as named by the profiler."),
    Column("line", "Line", "string", "", "Thread, stream or kind of record within the plane."),
    Column("events", "Events", "number", "", "Number of events on the line."),
    Column("names", "Event names", "number", "", "Number of distinct event names on the line."),
    Column("stats", "Stats", "number", "", "Number of stats of the events of the line."),
    Column("begin", "First begin", "number", "ps", "Begin of the first event, since the first event of the host."),
    Column("end", "Last end", "number", "ps", "End of the last event, since the first event of the host."),
    Column("busy", "Busy time", "number", "ps", "Time during which at least one event of the line runs."),
    Column("busy_share", "Busy share", "number", "%", "Busy time as a share of the time from first begin to last end."),
)


@per_host()
def host_contents(host: HostProfile) -> Sequence[PlaneContents]:
    """The contents of one host's file."""
    return contents(host.space)


def build(run: Run, query: Query) -> Table:
    """One row per host, plane and line; a plane without lines has one row with an empty line name."""
    rows: list[tuple[object, ...]] = []
    contents_by_host = run.map_hosts(host_contents)
    for host, planes in zip(run.readable, contents_by_host, strict=True):
        begins = [int(b) for plane in planes for b, n in zip(plane.begin_ps, plane.events, strict=True) if n]
        origin = min(begins, default=0)
        for plane in planes:
            rows += _plane_rows(host.name, plane, origin)
    return Table.from_rows(COLUMNS, rows, {"hosts": str(len(contents_by_host))})


def _plane_rows(host: str, plane: PlaneContents, origin: int) -> list[tuple[object, ...]]:
    if not plane.line_names:
        return [(host, plane.name, "", 0, 0, 0, None, None, 0, None)]
    rows: list[tuple[object, ...]] = []
    for i, line in enumerate(plane.line_names):
        events, busy = int(plane.events[i]), int(plane.busy_ps[i])
        begin, end = int(plane.begin_ps[i]) - origin, int(plane.end_ps[i]) - origin
        span = (begin, end) if events else (None, None)
        share = 100 * busy / (end - begin) if events and end > begin else None
        rows.append((host, plane.name, line, events, int(plane.names[i]), int(plane.stats[i]), *span, busy, share))
    return rows


TOOL = Tool(
    id="profile_contents",
    title="Profile contents",
    group="Summary",
    summary="Contents of the files: planes, lines, number and time of events.",
    build=build,
    hosts=HostChoice.ONE_OR_ALL,
)
