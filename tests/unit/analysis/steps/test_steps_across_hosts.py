"""Steps of several hosts side by side: which step of one is which of another."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_profile_plugin._native import step_shift
from tpu_profile_plugin.analysis.common.spans import PartTimes
from tpu_profile_plugin.analysis.steps.step_table import (
    CLASSES,
    SPARSE_CORE_IDS,
    StepTable,
    core_in_run,
    is_sparse,
    merge_steps,
)


def spans(*pairs):
    return (
        tuple(np.array(column, np.int64) for column in zip(*pairs, strict=True)) if pairs else (np.zeros(0, int),) * 2
    )


@pytest.mark.parametrize(
    ("chief", "other", "offset"),
    [
        ([(0, 10), (10, 20)], [(0, 10), (10, 20)], 0),
        ([(0, 10), (10, 20), (20, 30)], [(10, 20), (20, 30)], 1),
        ([(10, 20), (20, 30)], [(0, 10), (10, 20), (20, 30)], -1),
        ([(0, 10), (10, 20)], [(6, 16), (26, 36)], 1),
        ([(0, 10), (10, 20)], [(5, 15), (15, 25)], 0),
        ([(0, 10)], [(50, 60), (60, 70)], 0),
        ([(0, 10)], [], 0),
    ],
)
def test_the_longest_overlap_decides(chief, other, offset):
    assert step_shift(spans(*chief), spans(*other)) == offset


@st.composite
def series(draw):
    """Steps one after the other."""
    steps = draw(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9)), min_size=1, max_size=12))
    at, last, found = draw(st.integers(0, 60)), -1, []
    for length, gap in steps:
        begin, end = at, max(at + length, last + 1)
        found.append((begin, end))
        at, last = end + gap, end
    return spans(*found)


def by_pairs(chief, other):
    """The offset by the overlap of all pairs; where steps of one series do not overlap, it is that of a walk."""
    overlap = {}
    for c, (chief_begin, chief_end) in enumerate(zip(*(column.tolist() for column in chief), strict=True)):
        for i, (begin, end) in enumerate(zip(*(column.tolist() for column in other), strict=True)):
            overlap[c - i] = overlap.get(c - i, 0) + max(min(chief_end, end) - max(chief_begin, begin), 0)
    order = [*range(len(chief[0])), *range(-1, -len(other[0]), -1)]
    return max(order, key=lambda shift: overlap[shift])


@given(series(), series())
def test_the_walk_finds_what_all_pairs_say(chief, other):
    assert step_shift(chief, other) == by_pairs(chief, other)


@pytest.mark.parametrize(
    ("chief", "other", "offset"),
    [
        # Whichever series is out of order, and whether two of its steps end together or in reverse.
        ([(10, 50)], [(20, 40), (10, 40)], -1),
        ([(30, 60), (10, 60)], [(20, 70)], 1),
        ([(10, 20), (50, 60), (30, 60)], [(30, 70)], 2),
        ([(20, 70), (40, 50)], [(40, 50), (10, 40)], -1),
        # Of steps that end together both are followed by the next.
        ([(0, 20), (0, 20)], [(10, 20), (0, 20)], 0),
        ([(10, 20), (0, 20)], [(0, 20), (0, 20)], 0),
    ],
)
def test_series_out_of_order(chief, other, offset):
    assert step_shift(spans(*chief), spans(*other)) == offset


def timed(name, *pairs):
    begin, end = (np.array(column, np.int64)[:, None] for column in zip(*pairs, strict=True))
    return dataclasses.replace(
        table(*begin[:, 0]),
        begin_ps=begin,
        duration_ps=end - begin,
        names=tuple(f"{name}{i}" for i in range(len(begin))),
    )


def test_the_host_with_the_shortest_series_leads():
    long, short = timed("long", (0, 10), (10, 30), (30, 40)), timed("short", (100, 110), (110, 120))
    merged = merge_steps([long, short], [True, True])
    assert (merged.names, merged.begin_ps.tolist()) == (("short0", "short1"), [[0, 100], [10, 110]])


def test_hosts_whose_common_steps_touch_but_do_not_meet():
    chief = timed("chief", (0, 10), (10, 20))
    late, early = timed("late", (10, 35)), timed("early", (-20, 10))
    merged = merge_steps([chief, late, early], [True] * 3)
    assert (len(merged), merged.empty_intersection) == (0, True)


def table(*begins, cores=1):
    count = len(begins)
    begin = np.repeat(np.array(begins, np.int64)[:, None], cores, axis=1)
    return StepTable(
        number=np.arange(count, dtype=np.int64) + 7,
        names=tuple(f"s{i}" for i in range(count)),
        cores=tuple(range(cores)),
        begin_ps=begin,
        duration_ps=np.full((count, cores), 10, np.int64),
        times=PartTimes.of(CLASSES, np.ones((len(CLASSES), count, cores), np.int64)),
        category_ps=np.zeros((count, 0), np.int64),
    )


def test_only_shared_steps_stay_and_cores_are_numbered_by_host():
    merged = merge_steps([table(0, 10, 20), table(10, 20, 30, cores=2)], [True, True])
    assert merged.begin_ps.tolist() == [[10, 10, 10], [20, 20, 20]]
    assert merged.cores == (0, 1000, 1001)
    assert merged.number.tolist() == [0, 1]


def test_whole_tables_are_taken_as_they_are():
    merged = merge_steps([table(0, 10), table(0, 10)], [True, True])
    assert (merged.begin_ps.tolist(), merged.names) == ([[0, 0], [10, 10]], ("s0", "s1"))


@pytest.mark.parametrize("host", [0, 1, 999, 1000, 4095])
@pytest.mark.parametrize("core", [0, 7, 999])
def test_ids_of_thousands_of_hosts_tell_hosts_and_kinds_of_cores_apart(host, core):
    dense, sparse = core_in_run(host, core), core_in_run(host, SPARSE_CORE_IDS + core)
    assert (is_sparse(dense), is_sparse(sparse)) == (False, True)
    if host < 1000:
        assert dense == 1000 * host + core, "the ids that other clients know"


def test_no_two_cores_share_an_id():
    ids = [core_in_run(host, core + kind) for host in range(998, 1003) for core in range(20) for kind in (0, 1_000_000)]
    assert len(set(ids)) == 200
