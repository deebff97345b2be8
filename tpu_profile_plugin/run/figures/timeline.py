"""What ran in a window of the timeline of a run: by name, and by lines of one kind together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import NO_EVENTS
from tpu_profile_plugin.analysis.timeline.listing import InWindow, extent, in_window
from tpu_profile_plugin.columns.arrays import F64, I64, Bools
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.catalogue.events import IN_WINDOW
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.units import PS_PER_MS

MAIN = "main thread"
_NUMBER = re.compile(r"(?<![:#/ ])[:#/ ]+-?\d+(?=$|[/(, ])")
"""The number of a device, stream or thread in the name of its line."""
_IN_TURN, _LEAST = 5, 1e-3
"""Names of each kind of line that come before the others of any, unless they take a smaller part of the window."""


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The events of a window in groups of one name on lines of one kind.

    The groups with most time, with and without enclosed events, of each kind of line come first; of these, lines of
    devices' ops and main threads, then most self time.

    Attributes:
      begin_ps, end_ps: the window, on the axis of the trace viewer.
      where, name: of each group, as in `IN_WINDOW`.
      lines, count: int64[n], as in `IN_WINDOW`.
      self_ps, total_ps, longest_ps: int64[n], as in `IN_WINDOW`.
      longest_on: the line of the longest event.
    """

    begin_ps: int
    end_ps: int
    where: tuple[str, ...]
    name: tuple[str, ...]
    lines: I64
    count: I64
    self_ps: I64
    total_ps: I64
    longest_ps: I64
    longest_on: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.name)

    @property
    def percent(self) -> F64:
        """Share of the window that the self time takes, averaged over the lines."""
        return 100 * self.self_ps / (self.lines * max(self.end_ps - self.begin_ps, 1))

    @property
    def table(self) -> Table:
        """One row per group."""
        return Table.of(IN_WINDOW, self, name="events")


@per_host()
def host_extent(host: HostProfile) -> tuple[int, int] | None:
    """The first begin and the last end of one host's events."""
    return extent(host.lazy)


@per_host()
def host_window(host: HostProfile, begin_ps: int, end_ps: int, find: str) -> InWindow:
    """The events of a window of one host whose names have the text `find`, in any case."""
    text = find.casefold()
    return in_window(host.lazy, begin_ps, end_ps, lambda name: text in name.casefold())


def run_extent(run: RunHosts) -> tuple[int, int]:
    """The first begin and the last end of the events of the chosen hosts, in ps. Raises NoData without any."""
    known = [one for one in run.map_hosts(host_extent) if one is not None]
    if not known:
        raise NO_EVENTS.error()
    return min(begin for begin, _ in known), max(end for _, end in known)


def run_timeline(run: RunHosts, begin_ps: int | None, end_ps: int | None, find: str) -> Timeline:
    """The events of a window; None for the begin or end of the recording. Raises BadRequest for an empty window."""
    first, last = run_extent(run)
    begin = first if begin_ps is None else max(begin_ps, first)
    end = last if end_ps is None else min(end_ps, last)
    if begin >= end:
        recorded = f"from {first / PS_PER_MS:.6f} to {last / PS_PER_MS:.6f} ms"
        raise BadRequest(f"The window is empty: the recording is {recorded}.", parameter="window")
    parts = run.map_hosts(host_window.given(begin, end, find))
    names = [host.name for host in run.readable]
    return run.once(("timeline", begin, end, find), lambda: _merged(begin, end, names, parts))


def _merged(begin: int, end: int, hosts: Sequence[str], parts: Sequence[InWindow]) -> Timeline:
    """The groups of all hosts and of all lines of a kind together."""

    def joined(member: str) -> I64:
        return np.concatenate([getattr(part, member) for part in parts])

    prefix = [f"{name} " if len(hosts) > 1 else "" for name in hosts]
    lines = [f"{at}{line}" for at, part in zip(prefix, parts, strict=True) for line in part.line]
    kinds = [MAIN if line == part.main else _NUMBER.sub("", line) for part in parts for line in part.line]
    names = [name for part in parts for name in part.name]
    groups: dict[tuple[str, str], int] = {}
    group = np.array([groups.setdefault(key, len(groups)) for key in zip(kinds, names, strict=True)], np.int64)
    of_kind: dict[str, set[str]] = {}
    for kind, line in zip(kinds, lines, strict=True):
        of_kind.setdefault(kind, set()).add(line)
    count, own, total = (_sums(group, joined(member), len(groups)) for member in ("count", "self_ps", "total_ps"))
    longest = joined("longest_ps")
    order = np.lexsort((-longest, group))
    most = order[np.searchsorted(group[order], np.arange(len(groups)))]
    busy = joined("busy").astype(np.bool_)[most]
    where, titles = [kind for kind, _ in groups], [name for _, name in groups]
    # Those that enclose all that ran in the window tell nothing about it.
    enclosing = np.where(total < count * (end - begin), total, 0)
    later = ~(_among_first(where, own, end - begin) | _among_first(where, enclosing, end - begin))
    rows = np.lexsort((-total, -own, ~busy, later))
    listed = rows.tolist()
    return Timeline(
        begin_ps=begin,
        end_ps=end,
        where=tuple(where[row] for row in listed),
        name=tuple(titles[row] for row in listed),
        lines=np.array([len(of_kind[where[row]]) for row in listed], np.int64),
        count=count[rows],
        self_ps=own[rows],
        total_ps=total[rows],
        longest_ps=longest[most][rows],
        longest_on=tuple(lines[at] for at in most[rows].tolist()),
    )


def _sums(group: I64, values: I64, groups: int) -> I64:
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, group, values)
    return sums


def _among_first(where: Sequence[str], times: I64, window: int) -> Bools:
    """Whether each group is among the first of its kind of line by time, and the time more than next to nothing."""
    codes = {kind: code for code, kind in enumerate(dict.fromkeys(where))}
    code = np.array([codes[kind] for kind in where], np.int64)
    order = np.lexsort((-times, code))
    first = np.searchsorted(code[order], np.arange(len(codes)))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    found: Bools = (place < _IN_TURN) & (times >= _LEAST * window)
    return found
