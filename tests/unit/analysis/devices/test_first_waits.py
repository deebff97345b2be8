"""The wait of a device's first collective for devices that start later."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.devices.collectives import first_waits

MS = 10**9


def waits(*runs: tuple[int, float, float], meets: tuple[int, ...] = ()) -> list[float]:
    """In ms, of the runs of one device: (collective, begin, length in ms), sorted by collective and begin."""
    key, begin, length = (np.array(column) for column in zip(*runs, strict=True))
    begin, length = (begin * MS).astype(np.int64), (length * MS).astype(np.int64)
    found = first_waits(key.astype(np.int64), np.zeros(len(key), np.int64), begin, begin + length, np.isin(key, meets))
    return [one / MS for one in found.tolist()]


def test_the_first_run_takes_far_longer_than_the_others() -> None:
    assert waits((0, 0, 800), (0, 900, 2), (0, 910, 4), (0, 920, 3)) == [797, 0, 0, 0]
    assert waits((0, 0, 800), (0, 900, 2)) == [798, 0]


def test_other_first_collectives_that_begin_meanwhile_wait_as_well() -> None:
    assert waits((0, 0, 800), (0, 900, 2), (1, 10, 700), (1, 901, 1), (2, 850, 50), (2, 950, 1)) == [
        798,
        0,
        699,
        0,
        0,
        0,
    ]


def test_a_slow_first_run_is_no_wait() -> None:
    assert waits((0, 0, 19), (0, 900, 2), (0, 910, 2)) == [0, 0, 0]  # 9.5 times as long
    assert waits((0, 0, 0.9), (0, 900, 0.01)) == [0, 0]  # less than a millisecond
    assert waits((0, 0, 100), *((0, 200 + 10 * i, 5) for i in range(30))) == [0] * 31  # most time is in the others
    assert waits((0, 0, 5), (0, 10, 800), (0, 900, 2)) == [0, 0, 0]  # the second one is long


def test_a_single_run_waits_only_if_it_moves_no_data() -> None:
    assert waits((0, 0, 800), (1, 900, 2)) == [0, 0]
    assert waits((0, 0, 800), (1, 900, 2), meets=(0,)) == [800, 0]


def test_without_runs() -> None:
    none = np.zeros(0, np.int64)
    assert len(first_waits(none, none, none, none, none.astype(np.bool_))) == 0
