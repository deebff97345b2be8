"""Which events of a run are wanted, and with which stats."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import searcher
from tpu_profile_plugin.analysis.common.stat_columns import RecordedKinds, recorded_kinds
from tpu_profile_plugin.columns import Plane
from tpu_profile_plugin.columns.arrays import I64
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
      planes, lines: whether the events of a plane or line of this name are wanted; None: all.
      window: events that overlap the time from the first to the second, in ps on the axis of the trace viewer.
      stats: the columns of the wanted stats.
    """

    planes: Callable[[str], bool] | None = None
    lines: Callable[[str], bool] | None = None
    window: Window = (None, None)
    stats: tuple[Column, ...] = ()

    def has_plane(self, name: str) -> bool:
        """Whether events of the plane may be wanted."""
        return self.planes is None or self.planes(name)

    def rows(self, plane: Plane) -> I64 | None:
        """The wanted events of a plane, ascending; None for all."""
        begin, end = self.window
        if self.lines is None and begin is None and end is None:
            return None
        lines, events = plane.lines, plane.events
        wanted = np.ones(len(events), np.bool_)
        if self.lines is not None:
            has = [
                self.lines(name) or bool(display and self.lines(display))
                for name, display in zip(lines.name, lines.display_name, strict=True)
            ]
            wanted = np.repeat(np.array(has, np.bool_), np.diff(lines.event_start))
        if begin is not None:
            wanted &= events.begin_ps + events.duration_ps >= begin
        if end is not None:
            wanted &= events.begin_ps <= end
        return np.flatnonzero(wanted)


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
    is_plane, is_line = _named("planes", planes), _named("lines", lines)
    columns = _stat_columns(run, wanted, planes if isinstance(planes, str) or planes is None else tuple(planes))
    return Choice(is_plane, is_line, (begin, end), columns)


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


def _named(parameter: str, names: Names) -> Callable[[str], bool] | None:
    if names is None:
        return None
    if not isinstance(names, str):
        return frozenset(names).__contains__
    try:
        return searcher(names)
    except ValueError as error:
        message = f"Parameter {parameter!r}: the regular expression is not valid: {error}."
        raise BadRequest(message, parameter=parameter) from None


@per_host()
def host_stats(
    host: HostProfile, wanted: tuple[str, ...], planes: str | tuple[str, ...] | None
) -> tuple[tuple[RecordedKinds, tuple[str, ...]], ...]:
    """Per stat the values that events of one host have, and names of others that are similar."""
    is_plane = _named("planes", planes)
    chosen = [plane for plane in host.space.planes if is_plane is None or is_plane(plane.name)]
    names = {name for plane in chosen for name in plane.stat_metadata.names}
    return tuple(
        (recorded_kinds(chosen, name), tuple(difflib.get_close_matches(name, names, _CLOSE))) for name in wanted
    )


def _stat_columns(run: RunHosts, wanted: tuple[str, ...], planes: str | tuple[str, ...] | None) -> tuple[Column, ...]:
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
