"""The tables of the comparison: programs, ops, memory and facts of both runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.answers import answer, rows

from tpu_profile_plugin.analysis.compare.host_work import Fingerprint
from tpu_profile_plugin.analysis.compare.match import Match
from tpu_profile_plugin.analysis.compare.run_work import WorkedOp
from tpu_profile_plugin.tools.summary.compare import TOOL, _memory, _ops, _programs


def op(program, name, ps, runs=1.0, *, category="loop fusion", framework="mul", source="m.py:3"):
    one = Fingerprint(category, (), framework, source, name)
    return WorkedOp(program, program and f"{program}(7)", name, one, frozenset(), ps, np.zeros(0), runs, source)


def in_rows(table, *columns):
    return list(zip(*(table.column(name) for name in columns), strict=True))


def test_programs_of_both_runs():
    base = [op("f", "a", 100), op("f", "b", 40), op("old", "c", 30), op("was", "d", 7), op("", "e", 1)]
    run = [op("f", "a", 150), op("f", "z", 5), op("new", "c", 20), op("now", "d", 9), op("", "e", 1)]
    gone = Match((base[1],), (), "removed")
    matches = [*(Match((old,), (new,), "same") for old, new in ((base[0], run[0]), (base[3], run[3]))), gone]
    matches.append(Match((), (run[1],), "added"))
    found = SimpleNamespace(
        matches=matches,
        works=(SimpleNamespace(ops=base), SimpleNamespace(ops=run)),
        programs={"f": "f", "now": "was", "": ""},
    )
    columns = (
        "program",
        "base_program",
        "kind",
        "base_ps_per_step",
        "run_ps_per_step",
        "delta_ps_per_step",
        "ops",
        "matched",
    )
    assert in_rows(_programs(found), *columns) == [
        (None, "old", "removed", 30, 0, -30, 0, 0),
        ("new", None, "added", 0, 20, 20, 1, 0),
        ("f", "f", "same", 140, 155, 15, 2, 1),
        ("now", "was", "renamed", 7, 9, 2, 1, 1),
        (None, None, "same", 1, 1, 0, 1, 0),
    ]


def test_ops_of_both_runs():
    bare = op("", "x", 5, category="", framework="", source="")
    table = _ops([
        Match((op("f", "a.1", 100),), (op("g", "a.2", 90), op("g", "a.3", 30)), "split"),
        Match((op("f", "b.1", 100, 1.0),), (op("f", "b.1", 300, 3.0),), "same"),
        Match((op("f", "c.1", 100),), (op("f", "c.1", 60),), "same"),
        Match((op("f", "d.1", 10),), (op("f", "d.1", 12),), "shape_changed"),
        Match((bare,), (), "removed"),
    ])  # fmt: skip
    columns = "name", "base_name", "program", "category", "framework_op", "source", "kind", "delta_ps_per_step"
    known = "loop fusion", "mul", "m.py:3"
    assert in_rows(table, *columns) == [
        ("b.1", "b.1", "f", *known, "more_often", 200),
        ("c.1", "c.1", "f", *known, "same", -40),
        ("a.2, a.3", "a.1", "f", *known, "split", 20),
        ("x", "x", None, None, None, None, "removed", -5),
        ("d.1", "d.1", "f", *known, "shape_changed", 2),
    ]
    assert in_rows(table, "module", "base_module", "base_runs", "run_runs")[2:4] == [
        ("g(7)", "f(7)", 1, 2),
        (None, None, 1, 0),
    ]


def test_memory_of_programs_and_their_counterparts():
    base = {"f(1)": 100, "f(2)": 300, "old(3)": 50, "g(4)": 7, "kept(5)": 9}
    run = {"f(8)": 400, "new(9)": 60, "h(4)": 8, "kept(6)": 9}
    table = _memory(base, run, {"f": "f", "h": "g"})
    assert in_rows(table, "program", "base_bytes", "run_bytes", "delta_bytes") == [
        ("f", 300, 400, 100),
        ("new", None, 60, 60),
        ("old", 50, None, -50),
        ("h", 7, 8, 1),
        ("kept", 9, 9, 0),
    ]


@pytest.mark.parametrize(("steps", "same"), [(3, True), (4, False)])
def test_facts_of_both_runs(steps, same):
    def core(count):
        begin = 'plane 1 "/device:TPU:0" {device_type_string="TPU v4"}\nline 1 Steps\n'
        marks = "".join(f"{100 * i}us +90us {i} {{_ct=9, _c={i}}}\n" for i in range(count))
        ops = "".join(f"{100 * i}us +50us fusion.1\n" for i in range(count))
        return f'{begin}{marks}line 2 "XLA Ops"\n{ops}metadata fusion.1 {{program_id=u7, symbol_id=u1}}\n'

    found = answer(TOOL, core(steps), base=[core(3)])
    facts = {what: both for what, *both in rows(found["environment"], "what", "base", "run", "same")}
    assert facts["Steps"] == ["3", str(steps), same]
    assert facts["Device type"] == ["TPU v4", "TPU v4", True]
