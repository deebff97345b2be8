"""Trace viewer: when every operation ran on every device and thread, at any zoom level."""

from __future__ import annotations

from collections.abc import Callable

from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Payload
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.time.trace_viewer import page_forms, xprof_forms
from tpu_profile_plugin.tools.time.trace_viewer.params import PARAMS, as_recorded, clock_shifts
from tpu_profile_plugin.tools.time.trace_viewer.timelines import Timelines
from tpu_profile_plugin.tools.tool import HostChoice, Tool

_PAGE_FORMS: dict[str, Callable[[Timelines, Query], Payload]] = {
    "columns": page_forms.columns,
    "search": page_forms.search,
    "event": page_forms.event,
    "details": page_forms.details,
    "sums": page_forms.sums,
    "gaps": page_forms.gaps,
}
_XPROF_FORMS: dict[str, Callable[[Timelines, Query], Payload]] = {
    "pb": xprof_forms.streaming_binary,
    "json": xprof_forms.streaming,
}


def build(run: Run, query: Query) -> Payload:
    """The answer in the asked form; XProf names a single event whatever the form."""
    form, shifts = query.text("format"), clock_shifts(query)
    of_page = form in _PAGE_FORMS
    own = of_page and query.text("reading") == "own"
    run = run.as_recorded() if as_recorded(query) else run
    timelines = Timelines(run, [shifts.get(host, 0) for host in run.hosts], own)
    if not of_page and query.text("event_name"):
        return xprof_forms.details(timelines, query)
    return (_PAGE_FORMS if of_page else _XPROF_FORMS)[form](timelines, query)


TOOL = Tool(
    id="trace_viewer@",
    title="Trace viewer",
    group="Time",
    summary="Timeline of all devices and threads.",
    build=build,
    hosts=HostChoice.SEVERAL,
    params=PARAMS,
)

LEGACY = Tool(
    id="trace_viewer",
    title="Trace viewer (whole)",
    group="Time",
    summary="The whole timeline as a Chrome trace, for other programs.",
    build=xprof_forms.older,
    hosts=HostChoice.SEVERAL,
    params=(Param("format", "string", "json", "Form of the answer.", choices=("json", "pb")),),
    offered=False,
)
