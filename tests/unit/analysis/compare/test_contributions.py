"""What adds up to a difference, from typed-in work of two runs: kinds of change at each limit, order, places."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.blame.places import Place
from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES
from tpu_profile_plugin.analysis.compare.contributions import (
    Contribution,
    by_place,
    contributions,
    describe,
    how,
    kind_of,
    machine,
    principal,
)
from tpu_profile_plugin.analysis.compare.host_work import CONTAINERS, Fingerprint
from tpu_profile_plugin.analysis.compare.match import Match
from tpu_profile_plugin.analysis.compare.places import PlacePair
from tpu_profile_plugin.analysis.compare.run_work import PlacedTime, RunWork, Sample, WorkedOp
from tpu_profile_plugin.analysis.summary.outliers import outliers_of

NONE = Sample(0.0, 0.0, 8)


def op(name, ps, runs=1.0, *, program="f", framework="", source="", shapes=(), spread=0.0):
    one = Fingerprint("fusion", shapes, framework, source, name.partition(".")[0])
    by_step = np.full(8, ps) + spread * np.array([1, -1] * 4)
    return WorkedOp(program, f"{program}(7)", name, one, frozenset(), ps, by_step, runs, source)


def pair(old, new, relation="same", types=("", "")):
    """A match of ops; None or one op or several on each side."""
    base, run = (() if side is None else side if isinstance(side, tuple) else (side,) for side in (old, new))
    return Match(base, run, relation, types)


def work(parts=None, *, executions=None, length=None, in_functions=NONE):
    """The average step of a run of eight: parts of the step by id, `BETWEEN` among them."""
    given = {name: Sample(float(of), 0.0, 8) if isinstance(of, int) else of for name, of in (parts or {}).items()}
    samples = tuple(given.get(name, NONE) for name in CATEGORIES)
    between = given.get(BETWEEN, NONE)
    whole = sum(one.mean for one in samples) + between.mean if length is None else length
    lasts = Sample(whole, 0.0, 8)
    return RunWork(
        *((), samples, between, lasts, lasts, between, lasts, 8, np.zeros(8, np.bool_)),
        outliers_of(np.zeros(0), np.zeros(0, np.int64)),
        {} if executions is None else executions,
        in_functions=in_functions,
    )


def at(part, text, old, new, **place):
    """A place of both runs; None for a side that does not have it."""
    where = Place(CATEGORIES.index(part), text, **place)
    sides = (None if one is None else PlacedTime(where, one if isinstance(one, Sample) else Sample(float(one), 0.0, 8))
             for one in (old, new))  # fmt: skip
    return PlacePair(*sides)


def of(*pairs):
    found = {}
    for one in pairs:
        found.setdefault(one.either.place.part, []).append(one)
    return found


def shown(changes):
    return [(one.what, one.kind, one.delta_ps, one.certain, one.detail) for one in changes if one.kind != "rest"]


@pytest.mark.parametrize(
    ("ps", "runs", "kind"),
    [
        ((100, 100), (1, 1), "slower"),
        ((100, 99), (1, 1), "faster"),
        ((100, 110), (5, 5.5), "slower"),  # a tenth more runs, not more than that
        ((100, 105), (2, 2.1), "slower"),
        ((100, 120), (5, 6), "more_often"),
        ((20, 30), (2, 3), "more_often"),
        ((20, 60), (2, 4), "slower"),  # each is longer as well
        ((10, 22), (1, 2), "slower"),  # by a tenth
        ((10, 21.8), (1, 2), "more_often"),
        ((110, 100), (5.5, 5), "faster"),
        ((105, 100), (2.1, 2), "faster"),
        ((120, 100), (6, 5), "fewer_often"),
        ((20, 10), (2, 1), "fewer_often"),
        ((22, 10), (2, 1), "faster"),  # each is shorter by a tenth as well
        ((21.8, 10), (2, 1), "fewer_often"),
        ((60, 20), (4, 2), "faster"),
        ((10, 20), (0, 1), "slower"),
        ((20, 10), (1, 0), "faster"),
        ((0, 20), (1, 2), "slower"),
        ((20, 0), (2, 1), "faster"),
    ],
)
def test_ops_take_longer_or_run_more_often(ps, runs, kind):
    assert kind_of(pair(op("a", ps[0], runs[0]), op("a", ps[1], runs[1]))) == kind


def test_what_else_an_op_became_is_its_kind():
    for relation in ("dtype_changed", "shape_changed", "split", "merged", "added", "removed"):
        assert kind_of(pair(op("a", 10, 1), op("a", 30, 3), relation)) == relation
    assert (how(pair(None, None, types=("bf16", "f32"))), how(pair(None, None))) == ("bf16 → f32", "")


LONG = tuple(op(f"part.{i}", 10 * i) for i in range(1, 5))


@pytest.mark.parametrize(
    ("matches", "text"),
    [
        ([pair(op("a.1", 10), op("a.2", 20))], "f: a.2"),
        ([pair(op("a.1", 10), None, "removed")], "f: a.1"),
        ([pair(None, op("a.1", 10, program="g"), "added")], "g: a.1"),
        ([pair(op("a.1", 10), op("a.2", 20, program="g"))], "f → g: a.2"),
        ([pair(op("a.1", 10, program=""), op("a.2", 20, program=""))], "a.2"),
        ([pair(op("a.1", 10), op("a.2", 20, framework="jit(f)/mul"))], "f: a.2 (jit(f)/mul)"),
        ([pair(op("a.1", 10, framework="add"), op("a.2", 20))], "f: a.2 (add)"),
        ([pair(op("a.1", 10, framework="add"), op("a.2", 20, framework="mul"))], "f: a.2 (mul)"),
        ([pair(op("a.1", 10), op("a.2", 20), "dtype_changed", ("bf16", "f32"))], "f: a.2 (bf16 → f32)"),
        (
            [pair(op("a.1", 9, shapes=("s8[8]", "s8[9]")), op("a.2", 9, shapes=("s8[8]", "s8[4]")), "shape_changed")],
            "f: a.2 (s8[9] → s8[4])",
        ),
        # Of one to several: the longest first, three by name.
        ([pair(op("a.1", 10), LONG[:3], "split")], "f: a.1 → part.3, part.2, part.1"),
        ([pair(LONG, op("a.1", 10), "merged")], "f: part.4, part.3, part.2 and 1 more → a.1"),
        ([pair(op("a.1", 10), LONG, "changed")], "f: part.4, part.3, part.2 and 1 more"),
        # Programs that become several.
        ([pair(op("a.1", 9), (op("b.1", 4, program="g"), op("b.2", 5, program="h")), "split")], "f → g, h"),
        ([pair((op("b.1", 4, program="g"), op("b.2", 5, program="h")), op("a.1", 9), "merged")], "g, h → f"),
        (
            [pair(op("a.1", 9), (op("b.1", 4, program="g"), op("b.2", 5, program="h")), "changed")],
            "f → g, h: b.2, b.1",
        ),
        # The one that differs most, then the longest; loops around others last.
        ([pair(op("a.1", 100), op("a.2", 100)), pair(op("b.1", 10), op("b.2", 60))], "f: 2 ops such as b.2"),
        ([pair(op("a.1", 20), op("a.2", 10)), pair(op("b.1", 110), op("b.2", 120))], "f: 2 ops such as b.2"),
        (
            [pair(op(CONTAINERS, 10), op(CONTAINERS, 900)), pair(op("b.1", 11), op("b.2", 12))],
            "f: 2 ops such as b.2",
        ),
        ([pair(op(CONTAINERS, 10), op(CONTAINERS, 900))], f"f: {CONTAINERS}"),
    ],
)  # fmt: skip
def test_a_change_in_words(matches, text):
    assert describe(matches, {one.name: one.name for match in matches for one in (*match.base, *match.run)}) == text


def test_lines_and_events_of_a_change():
    def change(*matches):
        return Contribution("x", "slower", 1, 0, 0, "", matches=matches)

    first, second = op("a.1", 10, source="m.py:3"), op("a.2", 30, source="m.py:9")
    assert change(pair(None, first, "added")).line == "m.py:3"
    assert change(pair(second, None, "removed")).line == "m.py:9"
    assert change(pair(first, second)).line == "m.py:9"
    assert change(pair(None, (first, second), "added")).line == ""
    assert change(pair(None, first), pair(op(CONTAINERS, 90), op(CONTAINERS, 99))).line == "m.py:3"
    assert change().line == ""
    assert change().events == ("", "")
    assert change(pair((first, second), first)).events == ("a.2", "a.1")
    assert change(pair(second, None), pair(first, first)).events == ("a.2", "")
    placed = replace(change(), place=at("exposed_communication", "all-reduce", 9, None, line="m.py:7"))
    assert (placed.line, placed.events) == ("m.py:7", ("all-reduce", ""))


@pytest.mark.parametrize(
    ("change", "nameless"),
    [({"part": "idle_other"}, True), ({"part": "not_recorded"}, True), ({"kind": "machine"}, True),
     ({"part": "idle_host"}, False), ({}, False)],
)  # fmt: skip
def test_idle_time_without_a_cause_and_the_machine_name_no_change(change, nameless):
    one = Contribution(
        **{"what": "x", "kind": "slower", "delta_ps": 1, "base_ps": 0, "run_ps": 0, "category": ""} | change
    )
    assert one.nameless == nameless


@pytest.mark.parametrize(
    ("other", "order"),
    [
        (200, ["exposed_copy", "idle_input", "idle_other", "Rest"]),
        (201, ["idle_other", "exposed_copy", "idle_input", "Rest"]),
    ],
)
def test_the_largest_change_comes_first_and_idle_time_without_a_cause_last(other, order):
    base = work({"idle_input": 90, "idle_other": 20, "idle_gap": 7})
    run = work({"idle_input": 30, "exposed_copy": 100, "idle_other": 20 + other, "idle_gap": 7}, length=500.0)
    found = contributions(base, run, [], 5.0)
    assert [one.what for one in found] == order
    assert [one.delta_ps for one in found if one.what != "idle_other"] == [100, -60, 500 - 117 - (other + 40)]
    assert found[-1] == Contribution("Rest", "rest", 343 - other, 0.0, 0.0, "")


@pytest.mark.parametrize(
    ("floor", "base", "run", "certain"),
    [
        (50.0, 100, 150, False),  # no more than noise
        (49.0, 100, 150, True),
        (49.0, 150, 100, True),
        (9.0, 100, Sample(120.0, 0.0, 8, excess=20.0, single=1), False),  # one long step may be an accident
        (9.0, Sample(120.0, 0.0, 8, excess=20.0, single=1), 100, False),
        (9.0, Sample(100.0, 0.0, 1), Sample(120.0, 0.0, 1), True),  # too few for an interval
        (9.0, Sample(100.0, 800.0, 8), Sample(120.0, 800.0, 8), False),
        (9.0, Sample(120.0, 800.0, 8), Sample(100.0, 800.0, 8), False),
        (9.0, Sample(100.0, 80.0, 8), Sample(120.0, 80.0, 8), True),
    ],
)  # fmt: skip
def test_a_change_is_certain_beyond_noise_and_its_interval(floor, base, run, certain):
    (found,) = contributions(work({"idle_gap": base}), work({"idle_gap": run}), [], floor)[:-1]
    assert found.certain == certain


def test_long_steps_are_apart_where_they_differ_by_more_than_noise():
    base, run = work({"idle_gap": Sample(100.0, 0.0, 8, 4.0, 2)}), work({"idle_gap": Sample(130.0, 0.0, 8, 14.0, 2)})
    assert shown(contributions(base, run, [], 10.0)) == [("idle_gap", "slower", 30, True, "")]
    assert shown(contributions(base, run, [], 9.0)) == [
        ("idle_gap", "slower", 20, True, ""),
        ("idle_gap", "single_steps", 10, True, ""),
    ]
    assert shown(contributions(run, base, [], 9.0)) == [
        ("idle_gap", "faster", -20, True, ""),
        ("idle_gap", "single_steps", -10, True, ""),
    ]


@pytest.mark.parametrize(
    ("part", "ps", "executions", "kind", "detail"),
    [
        ("idle_launch", (100, 300), (1, 3), "more_executions", "1 → 3 executions per step"),
        ("idle_transfer", (300, 100), (3, 1), "fewer_executions", "3 → 1 executions per step"),
        ("idle_launch", (300, 100), (1, 3), "faster", ""),
        ("idle_launch", (100, 300), (3, 1), "slower", ""),
        ("idle_launch", (300, 100), (2, 2), "faster", ""),
        ("idle_launch", (100, 300), (5, 5.5), "slower", ""),
        ("idle_launch", (300, 100), (5.5, 5), "faster", ""),
        ("idle_launch", (100, 300), (0, 3), "slower", ""),
        ("idle_launch", (300, 100), (3, 0), "faster", ""),
        ("idle_host", (100, 300), (1, 3), "slower", ""),
    ],
)
def test_more_executions_explain_time_between_them(part, ps, executions, kind, detail):
    base, run = (work({part: time}, executions={"f": count}) for time, count in zip(ps, executions, strict=True))
    ((_, found, _, _, text),) = shown(contributions(base, run, [], 5.0))
    assert (found, text) == (kind, detail)


def test_long_steps_between_executions_are_no_more_of_them():
    base, run = work({"idle_launch": 100}), work({"idle_launch": Sample(200.0, 0.0, 8, 100.0, 2)})
    base, run = replace(base, executions={"f": 1}), replace(run, executions={"f": 3})
    assert [one[1] for one in shown(contributions(base, run, [], 5.0))] == ["single_steps"]


@pytest.mark.parametrize(
    ("places", "detail"),
    [
        ([(40, 90)], "load"),
        ([(40, 89)], ""),
        ([(None, 50)], "load"),
        ([(50, None)], ""),
        ([(0, 30), (10, 30)], "load"),  # at two lines
        ([], ""),
    ],
)
def test_a_place_with_half_of_a_difference_is_its_detail(places, detail):
    pairs = of(*(at("idle_input", "load", *both) for both in places), at("idle_input", "log", 10, 30))
    base, run = work({"idle_input": 200, "idle_gap": 50}), work({"idle_input": 300, "idle_gap": 50})
    pairs |= of(at("idle_gap", "op", 5, 6))
    assert shown(contributions(base, run, [], 5.0, pairs)) == [("idle_input", "slower", 100, True, detail)]


def test_functions_of_the_program_make_unexplained_time_that_of_host_code():
    def one(other, within):
        parts = {"idle_host": 50, "idle_other": Sample(other, 0.0, 8, 60.0, 2)}
        return work(parts, in_functions=Sample(within, 0.0, 8, 60.0, 2))

    base, run = one(300.0, 80.0), one(460.0, 200.0)
    alone, moved = {}, of(at("idle_host", "load", 80, 200, function=True))
    assert [one[:3] for one in shown(contributions(base, run, [], 5.0, alone))] == [("idle_other", "slower", 160)]
    found = contributions(base, run, [], 5.0, moved)
    assert [(one.what, one.delta_ps, one.base_ps) for one in found[:-1]] == [
        ("idle_host", 120, 130),
        ("idle_other", 40, 220),
    ]
    # Long steps went into functions in the run only.
    run = replace(run, in_functions=Sample(200.0, 0.0, 8, 0.0, 0))
    found = contributions(base, run, [], 5.0, moved)
    assert sorted((one.what, one.kind, one.delta_ps) for one in found[:-1]) == [
        ("idle_host", "single_steps", -60),
        ("idle_host", "slower", 180),
        ("idle_other", "faster", -20),
        ("idle_other", "single_steps", 60),
    ]


def placed(base, run, floor, *places):
    pairs = of(*places)
    return by_place(contributions(base, run, [], floor, pairs), base, run, floor, pairs)


def test_places_are_changes_of_their_own_and_the_rest_stays_the_part():
    base, run = work({"idle_host": 100}, length=1000.0), work({"idle_host": 300}, length=2000.0)
    places = (
        at("idle_host", "load", 20, 180),
        at("idle_host", "save", 9, 7),  # a thousandth of the longer step
        at("idle_host", "log", 30, 31),  # less
        at("idle_host", "", 10, 60),  # unknown
    )
    found = placed(base, run, 41.0, *places)
    assert shown(found) == [
        ("idle_host", "slower", 160, True, "load"),
        ("idle_host", "slower", 42, True, "elsewhere"),
        ("idle_host", "faster", -2, False, "save"),
    ]
    assert [(one.base_ps, one.run_ps) for one in found] == [(20, 180), (71, 113), (9, 7), (0, 0)]
    assert found[-1].delta_ps == 800
    # As much as noise.
    assert shown(placed(base, run, 42.0, *places))[1] == ("idle_host", "slower", 42, False, "elsewhere")


def test_what_is_left_of_a_part_may_fall_and_is_no_surer_than_the_part():
    base = work({"idle_host": Sample(200.0, 90000.0, 8)})
    run = work({"idle_host": Sample(210.0, 90000.0, 8)})
    found = placed(base, run, 5.0, at("idle_host", "load", 20, 80))
    assert shown(found) == [
        ("idle_host", "slower", 60, True, "load"),
        ("idle_host", "faster", -50, False, "elsewhere"),
    ]


def test_parts_of_one_run_only_are_told_by_place_as_well():
    none, some = work(), work({"idle_input": 100})
    places = at("idle_input", "load", None, 60), at("idle_input", "log", None, 40)
    assert shown(placed(none, some, 5.0, *places)) == [
        ("idle_input", "slower", 60, True, "load"),
        ("idle_input", "slower", 40, True, "log"),
    ]
    places = at("idle_input", "load", 60, None), at("idle_input", "log", 40, None)
    assert shown(placed(some, none, 5.0, *places)) == [
        ("idle_input", "faster", -60, True, "load"),
        ("idle_input", "faster", -40, True, "log"),
    ]


def test_functions_of_the_program_are_places_of_host_code():
    base, run = (work({"idle_other": ps}, in_functions=Sample(float(ps), 0.0, 8)) for ps in (100, 300))
    found = placed(base, run, 5.0, at("idle_host", "load", 100, 270, function=True))
    assert shown(found) == [("idle_host", "slower", 170, True, "load"), ("idle_host", "slower", 30, True, "elsewhere")]
    assert [one.run_ps for one in found] == [270, 30, 0]


def test_computation_is_told_by_op_only():
    moved = {"compute": 100, "data_movement": 20}, {"compute": 150, "data_movement": 90}
    assert contributions(*map(work, moved), [], 5.0) == [Contribution("Rest", "rest", 120, 0.0, 0.0, "")]


def test_more_executions_tell_more_than_places():
    base, run = work({"idle_launch": 100}, executions={"f": 1}), work({"idle_launch": 300}, executions={"f": 3})
    found = placed(base, run, 5.0, at("idle_launch", "launch", 100, 300))
    assert shown(found) == [("idle_launch", "more_executions", 200, True, "1 → 3 executions per step")]


@pytest.mark.parametrize(
    ("old", "new", "floor", "kind"),
    [
        ((10.0, 100.0), (60.0, 200.0), 49.0, "single_steps"),
        ((10.0, 100.0), (59.0, 200.0), 49.0, "slower"),
        ((10.0, 100.0), (60.0, 200.0), 50.0, "slower"),  # half of the difference is noise
        ((60.0, 200.0), (10.0, 100.0), 49.0, "single_steps"),
        ((59.0, 200.0), (10.0, 100.0), 49.0, "faster"),
    ],
)
def test_a_place_differs_in_long_steps_if_these_make_half_of_it(old, new, floor, kind):
    before, after = (Sample(mean, 0.0, 8, excess, 2) for excess, mean in (old, new))
    base, run = work({"idle_input": before}), work({"idle_input": after})
    found = placed(base, run, floor, at("idle_input", "load", before, after))
    assert [one[1] for one in shown(found) if one[4] == "load"] == [kind]


def of_ops(*matches, floor=5.0, executions=({}, {})):
    base, run = (work(executions=one) for one in executions)
    return contributions(base, run, matches, floor)[:-1]


def told(*matches, **options):
    return [(one.what, one.kind, one.delta_ps, len(one.matches)) for one in of_ops(*matches, **options)]


def here(name, old, new, line="m.py:3", *, framework="f/mul", program="f", runs=(1.0, 1.0)):
    """A match of ops at a line; a side without a time does not have it."""
    sides = (
        None if ps is None else op(name, ps, count, framework=framework, source=line, program=program)
        for ps, count in zip((old, new), runs, strict=True)
    )
    return pair(*sides, "added" if old is None else "removed" if new is None else "same")


def test_ops_of_one_sort_at_one_line_of_one_program_are_one_change():
    first = here("a.1", 100, 150)
    assert told(first, here("a.2", 100, 80)) == [("f: 2 ops such as a.1 (f/mul)", "slower", 30, 2)]
    assert told(first, here("a.2", 100, 40)) == [("f: 2 ops such as a.2 (f/mul)", "faster", -10, 2)]
    # Of another sort, line or program.
    others = here("a.2", 100, 80, framework="f/add"), here("a.2", 100, 80, "m.py:4"), here("a.2", 100, 80, program="g")
    for other, name in zip(others, ("f: a.2 (f/add)", "f: a.2 (f/mul)", "g: a.2 (f/mul)"), strict=True):
        assert told(first, other) == [("f: a.1 (f/mul)", "slower", 50, 1), (name, "faster", -20, 1)]
    # Without a framework op by what the instruction is; without a line each by itself.
    bare = here("a.1", 100, 150, framework=""), here("a.2", 100, 80, framework=""), here("b.2", 100, 80, framework="")
    assert told(*bare) == [("f: 2 ops such as a.1", "slower", 30, 2), ("f: b.2", "faster", -20, 1)]
    assert told(here("a.1", 100, 150, ""), here("a.2", 100, 80, "")) == [
        ("f: a.1 (f/mul)", "slower", 50, 1),
        ("f: a.2 (f/mul)", "faster", -20, 1),
    ]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (11, [("f: 2 ops such as a.1 (f/mul)", "slower", 101, 2)]),
        (10, [("f: a.1 (f/mul)", "slower", 90, 1), ("f: a.2 (f/mul)", "slower", 10, 1)]),
        (-10, [("f: a.1 (f/mul)", "slower", 90, 1), ("f: a.2 (f/mul)", "faster", -10, 1)]),
    ],
)
def test_an_op_that_makes_nearly_all_of_a_difference_is_told_apart(other, expected):
    assert told(here("a.1", 100, 190), here("a.2", 100, 100 + other)) == expected


def test_new_ops_of_one_line_stay_together():
    kept = here("k.1", 100, 100, "m.py:9")
    assert told(kept, here("a.1", None, 90), here("a.2", None, 10)) == [
        ("f: 2 ops such as a.1 (f/mul)", "added", 100, 2)
    ]
    assert told(kept, here("a.1", 90, None), here("a.2", 10, None), here("b.1", 20, None, "m.py:4")) == [
        ("f: 2 ops such as a.1 (f/mul)", "removed", -100, 2),
        ("f: b.1 (f/mul)", "removed", -20, 1),
    ]
    # Without a line, those of one program.
    assert told(kept, here("a.1", None, 90, ""), here("b.1", None, 10, "")) == [
        ("f: 2 ops such as a.1 (f/mul)", "added", 100, 2)
    ]


def test_a_new_program_is_one_change():
    kept = here("k.1", 100, 100, "m.py:9")
    new = here("a.1", None, 90, program="g"), here("b.1", None, 20, "m.py:4", program="g")
    gone = here("a.1", 70, None, program="h"), here("b.1", 5, None, "m.py:4", program="h")
    assert told(kept, *new, *gone) == [
        ("g: 2 ops such as a.1 (f/mul)", "added", 110, 2),
        ("h: 2 ops such as a.1 (f/mul)", "removed", -75, 2),
    ]


def test_more_runs_and_longer_ones_at_a_line_are_two_changes():
    often = here("a.1", 100, 300, runs=(1.0, 3.0))
    assert told(often, here("a.2", 100, 180)) == [
        ("f: a.1 (f/mul)", "more_often", 200, 1),
        ("f: a.2 (f/mul)", "slower", 80, 1),
    ]


def test_other_shapes_of_one_program_are_one_change_and_each_split_is():
    reshaped = [
        pair(
            op(f"a.{i}", 10, source=f"m.py:{i}", shapes=("f32[8]",)),
            op(f"a.{i}", 10 * i, shapes=("f32[4]",)),
            "shape_changed",
        )
        for i in (3, 4)
    ]
    assert told(*reshaped) == [("f: 2 ops such as a.4 (f32[8] → f32[4])", "shape_changed", 50, 2)]
    split = [pair(op(f"a.{i}", 10), (op("b.1", 10 * i), op("b.2", 10)), "split") for i in (3, 4)]
    assert [one[1:] for one in told(*split)] == [("split", 40, 1), ("split", 30, 1)]


def test_loops_around_ops_are_at_no_line():
    around = pair(op(CONTAINERS, 100), op(CONTAINERS, 160))
    assert told(around, here("a.1", 100, 120)) == [
        (f"f: {CONTAINERS}", "slower", 60, 1),
        ("f: a.1 (f/mul)", "slower", 20, 1),
    ]


@pytest.mark.parametrize(
    ("runs", "executions", "kind", "what"),
    [
        ((1, 3), (1, 3), "more_executions", "f"),
        ((2, 6), (4, 12), "more_executions", "f"),
        ((6, 2), (3, 1), "fewer_executions", "f"),
        ((1, 2.2), (1, 2), "more_often", "f: a.1 (f/mul)"),  # a tenth more in each execution
        ((1, 2.1), (1, 2), "more_executions", "f"),
        ((1, 2), (1, 2.2), "more_often", "f: a.1 (f/mul)"),
        ((1, 1.15), (1, 1.09), "more_often", "f: a.1 (f/mul)"),  # hardly more executions
        ((1, 3), (1, None), "more_often", "f: a.1 (f/mul)"),
        ((3, 1), (None, 1), "fewer_often", "f: a.1 (f/mul)"),
        ((1, 1), (1, 3), "slower", "f: a.1 (f/mul)"),
    ],
)
def test_ops_that_run_more_often_with_their_program_are_more_executions(runs, executions, kind, what):
    one = here("a.1", 10 * runs[0], 10 * runs[1] + (runs[0] == runs[1]), runs=runs)
    counts = [{} if count is None else {"f": count} for count in executions]
    ((text, found, _, _),) = told(one, executions=counts)
    assert (text, found) == (what, kind)


def test_executions_are_told_for_ops_of_a_program():
    (found,) = of_ops(
        *(here(f"a.{i}", 10, 30, f"m.py:{i}", runs=(1.0, 3.0)) for i in range(2)), executions=({"f": 1}, {"f": 3})
    )
    assert (found.what, found.delta_ps, found.detail) == ("f", 40, "1 → 3 executions per step")


def test_a_factor_of_all_ops_is_the_machine():
    ops = [here(f"a.{i}", 100, 200, f"m.py:{i}", program="fg"[i % 2]) for i in range(6)]
    found = of_ops(*ops, here("b.1", 50, 400, "m.py:9"))
    assert [(one.what, one.kind, one.delta_ps, one.detail) for one in found] == [
        ("f: b.1 (f/mul)", "slower", 350, ""),
        ("6 unchanged ops", "machine", 600, "2.00 times as long"),
    ]


def test_ops_of_the_base_alone_or_of_no_time_tell_nothing_of_the_machine():
    common = machine([*(here("a.1", 10.0, 20.0) for _ in range(5)), here("a.1", 0.0, 10.0), here("a.1", 10.0, 0.0)])
    assert common is not None
    assert (common.factor, common.members) == (2.0, {0, 1, 2, 3, 4})


def test_machines_at_their_limits():
    def factor(*times):
        found = machine([here("a.1", *both, runs=runs) for *both, runs in times])
        return found and (found.factor, len(found.members))

    once = (1.0, 1.0)
    assert factor(*[(11.0, 10.0, once)] * 5) == (10 / 11, 5)
    assert factor(*[(10.0, 20.0, (10.0, 11.0))] * 5) is None
    assert factor(*[(10.0, 20.0, (11.0, 10.0))] * 5) is None
    assert factor(*[(1.0, 1.3, once)] * 5, (1.0, 1.0, once), (1.0, 1.3 * 1.3, once)) == (1.3, 7)
    # The fifth op has half a percent of the time.
    assert factor(*[(99.5, 199.0, once)] * 4, (2.0, 4.0, once)) == (2.0, 5)


def test_one_match_of_many_ops_does_not_stand_for_the_machine():
    many = pair(tuple(op("a", 200.0) for _ in range(5)), tuple(op("a", 400.0) for _ in range(5)))
    assert machine([many]) is None
    assert machine([many, *(here("b.1", 10.0, 10.0) for _ in range(6))]) is None
    assert machine([many, *(here("b.1", 10.0, 20.0) for _ in range(2))]) is not None


def change(what, delta, kind="slower", part=""):
    return Contribution(what, kind, delta, 0, 0, "", part)


@pytest.mark.parametrize(
    ("changes", "delta", "expected"),
    [
        ([change("a", 10), change("b", 30), change("c", -90), change("Rest", 99, "rest")], 7, "b"),
        ([change("a", -10), change("b", -30), change("c", 90)], -7, "b"),
        ([change("a", -10), change("other", -20, part="idle_other")], -7, "a"),
        ([change("a", -10), change("other", -21, part="idle_other")], -7, "other"),
        ([change("other", 20, part="idle_other"), change("m", 30, "machine")], 7, "m"),
        ([change("a", 0)], 7, None),
        ([change("a", 10)], 0, None),
        ([], 7, None),
    ],
)
def test_the_largest_change_along_a_difference(changes, delta, expected):
    found = principal(changes, delta)
    assert (found and found.what) == expected
