"""The main thread's events by depth."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.budget import host_time as module
from tpu_profile_plugin.analysis.budget.host_time import levels


def by_level(*events):
    """(begin, end, name) per event of each level."""
    begin, end = np.array([event[:2] for event in events], np.int64).reshape(-1, 2).T
    found = levels(begin, end, np.arange(len(events)))
    columns = zip(found.begin_ps, found.end_ps, found.name, strict=True)
    return [list(zip(*(column.tolist() for column in level), strict=True)) for level in columns]


def test_events_lie_one_level_below_what_encloses_them():
    found = by_level((0, 100), (0, 10), (2, 4), (10, 20), (100, 110))
    assert found == [[(0, 100, 0), (100, 110, 4)], [(0, 10, 1), (10, 20, 3)], [(2, 4, 2)]]
    assert by_level() == []


def test_events_in_any_order_and_such_as_do_not_nest():
    assert by_level((2, 4), (0, 10)) == [[(0, 10, 1)], [(2, 4, 0)]]
    assert by_level((0, 10), (5, 15), (12, 13)) == [[(0, 10, 0)], [(5, 15, 1), (12, 13, 2)]]


def test_the_deepest_levels_are_left_out(monkeypatch):
    monkeypatch.setattr(module, "MOST_LEVELS", 2)
    assert [len(level) for level in by_level((0, 9), (1, 8), (2, 7), (3, 6))] == [1, 1]
