"""What the steps cover of the recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.run import RunBudget
from tpu_profile_plugin.analysis.common.spans import union
from tpu_profile_plugin.analysis.summary.recording import Recording


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the steps cover of one host's recording; times in ps.

    Attributes:
      host: position of the host.
      length_ps: the recording.
      steps_ps: covered by steps.
      before_ps, after_ps: before the first step and after the last; the rest lies between steps.
    """

    host: int
    length_ps: int
    steps_ps: int
    before_ps: int
    after_ps: int

    @property
    def share(self) -> float:
        """Share of the recording that steps cover, 0 to 1."""
        return self.steps_ps / max(self.length_ps, 1)


def coverage(budget: RunBudget, recordings: Sequence[Recording | None]) -> Coverage | None:
    """The host of which the steps cover least; None without marked steps."""
    return min(_of_hosts(budget, recordings), key=lambda one: one.share, default=None)


def _of_hosts(budget: RunBudget, recordings: Sequence[Recording | None]) -> Iterator[Coverage]:
    if not len(budget):
        return
    first_device = [columns.start for columns in budget.host_columns.values()]
    begins = np.minimum.reduceat(budget.begin_ps, first_device, axis=1).T
    ends = np.maximum.reduceat(budget.begin_ps + budget.duration_ps, first_device, axis=1).T
    for host, begin, end in zip(budget.host_columns, begins, ends, strict=True):
        recorded = recordings[host]
        if recorded is None:
            continue
        begin, end = union(begin, end)
        first, last = min(recorded.begin_ps, int(begin[0])), max(recorded.end_ps, int(end[-1]))
        yield Coverage(host, last - first, int((end - begin).sum()), int(begin[0]) - first, last - int(end[-1]))
