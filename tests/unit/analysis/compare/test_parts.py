"""The parts of a comparison by themselves: work by op and step, facts of ops, programs that correspond by their ops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders.programs.hlo import metadata_plane, relu_program
from builders.xspace_text import build

from tpu_profile_plugin import _native
from tpu_profile_plugin.analysis.attribution import EventOp
from tpu_profile_plugin.analysis.compare.host_work import (
    CONTAINERS,
    Fingerprint,
    HostOps,
    HostWork,
    describe,
    fingerprint,
    host_ops,
    host_work,
)
from tpu_profile_plugin.analysis.compare.match import Match, match_by_ops, matched_share
from tpu_profile_plugin.analysis.compare.run_work import WorkedOp, few_steps
from tpu_profile_plugin.analysis.devices.inventory import devices_of
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.columns import load


def core(number, ops, metadata):
    return f'plane {number} "/device:TPU:{number}"\nline 1 "XLA Ops"\n{ops}\n{metadata}\n'


def devices(*cores):
    space = load(build("".join(cores)))
    hlo = HloOps(space)
    return space, devices_of(space, hlo.programs), hlo


def steps(*windows, count=1):
    begin, end = (np.repeat(np.array(times)[:, None] * 10**6, count, axis=1) for times in zip(*windows, strict=True))
    return StepWindows(np.arange(len(begin)), ("",) * len(begin), begin, end, "device")


BODY = 'metadata "{0}" {{program_id=u7, symbol_id=u{1}, hlo_category="{2}"}}'
A, B = BODY.format("%a.1 = f32[] fusion()", 1, "loop fusion"), BODY.format("%b.1 = f32[] fusion()", 2, "loop fusion")
WHILE = BODY.format("%w.1 = f32[] while()", 3, "while")


def test_every_moment_of_a_step_counts_for_one_op():
    # `a` runs from 0 to 30 us and again at 50 us, `b` from 20 to 60 us; steps from 10 to 40 and from 45 to 100 us.
    ops = '0us +30us "%a.1 = f32[] fusion()"\n20us +40us "%b.1 = f32[] fusion()"\n50us +20us "%a.1 = f32[] fusion()"'
    _, found, _ = devices(core(0, ops, f"{A}\n{B}"))
    work = host_work(found, steps((10, 40), (45, 100)))
    rows = [work.keys.index((7, name)) for name in ("a.1", "b.1")]
    assert (work.time_ps[rows] // 10**6).tolist() == [20 + 10, 10 + 15]
    assert (work.by_step[rows] // 10**6).tolist() == [[20, 10], [10, 15]]
    assert work.runs[rows].tolist() == [1, 1]
    assert (work.steps, work.devices) == (2, 1)


def test_loops_count_while_nothing_else_runs_and_cores_add_up():
    ops = '0us +100us "%w.1 = f32[] while()"\n10us +30us "%a.1 = f32[] fusion()"'
    one, other = core(0, ops, f"{WHILE}\n{A}"), core(1, '0us +5us "%a.1 = f32[] fusion()"', A)
    _, found, _ = devices(one, other)
    work = host_work(found, steps((0, 100), count=2))
    assert dict(zip(work.keys, (work.time_ps // 10**6).tolist(), strict=True)) == {(7, "a.1"): 35, (7, ""): 70}
    assert dict(zip(work.keys, work.runs.tolist(), strict=True)) == {(7, "a.1"): 2, (7, ""): 0}


def test_loops_count_for_their_own_program():
    # `w` of program 7 ends where `v` of program 8 begins, so that their loops touch.
    other = 'metadata "%v.1 = f32[] while()" {program_id=u8, symbol_id=u1, hlo_category="while"}'
    ops = '0us +30us "%w.1 = f32[] while()"\n10us +5us "%a.1 = f32[] fusion()"\n30us +50us "%v.1 = f32[] while()"'
    _, found, _ = devices(core(0, ops, f"{WHILE}\n{A}\n{other}"))
    work = host_work(found, steps((0, 100)))
    assert dict(zip(work.keys, (work.time_ps // 10**6).tolist(), strict=True)) == {
        (7, "a.1"): 5,
        (7, ""): 25,
        (8, ""): 50,
    }


def test_an_op_that_others_hide_runs_all_the_same():
    ops = '0us +30us "%a.1 = f32[] fusion()"\n10us +5us "%b.1 = f32[] fusion()"'
    _, found, _ = devices(core(0, ops, f"{A}\n{B}"))
    work = host_work(found, steps((0, 100)))
    assert dict(zip(work.keys, work.time_ps.tolist(), strict=True)) == {(7, "a.1"): 30 * 10**6, (7, "b.1"): 0}
    assert work.runs.tolist() == [1, 1]


def test_an_execution_without_an_op_is_of_no_program():
    modules = 'line 2 "XLA Modules"\n' + "".join(f'{at}us +3us "jit_f(7)"\n' for at in (5, 20, 96))
    ops = "".join(f'{at}us +2us "%a.1 = f32[] fusion()"\n' for at in (5, 20))
    _, found, _ = devices(core(0, ops + modules, f'{A}\nmetadata "jit_f(7)" {{}}'))
    assert host_work(found, steps((0, 100))).executions == {7: 2}


def test_kernels_tell_no_executions_and_origins_of_no_instruction():
    stats = '{tf_op="m/x:Add"}', '{hlo_op="a", tf_op="f/mul", program_id=u7}', ""
    kernels = "\n".join(f"{10 * i}us +5us k {one}" for i, one in enumerate(stats))
    space, found, hlo = devices(f'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n{kernels}\n')
    assert host_ops(space, found, hlo).provenances == {"m/x:Add"}
    work = host_work(found, steps((0, 100)))
    assert (work.executions, int(work.time_ps.sum())) == ({}, 15 * 10**6)


def test_executions_begin_in_steps():
    modules = 'line 2 "XLA Modules"\n' + "".join(f'{at}us +5us "jit_f(7)"\n' for at in (5, 20, 45, 110))
    ops = "".join(f'{at}us +4us "%a.1 = f32[] fusion()"\n' for at in (5, 20, 45, 110))
    _, found, _ = devices(core(0, ops + modules, f'{A}\nmetadata "jit_f(7)" {{}}'))
    assert host_work(found, steps((0, 40), (45, 100))).executions == {7: 3}


@pytest.mark.parametrize(("op", "slot", "what"), [(0, 3, "key"), (0, -1, "key"), (1, 0, "op"), (-1, 0, "op")])
def test_sums_beyond_their_slots_are_refused(op, slot, what):
    time, kind = np.zeros(1, np.int64), np.zeros(1, np.uint8)
    part = (time, time, np.array([op], np.int32), kind, np.array([slot]), (time, time))
    with pytest.raises(ValueError, match=what):
        _native.step_work([part], 0, 1, 1)


def test_what_one_core_lacks_another_knows():
    text = "%a.1 = f32[8] fusion()"
    bare = f'metadata "{text}" {{program_id=u7, symbol_id=u1}}'
    full = (
        f'metadata "{text}" {{program_id=u7, symbol_id=u1, hlo_category="loop fusion", tf_op="f/mul", source="m.py:3"}}'
    )
    unused = BODY.format("%unused.1 = f32[] fusion()", 9, "loop fusion")
    ran = f'0us +5us "{text}"'
    space, found, hlo = devices(core(0, ran, f"{bare}\n{unused}"), core(1, ran, full))
    ops = host_ops(space, found, hlo)
    assert ops.facts == {
        (7, "a.1"): EventOp(
            framework_op="f/mul", expression=text, source_file="m.py", source_line=3, category="loop fusion"
        )
    }
    assert ops.provenances == {"f/mul"}


def test_what_an_op_is_called_tells_its_place_where_no_framework_does():
    known, bare = (fingerprint("%dot.7", "convolution", name, "", "m.py:3") for name in ("jit(f)/dense_1/dot:", ""))
    assert (known.framework, known.place) == ("dense_1/dot", ("convolution", "dense_1/dot", "m.py:3"))
    assert (known.unnumbered, bare.unnumbered) == ("dense/dot", "dot")
    assert (bare.framework, bare.place) == ("", ("convolution", "dot", "m.py:3"))


def test_work_is_described_by_what_is_known_of_its_ops():
    hlo = HloOps(load(build(metadata_plane(jit_f=(7, relu_program())))))
    none, mul = Fingerprint("", (), "", "", ""), EventOp(framework_op="jit(f)/mul", category="loop fusion")
    keys = (7, "copy.1"), (7, ""), (9, "x.2"), (0, "kernel"), (0, "jit_g(3)"), (7, "bare.1"), (0, "")
    facts = {
        (7, "copy.1"): mul._replace(category="copy", source_file="m.py", source_line=3),
        (7, "bare.1"): EventOp(category="copy"),
    }
    empty = np.zeros(len(keys), np.int64)
    work = HostWork(keys, empty, np.zeros((len(keys), 1)), empty, steps=1, devices=1)
    found = describe(work, HostOps(facts, {7: "jit_f(7)"}, frozenset()), hlo)
    assert found.module == ("jit_f(7)", "jit_f(7)", "(9)", "", "jit_g(3)", "jit_f(7)", "")
    assert [one.kind for one in found.print] == ["copy", CONTAINERS, "x", "kernel", "run", "bare", CONTAINERS]
    assert found.print[0] == replace(none, category="copy", framework="mul", source="m.py:3", kind="copy")
    assert found.inside == (frozenset({"mul m.py:3"}), *[frozenset()] * 6)
    # What a fusion was made of, whatever it is called as a whole.
    work = replace(work, keys=((7, "fusion.1"),))
    for category, inside in (("loop fusion", {"add ", "max "}), ("copy", {"mul "})):
        facts = {(7, "fusion.1"): mul._replace(category=category)}
        assert describe(work, HostOps(facts, {}, frozenset()), hlo).inside == (inside,)


def test_programs_correspond_by_the_ops_that_most_time_went_to():
    def op(program, ps):
        none = Fingerprint("", (), "", "", "")
        return WorkedOp(program, program, "x", none, frozenset(), ps, np.zeros(0), 1)

    same, new = Match((op("old", 60),), (op("new", 10),), "same"), Match((), (op("new", 500),), "added")
    assert match_by_ops([same, new], {}) == {"new": "old"}
    assert match_by_ops([same, new], {"new": "another"}) == {}
    # Half of its time is enough.
    assert match_by_ops([same, Match((op("old", 60),), (), "removed")], {}) == {"new": "old"}
    # Most of its time is gone; it became several programs, or one with another.
    assert match_by_ops([same, Match((op("old", 99),), (), "removed")], {}) == {}
    assert match_by_ops([same, Match((op("old", 40),), (op("other", 40),), "same")], {}) == {}
    assert match_by_ops([same, Match((op("another", 40),), (op("new", 40),), "same")], {}) == {}
    assert match_by_ops([Match((op("old", 60),), (op("a", 1), op("b", 1)), "split")], {}) == {}


def worked(program, name, ps, framework="", source="", shapes=()):
    one = Fingerprint("fusion", shapes, framework, source, name)
    return WorkedOp(program, program, name, one, frozenset(), ps, np.zeros(0), 1)


def test_time_is_matched_in_programs_with_ops_of_the_same_places():
    base = [worked("f", "a", 60, "mul", "m.py:3"), worked("g", "b", 20, "add", "m.py:9"), worked("", CONTAINERS, 500)]
    run = [worked("f2", "a", 30, "mul", "m.py:3"), worked("f2", "c", 10, "exp"), worked("h", "b", 60, "add", "m.py:9")]
    assert matched_share(base, run, [("f", "f2")], []) == 60 / 80
    assert matched_share(run, base, [("f2", "f")], []) == 40 / 100
    assert matched_share([base[2]], run, [], []) is None


def test_time_of_ops_with_a_counterpart_is_matched_in_whatever_program():
    base, run = [worked("f", "a", 60, "mul", "m.py:3")], [worked("g", "b", 30, "add", "m.py:3")]
    pair = Match(tuple(base), tuple(run), "changed")
    assert (matched_share(base, run, [], [pair]), matched_share(base, run, [], [])) == (1, 0)


def test_programs_of_one_name_and_different_ops_are_not_the_same():
    base, run = [worked("f", "a", 60, "mul", "m.py:3")], [worked("f", "a", 60, "mul", "n.py:3")]
    assert matched_share(base, run, [("f", "f")], []) == 0
    # Of ops without an origin the shapes decide.
    base, run = [worked("f", "a", 60, shapes=("f32[8]",))], [worked("f", "a", 60, shapes=("f32[4]",))]
    assert (matched_share(base, run, [("f", "f")], []), matched_share(base, base, [("f", "f")], [])) == (0, 1)


@pytest.mark.parametrize(
    ("ops", "others", "share"),
    [
        # Three places of ten, and two.
        ([("a", f"m.py:{i}") for i in range(10)], [("a", f"m.py:{i}") for i in range(7, 17)], 1),
        ([("a", f"m.py:{i}") for i in range(10)], [("a", f"m.py:{i}") for i in range(8, 18)], 0),
        ([("a", "")], [("b", "")], 0),
        ([("a", "")], [("a", "")], 1),
        ([("", "m.py:3")], [("", "m.py:4")], 0),
        ([("", "m.py:3")], [("", "m.py:3")], 1),
    ],
)
def test_programs_are_the_same_by_the_places_of_their_ops(ops, others, share):
    base, run = ([worked("f", "x", 10, *place) for place in side] for side in (ops, others))
    assert matched_share(base, run, [("f", "f")], []) == share


def test_ops_without_shapes_are_not_those_with_any():
    base, run = [worked("f", "a", 60, "mul", "m.py:3", ("f32[8]",))], [worked("f", "a", 60, "mul", "m.py:4")]
    assert matched_share(base, run, [("f", "f")], []) == matched_share(run, base, [("f", "f")], []) == 0


def test_time_of_ops_that_are_gone_is_not_matched():
    base, run = [worked("f", "a", 60, "mul", "m.py:3")], [worked("g", "b", 30, "add", "m.py:4")]
    gone = [Match(tuple(base), (), "removed"), Match((), tuple(run), "added")]
    assert matched_share(base, run, [], gone) == matched_share(run, base, [], gone) == 0


def test_work_in_the_steps_that_all_hosts_have():
    work = HostWork(((7, "a"),), np.array([100]), np.array([[10.0, 20, 30]]), np.array([8]), steps=4, devices=1)
    assert [part.tolist() for part in work.within(np.arange(4))] == [[100], [8]]
    # Of steps 1 to 3 the times of two are known: 50 for two are 75 for three.
    assert [part.tolist() for part in work.within(np.arange(1, 4))] == [[75], [6]]
    rows = [np.arange(1, 4), np.arange(3)]
    assert few_steps([3, 2], rows, 3).tolist() == [True, True, False]
