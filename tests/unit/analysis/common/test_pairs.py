"""Openings and closings of a key, first in first out, and numbers of rows."""

import numpy as np

from tpu_profile_plugin.analysis.common.keys import pair_in_order, row_codes


def pairs(text):
    """Events such as `a+ b+ a-`; the answer as pairs of positions."""
    events = text.split()
    keys = np.array([ord(event[0]) for event in events], np.int64)
    opens = np.array([event[1] == "+" for event in events], np.bool_)
    return list(zip(*(column.tolist() for column in pair_in_order(keys, opens)), strict=True))


def test_first_in_first_out_per_key():
    assert pairs("a+ b+ a+ a- b- a-") == [(0, 3), (1, 4), (2, 5)]


def test_what_is_closed_but_not_open_or_open_and_never_closed_has_no_pair():
    assert pairs("a- a+ a- a- a+ b- b+ b-") == [(1, 2), (6, 7)]
    assert pairs("b- b- a- a+ a+ a-") == [(3, 5)]
    assert pairs("") == []


def test_events_with_a_negative_key_take_no_part():
    key, opens = np.array([-1, 3, -1, 3, 3, 3]), np.array([True, True, False, True, False, False])
    assert [column.tolist() for column in pair_in_order(key, opens)] == [[1, 3], [4, 5]]


def test_rows_are_numbered_in_ascending_order():
    code, first = row_codes(np.array([5, 1, 5, 1]), np.array([2, 9, 2, -7]))
    assert (code.tolist(), first.tolist()) == ([2, 1, 2, 0], [3, 1, 0])
    code, first = row_codes(np.array([7, 7, 7]), np.array([4, 0, 4]), np.array([1, 1, 1]))
    assert (code.tolist(), first.tolist()) == ([1, 0, 1], [1, 0])
    code, first = row_codes(np.zeros(0, np.int64))
    assert (code.tolist(), first.tolist()) == ([], [])
