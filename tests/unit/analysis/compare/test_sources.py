"""Source lines of two checkouts: files correspond by their paths' ends, lines by what is written there."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.compare.host_work import Fingerprint
from tpu_profile_plugin.analysis.compare.match import in_lines_of, match_ops, match_programs
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
        # Within a loop the scope is longer.
        ({3: "jvp()/mul"}, {4: "while/body/jvp()/mul"}, ["4"]),
    ],
)
def test_lines_correspond_by_what_is_written_there(base, run, expected):
    def ops(lines):
        return [op(name, f"m.py:{line}") for line, names in lines.items() for name in names.split()]

    found = dict.fromkeys(sources(ops(base), ops(run)))
    assert [one.removeprefix("m.py:") for one in found] == expected


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
