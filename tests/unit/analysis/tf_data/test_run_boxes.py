"""Boxes of a run of an input pipeline: which calls are merged, and when merging ends."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis import tf_data as run_module
from tpu_profile_plugin.analysis.tf_data import Boxes, _bounded, _merged


def boxes(*calls: tuple[int, int], iterator: int = 0, track: int = 0, blocking: bool = True) -> Boxes:
    begin, duration = (np.array(column, np.int64) for column in zip(*calls, strict=True))
    same = np.ones(len(calls), np.int64)
    return Boxes(same * iterator, same * track, begin, duration, same.astype(np.bool_) & blocking, same)


def shown(found: Boxes) -> list[tuple[int, int, int]]:
    """(begin, duration, calls)"""
    return list(zip(found.begin_ps.tolist(), found.duration_ps.tolist(), found.count.tolist(), strict=True))


@pytest.mark.parametrize(
    ("calls", "unit", "expected"),
    [
        ([(0, 1), (2, 1), (5, 1)], 1, [(0, 1, 1), (2, 1, 1), (5, 1, 1)]),
        ([(0, 1), (2, 1), (5, 1)], 4, [(0, 3, 2), (5, 1, 1)]),
        ([(0, 4), (4, 3), (6, 1), (8, 1)], 4, [(0, 4, 1), (4, 3, 2), (8, 1, 1)]),
        ([(0, 3), (1, 1), (2, 1)], 4, [(0, 3, 3)]),
        # A call as long as the unit is a box of its own, and the calls around it are not merged across it.
        ([(0, 1), (1, 4), (2, 1), (3, 1)], 4, [(0, 1, 1), (1, 4, 1), (2, 2, 2)]),
    ],
)
def test_short_calls_within_a_unit_are_one_box(calls: list[tuple[int, int]], unit: int, expected: object) -> None:
    assert shown(_merged(boxes(*calls), unit)) == expected


@pytest.mark.parametrize("other", [{"iterator": 1}, {"track": 1}, {"blocking": False}])
def test_calls_of_another_kind_are_other_boxes(other: dict[str, int]) -> None:
    first, second = boxes((0, 1), (1, 1)), boxes((2, 1), (3, 1), **other)
    columns = (np.concatenate([getattr(first, name), getattr(second, name)]) for name in Boxes.__slots__)
    assert shown(_merged(Boxes(*columns), 8)) == [(0, 2, 2), (2, 2, 2)]


@pytest.mark.parametrize(
    ("calls", "unit", "expected"),
    [
        # Two boxes are few enough.
        ([(0, 1), (9, 1)], 1, ([(0, 1, 1), (9, 1, 1)], 1)),
        ([(0, 1), (1, 1), (2, 1), (3, 1)], 1, ([(0, 2, 2), (2, 2, 2)], 2)),
        # As long as the unit is not yet shorter than the unit.
        ([(0, 4), (4, 4), (8, 4)], 4, ([(0, 8, 2), (8, 4, 1)], 8)),
        # Merging ends with the first unit that is longer than every call.
        ([(0, 3), (10, 3), (20, 3)], 1, ([(0, 3, 1), (10, 3, 1), (20, 3, 1)], 4)),
        ([(0, 3), (10, 3), (20, 3)], 0, ([(0, 3, 1), (10, 3, 1), (20, 3, 1)], 4)),
        ([(0, 1 << 62), (1, 1 << 62), (2, 1 << 62)], 1 << 63, ([(i, 1 << 62, 1) for i in range(3)], 1 << 62)),
    ],
)
def test_units_double_until_there_are_few_boxes_or_all_are_shorter(
    calls: list[tuple[int, int]], unit: int, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "MAX_BOXES", 2)
    found, used = _bounded(boxes(*calls), unit)
    assert (shown(found), used) == expected
