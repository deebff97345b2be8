"""The events that are selected in the timeline of a widget, as rows of the tables of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tpu_profile_plugin.tables.coded import Coded
from tpu_profile_plugin.tables.stream import TableStream
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.widget.pages import OpenedRun

Told: TypeAlias = Mapping[str, Any]
"""What the page tells (`ToldSelection` in the frontend)."""
Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

_KEY = [("line", "i8"), ("name", "i8"), ("begin", "i8"), ("duration", "i8")]


def selected_events(run: OpenedRun, told: Told) -> Any:
    """The selected events as a pandas DataFrame with the columns of `run.events()`; raises MissingPackage."""
    stream = run.events()
    lines = [tuple(line) for line in told.get("lines", ())]
    if not lines:
        return Table(stream.columns, [[] for _ in stream.columns], name="events").to_pandas()
    area, events = told.get("area"), told.get("events", ())
    if area:
        window = int(area["begin"]), int(area["end"])
    else:
        window = min(int(event[2]) for event in events), max(int(event[2] + event[3]) for event in events)
    hosts, planes, names = (sorted({line[i] for line in lines}) for i in range(3))
    recorded = run.events(hosts, planes, names, window)
    found = TableStream(recorded.columns, lambda: _chosen(recorded, lines, told), "events").to_pandas()
    derived = run.relation("derived_events")
    more = TableStream(derived.columns, lambda: _chosen(derived, lines, told), "events")
    if (not area and len(found) >= len(events)) or not len(more):
        return found
    import pandas

    return pandas.concat([found, more.to_pandas()], ignore_index=True)[list(found.columns)]


def _chosen(stream: TableStream, lines: Sequence[tuple[str, ...]], told: Told) -> Iterator[Table]:
    for part in stream.batches():
        rows = np.flatnonzero(_matching(part, lines, told))
        if len(rows):
            yield Table(part.columns, [values[rows] for values in part.data], name=part.name)


def _matching(part: Table, lines: Sequence[tuple[str, ...]], told: Told) -> Mask:
    """Which events of a part, which are of one host and plane, are selected."""
    none: Mask = np.zeros(len(part), np.bool_)
    if not len(part):
        return none
    place = part["host"][0], part["plane"][0]
    numbers = {line[2]: number for number, line in enumerate(lines) if line[:2] == place}
    if not numbers:
        return none
    line = _numbered(part["line"], numbers)
    begin, duration = (np.asarray(part[name], np.int64) for name in ("begin_ps", "duration_ps"))
    area = told.get("area")
    if area:
        first, last = (np.full(len(lines) + 1, absent, np.int64) for absent in (1, 0))  # the last is for -1: none
        for number, low, high in area["rows"]:
            first[number], last[number] = low, high
        inside: Mask = (line >= 0) & (begin < area["end"]) & (begin + duration > area["begin"])
        if "depth" in {column.id for column in part.columns}:
            inside &= (part["depth"] >= first[line]) & (part["depth"] <= last[line])
        return inside if area["name"] is None else inside & (part["name"] == area["name"])
    events = [event for event in told["events"] if event[0] in numbers.values()]
    names = {name: number for number, name in enumerate(dict.fromkeys(event[1] for event in events))}
    wanted = np.array([(at, names[name], start, length) for at, name, start, length in events], _KEY)
    near = np.flatnonzero((line >= 0) & np.isin(begin, wanted["begin"]) & np.isin(duration, wanted["duration"]))
    keys = np.empty(len(near), _KEY)
    keys["line"], keys["begin"], keys["duration"] = line[near], begin[near], duration[near]
    keys["name"] = _numbered(part["name"], names)[near]
    none[near[np.isin(keys, wanted)]] = True
    return none


def _numbered(column: Any, numbers: Mapping[str, int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The number of the text of each row; -1 for others."""
    coded: Coded = column
    of_text = np.array([*(numbers.get(text, -1) for text in coded.texts), -1], np.int64)
    return of_text[coded.codes]
