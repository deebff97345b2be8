"""Unchanged ops that all became slower by about one factor tell of the machine; at, below and above each limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.compare.contributions import Contribution, machine, principal
from tpu_profile_plugin.analysis.compare.host_work import Fingerprint
from tpu_profile_plugin.analysis.compare.match import Match
from tpu_profile_plugin.analysis.compare.run_work import WorkedOp


def match(old, new, relation="same", runs=(1, 1), ops=1):
    one = Fingerprint("fusion", (), "", "", "fusion")
    base, run = (
        WorkedOp("f", "f", "x", one, frozenset(), ps, np.zeros(0), count)
        for ps, count in zip((old, new), runs, strict=True)
    )
    return Match((base,) * ops, (run,) * ops, relation)


def factors(*found):
    return [match(100.0, 100 * one) for one in found]


@pytest.mark.parametrize(
    ("found", "factor"),
    [
        ((1.5,) * 5, 1.5),
        ((1.5,) * 4, None),  # too few ops
        ((1.1,) * 5, 1.1),
        ((1.09,) * 5, None),
        ((0.5,) * 5, 0.5),
        ((1.95, 1.5, 1.5, 1.5, 1.5), 1.5),  # 1.3 times the common factor
        ((1.96, 1.5, 1.5, 1.5, 1.5), None),  # and above: four ops are alike
        ((1.5,) * 8 + (1.0,) * 2, 1.5),  # 80 % of the time
        ((1.5,) * 7 + (1.0,) * 2, None),
    ],
)
def test_a_common_factor(found, factor):
    common = machine(factors(*found))
    assert (None if common is None else common.factor) == factor


def test_ops_of_one_line_count_each():
    assert machine([match(100.0, 200.0, ops=4), match(50.0, 100.0)]) is not None
    assert machine([match(100.0, 200.0, ops=3), match(50.0, 100.0)]) is None


def test_ops_that_differ_from_the_factor_are_no_members():
    common = machine(factors(*(1.5,) * 8, 1.0, 3.0))
    assert common is not None
    assert common.members == set(range(8))


def test_one_op_does_not_stand_for_the_machine():
    small = [match(10.0, 10.0) for _ in range(6)]
    assert machine([match(1000.0, 2000.0), *small]) is None


def test_short_ops_do_not_count():
    long = [match(100.0, 200.0) for _ in range(4)]
    assert machine([*long, match(1.9, 3.8)]) is None
    assert machine([*long, match(2.2, 4.4)]) is not None


def test_changed_ops_tell_nothing():
    same = factors(*(2.0,) * 4)
    assert machine([*same, match(100.0, 200.0, "shape_changed")]) is None
    assert machine([*same, match(100.0, 200.0, runs=(1, 2))]) is None
    assert machine([*same, match(100.0, 200.0)]) is not None
    assert machine([]) is None


@pytest.mark.parametrize(("idle", "named"), [(200, "mul"), (201, "idle_other")])
def test_a_change_of_the_program_is_named_unless_another_is_twice_as_large(idle, named):
    op, other = Contribution("mul", "slower", 100, 0, 0, ""), Contribution("idle_other", "slower", idle, 0, 0, "")
    less = Contribution("exp", "faster", -500, 0, 0, "")
    found = principal([less, op, replace(other, part="idle_other")], 300)
    assert found is not None
    assert found.what == named
    found = principal([less, op, replace(other, kind="machine")], 300)
    assert found is not None
    assert found.what == named
    assert principal([less], 300) is None
