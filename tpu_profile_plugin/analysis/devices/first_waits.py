"""The wait of a device's first collective for devices that start later, which no other collective repeats."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.common.keys import row_codes
from tpu_profile_plugin.columns.arrays import I64, Bools
from tpu_profile_plugin.units import PS_PER_MS

TIMES = 10
"""A first run that takes this many times the median of the others waited: a cold start alone costs less."""

LEAST_PS = PS_PER_MS
"""Processes start further apart than this; a shorter first run is slow for other reasons."""


def first_waits(key: I64, device: I64, begin: I64, end: I64, meets: Bools) -> I64:
    """Per run the part in which the first collectives of its device wait for devices that have not started yet, in ps.

    That is what the first run of a collective takes beyond the median of its other runs on the device, if it takes far
    longer, and longer than all else that the device communicates. Runs that begin before this one ends count as well.

    Args:
      key, device, begin, end: of each run, sorted by key, device and begin.
      meets: of each run, whether its collective moves no data: all of it is a wait.
    """
    wait = np.zeros(len(key), np.int64)
    if not len(key):
        return wait
    duration = end - begin
    code, first = row_codes(key, device)
    typical, known = _typical(code, first, duration)
    known |= meets[first]
    excess = duration[first] - typical
    of_device = np.bincount(device, weights=duration)[device[first]]
    # All runs of the device together take more than twice as long as without the wait.
    long = known & (duration[first] >= TIMES * typical) & (excess >= LEAST_PS)
    far = long & (2 * excess > of_device)
    if not far.any():
        return wait
    for number in np.unique(device[first[far]]).tolist():
        mine = device[first] == number
        earliest = first[mine][int(begin[first[mine]].argmin())]
        if far[code[earliest]]:
            early = first[mine & long & (begin[first] < end[earliest])]
            wait[early] = excess[code[early]]
    return wait


def _typical(code: I64, first: I64, duration: I64) -> tuple[I64, Bools]:
    """The lower median duration of the runs of each collective on a device but the first; and whether there are any."""
    rest = np.ones(len(code), np.bool_)
    rest[first] = False
    rows = np.flatnonzero(rest)
    rows = rows[np.lexsort((duration[rows], code[rows]))]
    start = np.searchsorted(code[rows], np.arange(len(first) + 1))
    known = start[1:] > start[:-1]
    typical = np.zeros(len(first), np.int64)
    typical[known] = duration[rows[(start[:-1] + start[1:] - 1)[known] // 2]]
    return typical, known
