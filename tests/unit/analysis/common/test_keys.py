"""Keys made of integer columns."""

import numpy as np

from tpu_profile_plugin.analysis.common.keys import among, dense_codes, row_codes
from tpu_profile_plugin.analysis.grouping.group_names import numbered
from tpu_profile_plugin.cache.sizes import size_of


def test_among_an_ascending_list():
    values = np.array([5, -1, 9, 3, 5, 2**62, 0], np.int64)
    assert among(values, np.array([-1, 3, 3, 5], np.int64)).tolist() == [True, True, False, True, True, False, False]
    assert among(values, np.zeros(0, np.int64)).tolist() == [False] * 7
    assert among(np.zeros(0, np.int64), values).tolist() == []


def test_rows_are_numbered_in_ascending_order():
    code, first = row_codes(np.array([4, 2, 4, 2]), np.array([1, 9, 1, 8]))
    assert (code.tolist(), first.tolist()) == ([2, 1, 2, 0], [3, 1, 0])


def test_names_of_groups_are_measured_without_reading_them():
    names = numbered(100_000)
    assert (len(names), names[99_999]) == (100_000, "99999")
    assert names.nbytes == 1_200_000 <= size_of(names) < 1_201_000


def test_few_distinct_rows_are_numbered_without_sorting():
    columns = [(np.array([1, 0, 1, 0]), 2), (np.array([0, 2, 0, 1]), 3)]
    code, first = dense_codes(columns)
    assert (code.tolist(), [(int(columns[0][0][i]), int(columns[1][0][i])) for i in first]) == (
        [2, 1, 2, 0],
        [(0, 1), (0, 2), (1, 0)],
    )
    large = [(np.array([0, 9_999_999, 0]), 10_000_000), (np.array([3, 1, 3]), 4)]
    assert dense_codes(large)[0].tolist() == [0, 1, 0]
    assert [part.tolist() for part in dense_codes([(np.zeros(0, np.int64), 5)])] == [[], []]
