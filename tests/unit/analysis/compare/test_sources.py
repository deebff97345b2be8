"""Source lines of two checkouts: files correspond by their paths' ends, lines by what is written there."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.compare import match
from tpu_profile_plugin.analysis.compare.host_work import Fingerprint
from tpu_profile_plugin.analysis.compare.match import in_layers_of, in_lines_of, match_ops, match_programs
from tpu_profile_plugin.analysis.compare.run_work import WorkedOp


def op(framework, source, shapes=("f32[8]",), inside=(), program="f"):
    one = Fingerprint("fusion", shapes, framework, source, "fusion")
    return WorkedOp(program, program, framework, one, frozenset(inside), 10.0, np.zeros(0), 1, source)


def sources(base, run):
    return [one.print.source for one in in_lines_of(base, run)]


def test_files_correspond_by_the_longest_end_of_their_paths():
    base = [op("mul", "/a/net/layer.py:3"), op("add", "/a/data/layer.py:3"), op("exp", "/a/other.py:5")]
    run = [op("mul", "/b/c/net/layer.py:3"), op("add", "/b/c/data/layer.py:3"), op("sin", "/b/c/new.py:5")]
    assert sources(base, run) == ["/b/c/net/layer.py:3", "/b/c/data/layer.py:3", "~/a/other.py:5~"]
    assert in_lines_of(base, run)[0].source == "/a/net/layer.py:3"
    assert {one.relation for one in match_ops(in_lines_of(base, run)[:2], run[:2], {"f": "f"})} == {"same"}


@pytest.mark.parametrize(
    ("base", "run", "expected"),
    [
        # Two lines more at the top.
        ({3: "mul", 4: "add"}, {5: "mul", 6: "add"}, ["5", "6"]),
        # The line in between is new, or gone.
        ({3: "mul", 4: "add"}, {3: "mul", 4: "exp", 5: "add"}, ["3", "5"]),
        ({3: "mul", 4: "exp", 5: "add"}, {3: "mul", 4: "add"}, ["3", "4~", "4"]),
        # A line that was edited keeps an op, or none.
        ({3: "mul add"}, {9: "mul exp"}, ["9"]),
        ({3: "mul"}, {9: "exp"}, ["3~"]),
        # Lines with the same numbers are the same, whatever is written there.
        ({3: "mul", 4: "add"}, {3: "add", 4: "mul"}, ["3", "4"]),
        # An edited passage: the lines that have most in common, for their length.
        ({2: "p", 3: "a b", 4: "c d"}, {7: "p", 8: "a x", 9: "c", 10: "c x y z"}, ["7", "8", "9"]),
        ({2: "p", 3: "a b", 4: "c d"}, {7: "p", 8: "y", 9: "a x", 10: "d", 11: "q"}, ["7", "9", "10"]),
        ({3: "a b", 4: "c d", 5: "e"}, {7: "c x"}, ["3~", "7", "5~"]),
        ({3: "a b", 4: "z", 5: "a d q"}, {7: "x", 8: "a c"}, ["8", "4~", "5~"]),
        # Within a loop the scope is longer.
        ({3: "jvp()/mul"}, {4: "while/body/jvp()/mul"}, ["4"]),
    ],
)
def test_lines_correspond_by_what_is_written_there(base, run, expected):
    def ops(lines):
        return [op(name, f"m.py:{line}") for line, names in lines.items() for name in names.split()]

    found = dict.fromkeys(sources(ops(base), ops(run)))
    assert [one.removeprefix("m.py:") for one in found] == expected


@pytest.mark.parametrize(("most", "moved"), [(6, ["7", "8", "10"]), (5, ["7", "3~", "4~"])])
def test_long_passages_that_were_edited_have_no_counterpart(monkeypatch, most, moved):
    monkeypatch.setattr(match, "MOST_CELLS", most)
    base = [op(name, f"m.py:{line}") for line, name in ((2, "p"), (3, "a"), (3, "b"), (4, "c"), (4, "d"))]
    run = [op(name, f"m.py:{line}") for line, name in ((7, "p"), (8, "a"), (8, "x"), (9, "y"), (10, "d"), (10, "x"))]
    assert [*dict.fromkeys(sources(base, run))] == [f"m.py:{line}" for line in moved]


@pytest.mark.parametrize(("most", "moved"), [(3, ["8", "9"]), (2, ["3", "4"])])
def test_lines_of_long_files_stay(monkeypatch, most, moved):
    monkeypatch.setattr(match, "MOST_LINES", most)
    base, run = ([op(name, f"m.py:{line}") for line, name in of] for of in (
        [(3, "mul"), (4, "add")], [(7, "exp"), (8, "mul"), (9, "add")],
    ))  # fmt: skip
    assert sources(base, run) == [f"m.py:{line}" for line in moved]


def test_places_without_a_line_stay_as_they_are():
    base = [op("mul", "m.py:3"), op("add", "m.py:?"), op("exp", ""), op("sin", "m.py")]
    run = [op("mul", "m.py:5"), op("add", "m.py:?")]
    assert sources(base, run) == ["m.py:5", "m.py:?", "", "m.py"]


def test_framework_ops_inside_move_as_well():
    base = [op("mul", "/a/m.py:3", inside=("mul /a/m.py:3", "add /a/m.py:4", "exp "))]
    run = [op("mul", "/b/m.py:5", inside=("mul /b/m.py:5", "add /b/m.py:6"))]
    assert in_lines_of(base, run)[0].inside == {"mul /b/m.py:5", "add /b/m.py:6", "exp "}


def test_ops_of_another_file_are_the_same_by_what_they_are():
    base, run = [op("mul", "slow.py:3")], [op("mul", "twin.py:9")]
    assert match_programs(base, run) == {"f": "f"}
    assert [one.relation for one in match_ops(in_lines_of(base, run), run, {"f": "f"})] == ["same"]
    # Without shapes nothing is known of them but a name.
    base, run = [op("mul", "slow.py:3", shapes=())], [op("mul", "twin.py:9", shapes=())]
    found = match_ops(in_lines_of(base, run), run, {"f": "f"})
    assert sorted(one.relation for one in found) == ["added", "removed"]


def test_ops_of_a_loop_are_made_of_the_same_lines():
    base = [op("jvp()/mul", "m.py:3", inside=("jvp()/mul m.py:3",), program="step")]
    run = [op("while/body/jvp()/mul", "m.py:3", ("f32[4]",), ("while/body/jvp()/mul m.py:3",), "many")]
    (found,) = match_ops(base, run, {})
    assert (found.base, found.run) == (tuple(base), tuple(run))


def test_an_op_that_swallowed_others_is_merged_with_them():
    base = [op("sum", "m.py:9", inside=("sum m.py:9",)), op("dot", "m.py:4", inside=("dot m.py:4",))]
    run = [op("sum", "m.py:9", ("f32[4]",), inside=("sum m.py:9", "dot m.py:4"))]
    (found,) = match_ops(base, run, {"f": "f"})
    assert (found.relation, len(found.base), found.run) == ("merged", 2, tuple(run))
    # What is made of other ops stays alone.
    base[1] = op("exp", "m.py:5", inside=("exp m.py:5",))
    found = {one.relation: one.base for one in match_ops(base, run, {"f": "f"})}
    assert found == {"shape_changed": (base[0],), "removed": (base[1],)}


def test_layers_of_one_name_correspond_in_their_order():
    def frameworks(base, run):
        found = in_layers_of(
            [op(one, "m.py:3", inside=(f"{one} m.py:3",)) for one in base], [op(one, "m.py:3") for one in run]
        )
        assert all(one.inside == {f"{one.print.framework} m.py:3"} for one in found)
        return [one.print.framework for one in found]

    base = ["net_1/dense/dot", "net_1/dense_1/dot", "net_1/out/dot", "dot"]
    run = ["net_4/dense_2/dot", "net_4/dense_10/dot", "net_4/out/dot", "dot"]
    assert frameworks(base, run) == run
    assert frameworks(run, base) == base
    # One layer more: by what is in them.
    more = ["net/dense/add", "net/dense_1/dot", "net/dense_1/mul"]
    assert frameworks(["net/dense_7/dot", "net/dense_7/mul"], more) == ["net/dense_1/dot", "net/dense_1/mul"]
    same = [op(one, "m.py:3") for one in base]
    assert in_layers_of(same, same)[0] is same[0]


def of_program(name, *frameworks, shapes=("f32[8]",)):
    return [op(framework, "", shapes, program=name) for framework in frameworks]


@pytest.mark.parametrize(
    ("base", "run", "expected"),
    [
        # Half of the larger one's ops.
        ([("old", "abcd")], [("new", "ab")], {"new": "old"}),
        ([("old", "ab")], [("new", "abcd")], {"new": "old"}),
        ([("old", "abcde")], [("new", "ab")], {}),
        ([("old", "ab")], [("new", "abcde")], {}),
        # The most similar one, whichever comes first; each once.
        ([("a_old", "abc"), ("b_old", "abcd")], [("new", "abcd")], {"new": "b_old"}),
        ([("a_old", "abcd"), ("b_old", "abc")], [("new", "abcd")], {"new": "a_old"}),
        ([("old", "abcd")], [("a_new", "abc"), ("b_new", "abcd")], {"b_new": "old"}),
        ([("a_old", "abcd"), ("b_old", "abc")], [("a_new", "abc"), ("b_new", "abcd")],
         {"b_new": "a_old", "a_new": "b_old"}),
        # One of the same name is it.
        ([("same", "xyz"), ("old", "abc")], [("same", "abc")], {"same": "same"}),
    ],
)  # fmt: skip
def test_programs_of_other_names_correspond_by_their_ops(base, run, expected):
    sides = ([one for name, frameworks in side for one in of_program(name, *frameworks)] for side in (base, run))
    assert match_programs(*sides) == expected


def relations(base, run, programs=None):
    found = match_ops(base, run, {"f": "f"} if programs is None else programs)
    return sorted((one.relation, len(one.base), len(one.run)) for one in found)


def test_shapes_of_one_place_tell_what_became_of_an_op():
    one, two, three = (op("mul", "m.py:3", (f"f32[{size}]",)) for size in (1, 2, 3))
    assert relations([one], [two]) == [("shape_changed", 1, 1)]
    assert relations([one], [two, three]) == [("split", 1, 2)]
    assert relations([one, two], [three]) == [("merged", 2, 1)]
    assert relations([one, two], [three, three]) == [("shape_changed", 2, 2)]
    assert relations([one], [one]) == [("same", 1, 1)]


def test_types_that_only_one_side_has():
    narrow, both, whole = (op("mul", "m.py:3", shapes) for shapes in (("bf16[8]",), ("bf16[8]", "f32[8]"), ("s8[8]",)))
    for old, new, types in (
        (narrow, both, ("bf16", "f32")),
        (both, narrow, ("f32", "bf16")),
        (whole, both, ("s8", "bf16, f32")),
        (both, whole, ("bf16, f32", "s8")),
    ):
        (found,) = match_ops([old], [new], {"f": "f"})
        assert (found.relation, found.types) == ("dtype_changed", types)


def made_of(*parts, program="f"):
    """An op that no key finds, made of framework ops of known lines."""
    return op(
        "", f"{program}.py:{sum(map(ord, ''.join(parts)))}", (), [f"{part} m.py:{ord(part)}" for part in parts], program
    )


def test_ops_correspond_that_are_made_of_the_same():
    # Three of ten parts, and two.
    base = made_of(*"abcdefghij", program="old")
    assert relations([base], [made_of(*"abcklmnopq", program="new")], {}) == [("changed", 1, 1)]
    assert relations([base], [made_of(*"abklmnopqr", program="new")], {}) == [("added", 0, 1), ("removed", 1, 0)]
    # Of the smaller one's.
    assert relations([base], [made_of(*"axy", program="new")], {}) == [("changed", 1, 1)]
    # Ops of one run do not correspond to each other.
    assert relations([base, made_of("a", program="old")], [], {}) == [("removed", 1, 0)] * 2
    assert relations([], [base, made_of("a", program="old")], {}) == [("added", 0, 1)] * 2
    assert relations([made_of("z", program="old")], [base, made_of("a", program="new")], {}) == [
        *[("added", 0, 1)] * 2,
        ("removed", 1, 0),
    ]
    assert relations([base], [made_of("a", program="new"), made_of("b", program="new")], {}) == [("split", 1, 2)]
    assert relations([made_of("a"), made_of("b")], [made_of(*"ab", program="new")], {}) == [("merged", 2, 1)]


@pytest.mark.parametrize(
    ("count", "found"), [(3, [("merged", 3, 1)]), (4, [("added", 0, 1), *[("removed", 1, 0)] * 4])]
)
def test_what_is_in_most_ops_tells_nothing(monkeypatch, count, found):
    monkeypatch.setattr(match, "MOST_HOLDERS", 4)
    base = [made_of("a", str(i), program="old") for i in range(count)]
    assert relations(base, [made_of("a", program="new")], {}) == found
