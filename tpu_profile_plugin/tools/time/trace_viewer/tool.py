"""Trace viewer: when every operation ran on every device and thread, as far in as one likes."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tpu_profile_plugin.analysis.timeline.args import TraceArgs, trace_args
from tpu_profile_plugin.analysis.timeline.host import THREADS, HostTrace, host_trace, older_trace
from tpu_profile_plugin.analysis.timeline.window import (
    FEW_EVENTS,
    Selection,
    Text,
    Window,
    exactly,
    named,
    recording,
    typed_events,
    visible,
    whole,
)
from tpu_profile_plugin.columns import XSpace
from tpu_profile_plugin.errors import BadRequest, NoData, OutOfRange
from tpu_profile_plugin.run.host import HostProfile
from tpu_profile_plugin.run.inputs import Inputs
from tpu_profile_plugin.run.preprocessing import preprocess
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import BINARY_TYPE, Json, Payload, Raw
from tpu_profile_plugin.tools.time.trace_viewer import binary, clocks
from tpu_profile_plugin.tools.time.trace_viewer import canvas as trace_canvas
from tpu_profile_plugin.tools.time.trace_viewer import json_forms as trace_json
from tpu_profile_plugin.tools.time.trace_viewer.clocks import shift_of
from tpu_profile_plugin.tools.tool import HostChoice, Tool
from tpu_profile_plugin.units import PS_PER_MS

_STREAMING_RESOLUTION = 8000
_CANVAS_RESOLUTION = 2000
_MOST_COLUMNS = 1_000_000
_LARGEST_KEPT = 1 << 20
"""Larger answers for a window are made anew each time, which takes milliseconds."""

_LARGE_COLUMNS = 32 << 20
"""Columns of this size are dropped for windows as JSON; other tools decode what they need in some ten milliseconds."""

_FARTHEST_MS = 2.0**62 / PS_PER_MS
"""53 days: picoseconds are 64-bit integers."""

_FORMS = ("json", "pb", "columns", "event", "search", "sums")
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
    Param(
        "limit", "int", 10_000, "Maximum number of hits of a search, or of names of sums.", minimum=1, maximum=1_000_000
    ),
    Param("areas", "string", "", "Tracks to add up, PID.TID.FIRST_ROW.LAST_ROW joined by commas (format=sums)."),
    Param("pid", "int", -1, "Process of the event (format=event)."),
    Param("tid", "int", -1, "Thread of the event (format=event)."),
    Param("event", "int", -1, "Number of the event on its thread (format=event)."),
    clocks.PARAM,
)


def build(inputs: Inputs) -> Payload:
    """The answer in the asked form."""
    form = inputs.text("format")
    if form == "columns":
        return _columns(inputs)
    if form == "search":
        return _search(inputs)
    if form == "event":
        return _event(inputs)
    if form == "sums":
        return _sums(inputs)
    return _streaming(inputs)


def _streaming(inputs: Inputs) -> Raw:
    hosts = _hosts(inputs)
    traces = [trace for _, trace in hosts]
    full = whole(traces)
    prefix = inputs.text("search_prefix")
    if inputs.text("format") == "pb" and not inputs.text("event_name"):
        selections = _named(inputs, traces, prefix) if prefix else _in_window(inputs, traces, full)
        return _binary([(f"{name} ", trace) for name, trace in hosts], selections, full_dma=inputs.flag("full_dma"))
    if inputs.text("event_name"):
        _relieve(inputs)
        return _details(inputs, hosts, full)
    fixed = _fixed_head(inputs, hosts)
    _relieve(inputs)
    selections = _named(inputs, traces, prefix) if prefix else _in_window(inputs, traces, full)
    if _is_on(inputs, "full_args") or (prefix and inputs.flag("search_metadata")):
        args = [_args(host, folded=True) for host in inputs.hosts]
        events = [typed_events(part, of_host) for part, of_host in zip(selections, args, strict=True)]
        return Raw(trace_json.streaming_with(hosts, selections, events, fixed, full), disk=False)
    _relieve(inputs, _LARGE_COLUMNS)
    body = trace_json.streaming(hosts, selections, fixed, full, full_dma=inputs.flag("full_dma"))
    for host, (_, trace) in zip(inputs.hosts, hosts, strict=True):
        host.derive_lazily("trace_levels", lambda _, trace=trace: _start_levels(trace))  # type: ignore[misc]
    closer = inputs.params["start_time_ms"] is not None or inputs.params["end_time_ms"] is not None
    return Raw(body, disk=False, encoding="gzip", memory=not closer or len(body) <= _LARGEST_KEPT)


def _start_levels(trace: HostTrace) -> None:
    """Computes finer levels of detail in the background: the next window is most likely a smaller one."""
    if trace.native.on_tracks(THREADS) >= FEW_EVENTS:
        threading.Thread(target=trace.native.compute_levels, args=(1,), name="timeline-levels", daemon=True).start()


def _named(inputs: Inputs, traces: Sequence[HostTrace], prefix: str) -> list[Selection]:
    def wanted(name: str) -> bool:
        return name.startswith(prefix)

    full_dma = inputs.flag("full_dma")
    return [named(trace, wanted, trace_json.offset(i), full_dma=full_dma) for i, trace in enumerate(traces)]


def _in_window(inputs: Inputs, traces: Sequence[HostTrace], full: Window) -> list[Selection]:
    window, resolution = _window(inputs, full), _resolution(inputs, _STREAMING_RESOLUTION)
    options = {"full_dma": inputs.flag("full_dma")}
    return [visible(trace, window, resolution, trace_json.offset(i), **options) for i, trace in enumerate(traces)]


def _details(inputs: Inputs, hosts: Sequence[trace_json.Host], full: Window) -> Raw:
    name = inputs.text("event_name")
    begin = _ps(_milliseconds(inputs, "start_time_ms"))
    duration = _ps(_milliseconds(inputs, "duration_ms"))
    found, events, args = [], [], []
    for i, (_, trace) in enumerate(hosts):
        one = exactly(trace, name, begin, duration, inputs.integer("unique_id"), trace_json.offset(i))
        if one is not None:
            found.append(one)
            args.append(_args(inputs.hosts[i], folded=True))
            events.append(typed_events(one, args[-1]))
    if not found:
        raise NoData(f"There is no event {name[:200]!r} with this begin, duration and number.")
    return Raw(trace_json.details(hosts, found, events, args, full), disk=False)


def _binary(titles: Sequence[trace_json.Host], selections: Sequence[Selection], *, full_dma: bool | None) -> Raw:
    traces = [trace for _, trace in titles]
    events = any(len(trace.native) + len(trace.sample_ps) for trace in traces)
    options = [] if full_dma is None else trace_json.viewer_options(titles, full_dma=full_dma)
    window = whole(traces) if events else None
    return Raw(binary.response(titles, selections, window, options), BINARY_TYPE, memory=False)


def _columns(inputs: Inputs) -> Raw:
    hosts = _hosts(inputs)
    _relieve(inputs)
    window = _window(inputs, recording([trace for _, trace in hosts]))
    resolution = int(min(max(_resolution(inputs, _CANVAS_RESOLUTION), 1), _MOST_COLUMNS))
    return Raw(trace_canvas.columns(hosts, window, resolution, _fixed(inputs)), BINARY_TYPE)


def _search(inputs: Inputs) -> Raw:
    query = inputs.text("query")
    if not query:
        raise BadRequest("A search needs the parameter 'query'.", parameter="query")
    args = [_args(host, folded=False) for host in inputs.hosts] if _is_on(inputs, "args") else []
    options = {"regex": _is_on(inputs, "regex"), "case": _is_on(inputs, "case")}
    body = trace_canvas.search(_hosts(inputs), _fixed(inputs), args, query, limit=inputs.integer("limit"), **options)
    return Raw(body, BINARY_TYPE)


def _event(inputs: Inputs) -> Json:
    if len(inputs.hosts) != 1:
        raise BadRequest("A single event belongs to one host; select it with 'host'.", parameter="host")
    numbers = inputs.integer("pid"), inputs.integer("tid"), inputs.integer("event")
    args = _args(inputs.host, folded=True)
    trace = _trace(inputs.host, shift_of(inputs, inputs.host))
    return Json(trace_canvas.event((inputs.host.name, trace), args, *numbers))


def _sums(inputs: Inputs) -> Json:
    hosts = _hosts(inputs)
    window = _window(inputs, recording([trace for _, trace in hosts]))
    areas, limit = inputs.text("areas"), inputs.integer("limit")
    return Json(trace_canvas.name_sums(hosts, _offsets(inputs), areas, window, limit))


def build_legacy(inputs: Inputs) -> Raw:
    """The whole trace at once, in the older form."""
    if inputs.text("format") == "pb":
        return _whole_binary(inputs)
    hosts: list[trace_json.Host] = []
    args: list[TraceArgs] = []
    for host in inputs.hosts:
        own = _older_trace(host)
        hosts.append((host.name, own or _trace(host)))
        args.append(trace_args(host.space, own, folded=False) if own else _args(host, folded=False))
    return Raw(trace_json.legacy(hosts, args), disk=False)


def _whole_binary(inputs: Inputs) -> Raw:
    titles = [(f"{host.name} ", _trace(host)) for host in inputs.hosts]
    offsets = _offsets(inputs)
    selections = [
        visible(trace, whole([trace]), 0, at, full_dma=False) for (_, trace), at in zip(titles, offsets, strict=True)
    ]
    return _binary(titles, selections, full_dma=None)


def _hosts(inputs: Inputs) -> list[trace_json.Host]:
    return [(host.name, _trace(host, shift_of(inputs, host))) for host in inputs.hosts]


def _trace(host: HostProfile, shift_ps: int = 0) -> HostTrace:
    """The host's timeline, with its clock moved by `shift_ps`; the numbers of events are the same."""
    if shift_ps:
        return host.derive(("trace", shift_ps), lambda space: _on_other_clock(space, shift_ps))
    extras = host.derive("preprocessed", preprocess)
    return host.derive("trace", lambda space: host_trace(space, extras))


