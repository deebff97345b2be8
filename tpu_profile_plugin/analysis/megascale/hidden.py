"""Events shorter than a nanosecond: neighbours within the same nanosecond become one event that names them.

Viewers count in nanoseconds and would stack these events on top of each other.
"""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.common.planes import OPS
from tpu_profile_plugin.analysis.megascale.parts import OP
from tpu_profile_plugin.analysis.megascale.trace import TRACE_ME, Arguments, Trace, Track
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.columns.tables import Kind
from tpu_profile_plugin.units import PS_PER_NS

_DESCRIPTION = "If you would like to see them, please add &group_tiny_events=false to the URL."


def hide_tiny_events(trace: Trace) -> None:
    """Merges tiny events on the tracks of ops and of traced scopes; sends and receives stay."""
    named = np.array([OP.fullmatch(name) is not None for name in trace.labels.all()], np.bool_)
    for track in trace.tracks:
        if track.name in (OPS, TRACE_ME) and not track.runtime and len(track):
            _hide(trace, track, named)


def _hide(trace: Trace, track: Track, kept: Bools) -> None:
    tiny = (track.duration_ps < PS_PER_NS) & ~kept[track.label]
    same = np.zeros(len(track), np.bool_)
    same[1:] = (
        tiny[1:]
        & tiny[:-1]
        & (np.diff(track.begin_ps // PS_PER_NS) == 0)
        & (track.run[1:] == track.run[:-1])
    )  # fmt: skip
    first = np.flatnonzero(~same)
    count = np.diff(np.append(first, len(track)))
    groups = np.flatnonzero(count > 1)
    if not len(groups):
        return
    labels, texts = _texts(trace, track.label, first[groups], count[groups])
    end = np.maximum.reduceat(track.begin_ps + track.duration_ps, first)
    begin = track.begin_ps[first]
    track.row, track.label, track.run = track.row[first], track.label[first], track.run[first]
    track.row[groups], track.label[groups] = -1, labels
    track.duration_ps = np.where(count > 1, end - begin, track.duration_ps[first])
    track.begin_ps = begin
    for key, values in (
        ("description", np.full(len(groups), trace.texts.code(_DESCRIPTION))),
        ("hidden_events", texts),
    ):
        code, kind = np.full(len(groups), trace.keys.code(key)), np.full(len(groups), Kind.STR, np.uint8)
        track.more.append(Arguments(groups, code, kind, values.astype(np.uint64)))


def _texts(trace: Trace, label: I64, first: I64, count: I64) -> tuple[I64, I64]:
    """The names of the merged events, and the lists of the events that they hide."""
    names = trace.labels.all()
    labels, texts = np.zeros(len(first), np.int64), np.zeros(len(first), np.int64)
    for size in np.unique(count).tolist():
        chosen = np.flatnonzero(count == size)
        members = label[first[chosen][:, None] + np.arange(size)]
        kinds, code = np.unique(members, axis=0, return_inverse=True)
        lists = trace.texts.codes(", ".join(names[one] for one in row) for row in kinds.tolist())
        labels[chosen], texts[chosen] = trace.labels.code(f"{size} events are hidden"), lists[code.reshape(-1)]
    return labels, texts
