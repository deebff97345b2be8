"""Arguments of events of a trace: stats of the metadata, stats of the event, additions of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.common.rows import joined
from tpu_profile_plugin.analysis.megascale.trace import Arguments, Trace, Track
from tpu_profile_plugin.columns import Plane, Stats
from tpu_profile_plugin.columns.arrays import I64, U8, U32, U64
from tpu_profile_plugin.columns.tables import Kind

_LEFT_OUT = frozenset((
    "_c", "_ct", "_p", "_pt", "_r", "_a", "flops", "flow", "kernel_details", "program_id", "symbol_id", "source",
    "source_stack",
))  # fmt: skip
"""Stats that XProf leaves out: links between threads, and values that its other tools show."""
_KINDS = (Kind.DOUBLE, Kind.UINT64, Kind.INT64, Kind.STR, Kind.REF, Kind.BYTES)
_LONG_NAME = "long_name"


@dataclass(frozen=True, slots=True, eq=False)
class PlaneArguments:
    """Arguments shared by the events of a plane.

    Attributes:
      plane: the plane.
      key: int64[s], number of the name of a stat by row of the stat metadata; -1: left out.
      start, shared: the arguments of row i of the event metadata are `shared[start[i]:start[i + 1]]`.
    """

    plane: Plane
    key: I64
    start: I64
    shared: Arguments


def plane_arguments(trace: Trace, plane: Plane) -> PlaneArguments:
    """The arguments of the event metadata."""
    names = plane.stat_metadata.names
    key = np.array([-1 if name in _LEFT_OUT else trace.keys.code(name) for name in names], np.int64)
    table = plane.event_metadata
    long = np.flatnonzero([shown != "" for shown in table.display_names])
    full = trace.texts.codes([table.names[row] for row in long.tolist()])
    kind = np.full(len(long), Kind.STR, np.uint8)
    named = Arguments(long, np.full(len(long), trace.keys.code(_LONG_NAME), np.int64), kind, full.astype(np.uint64))
    recorded = _converted(trace, plane, key, table.stats, np.arange(len(table)))
    shared = joined([named, recorded]).sorted()
    return PlaneArguments(plane, key, np.searchsorted(shared.event, np.arange(len(table) + 1)), shared)


def arguments(trace: Trace, of: PlaneArguments, tracks: Sequence[Track]) -> Arguments:
    """The arguments of the events of some tracks of one plane; events are numbered across the tracks."""
    row = np.concatenate([track.row for track in tracks])
    real = np.flatnonzero(row >= 0)
    events, taken = _owned_rows(of.start, of.plane.events.metadata[row[real]].astype(np.int64))
    shared = Arguments(real[events], of.shared.key[taken], of.shared.kind[taken], of.shared.value[taken])
    recorded = _converted(trace, of.plane, of.key, of.plane.events.stats, row[real])
    before = np.cumsum([0, *map(len, tracks)])
    added = [
        Arguments(one.event + first, one.key, one.kind, one.value)
        for track, first in zip(tracks, before.tolist(), strict=False)
        for one in track.more
    ]
    return joined(
        [shared, Arguments(real[recorded.event], recorded.key, recorded.kind, recorded.value), *added]
    ).sorted()


def _owned_rows(start: I64 | U32, owners: I64) -> tuple[I64, I64]:
    """Positions of the owners' entries, and the owner of each entry."""
    begin = start[owners].astype(np.int64)
    count = start[owners + 1].astype(np.int64) - begin
    owner = np.repeat(np.arange(len(owners)), count)
    return owner, np.repeat(begin - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))


def _converted(trace: Trace, plane: Plane, key: I64, stats: Stats, owners: I64) -> Arguments:
    """The stats of some owners, renumbered from 0; texts become numbers, and bytes become empty texts, as in XProf."""
    owner, taken = _owned_rows(stats.start, owners)
    wanted = (key[stats.key[taken]] >= 0) & np.isin(stats.kind[taken], _KINDS)
    owner, taken = owner[wanted], taken[wanted]
    kind: U8 = stats.kind[taken].copy()
    value: U64 = stats.value[taken].copy()
    plain, ref, blob = (kind == one for one in (Kind.STR, Kind.REF, Kind.BYTES))
    if plain.any():
        local, firsts = _native.text_codes(trace.space.data, value[plain])
        value[plain] = trace.texts.codes(trace.space.texts(firsts))[local].astype(np.uint64)
    if ref.any():
        rows, inverse = np.unique(value[ref], return_inverse=True)
        names = plane.stat_metadata.names
        value[ref] = trace.texts.codes([names[row] for row in rows.tolist()])[inverse.reshape(-1)].astype(np.uint64)
    if blob.any():
        value[blob] = trace.texts.code("")
    kind[plain | ref | blob] = Kind.STR
    return Arguments(owner, key[stats.key[taken]], kind, value)
