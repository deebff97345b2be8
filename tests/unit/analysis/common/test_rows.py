"""Rows of columns: openings and closings, numbers of rows, membership."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.common.rows import among, extents, members, pair_in_order, row_codes
from tpu_profile_plugin.analysis.grouping.groups import numbered
from tpu_profile_plugin.cache.memory import size_of


def test_among_an_ascending_list():
    values = np.array([5, -1, 9, 3, 5, 2**62, 0], np.int64)
    assert among(values, np.array([-1, 3, 3, 5], np.int64)).tolist() == [True, True, False, True, True, False, False]
    assert among(values, np.zeros(0, np.int64)).tolist() == [False] * 7
    assert among(np.zeros(0, np.int64), values).tolist() == []


def test_rows_are_numbered_in_ascending_order():
    code, first = row_codes(np.array([4, 2, 4, 2]), np.array([1, 9, 1, 8]))
    assert (code.tolist(), first.tolist()) == ([2, 1, 2, 0], [3, 1, 0])
    code, first = row_codes(np.array([5, 1, 5, 1]), np.array([2, 9, 2, -7]))
    assert (code.tolist(), first.tolist()) == ([2, 1, 2, 0], [3, 1, 0])
    code, first = row_codes(np.array([7, 7, 7]), np.array([4, 0, 4]), np.array([1, 1, 1]))
    assert (code.tolist(), first.tolist()) == ([1, 0, 1], [1, 0])
    code, first = row_codes(np.zeros(0, np.int64), np.zeros(0, np.uint8))
    assert (code.tolist(), first.tolist()) == ([], [])
    code, first = row_codes(np.zeros(0, np.int64))
    assert (code.tolist(), first.tolist()) == ([], [])


@pytest.mark.parametrize(
    "values",
    [
        np.array([7, 3, 7, 5], np.uint8),  # close together
        np.array([-2, -9, -2, -8]),
        np.array([2**63 + 7, 2**63 + 3, 2**63 + 7, 2**63 + 5], np.uint64),
        np.array([2**40, -(2**62), 2**40, 0]),  # far apart
        np.array([2**63 - 1, -(2**63), 2**63 - 1, 0]),
        np.array([2**64 - 1, 0, 2**64 - 1, 1], np.uint64),
    ],
)
def test_numbers_close_together_and_far_apart(values):
    code, first = row_codes(values)
    assert (code.dtype, code.tolist(), first.tolist()) == (np.int64, [2, 0, 2, 1], [1, 3, 0])
    code, first = row_codes(np.array([0, 1, 1, 0]), values)
    assert (code.tolist(), first.tolist()) == ([1, 2, 3, 0], [3, 0, 1, 2])


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_all_values_of_a_narrow_type_are_numbered(kind):
    limits = np.iinfo(kind)
    code, first = row_codes(np.arange(limits.min, limits.max + 1).astype(kind)[::-1])
    assert (code.tolist(), first.tolist()) == (list(range(255, -1, -1)),) * 2


def test_members_of_ranges():
    owner, index = members(np.array([10, 5, 7, 0]), np.array([2, 0, 3, 1]))
    assert (owner.tolist(), index.tolist()) == ([0, 0, 2, 2, 2, 3], [10, 11, 7, 8, 9, 0])
    owner, index = members(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert (owner.tolist(), index.tolist()) == ([], [])


def test_extents_of_keys():
    found = extents(np.array([4, -1, 4, 4]), np.array([30, 5, 10, 20]), np.array([40, 9, 70, 25]))
    assert [column.tolist() for column in found] == [[-1, 4], [5, 10], [9, 70]]


def test_names_of_groups_are_measured_without_reading_them():
    names = numbered(100_000)
    assert (len(names), names[99_999]) == (100_000, "99999")
    assert names.nbytes == 1_200_000 <= size_of(names) < 1_201_000


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
