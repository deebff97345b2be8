"""XProf's forms of the timeline: windows with levels of detail, single events, events by prefix, the whole trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.timeline.host import HostTrace
from tpu_profile_plugin.analysis.timeline.window import Selection, exactly, named, typed_events, visible, whole
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.payload import BINARY_TYPE, Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.time.trace_viewer import binary, json_forms, several
from tpu_profile_plugin.tools.time.trace_viewer.json_forms import Host
from tpu_profile_plugin.tools.time.trace_viewer.params import is_on, ps, resolution, window
from tpu_profile_plugin.tools.time.trace_viewer.timelines import Timelines, args_of
from tpu_profile_plugin.units import MIB

_RESOLUTION = 8000
_LARGEST_KEPT = MIB
"""Larger answers for a window are made anew each time, which takes milliseconds."""

_LARGE_COLUMNS = 32 * MIB
"""Columns of this size are dropped for windows as JSON; other tools decode what they need in some ten milliseconds."""


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a window, or all whose name begins with `prefix`.

    Attributes:
      window: in ps; None for begin or end of the trace.
      resolution: units across the window; 0: every event.
      prefix: "" for the events of the window.
      with_args: events have all their arguments.
      full_dma: also events in the middle of flows on TPUs.
    """

    window: tuple[int | None, int | None]
    resolution: float
    prefix: str
    with_args: bool
    full_dma: bool

    @classmethod
    def of(cls, query: Query) -> Events:
        """The parameters. Raises OutOfRange."""
        prefix = query.text("search_prefix")
        return cls(
            window=window(query),
            resolution=resolution(query, _RESOLUTION),
            prefix=prefix,
            with_args=is_on(query, "full_args") or (bool(prefix) and query.flag("search_metadata")),
            full_dma=query.flag("full_dma"),
        )

    def select(self, trace: HostTrace, position: int, hosts: int) -> Selection:
        """The events of the host at a position among so many."""
        at = json_forms.offset(position)
        if self.prefix:
            prefix = self.prefix
            return named(trace, lambda name: name.startswith(prefix), at, full_dma=self.full_dma)
        (begin, end), full = self.window, whole([trace])
        part = full[0] if begin is None else begin, full[1] if end is None else end
        return visible(trace, part, self.resolution, at, full_dma=self.full_dma, hosts=hosts)


def streaming(timelines: Timelines, query: Query) -> Raw:
    """Events as JSON: with their arguments as plain text, without as a gzip file. Raises TooLarge."""
    asked = Events.of(query)
    if len(timelines.run.profiles) > 1:
        return several.streaming(timelines.run, timelines.shifts, asked)
    full, fixed = whole(timelines.traces), timelines.fixed_head
    timelines.release_columns()
    selections = [asked.select(timelines.traces[0], 0, 1)]
    several.check_size(len(selections[0]), 1, with_args=asked.with_args)
    if asked.with_args:
        events = [typed_events(selections[0], timelines.args(folded=True)[0])]
        return Raw(json_forms.streaming_with(timelines.hosts, selections, events, fixed, full), disk=False)
    timelines.release_columns(_LARGE_COLUMNS)
    body = json_forms.streaming(timelines.hosts, selections, fixed, full, full_dma=asked.full_dma)
    timelines.prepare_smaller_windows()
    closer = query.params["start_time_ms"] is not None or query.params["end_time_ms"] is not None
    return Raw(body, disk=False, encoding="gzip", memory=not closer or len(body) <= _LARGEST_KEPT)


def streaming_binary(timelines: Timelines, query: Query) -> Raw:
    """Events as a `TraceDataResponse`. Raises TooLarge."""
    asked = Events.of(query)
    hosts, selections = len(timelines.run.profiles), []
    for trace, position in zip(timelines.traces, timelines.positions, strict=True):
        selections.append(asked.select(trace, position, hosts))
        several.check_size(sum(map(len, selections)), hosts)
    titles = [(f"{name} ", trace) for name, trace in timelines.hosts]
    return _binary(titles, selections, json_forms.viewer_options(titles, full_dma=asked.full_dma))


def details(timelines: Timelines, query: Query) -> Raw:
    """The events with a name, begin, duration and number, with all their arguments. Raises NoData."""
    full = whole(timelines.traces)
    timelines.release_columns()
    name, place = query.text("event_name"), (ps(query, "start_time_ms"), ps(query, "duration_ms"))
    selections, events, args = [], [], []
    for host, i, trace in zip(timelines.profiles, timelines.positions, timelines.traces, strict=True):
        event = exactly(trace, name, *place, query.integer("unique_id"), json_forms.offset(i))
        if event is not None:
            selections.append(event)
            args.append(args_of(host, True))
            events.append(typed_events(event, args[-1]))
    if not selections:
        raise NoData(f"There is no event {name[:200]!r} with this begin, duration and number.")
    body = json_forms.details(timelines.hosts, selections, events, args, full)
    return Raw(body, disk=False)


def older(run: Run, query: Query) -> Raw:
    """The whole trace at once, in the older form."""
    if query.text("format") == "pb":
        timelines = Timelines(run, [0] * len(run.profiles))
        titles = [(f"{name} ", trace) for name, trace in timelines.hosts]
        numbered = zip(timelines.traces, timelines.pid_offsets, strict=True)
        return _binary(titles, [visible(trace, whole([trace]), 0, at, full_dma=False) for trace, at in numbered], [])
    return Raw(several.legacy(run), disk=False)


def _binary(titles: Sequence[Host], selections: Sequence[Selection], options: Sequence[tuple[str, bool]]) -> Raw:
    traces = [trace for _, trace in titles]
    events = any(len(trace.native) + len(trace.sample_ps) for trace in traces)
    body = binary.response(titles, selections, whole(traces) if events else None, options)
    return Raw(body, BINARY_TYPE, memory=False)