def _on_other_clock(space: XSpace, shift_ps: int) -> HostTrace:
    moved = space.shifted(shift_ps)
    return host_trace(moved, preprocess(moved))


def _relieve(inputs: Inputs, least: int | None = None) -> None:
    """The pictures need the traces only; large columns make room for the order of the events."""
    for host in inputs.hosts:
        host.release(("trace_args", True), ("trace_args", False), least=least)


def _older_trace(host: HostProfile) -> HostTrace | None:
    extras = host.derive("preprocessed", preprocess)
    return host.derive("trace_older", lambda space: older_trace(space, extras))


def _args(host: HostProfile, *, folded: bool) -> TraceArgs:
    trace = _trace(host)

    def make(space: XSpace) -> TraceArgs:
        return trace_args(space, trace, folded=folded)

    return host.derive(("trace_args", folded), make)


def _fixed_head(inputs: Inputs, hosts: Sequence[trace_json.Host]) -> Text:
    """The unchanging part of the streaming form; kept for one host, made anew for a set of hosts."""

    def make(_: XSpace | None = None) -> Text:
        return trace_json.fixed_head(hosts, [_args(host, folded=True) for host in inputs.hosts])

    return inputs.host.derive_lazily("trace_fixed_head", make) if len(hosts) == 1 else make()


