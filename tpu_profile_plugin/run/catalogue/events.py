"""Columns about events."""

from __future__ import annotations

from dataclasses import replace

from tpu_profile_plugin.run.catalogue import BEGIN, DURATION, FRAMEWORK_OP, HOST, RUN, SOURCE_FILE, SOURCE_LINE, STEP
from tpu_profile_plugin.tables.catalogue import Catalogue
from tpu_profile_plugin.tables.column import Column, integers, numbers, texts

_EVENTS = Catalogue(
    *(RUN, HOST, BEGIN, DURATION, STEP, FRAMEWORK_OP, SOURCE_FILE, SOURCE_LINE),
    texts("plane", "Plane", "Device or part of the host, as named by the profiler."),
    texts("line", "Line", "Thread, stream or kind of record within the plane."),
    integers("line_id", "Line id", "", "Number of the line, which tells lines of one name apart."),
    texts("name", "Event", "Display name of the event."),
    texts("long_name", "Long name", "Full name, such as the HLO text of an op, if the event also has a display name."),
    integers("self_ps", "Self time", "ps", "Duration without nested events of the same line."),
    replace(integers("depth", "Depth", "", "Number of events of the same line that enclose the event."), dtype="int32"),
    integers("group_id", "Group", "", "Number of the group of events with one cause, counted on each host by itself."),
    texts("hlo_module", "HLO module", "HLO module of the event's op, with its program id."),
    texts("hlo_op", "HLO op", "HLO instruction that the event runs."),
    texts("category", "Category", "HLO category of the op."),
    numbers("flops", "FLOPs", "FLOP", "Floating-point operations of one run of the op."),
    numbers("bytes", "Bytes", "bytes", "Memory traffic of one run of the op, in all memories."),
    integers("correlation_id", "Correlation", "", "Number that a launch on a GPU shares with what it launched."),
    integers("run_id", "Run id", "", "Number that the parts of one run of a program share."),
    # Of single events and groups; times in ps have ids without the unit.
    numbers("begin", "Begin", "ps", "Begin on the axis of the trace viewer.", lambda event: event.begin_ps),
    numbers("duration", "Duration", "ps", "Time from begin to end.", lambda event: event.duration_ps),
    numbers("self", "Self time", "ps", "Duration without nested events of the same line.", lambda event: event.self_ps),
    texts("stats", "Stats", "Stats of the event and of its metadata."),
    integers("count", "Events", "", "Number of events."),
    numbers("total", "Total", "ps", "Sum of durations; the time of nested events counts at every level.",
            lambda group: group.total_ps),
    numbers("mean", "Mean", "ps", "Mean duration.", lambda group: group.mean_ps),
    numbers("min", "Minimum", "ps", "Shortest duration.", lambda group: group.min_ps),
    numbers("p50", "Median", "ps", "Median duration.", lambda group: group.quantiles_ps[0]),
    numbers("p90", "90 %", "ps", "90th percentile of the duration.", lambda group: group.quantiles_ps[1]),
    numbers("p99", "99 %", "ps", "99th percentile of the duration.", lambda group: group.quantiles_ps[2]),
    numbers("max", "Maximum", "ps", "Longest duration.", lambda group: group.max_ps),
    numbers("deviation", "Standard deviation", "ps",
            "Sample standard deviation of the duration; 0 for a single event.",
            lambda group: group.deviation_ps),
    texts("where", "Where", "Lines of one kind on all devices, threads of one name on all hosts, or the main threads."),
    integers("lines", "Lines", "", "Lines of the kind on which something ran in the window."),
    numbers("percent", "Share", "%", "Share of the window that the self time takes, averaged over the lines."),
    integers("total_ps", "Time", "ps", "Time within the window with enclosed events, summed over the lines."),
    integers("longest_ps", "Longest", "ps", "Duration of the longest event, beyond the window too."),
    texts("longest_on", "Longest on", "Line of the longest event, with its host if there are several."),
    texts("id", "Id", "Name of the events, and where they ran: kind of line, threads of a name, or main threads."),
)  # fmt: skip
_column = _EVENTS.column

RELATION = _EVENTS.typed(
    *("run", "host", "plane", "line", "line_id", "name", "long_name", "begin_ps", "duration_ps", "self_ps", "depth"),
    _column("step", "Number of the step that the event belongs to; empty outside of marked steps."),
    *("group_id", "hlo_module", "hlo_op"),
    _column("framework_op", "Framework op that the instruction was compiled from, or that the host runs."),
    *("source_file", "source_line", "category", "flops", "bytes", "correlation_id", "run_id"),
)
"""Of the relation `events`."""
_DERIVED = ("run", "host", "plane", "line", "line_id", "name", "begin_ps", "duration_ps", "step", "group_id")
DERIVED = tuple(each for each in RELATION if each.id in _DERIVED)
"""Of the relation `derived_events`."""

KEYS = ("plane", "line", "name")
"""Keys that events can be grouped by."""
LISTED = _EVENTS.columns("host", *KEYS, "begin", "duration", "self", "stats")
"""Of single events of the tool `events`."""
_OF_GROUPS = _EVENTS.columns(
    *("count", "total", _column("self", "Sum of durations without nested events of the same line.")),
    *("mean", "min", "p50", "p90", "p99", "max", "deviation"),
)
IN_WINDOW = _EVENTS.typed(
    *("where", _column("name", "Name of the events.", label="Name"), "lines"),
    _column("count", "Events of the name that overlap the window, on all lines."),
    _column("self_ps", "Time within the window without enclosed events, summed over the lines."),
    *("percent", "total_ps", "longest_ps", "longest_on"),
)
"""Of what ran in a window (`Timeline`)."""
ANSWERED = (
    _column("id"),
    *(each for each in IN_WINDOW if each.id not in ("where", "name")),
)
"""Of the verb `timeline`."""
CONTENTS = (
    *_EVENTS.columns("host", "plane", "line"),
    numbers("events", "Events", "", "Number of events on the line."),
    numbers("names", "Event names", "", "Number of distinct event names on the line."),
    numbers("stats", "Stats", "", "Number of stats of the events of the line."),
    numbers("begin", "First begin", "ps", "Begin of the first event, since the first event of the host."),
    numbers("end", "Last end", "ps", "End of the last event, since the first event of the host."),
    numbers("busy", "Busy time", "ps", "Time during which at least one event of the line runs."),
    numbers("busy_share", "Busy share", "%", "Busy time as a share of the time from first begin to last end."),
)
"""Of the tool `profile_contents`."""


def grouped(*keys: str) -> tuple[Column, ...]:
    """Of groups of events by some of `KEYS`, of the tool `events`."""
    return (*_EVENTS.columns("host", *keys), *_OF_GROUPS)
