"""Profile contents: one row per line of the files' planes; useful when another page is empty."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from tpu_profile_plugin.analysis.summary.contents import PlaneContents, contents
from tpu_profile_plugin.run.catalogue.events import CONTENTS
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool


@per_host()
def host_contents(host: HostProfile) -> Sequence[PlaneContents]:
    """The contents of one host's file."""
    return contents(host.space)


def build(run: Run, query: Query) -> Table:
    """One row per host, plane and line; a plane without lines has one row with an empty line name."""
    parts: list[dict[str, Sequence[object]]] = []
    contents_by_host = run.map_hosts(host_contents)
    for host, planes in zip(run.readable, contents_by_host, strict=True):
        begins = [int(b) for plane in planes for b, n in zip(plane.begin_ps, plane.events, strict=True) if n]
        parts += [_columns(host.name, plane, min(begins, default=0)) for plane in planes]
    data = {column.id: list(chain.from_iterable(part[column.id] for part in parts)) for column in CONTENTS}
    return Table(CONTENTS, data, {"hosts": str(len(contents_by_host))})


def _columns(host: str, plane: PlaneContents, origin: int) -> dict[str, Sequence[object]]:
    lines = plane.line_names or ("",)
    columns = (plane.events, plane.names, plane.stats, plane.begin_ps, plane.end_ps, plane.busy_ps)
    events, names, stats, begin, end, busy = (column.tolist() or [0] for column in columns)
    shares = zip(busy, begin, end, strict=True)
    return {
        "host": [host] * len(lines),
        "plane": [plane.name] * len(lines),
        "line": lines,
        "events": events,
        "names": names,
        "stats": stats,
        "begin": [first - origin if count else None for first, count in zip(begin, events, strict=True)],
        "end": [last - origin if count else None for last, count in zip(end, events, strict=True)],
        "busy": busy,
        "busy_share": [100 * time / (last - first) if last > first else None for time, first, last in shares],
    }


TOOL = Tool(
    id="profile_contents",
    title="Profile contents",
    group="Summary",
    summary="Contents of the files: planes, lines, number and time of events.",
    build=build,
)
