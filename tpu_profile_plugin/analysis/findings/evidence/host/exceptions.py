"""Steps far above the median as windows, and how much more of something runs in them than in the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import (
    CATEGORIES,
    COMPUTE,
    DATA_MOVEMENT,
    EXPOSED_COMMUNICATION,
    MOVE_WAIT,
    PARTS,
    PEER_TRANSFER,
)
from tpu_profile_plugin.analysis.common.spans import Times, covered_within
from tpu_profile_plugin.analysis.devices.model import busy
from tpu_profile_plugin.analysis.findings.host_view import HostView, until_next
from tpu_profile_plugin.analysis.summary.outliers import StepOutliers
from tpu_profile_plugin.columns.arrays import F64, I64, Bools

_OF_DEVICES = (COMPUTE, DATA_MOVEMENT, MOVE_WAIT, EXPOSED_COMMUNICATION, PEER_TRANSFER)
"""Parts of the time budget in which devices work."""


@dataclass(frozen=True, eq=False)
class Exceptions:
    """The exceptions (n of s steps) of one host.

    Attributes:
      host: the host.
      steps: its steps' lengths, and which of them are exceptions.
    """

    host: HostView
    steps: StepOutliers

    @cached_property
    def excess_ps(self) -> F64:
        """float64[n]: how much longer than the median each is."""
        return self.steps.length_ps[self.steps.rows] - self.steps.median_ps

    @cached_property
    def usual(self) -> Bools:
        """bool[s]: the steps that are none."""
        usual = np.ones(len(self.steps.length_ps), np.bool_)
        usual[self.steps.rows] = False
        return usual

    @cached_property
    def windows(self) -> Times:
        """All steps, each until the next begins."""
        return self.host.windows

    @cached_property
    def others(self) -> Times:
        """The windows of the others."""
        return self.windows[0][self.usual], self.windows[1][self.usual]

    def chosen(self, which: Bools) -> Times:
        """The windows of some of the exceptions, bool[n]."""
        rows = self.steps.rows[which]
        return self.windows[0][rows], self.windows[1][rows]

    def more(self, times: Times) -> F64:
        """float64[n]: how much more of a set of time lies in each than in one of the others."""
        inside = covered_within(*times, *self.windows).astype(np.float64)
        more: F64 = np.maximum(inside[self.steps.rows] - inside[self.usual].mean(), 0.0)
        return more

    def lost(self, which: Bools, programs: Times) -> tuple[F64, I64]:
        """What some of them, bool[n], cost: float64[n], averaged over devices, and int64[c + 1] by part of the time
        budget, the last between steps, summed over steps and devices.

        Idle time of devices above that of the other steps, and the work of `programs`, which run only in these steps.
        Other work that ends there was launched before, so it costs nothing.
        """
        time, rows = self.host.time, self.steps.rows
        of_programs = self.more(programs)
        lost, taking = np.zeros(len(rows)), np.zeros(len(rows))
        times = time.time_ps.stacked(PARTS)
        by_part = np.zeros(len(CATEGORIES) + 1)
        for device in range(time.takes_part.shape[1]):
            part = time.takes_part[:, device]
            usual = self.usual & part
            if not usual.any():
                continue
            begin, end = time.begin_ps[:, device], time.begin_ps[:, device] + time.duration_ps[:, device]
            until = until_next(begin, end)
            inside = np.column_stack([times[:, device], until - end]).astype(np.float64)
            extra = np.maximum(inside[rows] - inside[usual].mean(axis=0), 0.0)
            works = extra[:, _OF_DEVICES].sum(axis=1)
            extra[:, _OF_DEVICES] *= np.minimum(1.0, of_programs / np.maximum(works, 1.0))[:, None]
            idle = (until - begin).astype(np.float64)
            if self.host.devices:
                idle -= covered_within(*busy(self.host.devices[device]), begin, until)
            most = np.maximum(idle[rows] - idle[usual].mean(), 0.0) + of_programs
            most = np.minimum(most, np.maximum((until - begin)[rows] - self.steps.median_ps, 0.0))
            extra *= np.minimum(1.0, most / np.maximum(extra.sum(axis=1), 1.0))[:, None]
            extra[~(which & part[rows])] = 0.0
            lost += extra.sum(axis=1)
            taking += part[rows]
            by_part += extra.sum(axis=0)
        return lost / np.maximum(taking, 1.0), np.rint(by_part).astype(np.int64)
