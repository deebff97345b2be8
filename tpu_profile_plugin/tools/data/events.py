"""Single events or their sums, for the command `tpu-profile events` and other programs."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_profile_plugin.errors import BadRequest, OutOfRange
from tpu_profile_plugin.run.catalogue.events import KEYS, LISTED, grouped
from tpu_profile_plugin.run.relations.event_choice import Choice, checked_names
from tpu_profile_plugin.run.relations.listed_events import Event, Group, host_groups, host_listing
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool
from tpu_profile_plugin.units import PS_PER_MS, PS_PER_US

_ORDERS = ("begin", "duration", "self")
_FARTHEST_PS = 1 << 62
MOST = 100_000

PARAMS = (
    Param("plane", "string", "", "Regular expression; selects planes whose name contains a match."),
    Param("line", "string", "", "Regular expression; selects lines whose name contains a match."),
    Param("name", "string", "", "Regular expression; selects events whose name contains a match."),
    Param("start_time_ms", "float", None, "Begin of the window in ms, on the axis of the trace viewer."),
    Param("end_time_ms", "float", None, "End of the window in ms."),
    Param("inside", "bool", False, "Only events entirely inside the window, instead of all that overlap it."),
    Param("min_us", "float", None, "Shortest duration in us.", minimum=0),
    Param("max_us", "float", None, "Longest duration in us.", minimum=0),
    Param("by", "string", "", "Group by name, line, plane (comma-separated); empty: single events."),
    Param("order", "string", "begin", "Order of single events; durations and self times descend.", _ORDERS),
    Param("stats", "bool", False, "Include the stats of single events."),
    Param("limit", "int", 100, "Maximum number of rows.", minimum=1, maximum=MOST),
    Param("offset", "int", 0, "Number of rows to skip.", minimum=0, maximum=1 << 40),
)


def build(run: Run, query: Query) -> Table:
    """One row per event or per group and host, with the number of events or groups as the property `total`."""
    choice, by = _choice(query), _keys(query.text("by"))
    first, count = query.integer("offset"), query.integer("limit")
    if by:
        of_hosts = run.map_hosts(host_groups.given(choice, by))
        groups = [(host.name, one) for host, part in zip(run.readable, of_hosts, strict=True) for one in part]
        groups.sort(key=lambda entry: -entry[1].total_ps)
        return _group_table(by, groups[first : first + count], len(groups))
    order = query.text("order")
    step = host_listing.given(choice, order, first + count, query.flag("stats"))
    listings = run.map_hosts(step)
    events = [(host.name, one) for host, part in zip(run.readable, listings, strict=True) for one in part[1]]
    events.sort(key=lambda entry: _place(entry[1], order))
    return _event_table(events[first : first + count], sum(total for total, _ in listings))


def _place(event: Event, order: str) -> tuple[int, int]:
    return {"begin": 0, "duration": -event.duration_ps, "self": -event.self_ps}[order], event.begin_ps


def _event_table(shown: Sequence[tuple[str, Event]], total: int) -> Table:
    table = Table.of_rows(LISTED, (event for _, event in shown), {"host": [host for host, _ in shown]})
    return table.with_properties({"total": str(total)})


def _group_table(by: Sequence[str], shown: Sequence[tuple[str, Group]], total: int) -> Table:
    groups = [group for _, group in shown]
    keys = {key: [group.key[i] for group in groups] for i, key in enumerate(by)}
    table = Table.of_rows(grouped(*by), groups, {**keys, "host": [host for host, _ in shown]})
    return table.with_properties({"total": str(total)})


def _keys(text: str) -> tuple[str, ...]:
    given = [part.strip() for part in text.split(",") if part.strip()]
    if unknown := [part for part in given if part not in KEYS]:
        raise BadRequest(f"Events are grouped by {', '.join(KEYS)}, not by {unknown[0][:80]!r}.", parameter="by")
    return tuple(key for key in KEYS if key in given)


def _choice(query: Query) -> Choice:
    plane, line, name = (checked_names(key, query.text(key) or None) for key in KEYS)
    return Choice(
        *(plane, line, name),
        window=(_ps(query, "start_time_ms", PS_PER_MS), _ps(query, "end_time_ms", PS_PER_MS)),
        inside=query.flag("inside"),
        durations=(_ps(query, "min_us", PS_PER_US), _ps(query, "max_us", PS_PER_US)),
    )


def _ps(query: Query, name: str, unit: int) -> int | None:
    value = query.params[name]
    if not isinstance(value, (int, float)):
        return None
    if abs(value) > _FARTHEST_PS / unit:
        raise OutOfRange(f"Parameter {name!r} is beyond the longest possible profile.", parameter=name, value=value)
    return round(value * unit)


TOOL = Tool(
    id="events",
    title="Events",
    group="Data",
    summary="Events selected by plane, line, name, time and duration, single or in groups.",
    build=build,
    params=PARAMS,
    offered=False,
)
