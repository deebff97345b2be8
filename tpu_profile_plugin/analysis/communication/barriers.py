"""Time that TensorCores spend at barriers, as XProf counts it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.planes import PlaneExtras, Preprocessed, is_tpu
from tpu_profile_plugin.analysis.common.stat_columns import StatColumns
from tpu_profile_plugin.analysis.ops.tpu_ops import device_spans, op_events
from tpu_profile_plugin.analysis.steps.core_steps import step_spans
from tpu_profile_plugin.columns import Plane, XSpace

BARRIER = "barrier-cores"
_DURATION = "device_duration_ps"
_PLACEHOLDERS = (0, 1250)
"""Durations in ps that stand for none: a core that is paired with another has such events."""
_PARTIAL = 0.01
_FEWEST_HOSTS = 3
_SCORE, _LEAST_DEVIATION, _OUTLIER = 0.6745, 0.1, 3.5
_EQUAL = 1e-6


@dataclass(frozen=True, slots=True)
class BarrierTime:
    """Barriers of one host in its complete steps.

    Attributes:
      hostname: as recorded, else the name of the file.
      shares: of each step of each core with such events.
      by_step: the average over the cores, per step.
      longest: begin and end of the longest event, ps.
    """

    hostname: str
    shares: tuple[float, ...]
    by_step: tuple[float, ...]
    longest: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Barriers:
    """Barriers of a run: percent of the step on average, and (host, percent) of hosts that differ."""

    percent: float
    outliers: tuple[tuple[str, float], ...]


def may_have_barriers(space: XSpace) -> bool:
    """Whether any TPU plane names such events; no event is read."""
    return any(is_tpu(plane) and _named(plane) for plane in space.planes)


def _named(plane: Plane) -> bool:
    return any(BARRIER in name for name in plane.declared.event_metadata.names)


def barrier_time(space: XSpace, pre: Preprocessed, name: str) -> BarrierTime:
    """The barriers of one host.

    Of three or more steps the first and the last do not count, which may be incomplete; of two, one that is shorter
    than a hundredth of the other does not.
    """
    shares: dict[int, dict[str, float]] = {}
    lengths: dict[int, int] = {}
    longest = (0, 0)
    for plane in space.planes:
        if is_tpu(plane) and _named(plane):
            of_plane, begin, end = _of_plane(space, plane, pre.planes[plane.index])
            longest = max(longest, (begin, end), key=lambda one: one[1] - one[0])
            for step, (share, length) in of_plane.items():
                cores = shares.setdefault(step, {})
                cores[plane.name] = cores.get(plane.name, 0.0) + share
                lengths[step] = length
    steps = _complete(sorted(shares), lengths)
    return BarrierTime(
        space.hostnames[0] if space.hostnames else name,
        tuple(_rounded(share) for step in steps for share in shares[step].values()),
        tuple(_rounded(sum(shares[step].values()) / len(shares[step])) for step in steps),
        longest,
    )


def _rounded(share: float) -> float:
    """The precision that XProf keeps, so that its texts have the same digits."""
    return float(np.float32(share))


def _of_plane(space: XSpace, plane: Plane, extras: PlaneExtras) -> tuple[dict[int, tuple[float, int]], int, int]:
    """Step -> share and length of the step; begin and end of the longest event."""
    if extras.group_id is None:
        return {}, 0, 0
    lengths = _step_lengths(space, plane, extras)
    stat = StatColumns(space, plane, plane.events.stats, (_DURATION,))
    # As XProf reads it: a duration that is not written as an unsigned number is 0.
    duration = np.zeros(len(plane.events), np.int64)
    duration[stat.owners(_DURATION)] = stat.ints(_DURATION).value - stat.signed(_DURATION).value
    names = np.array([BARRIER in name for name in plane.event_metadata.names], np.bool_)
    rows = np.flatnonzero(names[plane.events.metadata] & ~np.isin(duration, _PLACEHOLDERS))
    with_ops = set(np.unique(extras.group_id[op_events(plane)]).tolist())
    group = extras.group_id[rows]
    steps = {}
    for step in np.unique(group).tolist():
        if length := lengths.get(step, 0) if step in with_ops else 0:
            parts = (duration[rows][group == step] / length).astype(np.float32)
            steps[step] = float(parts.sum(dtype=np.float64)), length
    if not len(rows):
        return steps, 0, 0
    longest = rows[int(duration[rows].argmax())]
    begin = int(plane.events.begin_ps[longest])
    return steps, begin, begin + int(plane.events.duration_ps[longest])


def _step_lengths(space: XSpace, plane: Plane, extras: PlaneExtras) -> dict[int, int]:
    """Group -> length of the longest step event."""
    spans, group = step_spans(plane, extras, device_spans(space, plane))
    lengths: dict[int, int] = {}
    for step, length in zip(group.tolist(), spans.duration_ps.tolist(), strict=True):
        lengths[step] = max(lengths.get(step, 0), length)
    return lengths


def _complete(steps: Sequence[int], lengths: Mapping[int, int]) -> Sequence[int]:
    if len(steps) > 2:
        return steps[1:-1]
    if len(steps) == 2:
        first, second = (lengths[step] for step in steps)
        if second < _PARTIAL * first:
            return steps[:1]
        if first < _PARTIAL * second:
            return steps[1:]
    return steps


def barriers(hosts: Sequence[BarrierTime]) -> Barriers:
    """The barriers of all hosts together."""
    shares = [share for host in hosts for share in host.shares]
    by_host: dict[str, list[float]] = {}
    for host in hosts:
        by_host.setdefault(host.hostname, []).extend(host.by_step)
    percent = {name: 100 * sum(values) / len(values) for name, values in by_host.items() if values}
    return Barriers(100 * sum(shares) / len(shares) if shares else 0.0, tuple(_outliers(percent)))


def _outliers(percent: Mapping[str, float]) -> list[tuple[str, float]]:
    """Hosts far from the median in either direction, by the median absolute deviation."""
    if len(percent) < _FEWEST_HOSTS:
        return []
    median = _median(percent.values())
    deviation = _median(abs(one - median) for one in percent.values())
    if deviation == 0:
        return [(name, one) for name, one in percent.items() if abs(one - median) > _EQUAL]
    scale = _SCORE / max(deviation, _LEAST_DEVIATION)
    return [(name, one) for name, one in percent.items() if abs(scale * (one - median)) > _OUTLIER]


def _median(values: Iterable[float]) -> float:
    """The upper one of an even number."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
