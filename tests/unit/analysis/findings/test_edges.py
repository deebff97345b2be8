"""When events of a thread begin and end, compared with sorting all of them."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.budget.host_time import levels
from tpu_profile_plugin.analysis.findings.evidence.host.edges import NEVER, Edges

# Name 0 lasts from 0 to 100 around 1 (10 to 20, 50 to 60) and 2 (12 to 15); name 3 follows from 100 to 130.
BEGIN, END, NAME = (
    np.array(column, np.int64) for column in ([0, 10, 12, 50, 100], [100, 20, 15, 60, 130], [0, 1, 2, 1, 3])
)


def nested():
    return Edges.of(levels(BEGIN, END, NAME))


@pytest.mark.parametrize(
    ("least", "pauses"),
    [
        (41, ([], [])),
        (40, ([60], [100])),
        (31, ([60], [100])),
        (30, ([20, 60, 100], [50, 100, 130])),
        (29, ([20, 60, 100], [50, 100, 130])),
        (10, ([0, 20, 50, 60, 100], [10, 50, 60, 100, 130])),
    ],
)
def test_pauses(least, pauses):
    begin, end = nested().pauses(least)
    assert (begin.tolist(), end.tolist()) == pauses


def test_the_next_edge():
    assert nested().after(np.array([-5, 0, 15, 16, 60, 100, 130])).tolist() == [0, 10, 20, 20, 100, 130, NEVER]


def test_kinds():
    """At 100 one event ends and another one begins: the end counts."""
    assert nested().kind(np.array([0, 15, 50, 60, 100, 130, 70])).tolist() == [0, 5, 2, 3, 1, 7, -1]
    assert [nested().of_kind(kind).tolist() for kind in (2, 3, 9)] == [[10, 50], [20, 60], []]


def test_no_events():
    empty = Edges.of(levels(*(np.zeros(0, np.int64),) * 3))
    assert [part.tolist() for part in empty.pauses(1)] == [[], []]
    assert empty.after(np.array([1])).tolist() == [NEVER]


@pytest.mark.parametrize("seed", range(20))
def test_events_that_do_not_nest(seed):
    random = np.random.default_rng(seed)
    begin = random.integers(0, 4000, 200)
    end = begin + random.integers(1, 60, 200)
    edges = Edges.of(levels(begin, end, random.integers(0, 5, 200)))
    every = np.unique(np.concatenate([begin, end]))
    length = np.diff(every)
    since, until = edges.pauses(12)
    assert since.tolist() == every[:-1][length >= 12].tolist()
    assert (until - since).tolist() == length[length >= 12].tolist()
    assert edges.after(every[:-1]).tolist() == every[1:].tolist()
