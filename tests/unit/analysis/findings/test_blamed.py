"""Typed-in groups of time as parts of the step: which are told, which are ordinary, and what explains them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.blame.eager_ops import SmallOps
from tpu_profile_plugin.analysis.blame.host_blame import HostBlame
from tpu_profile_plugin.analysis.blame.host_groups import FunctionGroup, HostGroup
from tpu_profile_plugin.analysis.blame.op_groups import OpGroup
from tpu_profile_plugin.analysis.blame.stacks import Stacks
from tpu_profile_plugin.analysis.budget.categories import (
    BETWEEN,
    CATEGORIES,
    COMPUTE,
    DATA_MOVEMENT,
    IDLE_HOST,
    IDLE_INPUT,
    IDLE_LAUNCH,
    INPUT_COPY,
    PARTS,
)
from tpu_profile_plugin.analysis.budget.purpose import Purpose
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget
from tpu_profile_plugin.analysis.common.spans import PartTimes, no_time
from tpu_profile_plugin.analysis.devices.model import RunDevice
from tpu_profile_plugin.analysis.findings import blamed as module
from tpu_profile_plugin.analysis.findings.blamed import (
    Blamed,
    Part,
    busy_with,
    enlarged,
    growing,
    parts,
    pointed,
)
from tpu_profile_plugin.analysis.findings.kinds import KINDS
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding
from tpu_profile_plugin.analysis.findings.part_advice import HOST, SMALL
from tpu_profile_plugin.analysis.findings.part_advice import PARTS as ADVICE
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.ops.op_nature import Nature

US = 10**6
WHOLE = 1000


def run_of(kind="tpu", hosts=1, **ps):
    """A run of one step of 1000 us on a device per host: in us what it is spent on, the rest in ops."""
    time = np.zeros((len(CATEGORIES), 1, hosts), np.int64)
    for name, us in ps.items():
        time[CATEGORIES.index(name)] = us * US
    time[COMPUTE] = WHOLE * US - time.sum(axis=0)
    cells, none = np.full((1, hosts), WHOLE * US), np.zeros(hosts, np.int64)
    budget = RunBudget(
        tuple(range(hosts)), tuple(RunDevice(f"TPU {i}", i, kind) for i in range(hosts)), np.zeros(1, np.int64), ("",),
        cells * 0, cells, PartTimes.of(PARTS, time), np.ones((1, hosts), np.bool_), none,
        np.zeros((hosts, len(CATEGORIES)), np.int64),
    )  # fmt: skip
    return RunView(tuple(f"h{i}" for i in range(hosts)), None, budget, None)


def spent(us, part=COMPUTE):
    """A time by part, the last between steps."""
    by_part = np.zeros(len(CATEGORIES) + 1, np.int64)
    by_part[part] = us * US
    return by_part


def ops(us, name="dot", nature=Nature.MATRIX, *, most=0, count=2, **more):
    """A group of ops; `most` is the time in the largest."""
    listed = ((f"{name}.1", 0, (most or us) * US), (f"{name}.2", 0, us * US - (most or us) * US))
    given = {"place": "", "framework": "", "kinds": (name,), "by_part": spent(us), **more}
    return OpGroup(name=name, nature=nature, ops=listed, count=count, ps=us * US, **given)


def waits(us, name="$train.py:3 load", inner="", part=IDLE_HOST, **more):
    """A group of waits for the host."""
    rows = np.zeros(0, np.int64)
    return HostGroup(name, inner, us * US, spent(us, part), rows, inner_ps=us * US // 2 if inner else 0, **more)


def told(run, **groups):
    """The parts of a run with these groups on its host."""
    return parts(run, [Blamed(**{name: tuple(some) for name, some in groups.items()})])


OTHER = ops(600, "sort", Nature.OTHER)
"""A part that is told in any case, so that less than a quarter of ordinary work is not."""


@pytest.mark.parametrize(
    ("us", "name", "nature", "more", "expected"),
    [
        # Ordinary work from a quarter of the step,
        (250, "dot", Nature.MATRIX, {}, "ordinary"),
        (249, "dot", Nature.MATRIX, {}, ""),
        # what most programs do little of from a tenth,
        (100, "cholesky", Nature.OTHER, {}, "cost"),
        (99, "cholesky", Nature.OTHER, {}, ""),
        # and what brings on larger costs from a twentieth.
        (50, "CheckNumericsV2", Nature.OTHER, {}, "cost"),
        (49, "CheckNumericsV2", Nature.OTHER, {}, ""),
        # Groups of several kinds have limits of their own, whatever their names.
        (250, "copy", Nature.MOVEMENT, {}, "cost"),
        (249, "copy", Nature.MOVEMENT, {}, ""),
        (400, "elementwise ops", Nature.ELEMENTWISE, {}, "cost"),
        (399, "elementwise ops", Nature.ELEMENTWISE, {}, "ordinary"),
        (249, "unique", Nature.ELEMENTWISE, {}, ""),
        (100, "growing", Nature.OTHER, {"growth": 0.1}, "cost"),
        (300, "all-reduce", Nature.NOT_COUNTED, {}, ""),
        # A call of a library is called by the framework's name.
        (100, "custom-call", Nature.OTHER, {"framework": "jit(f)/cholesky:Cholesky"}, "cost"),
        (249, "multiply", Nature.OTHER, {"framework": "jit(f)/cholesky"}, ""),
    ],
)
def test_ops_from_which_share_of_the_step(us, name, nature, more, expected):
    found = told(run_of(), ops=[ops(us, name, nature, **more), replace(OTHER, by_part=spent(350), ps=350 * US)])
    kinds = ["ordinary" if part.ordinary else "cost" for part in found if f"{name}.1" in part.names]
    assert kinds == ([expected] if expected else [])
    for part in found:
        saving = 0 if part.ordinary else part.lost.ps
        assert (part.of_ops, part.finding.saving_ps, bool(part.finding.segments)) == (True, saving, not part.ordinary)


@pytest.mark.parametrize(
    ("runs", "saving"),
    [(2, 200), (3.9, 200), (4, 100), (8, 150)],  # two ops: each once, or of several passes all but the first
)
def test_several_backward_passes_could_be_one(runs, saving):
    (part,) = told(run_of(), ops=[ops(200, "several backward passes", Nature.BACKWARD_AGAIN, runs=runs)])
    assert (part.lost.ps, part.finding.saving_ps) == (200 * US, saving * US)


@pytest.mark.parametrize(("tables", "told_of"), [(50, True), (49, False)])
def test_an_optimizer_beside_look_ups_in_tables(tables, told_of):
    groups = [
        ops(250, "Adam", Nature.OPTIMIZER), ops(tables, "aten::embedding", Nature.OTHER),
        ops(249, "SGD", Nature.OPTIMIZER), OTHER,
    ]  # fmt: skip
    cost = [part.names[0] for part in told(run_of(), ops=groups) if not part.ordinary]
    assert cost == ["sort.1", *(["Adam.1"] if told_of else [])]


@pytest.mark.parametrize(
    ("us", "name", "nature", "beside"),
    [
        (15, "OneHot", Nature.MATRIX, True),
        (14, "OneHot", Nature.MATRIX, False),
        (15, "aten::one_hot", Nature.MATRIX, True),
        (15, "aten::hot", Nature.MATRIX, False),
        (15, "OneHot", Nature.OTHER, False),
    ],
)
def test_products_beside_one_hot_rows(us, name, nature, beside):
    groups = [ops(400, "MatMul", nature, count=1), ops(us, name, Nature.OTHER)]
    part = next(part for part in told(run_of(), ops=groups) if part.names[0] == "MatMul.1")
    assert part.finding.title.endswith("MatMul (beside one-hot rows)" if beside else ": MatMul")
    assert (part.finding.advice == ADVICE["one-hot rows"]) == beside


def test_the_largest_ordinary_work_from_a_tenth_if_nothing_else_is_known():
    assert [part.names[0] for part in told(run_of(), ops=[ops(120, "a"), ops(240, "b"), ops(99, "c")])] == ["b.1"]
    assert told(run_of(), ops=[ops(99, "c")]) == []
    # A wait that tells nothing, or that is usual, is no more than that, unless it is a quarter.
    for us, names in ((249, ["b.1"]), (250, [])):
        run = run_of(idle_host=us)
        dull = waits(us, "ExecutorState::Process")
        assert [part.names[0] for part in told(run, waits=[dull], ops=[ops(240, "b")]) if part.of_ops] == names
        usual = waits(us, eager=True)
        assert [part.names[0] for part in told(run, waits=[usual], ops=[ops(240, "b")]) if part.of_ops] == names
    assert not any(part.of_ops for part in told(run_of(idle_host=200), waits=[waits(200)], ops=[ops(240, "b")]))


def test_what_is_known_to_be_too_much_comes_before_other_names_for_the_same_ops():
    """Ops whose group tells the cause come first, whatever small ones and waits take."""
    small = SmallOps(no_time(), 40.0, (("aten::a", 30.0),), "", "", spent(400))
    groups = [ops(300, "sort", Nature.OTHER), ops(150, "again", Nature.BACKWARD_AGAIN), ops(500, "dot")]
    found = told(run_of(idle_host=350), small=[small], waits=[waits(350)], ops=groups)
    assert [part.names[0] for part in found] == ["again.1", "aten::a", "train.py:3 load", "sort.1", "dot.1"]
    assert [part.advised for part in found] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("place", "share", "own"),
    [
        ("train.py:9 evaluate", 0.51, False),
        ("train.py:9 evaluate", 0.5, True),
        ("train.py:9 decode", 0.9, True),
    ],
)
def test_ops_of_an_evaluation_have_its_advice(place, share, own):
    (usual,) = told(run_of(), ops=[ops(400)])
    (part,) = told(run_of(), ops=[ops(400, places=((place, share), ("a.py:1 f", 0.1)))])
    assert (part.finding.advice == usual.finding.advice) is own


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ""),
        ({"place": "m.py:3"}, "m.py:3"),
        ({"place": "m.py:3", "places": (("m.py:3 f", 1.0),)}, "m.py:3 f"),
        ({"places": (("m.py:3 f", 0.6), ("m.py:4 g", 0.3), ("m.py:5 h", 0.1))}, "60% in m.py:3 f, 30% in m.py:4 g"),
        # The last three functions from the jitted one on, of several of its name the innermost.
        ({"framework": "jit(step)/dot"}, "in step"),
        ({"framework": "jit(step)/dot", "path": ("main", "fit")}, "in step"),
        ({"framework": "jit(step)/dot", "path": ("main", "step")}, "in step"),
        ({"framework": "jit(step)/dot", "path": ("main", "step", "a")}, "in step/a"),
        ({"framework": "jit(step)/dot", "path": ("step", "a", "step", "b", "c")}, "in step/b/c"),
        ({"framework": "jit(step)/dot", "path": ("step", "a", "b", "c", "d")}, "in step/b/c/d"),
        ({"framework": "jit(step)/dot", "path": ("step", "a"), "place": "m.py:3"}, "m.py:3, in step/a"),
        ({"framework": "jit(step)/dot", "path": ("step", "a"), "place": "m.py:3 f"}, "m.py:3 f"),
        ({"framework": "jit(step)/dot", "path": ("step", "a"), "places": (("m.py:4 g", 0.5),)}, "50% in m.py:4 g"),
        ({"framework": "jit(step)/dot", "path": ("step", "a"), "places": (("m.py:4", 0.5),)},
         "50% in m.py:4, in step/a"),
        ({"framework": "step/dot", "path": ("step", "a")}, ""),
    ],
)  # fmt: skip
def test_the_place_of_a_group(more, expected):
    assert module._where(ops(400, **more)) == expected


def title(group, **groups):
    """What the finding about a group of ops is called."""
    (part,) = told(run_of(), ops=[group], **groups)
    return part.finding.title


@pytest.mark.parametrize(
    ("group", "within", "without"),
    [
        (ops(400, most=201), ["2 ops", "most of it in dot.1"], []),
        (ops(400, most=200), ["2 ops"], ["most of it"]),
        (ops(400, count=1), [], ["most of it", "ops"]),
        (ops(400, "elementwise ops", Nature.ELEMENTWISE, most=300, kinds=("aten::mul", "aten::add", "a", "b")),
         ["(aten::mul, aten::add, a)"], ["most of it"]),
        # Many runs, and the loops they are in.
        (ops(400, runs=20.0, loops=("m.py:7", "", "m.py:9")), ["20 runs per step", "m.py:7 and that at m.py:9"], []),
        (ops(400, runs=19.0, loops=("m.py:7",), few=8), ["2 ops"], ["runs", "m.py", "rows"]),
        (ops(400, runs=20.0, few=8), ["20 runs per step, of 8 rows"], []),
        (ops(400, runs=20.0, few=1), ["of 1 row)"], []),
        (ops(400, runs=20.0, count=10), ["20 runs"], []),
        (ops(400, runs=20.0, count=11), ["11 ops"], ["runs"]),
        (ops(400, "elementwise ops", Nature.ELEMENTWISE, runs=90.0, loops=("m.py:7",)), ["m.py:7"], ["runs"]),
        (ops(400, "eager ops", Nature.EAGER, runs=90.0, loops=("m.py:7",)), [], ["m.py:7", "runs"]),
        (ops(400, "eager ops", Nature.EAGER, kinds=("a", "b", "c", "d", "WriteSummary", "WriteImageSummary")),
         ["(a, b, c, WriteSummary)"], ["Image"]),
        (ops(400, "RANGE", Nature.RANGE, kinds=("a", "b", "c", "d", "WriteSummary")), ["(a, b, c)"], []),
    ],
)  # fmt: skip
def test_titles_tell_which_ops_and_how_often_they_run(group, within, without):
    found = title(group)
    assert [text for text in within if text not in found] == []
    assert [text for text in without if text in found] == []


def test_evidence_of_ops():
    (part,) = told(run_of(), ops=[ops(400, most=300, place="m.py:3", framework="jit(f)/dot")])
    values = [one.value for one in part.finding.evidence]
    assert values == ["dot.1", pytest.approx(40), pytest.approx(0.4), "jit(f)/dot", "m.py:3"]
    assert part.names == ("m.py:3", "dot.1", "dot.2")
    (half,) = told(run_of(), ops=[ops(400, most=200)])
    assert half.finding.evidence[0].label != part.finding.evidence[0].label


def test_evidence_of_waits():
    (part,) = told(run_of(idle_host=400), waits=[waits(400, inner="$io.py:1 read")])
    values = [one.value for one in part.finding.evidence]
    assert values == [pytest.approx(40), pytest.approx(0.4), "train.py:3 load", "io.py:1 read", 50.0]


@pytest.mark.parametrize(
    ("kind", "us", "more", "expected"),
    [
        ("tpu", 100, {}, True),
        ("tpu", 99, {}, False),
        ("cpu", 200, {}, True),
        ("cpu", 199, {}, False),
        ("tpu", 150, {"inner": "PjitFunction(f)"}, True),
        ("tpu", 149, {"inner": "PjitFunction(f)"}, False),
        ("tpu", 149, {"name": "PjitFunction(f)"}, False),
        ("tpu", 500, {"name": ""}, False),
        # Python between ops that are launched one by one counts, but is usual up to a third.
        ("tpu", 349, {"eager": True}, "usual"),
        ("tpu", 20, {"eager": True}, "usual"),
        ("tpu", 350, {"eager": True}, True),
        # Waits for input are told by other rules where devices share processors with it.
        ("cpu", 300, {"input": True}, "hidden"),
        ("tpu", 300, {"input": True}, True),
        # Calls that only launch or wait, and what comes after something, tell nothing.
        ("tpu", 300, {"name": "ExecutorState::Process"}, "hidden"),
        ("tpu", 300, {"name": "np.asarray(jax.Array)"}, "hidden"),
        ("tpu", 300, {"inner": "np.asarray(jax.Array)"}, True),
        ("tpu", 300, {"name": "fetch", "inner": "np.asarray(jax.Array)"}, "hidden"),
        ("tpu", 300, {"inner": "ExecutorState::Process"}, "hidden"),
        ("tpu", 300, {"name": "after fetch"}, "hidden"),
    ],
)
def test_waits_for_functions_from_which_share_of_the_step(kind, us, more, expected):
    found = told(run_of(kind, idle_host=us), waits=[waits(us, **more)])
    kinds = ["usual" if part.usual else "hidden" if not part.shown else True for part in found]
    assert kinds == ([] if expected is False else [expected])


@pytest.mark.parametrize(("us", "found"), [(200, 1), (199, 0)])
def test_small_ops_from_a_fifth_of_the_step(us, found):
    small = SmallOps(no_time(), 40.0, (("aten::a", 30.0),), "Adam", "train.py:3 f", spent(us))
    shown = told(run_of(), small=[small], ops=[])
    assert len(shown) == found
    for part in shown:
        assert f"40 small ops, {us / 40:.3g} us each in train.py:3 f" in part.finding.title
        assert (part.names, part.finding.advice, part.advised) == (("train.py:3 f", "aten::a"), SMALL, True)


def function(us, ops_us, model=0, **more):
    """A function with ops."""
    return FunctionGroup("$train.py:3 f", us * US, spent(us), ("aten::mul",), ops_us * US, model * US, **more)


@pytest.mark.parametrize(
    ("group", "found"),
    [
        (function(280, 100), True),
        (function(279, 100), False),
        # Without any waits it is a helper.
        (function(200, 200), True),
        (function(199, 199), False),
        # A fifth of it are ops, at most half of these a model's.
        (function(300, 60), True),
        (function(300, 59), False),
        (function(300, 100, 50), True),
        (function(300, 100, 51), False),
        # An evaluation is work of its own, whatever it consists of.
        (function(280, 1, 1, evaluates=True), True),
        (function(279, 100, evaluates=True), False),
    ],
)
def test_functions_with_their_ops_from_which_share_of_the_step(group, found):
    shown = told(run_of(), functions=[group])
    assert [part.place for part in shown] == (["$train.py:3 f"] if found else [])


@pytest.mark.parametrize(("us", "kept"), [(299, "medium"), (300, "high"), (301, "high")])
def test_a_function_with_its_ops_stands_for_its_waits_unless_these_are_all(us, kept):
    """Waits are certain, what ops are for is not."""
    found = told(run_of(idle_host=400), waits=[waits(us, "$train.py:3 f")], functions=[function(300, 100)])
    assert [(part.lost.ps, part.finding.confidence) for part in found] == [(max(us, 300) * US, kept)]
    other = told(run_of(idle_host=400), waits=[waits(us)], functions=[function(290, 100)])
    assert sorted(part.place for part in other) == ["$train.py:3 f", "$train.py:3 load"]


def test_groups_of_several_hosts_are_those_of_the_one_with_most_time():
    run = run_of(hosts=2)
    gathered = [Blamed(ops=(ops(300, place="m.py:3"),)), Blamed(ops=(ops(500, place="n.py:4"), ops(120, "sort")))]
    found = parts(run, gathered)
    assert [(part.place, part.lost.ps, part.finding.hosts) for part in found if "dot.1" in part.names] == [
        ("n.py:4", 400 * US, ("h1",))
    ]
    assert [part.place for part in parts(run, gathered[::-1]) if "dot.1" in part.names] == ["n.py:4"]
    assert parts(run, [None, None]) == []


def test_parts_of_known_cost_come_first_and_the_largest_of_them():
    groups = [ops(300, "dot"), ops(120, "sort", Nature.OTHER), ops(130, "cholesky", Nature.OTHER)]
    assert [part.names[0] for part in told(run_of(), ops=groups)] == ["cholesky.1", "sort.1", "dot.1"]


# What hosts tell of their groups.


def waited(monkeypatch, *rows, code=None, inner=0, of=slice(None), stacks=None):
    """What is left of the waits in rows of (part, op, node, us); `code`: us that only single steps lose."""
    part, op, node, us = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    blame = HostBlame(part, op, node, us * US, stacks=stacks or Stacks(), step=np.full(len(rows), -1))
    monkeypatch.setattr(module, "code_of", lambda host: code and SimpleNamespace(excess_ps=code[0] * US))
    chosen = np.arange(len(rows))[of]
    group = HostGroup("$a.py:1 f", "g", int(blame.ps[chosen].sum()), blame.by_part(chosen), chosen, inner_ps=inner * US)
    return module._waited(SimpleNamespace(blame=blame), group)


def left(group):
    """Its time by part, in us."""
    return {int(part): int(group.by_part[part]) // US for part in np.flatnonzero(group.by_part)}


BETWEEN_STEPS = len(CATEGORIES)
WAITS = (
    (IDLE_HOST, -1, -1, 100), (IDLE_LAUNCH, -1, -1, 60), (IDLE_INPUT, -1, -1, 50), (COMPUTE, 0, -1, 500),
    (BETWEEN_STEPS + IDLE_HOST, -1, -1, 40), (IDLE_HOST, 0, -1, 30), (IDLE_HOST, 1, -1, 20),
)  # fmt: skip


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (None, {IDLE_HOST: 150, IDLE_LAUNCH: 60, IDLE_INPUT: 50, BETWEEN_STEPS: 40, COMPUTE: 500}),
        ([0], {IDLE_HOST: 150, IDLE_LAUNCH: 60, IDLE_INPUT: 50, BETWEEN_STEPS: 40, COMPUTE: 500}),
        # Of 200 us without ops in which code keeps devices waiting 50 us.
        ([50], {IDLE_HOST: 112, IDLE_LAUNCH: 45, IDLE_INPUT: 50, BETWEEN_STEPS: 30, COMPUTE: 500}),
        ([150], {IDLE_HOST: 37, IDLE_LAUNCH: 15, IDLE_INPUT: 50, BETWEEN_STEPS: 10, COMPUTE: 500}),
        ([200], {IDLE_INPUT: 50, COMPUTE: 500}),
        ([300], {IDLE_INPUT: 50, COMPUTE: 500}),
    ],
)
def test_what_only_single_steps_wait_is_left_out(monkeypatch, code, expected):
    group = waited(monkeypatch, *WAITS, code=code, inner=400)
    assert left(group) == expected
    assert (group.ps, len(group.rows)) == (int(group.by_part.sum()), 0)
    assert group.inner_ps == 400 * US * group.ps // (800 * US)


def test_without_waits_nothing_is_left_out(monkeypatch):
    assert left(waited(monkeypatch, (COMPUTE, 0, -1, 500), code=[50])) == {COMPUTE: 500}
    none = waited(monkeypatch, *WAITS, of=slice(0), inner=3)
    assert (none.ps, none.inner_ps, none.eager, none.input) == (0, 0, True, False)


@pytest.mark.parametrize(
    ("rows", "mostly"),
    [
        ([(IDLE_INPUT, 51), (IDLE_HOST, 50)], True),
        ([(IDLE_INPUT, 50), (IDLE_HOST, 50)], False),
        ([(INPUT_COPY, 20), (BETWEEN_STEPS + IDLE_INPUT, 31), (IDLE_HOST, 50)], True),
        ([(BETWEEN_STEPS + IDLE_HOST, 51), (IDLE_INPUT, 50)], False),
        ([(COMPUTE, 51), (IDLE_INPUT, 50)], False),
    ],
)
def test_waits_that_are_mostly_for_input(monkeypatch, rows, mostly):
    assert waited(monkeypatch, *((part, -1, -1, us) for part, us in rows)).input is mostly


@pytest.mark.parametrize(("us", "eager"), [(99, False), (100, True), (101, True)])
def test_functions_whose_ops_take_as_long(monkeypatch, us, eager):
    """The call 0 waits 100 us and launches an op, as the call 1 in it does; the call 2 is another."""
    stacks = Stacks(parent=np.array([-1, 0, -1]), name=np.array([0, 1, 2]), names=("f", "g", "h"))
    rows = (IDLE_HOST, -1, 0, 100), (COMPUTE, 0, 1, us - 40), (COMPUTE, 0, 0, 40), (COMPUTE, 0, 2, 500)
    assert waited(monkeypatch, *rows, of=slice(1), stacks=stacks).eager is eager


def steps_of(*devices, cells=2):
    """A host; of each device its ops, windows, the steps it takes part in, and runs of ops as (begin, event, op)."""
    listed, times = [], []
    for count, windows, _, runs in devices:
        begin, event, op = (np.array(column, np.int64) for column in zip(*runs, strict=True))
        listed.append(SimpleNamespace(ops=("x",) * count, runs=SimpleNamespace(begin_ps=begin, event=event, op=op)))
        times.append(SimpleNamespace(windows=tuple(np.array(side) for side in zip(*windows, strict=True))))
    part = np.array([used for _, _, used, _ in devices], np.bool_).T
    return SimpleNamespace(
        devices=tuple(listed), spent=SimpleNamespace(devices=times),
        time=SimpleNamespace(takes_part=part, cells=cells),
    )  # fmt: skip


def test_how_often_ops_run_per_step():
    """Runs in the windows of its steps, each once however many pieces it has."""
    windows = [(10, 20), (20, 30), (40, 50)]
    runs = [(9, 0, 0), (10, 1, 0), (12, 1, 0), (19, 2, 1), (20, 3, 0), (29, 4, 2), (30, 5, 2), (40, 6, 2), (50, 7, 0)]
    one = (4, windows, (True, True, False), runs)
    assert module._runs(steps_of(one)).tolist() == [1.0, 0.5, 0.5, 0.0]
    two = (1, [(0, 5), (5, 9), (9, 9)], (False, True, True), [(0, 0, 0), (5, 1, 0), (8, 2, 0), (9, 3, 0)])
    assert module._runs(steps_of(two, one, cells=4)).tolist() == [0.5, 0.5, 0.25, 0.25, 0.0]
    host = steps_of(one)
    host.spent = None
    assert module._runs(host) is None
    host = steps_of(one)
    host.devices = ()
    assert module._runs(host) is None


@pytest.mark.parametrize(
    ("steps", "name", "small", "expected"),
    [
        (True, "CPU (PyTorch)", True, 4),
        (True, "CPU (PyTorch)", False, 0),
        (True, "TPU 0", True, 0),
        (True, None, True, 0),
        (False, "CPU (PyTorch)", True, 0),
    ],
)
def test_small_ops_of_devices_that_run_within_calls_of_the_host(monkeypatch, steps, name, small, expected):
    """In the steps of 10 to 20 and of 30 to 40, of which the first is not used."""
    asked = []

    def found(device, kinds, times, count, stacks):
        asked.append((kinds, [one.tolist() for one in times], count))
        return SmallOps(no_time(), 4.0, (), "", "", spent(5)) if small else None

    monkeypatch.setattr(module, "small_ops", found)
    monkeypatch.setattr(module, "OpNamer", lambda hlo: SimpleNamespace(kind=lambda op: (0, op.upper())))
    windows = np.array([10, 30]), np.array([20, 40])
    host = SimpleNamespace(
        spent=SimpleNamespace(devices=[SimpleNamespace(windows=windows)]) if steps else None,
        devices=() if name is None else (SimpleNamespace(name=name, ops=("a", "b")),), hlo=None,
        time=SimpleNamespace(takes_part=np.array([[False], [True]])), blame=SimpleNamespace(stacks=None),
        by_part=lambda spans, parts: spent(7),
    )  # fmt: skip
    groups = module._small_ops(host)
    assert [(one.count, int(one.by_part.sum())) for one in groups] == ([(4.0, 7 * US)] if expected else [])
    assert asked == ([(["A", "B"], [[30], [40]], 1)] if steps and name == "CPU (PyTorch)" else [])


# What explains a part.


def finding(saving=0, segments=(), title="t", **more):
    """What a rule says; the saving in us."""
    return Finding(title, saving * US, "", "high", more.pop("evidence", ()), HOST, segments=segments, **more)


def part_of(us, by_part, *, of_ops=False, place="$train.py:3 load", **more):
    """A part of the step."""
    run = run_of(idle_host=500, idle_input=300)
    given = {"ordinary": False, "names": (place.removeprefix("$"),), "finding": finding(us, title="p"), **more}
    return Part(run.located([by_part]), by_part, place=place, of_ops=of_ops, **given)


def test_a_finding_explains_half_of_the_time_in_its_parts():
    by_part = spent(100, IDLE_HOST) + spent(100, IDLE_INPUT)
    one = part_of(200, by_part)
    assert [one.explained_by(finding(saving, ("idle_host",))) for saving in (99, 100, 300)] == [False, True, True]
    assert not part_of(200, by_part + spent(1, IDLE_INPUT)).explained_by(finding(200, ("idle_host",)))
    assert not one.explained_by(finding(200))
    assert not one.explained_by(finding(200, ("compute",)))
    between = part_of(200, spent(200, len(CATEGORIES)))
    assert (between.overlaps(finding(9, (BETWEEN,))), between.overlaps(finding(9, ("idle_host",)))) == (True, False)
    assert part_of(200, spent(200, IDLE_HOST)).overlaps(finding(9, ("host_compute", BETWEEN)))


def test_of_ops_a_finding_explains_those_that_it_names_or_all():
    one = part_of(200, spent(200), of_ops=True, place="m.py:3", names=("m.py:3", "dot.1"))
    assert [one.explained_by(finding(saving, ("compute",))) for saving in (199, 200)] == [False, True]
    named = [
        finding(100, ("compute",), title="it is in dot.1"),
        finding(100, ("compute",), evidence=(Evidence("Where", "m.py:3"),)),
        finding(100, ("compute",), evidence=(Evidence("dot.1", 7),)),
        finding(100, ("compute",), title="it is in dot.12"),
    ]
    assert [one.explained_by(told_by) for told_by in named] == [True, True, True, False]
    assert [one.named_in(told_by) for told_by in named] == [True, True, True, False]
    assert [one.names_title(told_by) for told_by in named] == [True, False, False, False]
    assert not any(one.replaces(told_by) for told_by in named)


def test_a_part_replaces_findings_about_some_of_it():
    one = part_of(200, spent(200, IDLE_HOST))
    assert one.replaces(finding(5, title="train.py:3 load"))
    assert one.replaces(finding(100, ("idle_host",)))
    assert not one.replaces(finding(99, ("idle_host",)))


def test_how_much_of_a_part_a_finding_must_tell():
    one = part_of(200, spent(200, IDLE_HOST))
    assert [one.told_by(finding(us), neutral=False) for us in (99, 100)] == [False, True]
    assert [one.told_by(finding(us), neutral=True) for us in (179, 180)] == [False, True]
    assert [replace(one, whole=True).told_by(finding(us), neutral=False) for us in (179, 180)] == [False, True]


@pytest.mark.parametrize(
    ("name", "what"), [("f", "an evaluation in train.py:3 f"), ("evaluate", "train.py:3 evaluate, an evaluation")]
)
def test_an_evaluation_or_what_makes_a_library_do_one(name, what):
    group = replace(function(300, 100, evaluates=True), name=f"$train.py:3 {name}")
    (part,) = told(run_of(), functions=[group])
    assert part.finding.title == f"30.0% of the step is {what}: aten::mul"
    assert (part.whole, part.advised) == (True, True)
    assert part.finding.advice is KINDS[Purpose.EVALUATION].advice


@pytest.mark.parametrize(
    ("saving", "reason", "start"),
    [
        (100, "the lock", "Devices wait 20.0%"),
        (99, "the lock", "p; 9.9% waits"),
        (50, "the lock", "p; 5.0% waits"),
        (49, "the lock", "p"),
        (200, "", "p"),
    ],
)
def test_a_finding_about_some_of_a_part_as_one_about_all(saving, reason, start):
    run, one = run_of(idle_host=500), part_of(200, spent(200, IDLE_HOST))
    found = enlarged(run, one, finding(saving, title="f", reason=reason))
    assert found.title.startswith(start)
    assert (len(found.title) > 1) == (start != "p")
    assert found.evidence[0] == Evidence("Of it", "f")
    assert found.saving_ps == 200 * US
    assert enlarged(run, replace(one, advised=True), finding(saving)) is one.finding


@pytest.mark.parametrize(
    ("saving", "reason", "own", "advice"),
    [
        (100, "x", SMALL, "of the rule"),
        (99, "x", SMALL, "own"),
        (99, "x", HOST, "of the rule"),
        (100, "", SMALL, "own"),
    ],
)
def test_whose_advice_is_told(saving, reason, own, advice):
    rule, one = replace(HOST, general="r"), part_of(200, spent(200, IDLE_HOST))
    one = replace(one, finding=replace(one.finding, advice=own))
    found = enlarged(run_of(idle_host=500), one, replace(finding(saving, reason=reason), advice=rule))
    assert found.advice is (rule if advice == "of the rule" else own)


def test_findings_named_after_a_part_say_that_it_grows():
    one = part_of(200, spent(200, IDLE_HOST), growth=0.1)
    still = replace(one, growth=0.0)
    assert growing(finding(title="wait for train.py:3 load"), [still, one]).title.endswith("20 us more with each step")
    assert growing(one.finding, [one]).title.startswith("p, 20 us")
    for other in (finding(title="other"), finding(title="wait for train.py:3 load")):
        assert growing(other, [still]) is other
    assert growing(finding(title="other"), [one]).title == "other"


def test_a_part_with_more_time_than_the_finding_has_other_time_as_well():
    one = part_of(200, spent(200, IDLE_HOST))
    labels = [pointed(one, saving * US).label for saving in (199, 200, 201)]
    assert labels[1] == labels[2] != labels[0]


def test_what_devices_compute_most():
    run = run_of(data_movement=200, idle_host=300)
    groups = (ops(400, "sort", place="m.py:3"), ops(100, "copy", Nature.MOVEMENT, by_part=spent(100, DATA_MOVEMENT)))
    assert busy_with(run, [Blamed(ops=groups)]) == "57.1% of it in sort (m.py:3)"
    assert busy_with(run, [Blamed()]) == busy_with(run, [None]) == ""
    assert busy_with(run_of(idle_host=1000), [Blamed(ops=groups)]) == ""