def _offsets(inputs: Inputs) -> list[int]:
    """What the page's forms add to the process ids of each host: nothing if there is only one."""
    several = len(inputs.hosts) > 1
    return [trace_json.offset(i) if several else 0 for i in range(len(inputs.hosts))]


def _fixed(inputs: Inputs) -> list[bytes]:
    return [
        host.derive_lazily(
            ("trace_header", offset),
            lambda _, host=host, offset=offset: trace_canvas.fixed_header(  # type: ignore[misc]
                host.name, _trace(host), offset
            ),
        )
        for host, offset in zip(inputs.hosts, _offsets(inputs), strict=True)
    ]


def _is_on(inputs: Inputs, name: str) -> bool:
    return inputs.text(name) in ("1", "true")


def _window(inputs: Inputs, full: Window) -> Window:
    begin, end = inputs.params["start_time_ms"], _milliseconds(inputs, "end_time_ms")
    return (
        full[0] if begin is None else _ps(_milliseconds(inputs, "start_time_ms")),
        _ps(end) if end else full[1],
    )


def _ps(milliseconds: float) -> int:
    return round(milliseconds * PS_PER_MS)


def _milliseconds(inputs: Inputs, name: str) -> float:
    value = inputs.params[name]
    number = float(value) if isinstance(value, (int, float)) else 0.0
    if abs(number) > _FARTHEST_MS:
        raise OutOfRange(f"Parameter {name!r} is farther than a profile can reach.", parameter=name, value=number)
    return number


def _resolution(inputs: Inputs, default: int) -> float:
    value = inputs.params["resolution"]
    return float(value) if isinstance(value, (int, float)) else float(default)


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
    build=build_legacy,
    hosts=HostChoice.SEVERAL,
    params=(Param("format", "string", "json", "Form of the answer.", choices=("json", "pb")),),
    offered=False,
)
