"""What ran in a window of the timeline of a run, by line and name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.timeline.in_window import InWindow, extent, in_window
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.table import Table, integers, numbers, texts
from tpu_profile_plugin.units import PS_PER_MS

COLUMNS = (
    texts("host", "Host", "Host of the line."),
    texts("line", "Line", "Device and line, or thread of the host."),
    texts("name", "Name", "Name of the events."),
    integers("count", "Events", "", "Events of the name that overlap the window."),
    integers("self_ps", "Self time", "ps", "Time within the window, without events that they enclose."),
    numbers("percent", "Share", "%", "Share of the window that the self time takes."),
    integers("total_ps", "Time", "ps", "Time within the window, with the events that they enclose."),
    integers("longest_ps", "Longest", "ps", "Duration of the longest event, beyond the window too."),
    integers("begin_ps", "First begin", "ps", "Begin of the first event; may be before the window."),
)
_IN_TURN = 5
"""Names of each line that come before the others of any line."""


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The events of a window in groups of one name on one line: the first few of each line by self time, then the rest.

    Lines of devices' ops and the main threads come before other lines.

    Attributes:
      begin_ps, end_ps: the window, on the axis of the trace viewer.
      host, line, name: of each group.
      main: the line of the main thread of each host that has one, by host.
      count: int64[n], events that overlap the window.
      self_ps, total_ps, longest_ps, begin_ps_of: int64[n], as in `InWindow`.
      busy: bool[n], the line is of a device's ops, or a main thread.
    """

    begin_ps: int
    end_ps: int
    host: tuple[str, ...]
    line: tuple[str, ...]
    name: tuple[str, ...]
    main: dict[str, str]
    count: I64
    self_ps: I64
    total_ps: I64
    longest_ps: I64
    begin_ps_of: I64
    busy: Bools

    def __len__(self) -> int:
        return len(self.name)

    @property
    def table(self) -> Table:
        """One row per group."""
        percent = 100 * self.self_ps / max(self.end_ps - self.begin_ps, 1)
        columns = (self.host, self.line, self.name, self.count, self.self_ps, percent)
        return Table(COLUMNS, (*columns, self.total_ps, self.longest_ps, self.begin_ps_of), name="lines")


@per_host()
def host_extent(host: HostProfile) -> tuple[int, int] | None:
    """The first begin and the last end of one host's events."""
    return extent(host.lazy)


@per_host()
def host_window(host: HostProfile, begin_ps: int, end_ps: int, find: str) -> InWindow:
    """The events of a window of one host whose names have the text `find`, whatever its case."""
    text = find.casefold()
    return in_window(host.lazy, begin_ps, end_ps, lambda name: text in name.casefold())


def run_extent(run: RunHosts) -> tuple[int, int]:
    """The first begin and the last end of the events of the chosen hosts, in ps. Raises NoData without any."""
    known = [one for one in run.map_hosts(host_extent) if one is not None]
    if not known:
        raise NoData("The profile has no event.")
    return min(begin for begin, _ in known), max(end for _, end in known)


def run_timeline(run: RunHosts, begin_ps: int | None, end_ps: int | None, find: str) -> Timeline:
    """The events of a window; None for the begin or end of the recording. Raises BadRequest for an empty window."""
    first, last = run_extent(run)
    begin = first if begin_ps is None else max(begin_ps, first)
    end = last if end_ps is None else min(end_ps, last)
    if begin >= end and not begin == end == first == last:
        message = f"The window is empty; the recording is from {first / PS_PER_MS:.6f} to {last / PS_PER_MS:.6f} ms."
        raise BadRequest(message, parameter="window")
    parts = run.map_hosts(host_window.given(begin, end, find))
    names = [host.name for host in run.readable]
    return run.once(("timeline", begin, end, find), lambda: _merged(begin, end, names, parts))


def _merged(begin: int, end: int, hosts: Sequence[str], parts: Sequence[InWindow]) -> Timeline:
    def joined(member: str) -> I64:
        return np.concatenate([getattr(part, member) for part in parts])

    host = [name for name, part in zip(hosts, parts, strict=True) for _ in range(len(part))]
    line = [text for part in parts for text in part.line]
    name = [text for part in parts for text in part.name]
    own, busy = joined("self_ps"), joined("busy").astype(np.bool_)
    turn = _place_in_line(list(zip(host, line, strict=True)), own) // _IN_TURN > 0
    order = np.lexsort((-own, ~busy, turn))
    listed = order.tolist()
    return Timeline(
        begin_ps=begin,
        end_ps=end,
        host=tuple(host[row] for row in listed),
        line=tuple(line[row] for row in listed),
        name=tuple(name[row] for row in listed),
        main={name: part.main for name, part in zip(hosts, parts, strict=True) if part.main},
        count=joined("count")[order],
        self_ps=own[order],
        total_ps=joined("total_ps")[order],
        longest_ps=joined("longest_ps")[order],
        begin_ps_of=joined("begin_ps")[order],
        busy=busy[order],
    )


def _place_in_line(lines: Sequence[tuple[str, str]], own: I64) -> I64:
    """The place of each group among those of its line, most self time first, counted from 0."""
    codes = {line: code for code, line in enumerate(dict.fromkeys(lines))}
    code = np.array([codes[line] for line in lines], np.int64)
    order = np.lexsort((-own, code))
    place = np.empty(len(order), np.int64)
    first = np.searchsorted(code[order], np.arange(len(codes)))
    place[order] = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return place
