"""Steps of several hosts side by side, and the work of TPU ops in each."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from builders.answers import summary
from builders.shown import profile
from hypothesis import given
from hypothesis import strategies as st

from tpu_profile_plugin._native import step_shift
from tpu_profile_plugin.analysis.common.spans import PartTimes
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.ops.op_tables import HBM, READ
from tpu_profile_plugin.analysis.steps.step_ops import StepWork, merged_step_work, step_ops
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


# The work of TPU ops in each step: shares of the work of all runs, with and without infeed and outfeed.


CORE = """
plane 1 "/device:TPU:0"
metadata f {program_id=7, symbol_id=1, hlo_category="c", flops=100, model_flops=90, bytes_accessed=8, TRAFFIC}
metadata i {program_id=7, symbol_id=2, hlo_category="infeed", flops=4, model_flops=3, bytes_accessed=6, TRAFFIC}
metadata w {program_id=7, symbol_id=3, hlo_category="while", flops=1000, bytes_accessed=1000, TRAFFIC}
line 1 Steps
0us +100us "0"
200us +100us "1"
line 5 "XLA Ops"
0us +60us w
0us +10us f
20us +10us f
70us +5us i
200us +10us f
400us +10us f
""".replace("TRAFFIC", "memory_access_breakdown=0x0a070801100118e807")  # reads 1000 bytes of HBM


def works(*texts: str) -> tuple[list[float], list[StepWork]]:
    """Step times in us, and the work of the common steps: of all ops, and without infeed and outfeed."""
    spaces = [profile(text) for text in texts]
    tables = [
        step_ops(space, preprocess(space), summary(text).steps) for space, text in zip(spaces, texts, strict=True)
    ]
    _, *both = merged_step_work(tables, [True] * len(texts))
    return (both[0].time_ps / 1e6).tolist(), both


def test_every_step_has_its_share_of_the_work_of_an_op() -> None:
    times, (whole, rest) = works(CORE)
    assert times == [100, 100]
    # Of the loop only what is in it counts.
    assert (whole.flops.tolist(), rest.flops.tolist()) == ([204, 100], [200, 100])
    assert (whole.model_flops.tolist(), rest.model_flops.tolist()) == ([183, 90], [180, 90])
    assert (whole.bytes.tolist(), rest.bytes.tolist()) == ([22, 8], [16, 8])
    assert whole.traffic[:, HBM, READ].tolist() == [3000, 1000]
    assert rest.traffic[:, HBM, READ].tolist() == [2000, 1000]
    assert (rest.time_ps / 1e6).tolist() == [95, 100]


def test_an_op_that_ran_in_part_of_its_steps_is_an_op_in_each() -> None:
    """A quarter or a half of an op with recorded traffic is one; the infeed is another."""
    _, (whole, rest) = works(CORE)
    assert (whole.accesses.tolist(), rest.accesses.tolist()) == ([2, 1], [1, 1])


def test_work_of_hosts_adds_up_and_the_mean_is_that_of_a_step() -> None:
    _, (whole, rest) = works(CORE, CORE)
    assert (whole.flops.tolist(), rest.flops.tolist()) == ([408, 200], [400, 200])
    assert (whole.mean.flops.tolist(), rest.mean.accesses.tolist()) == ([304], [2])
    assert StepWork.of(np.zeros(0), np.zeros((0, len(works(CORE)[1][0].traffic[0].ravel()) + 4))).mean.flops == [0]
