"""Which events of a run are wanted, and with which stats."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import searcher
from tpu_profile_plugin.analysis.common.stat_columns import RecordedKinds, recorded_kinds
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.errors import BadRequest, NotFound
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.tables.table import Column, texts

Names = str | Sequence[str] | None
"""A regular expression that is searched for in names, several exact names, or None for all."""
Window = tuple[int | None, int | None]
_CLOSE, _MOST_LETTERS = 5, 80


@dataclass(frozen=True)
class Choice:
    """The wanted events.

    Attributes:
      planes, lines, names: of the events; lines and events are also found by their display names.
      window: events that overlap the time from the first to the second, in ps on the axis of the trace viewer.
      inside: only events that lie in the window; otherwise they may reach beyond it.
      durations: the shortest and the longest, in ps, both inside; None: open.
      stats: the columns of the wanted stats.
    """

    planes: Names = None
    lines: Names = None
    names: Names = None
    window: Window = (None, None)
    inside: bool = False
    durations: Window = (None, None)
    stats: tuple[Column, ...] = ()

    def has_plane(self, name: str) -> bool:
        """Whether events of the plane may be wanted."""
        return self.planes is None or bool(_matcher(self.planes)(name))

    def planes_of(self, space: XSpace) -> Iterator[tuple[Plane, I64 | None]]:
        """The planes with wanted events, and which events these are: rows, ascending; None for all."""
        for plane in space.planes:
            if len(plane.events) and self.has_plane(plane.name):
                rows = self.rows(plane)
                if rows is None or len(rows):
                    yield plane, rows

    def rows(self, plane: Plane) -> I64 | None:
        """The wanted events of a plane, ascending; None for all."""
        open_ = (None, None)
        if self.lines is None and self.names is None and self.window == self.durations == open_:
            return None
        lines, events, meta = plane.lines, plane.events, plane.event_metadata
        wanted = np.ones(len(events), np.bool_)
        if self.lines is not None:
            wanted = np.repeat(_among(self.lines, lines.name, lines.display_name), np.diff(lines.event_start))
        if self.names is not None:
            wanted &= _among(self.names, meta.names, meta.display_names)[events.metadata]
        if self.window != open_:
            end_ps = events.begin_ps + events.duration_ps
            first, last = (events.begin_ps, end_ps) if self.inside else (end_ps, events.begin_ps)
            wanted &= _between(first, self.window[0], None) & _between(last, None, self.window[1])
        if self.durations != open_:
            wanted &= _between(events.duration_ps, *self.durations)
        return np.flatnonzero(wanted)


def _between(values: I64, least: int | None, most: int | None) -> Bools | np.bool_:
    """Which values are inside; all if a side is open."""
    inside: Bools | np.bool_ = np.True_
    if least is not None:
        inside = values >= least
    if most is not None:
        inside = inside & (values <= most)
    return inside


def _among(wanted: str | Sequence[str], names: Sequence[str], display_names: Sequence[str]) -> Bools:
    """Which of the names, or their display names, are wanted."""
    is_wanted = _matcher(wanted)
    pairs = zip(names, display_names, strict=True)
    return np.array([bool(is_wanted(name) or (display and is_wanted(display))) for name, display in pairs], np.bool_)


ALL = Choice()


def chosen_events(
    run: RunHosts, ids: Collection[str], planes: Names, lines: Names, window: Window | None, stats: str | Sequence[str]
) -> Choice:
    """Reads the arguments of `Run.events`; `ids` are those of the columns that all events have.

    Raises BadRequest for a wrong one, NotFound for a stat that no wanted plane has.
    """
    begin, end = window or (None, None)
    if begin is not None and end is not None and begin > end:
        raise BadRequest(f"The window ends at {end} ps, before it begins at {begin} ps.", parameter="window")
    wanted = tuple(dict.fromkeys((stats,) if isinstance(stats, str) else stats))
    for name in wanted:
        if name in ids:
            raise BadRequest(f"{name!r} is a column of all events; a stat cannot have its name.", parameter="stats")
    chosen = Choice(checked_names("planes", planes), checked_names("lines", lines), window=(begin, end))
    return replace(chosen, stats=_stat_columns(run, wanted, chosen.planes))


def chosen_hosts(run: RunHosts, hosts: str | Sequence[str] | None) -> RunHosts:
    """The run reduced to hosts of these names; raises NotFound."""
    if hosts is None:
        return run
    wanted = (hosts,) if isinstance(hosts, str) else tuple(hosts)
    names = [profile.name for profile in run.profiles]
    for name in wanted:
        if name not in names:
            message = f"There is no host {name[:_MOST_LETTERS]!r}; the hosts are {', '.join(names)}."
            raise NotFound(message, code="host_not_found")
    profiles = tuple(profile for profile in run.profiles if profile.name in wanted)
    return RunHosts(run.name, profiles, run.executor, run.on_progress)


def checked_names(parameter: str, names: Names) -> str | tuple[str, ...] | None:
    """The names as they are kept; raises BadRequest for a wrong expression."""
    if names is None:
        return None
    if not isinstance(names, str):
        return tuple(names)
    try:
        searcher(names)
    except ValueError as error:
        message = f"Parameter {parameter!r}: the regular expression is not valid: {error}."
        raise BadRequest(message, parameter=parameter) from None
    return names


def _matcher(names: str | Sequence[str]) -> Callable[[str], Any]:
    return searcher(names) if isinstance(names, str) else frozenset(names).__contains__


@per_host()
def host_stats(
    host: HostProfile, wanted: tuple[str, ...], planes: Names
) -> tuple[tuple[RecordedKinds, tuple[str, ...]], ...]:
    """Per stat the values that events of one host have, and names of others that are similar."""
    chosen = [plane for plane in host.space.planes if Choice(planes).has_plane(plane.name)]
    names = {name for plane in chosen for name in plane.stat_metadata.names}
    return tuple(
        (recorded_kinds(chosen, name), tuple(difflib.get_close_matches(name, names, _CLOSE))) for name in wanted
    )


def _stat_columns(run: RunHosts, wanted: tuple[str, ...], planes: Names) -> tuple[Column, ...]:
    """The columns of stats, of a type that holds the values of all hosts."""
    if not wanted:
        return ()
    columns = []
    for name, found in zip(wanted, zip(*run.map_hosts(host_stats.given(wanted, planes)), strict=True), strict=True):
        values = RecordedKinds()
        for one, _ in found:
            values |= one
        if not values:
            close = dict.fromkeys(other for _, others in found for other in others)
            like = f"; similar ones are {', '.join(list(close)[:_CLOSE])}" if close else ""
            raise NotFound(f"No event has a stat {name[:_MOST_LETTERS]!r}{like}.", code="stat_not_found")
        sentence = f"Stat {name} of the event, else of its metadata."
        kind = values.type
        columns.append(
            texts(name, name, sentence)
            if kind == "text"
            else Column(name, name, "number", sentence=sentence, dtype=kind)
        )
    return tuple(columns)
