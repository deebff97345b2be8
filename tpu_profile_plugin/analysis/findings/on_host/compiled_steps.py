"""What a host compiles in its steps, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import IDLE_COMPILE
from tpu_profile_plugin.analysis.common.spans import covered_within
from tpu_profile_plugin.analysis.findings.on_host.compiles import (
    Change,
    Compiles,
    changes,
    compiles,
    may_compile,
    programs_of,
)

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.host_view import HostView


@dataclass(frozen=True, slots=True)
class Compilation:
    """Compilation on one host.

    Attributes:
      cells: steps times devices, steps without devices; steps: how many.
      length_ps: time from step to step, lost_ps: the part that compilation costs, both summed over cells.
      in_steps: steps with compilation.
      modules: (name, how often compiled), most first; changes: of the first one's programs; None if unknown.
      traced: (tf.function, how often traced), most first.
      window: the longest compilation.
    """

    cells: int
    steps: int
    length_ps: int
    lost_ps: int
    in_steps: int
    modules: tuple[tuple[str, int], ...]
    changes: tuple[Change, ...] | None
    traced: tuple[tuple[str, int], ...]
    window: tuple[int, int]


def gather(host: HostView) -> Compilation | None:
    """What one host compiles in its steps; None if nothing."""
    if not may_compile(host):
        return None
    begin, end = host.windows
    found = compiles(host)
    inside = covered_within(*found.times, begin, end)
    if not len(begin) or not inside.any():
        return None
    devices = len(host.budget.devices)
    per_span = covered_within(*_union(begin, end), *found.times)
    longest = int(per_span.argmax())
    counts = _counts(host, found)
    ids = programs_of(host.hlo.programs)
    return Compilation(
        len(begin) * max(devices, 1),
        len(begin),
        int((end - begin).sum()) * max(devices, 1),
        _lost(host, int(inside.sum())),
        int((inside > 0).sum()),
        counts,
        changes(host.hlo.programs, ids.get(counts[0][0], [])) if counts else None,
        tuple((name, count) for name, count in found.traced.most_common() if count > 1),
        (int(found.times[0][longest]), int(found.times[1][longest])),
    )


def _union(begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return begin[:1], end[-1:]


def _counts(host: HostView, found: Compiles) -> tuple[tuple[str, int], ...]:
    """Modules that were compiled several times: by events, else by how many programs of a name there are."""
    if found.modules:
        return tuple((name, count) for name, count in found.modules.items() if count > 1)
    ids = programs_of(host.hlo.programs)
    return tuple(sorted(((name, len(one)) for name, one in ids.items() if len(one) > 1), key=lambda one: -one[1]))


def _lost(host: HostView, compile_ps: int) -> int:
    """Idle time because of it on all devices; without devices, all of its time."""
    budget = host.budget
    if not budget.devices:
        return compile_ps
    if host.code is not None:
        return host.code.compile_ps
    return int(budget.time_ps[:, :, IDLE_COMPILE].sum() + budget.between_time_ps[:, IDLE_COMPILE].sum())
