"""Verdicts on devices by typed-in ops: how far from their limits they are, and which is slower than the others."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.environment.matrix_units import MatrixUnit
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import OpWork, ProgramOp, ReadOp, Roof
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.rules.device import (
    bounds,
    buffer_copies,
    conversions,
    data_movement,
    exposed_copy,
    low_utilization,
    padding,
    recomputation,
    repeated_work,
    replicated_work,
    slow_device,
    sparse_core_wait,
    unchanged_work,
    unread_gradients,
    unread_rows,
)
from tpu_profile_plugin.analysis.hlo.buffer_copies import Why
from tpu_profile_plugin.analysis.hlo.products import Product
from tpu_profile_plugin.analysis.ops.op_nature import Nature
from tpu_profile_plugin.analysis.steps.step_table import TpuPart

US = 10**6
PEAKS = SimpleNamespace(tera_flops=1.0, hbm=100.0)
"""At the limits of 20% and 40%: 0.2 FLOPs per ps in products, a fiftieth of that elsewhere, and 0.04 bytes per ps."""


def work_of(*ops, counted=None):
    """Ops of (nature, what they do, us, runs, FLOPs, bytes)."""
    us, runs, flops, accessed = (np.array([one[i] for one in ops], np.float64) for i in (2, 3, 4, 5))
    table = SimpleNamespace(
        self_ps=(us * US).astype(np.int64), occurrences=runs.astype(np.int64), flops=flops, bytes=accessed
    )
    read = tuple(ReadOp(i, one[0], one[1], round(one[2] * US)) for i, one in enumerate(ops))
    return OpWork(table, round(us.sum() * US) if counted is None else counted * US, read)


MATRIX, OTHER = Nature.MATRIX, Nature.OTHER


@pytest.mark.parametrize(
    ("op", "known", "us"),
    [
        ((MATRIX, "dot", 1, 1, 2e6, 0), True, 10.0),
        ((MATRIX, "dot", 1, 1, 2e6, 2e6), True, 50.0),  # as long as its bytes take
        ((MATRIX, "dot", 1, 1, 0, 4e5), False, 10.0),
        ((OTHER, "add", 1, 1, 2e5, 0), True, 50.0),
        ((OTHER, "add", 1, 1, 0, 4e5), True, 10.0),
        ((OTHER, "add", 1, 1, 0, 0), False, 0.0),
        ((OTHER, "custom-call", 1, 1, 0, 4e5), False, 10.0),
        ((OTHER, "custom-call", 1, 1, 4e3, 0), True, 1.0),
        ((MATRIX, "custom-call", 1, 1, 2e6, 0), True, 10.0),
    ],
)
def test_how_long_work_takes_at_the_limits(op, known, us):
    found, ps = low_utilization._at_limits(work_of(op), PEAKS)
    assert (found.tolist(), (ps / US).tolist()) == ([known], [pytest.approx(us)])


def gathered(monkeypatch, *ops, counted=None, mxu=0.0, hbm=0.0, peaks=PEAKS, devices=True):
    """What the rule says of a host's ops: the saving and the most that could be saved in ops of one kind."""
    work = work_of(*ops, counted=counted)
    monkeypatch.setattr(low_utilization, "work_of", lambda host: work)
    monkeypatch.setattr(
        low_utilization, "op_kind",
        lambda host, some, least, saving: OpKind(1, saving_ps=saving, what=",".join(str(one.index) for one in some)),
    )  # fmt: skip
    summary = SimpleNamespace(peaks=peaks, has_device=devices, mxu_percent=mxu, hbm_percent=hbm)
    return low_utilization.gather(SimpleNamespace(summary=summary))


def kind_of(found):
    return next(name for name in ("small products", "slow ops", "tiny ops") if PARTS[name] is found.advice)


PRODUCT, SUM = (MATRIX, "dot", 60, 10, 2e6, 0), (OTHER, "add", 40, 4, 4e4, 0)
"""60 us in place of 10, in 10 runs of 6 us; 40 us in place of 10, in 4 runs of 10 us."""


@pytest.mark.parametrize(
    ("ops", "kind", "farthest", "saving", "mean"),
    [
        ([PRODUCT, SUM], "small products", "0", 80, 100 / 14),
        ([SUM, PRODUCT], "small products", "1", 80, 100 / 14),
        ([PRODUCT, (OTHER, "add", 70, 4, 4e4, 0)], "slow ops", "1", 110, 130 / 14),
        ([(MATRIX, "dot", 60, 13, 2e6, 0), SUM], "tiny ops", "0", 80, 100 / 17),
        ([(MATRIX, "dot", 60, 12, 2e6, 0), SUM], "small products", "0", 80, 100 / 16),  # of 5 us
        ([(MATRIX, "dot", 10, 1, 2e6, 0)], "tiny ops", "", 0, 10),  # at the limit
        ([(MATRIX, "dot", 5, 1, 2e6, 0), SUM], "slow ops", "1", 25, 9),  # one is faster than the limit
    ],
)
def test_ops_that_are_farthest_from_their_limits(monkeypatch, ops, kind, farthest, saving, mean):
    found = gathered(monkeypatch, *ops)
    assert (kind_of(found), found.what, found.saving_ps) == (kind, farthest, pytest.approx(saving * US))
    assert found.evidence == (Evidence("Mean length of an op", pytest.approx(mean), "us"),)


@pytest.mark.parametrize(
    ("counted", "mxu", "hbm", "known"),
    [
        (75, 0.0, 0.0, True),  # costs of 60 us are known, four fifths
        (76, 0.0, 0.0, False),
        (76, 5.0, 5.0, True),  # the use of both units is recorded
        (76, 5.0, 0.0, False),
        (76, 0.0, 5.0, False),
        (76, 0.1, 0.1, True),
    ],
)
def test_costs_that_are_known_of_enough_ops(monkeypatch, counted, mxu, hbm, known):
    found = gathered(monkeypatch, PRODUCT, (OTHER, "add", 15, 4, 0, 0), counted=counted, mxu=mxu, hbm=hbm)
    assert isinstance(found, Silence) != known


def test_without_devices_peaks_or_ops_nothing_is_known(monkeypatch):
    assert isinstance(gathered(monkeypatch, PRODUCT, devices=False), Silence)
    assert isinstance(gathered(monkeypatch, PRODUCT, peaks=SimpleNamespace(tera_flops=0.0, hbm=1.0)), Silence)
    assert isinstance(gathered(monkeypatch, PRODUCT, peaks=SimpleNamespace(tera_flops=1.0, hbm=0.0)), Silence)
    assert isinstance(gathered(monkeypatch), Silence)


# A device that is slower than the others.


def slower(ratio=1.5, agree=0.9, *, kinds=("tpu",) * 4, slow=None, late=(), kind="tpu", given=True):
    names = [SimpleNamespace(name=f"TPU {i}", kind=one) for i, one in enumerate(kinds)]
    slow = [1.0, 1.0, ratio, 0.9] if slow is None else slow
    part = SimpleNamespace(
        kind=kind, slow=slow, agree=[0.0, 0.0, agree, 0.0][: len(slow)], devices=[one.name for one in names]
    )
    communication = SimpleNamespace(
        devices=names, stragglers=tuple(SimpleNamespace(index=one) for one in late), number=[0, 1],
        work_ps=np.array([[100, 100, 300, 100]] * 2) * US,
    )  # fmt: skip
    run = SimpleNamespace(
        communication=communication, hosts=("h",), base="step", per="step", budget=SimpleNamespace(devices=names),
        present=lambda parts: [(one, "h") for one in parts if one is not None], devices_of=lambda host: [0, 1, 2, 3],
        part_ps=lambda name: 50 * US, lost_in=lambda *segments, ps: Lost(ps, ps / (1000 * US), segments),
    )  # fmt: skip
    return slow_device.judge(run, [part if given else None])


def test_a_slow_device_costs_what_its_ops_take_longer_and_the_waits_for_it():
    """It works for 300 us per step, a third of that longer than the others would: 25 us of four devices, and 50 us."""
    found = slower()
    assert isinstance(found, Finding)
    assert found.title == "TPU 2 runs the same ops 1.50 times as long as the other devices"
    assert found.saving_ps == pytest.approx(75 * US)
    assert [one.value for one in found.evidence] == [1.5, 90.0, 1.0, 1.0, 1.5, 0.9]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"ratio": slow_device.SLOWER, "agree": slow_device.AGREE}, ""),
        ({"ratio": slow_device.SLOWER - 0.01}, "The slowest device takes"),
        ({"agree": slow_device.AGREE - 0.01}, "The slowest device takes"),
        ({"late": (2,)}, ""),
        ({"late": (0, 2)}, ""),
        ({"late": (0, 1)}, "TPU 2 takes 1.50 times as long as the median, but the others wait for TPU 0."),
        ({"kinds": ("tpu", "tpu", "cpu", "cpu")}, "No host with"),
        ({"kind": "cpu"}, "ops that all devices"),
        ({"slow": [1.0, 2.0]}, "ops that all devices"),
        ({"given": False}, "ops that all devices"),
    ],
)
def test_when_a_device_is_slow(given, reason):
    found = slower(**given)
    assert isinstance(found, Silence) == bool(reason)
    if reason:
        assert reason in found.reason


# What limits a program.


@pytest.mark.parametrize(
    ("matrix", "memory", "limited"),
    [
        (70.1, 49.9, (True, False)),
        (70.0, 49.9, (False, False)),
        (70.1, 50.0, (False, False)),
        (49.9, 70.1, (False, True)),
        (49.9, 70.0, (False, False)),
        (50.0, 70.1, (False, False)),
        (90.0, 90.0, (False, False)),
        (0.0, 0.0, (False, False)),
    ],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_a_resource_that_is_busy_while_the_other_is_free(matrix, memory, limited, recorded):
    run = SimpleNamespace(use=SimpleNamespace(matrix=matrix, hbm=memory, recorded=recorded, sentence="use is low"))
    found = [rule.judge(run, ()) for rule in (bounds.COMPUTE_BOUND, bounds.MEMORY_BOUND)]
    assert tuple(isinstance(one, Finding) for one in found) == limited
    for one in found:
        if isinstance(one, Finding):
            assert one.confidence == ("high" if recorded else "medium")
            shown = [(part.label.startswith("Matrix units"), part.value) for part in one.evidence[:2]]
            assert shown[:: 1 if limited[0] else -1] == [(True, matrix), (False, memory)]
            assert ("HBM" in one.title) == (recorded and limited[1])
    assert not bounds.judge_memory(SimpleNamespace(use=None), ()).looked


# Kinds of ops that the programs of a host tell.


def op_of(us, *, index=0, nature=OTHER, does="op", place="", rows=None, at=0):
    """An op that was read; `rows`: of its program."""
    return SimpleNamespace(
        self_ps=round(us * US), index=index, nature=nature, does=does, place=place, rows=rows, at=at
    )  # fmt: skip


def of_host(monkeypatch, rule, ops, counted, **more):
    """What a rule gathers of a host with these ops, whose kinds are counted only."""
    natures = {nature: [one for one in ops if one.nature is nature] for nature in Nature}
    work = SimpleNamespace(in_programs=ops, read=ops, counted_ps=counted * US, of=natures.__getitem__)
    monkeypatch.setattr(rule, "work_of", lambda host: work)
    monkeypatch.setattr(
        rule, "op_kind",
        lambda host, some, least, saving=None: OpKind(
            counted * US, sum(one.self_ps for one in some), -1 if saving is None else saving
        ),
    )  # fmt: skip
    names = SimpleNamespace(names={1: "jit_a", 2: "jit_b", 3: "jit_c", 7: "jit_f(7)"})
    environment = SimpleNamespace(hardware=more.pop("hardware", Hardware.GPU))
    return rule.gather(
        SimpleNamespace(
            name="h", hlo=SimpleNamespace(programs=names), space=None, ops=SimpleNamespace(name=["a", "b", "c"]),
            summary=SimpleNamespace(environment=environment), **more,
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("own", "by_compiler", "counted", "who"),
    [
        (10, 0, 100, "the program"),
        (9.9, 0, 100, None),
        (5, 5, 100, "the compiler"),
        (5.1, 5, 100, "the program"),
        (0, 10, 100, "the compiler"),
    ],
)
def test_who_recomputes(monkeypatch, own, by_compiler, counted, who):
    rows = SimpleNamespace(program=SimpleNamespace(program_id=7))
    ops = [op_of(us, does=does, rows=rows) for us, does in ((own, "own"), (by_compiler, "compiler")) if us]
    monkeypatch.setattr(recomputation, "recomputed", lambda work: ops)
    monkeypatch.setattr(recomputation, "_by_the_compiler", lambda op: op.does == "compiler")
    monkeypatch.setattr(recomputation, "layout_of", lambda host, number: None)
    monkeypatch.setattr(recomputation, "device_memory", lambda space: SimpleNamespace(bytes=0))
    found = of_host(monkeypatch, recomputation, ops, counted)
    assert [one.value for one in found.evidence] == ([] if who is None else [who])
    advice = {"the program": "recomputation", "the compiler": "recomputation by the compiler"}
    assert who is None or found.advice is PARTS[advice[who]]


@pytest.mark.parametrize(
    ("peak", "capacity", "values", "excused"),
    [
        (50, 100, [50.0, 50.0], True),
        (49, 100, [49.0, 49.0], False),
        (50, 0, [50.0], False),
        (0, 100, [], False),
        (None, 100, [], False),
    ],
)
def test_recomputation_for_want_of_memory(monkeypatch, peak, capacity, values, excused):
    """Sizes in MiB."""
    ops = [op_of(50, rows=SimpleNamespace(program=SimpleNamespace(program_id=7)))]
    layout = None if peak is None else SimpleNamespace(peak_bytes=peak << 20)
    monkeypatch.setattr(recomputation, "recomputed", lambda work: ops)
    monkeypatch.setattr(recomputation, "_by_the_compiler", lambda op: False)
    monkeypatch.setattr(recomputation, "layout_of", lambda host, number: layout)
    monkeypatch.setattr(recomputation, "device_memory", lambda space: SimpleNamespace(bytes=capacity << 20))
    found = of_host(monkeypatch, recomputation, ops, 100)
    assert [one.value for one in found.evidence[1:]] == values
    assert bool(found.excuse) is excused
    monkeypatch.setattr(recomputation, "recomputed", lambda work: [])
    assert of_host(monkeypatch, recomputation, ops, 100).ops_ps == 0
    assert of_host(monkeypatch, recomputation, [], 0) is UNREAD


MOVES, UNKNOWN = Nature.MOVEMENT, Nature.UNKNOWN


@pytest.mark.parametrize(
    ("ops", "line", "kinds"),
    [
        ([(30, "copy", "a.py:1"), (20, "copy", "a.py:2"), (15, "copy", "a.py:2")], 35, "copy 100%"),
        ([(30, "gather", ""), (29, "gather", "")], 30, "gather 100%"),  # without a line each stands alone
        ([(30, "copy", "a.py:1"), (20, "gather", "a.py:1")], 30, "copy 60%, gather 40%"),
        ([(40, "a", ""), (30, "b", ""), (20, "c", ""), (10, "d", "")], 40, "a 40%, b 30%, c 20%"),
        ([], 0, None),
    ],
)
def test_the_line_with_most_movement(monkeypatch, ops, line, kinds):
    monkeypatch.setattr(
        data_movement, "copies_in", lambda work: [SimpleNamespace(op=op_of(3)), SimpleNamespace(op=op_of(4))]
    )
    moving = [op_of(us, index=i, nature=MOVES, does=does, place=place) for i, (us, does, place) in enumerate(ops)]
    others = [op_of(25, nature=MATRIX), op_of(5, nature=UNKNOWN), op_of(6, nature=UNKNOWN)]
    found = of_host(monkeypatch, data_movement, [*moving, *others], 200)
    assert (found.line_ps, found.matrix_ps, found.unknown_ps, found.copies_ps) == (
        pytest.approx(line * US), 25 * US, 11 * US, 7 * US,
    )  # fmt: skip
    assert [one.value for one in found.kind.evidence] == ([12.5, kinds] if kinds else [])


def moved(us, *, counted=100, of_ops=0.5, unknown=0, copies=0, matrix=0, line=None):
    """What a host moves."""
    kind = OpKind(counted * US, us * US, us * US, of_ops, ", most of it", what="w")
    return data_movement.Moved(kind, unknown * US, copies * US, matrix * US, (us if line is None else line) * US)


@pytest.mark.parametrize(
    ("parts", "busy", "expected"),
    [
        # Half of the ops' time, beside few products, and a twentieth of the step.
        ([moved(50)], 100, "high"),
        ([moved(50, of_ops=0.49)], 100, None),
        ([moved(50, matrix=19)], 100, "high"),
        ([moved(50, matrix=20)], 100, None),
        ([moved(50, line=0)], 100, "high"),
        ([moved(50)], 99, None),
        # A quarter of the step, half of it at one line.
        ([moved(50, matrix=40)], 500, "medium"),
        ([moved(50, matrix=40)], 499, None),
        ([moved(50, matrix=40, line=25)], 500, "medium"),
        ([moved(50, matrix=40, line=24)], 500, None),
        ([moved(50, matrix=40, line=24), moved(30, matrix=10, line=15)], 600, "medium"),
        # More than half of it copies of buffers,
        ([moved(50, copies=25)], 500, "high"),
        ([moved(50, copies=26)], 500, None),
        ([moved(50, copies=26), moved(30, copies=14)], 500, "high"),
        # or half of all unknown.
        ([moved(50, unknown=49)], 500, "high"),
        ([moved(50, unknown=50)], 500, "unknown"),
        ([moved(50, unknown=70), moved(50, unknown=29)], 500, "high"),
    ],
)
def test_ops_that_move_data_over_all_hosts(parts, busy, expected):
    """Devices compute for so many of 1000 us."""
    names = "ab"[: len(parts)]
    run = SimpleNamespace(
        base="step", present=lambda given: list(zip(given, names, strict=True)),
        part_ps=lambda name: busy * US * (name == "compute"),
        lost_in=lambda *segments, ps: Lost(ps, ps / (1000 * US), segments),
    )  # fmt: skip
    found = data_movement.judge(run, parts)
    if isinstance(found, Finding):
        assert found.confidence == expected
    else:
        assert expected == (None if found.looked else "unknown")


@pytest.mark.parametrize(
    ("ops", "counted", "expected"),
    [
        # Of the program 1 with 60 us, 2 with 10 us repeats all products, of 3 some: (us, key) per product.
        ({1: [(60, "x")], 2: [(10, "x")]}, 100, ("jit_b repeats products of jit_a", 10)),
        ({1: [(60, "x")], 2: [(10, "y")]}, 100, None),
        ({1: [(60, "x")], 2: [(2, "x")]}, 100, ("jit_b repeats products of jit_a", 2)),
        ({1: [(60, "x")], 2: [(1.9, "x")]}, 100, None),
        ({1: [(60, "x")], 2: [(19, "x"), (1, "y")]}, 100, ("jit_b repeats products of jit_a", 20)),
        ({1: [(60, "x")], 2: [(18.9, "x"), (1, "y")]}, 100, None),
        ({1: [(60, "x")], 2: [(9, "x")], 3: [(10, "x")]}, 100, ("jit_c, jit_b repeat products of jit_a", 19)),
        ({1: [(60, "x")], 2: [(50, "y")], 3: [(10, "y")]}, 200, ("jit_c repeats products of jit_b", 10)),
        ({1: [(60, "")], 2: [(10, "")]}, 100, None),  # of no known line
    ],
)
def test_programs_that_repeat_the_products_of_a_larger_one(monkeypatch, ops, counted, expected):
    monkeypatch.setattr(repeated_work, "_keys", lambda op: [(op.does, (8, 8))])
    read = [
        op_of(us, nature=MATRIX, does=key, rows=SimpleNamespace(program=SimpleNamespace(program_id=number)))
        for number, some in ops.items()
        for us, key in some
    ]
    found = of_host(monkeypatch, repeated_work, read, counted)
    told = (found.what, found.ops_ps / US) if found.ops_ps else None
    assert told == (None if expected is None else (expected[0], pytest.approx(expected[1])))


def test_programs_without_products_repeat_nothing(monkeypatch):
    rows = [SimpleNamespace(program=SimpleNamespace(program_id=number)) for number in (1, 2)]
    monkeypatch.setattr(repeated_work, "_keys", lambda op: [("a.py:1", (8,))])
    assert of_host(monkeypatch, repeated_work, [op_of(60, rows=rows[0]), op_of(20, rows=rows[1])], 80).ops_ps == 0
    assert of_host(monkeypatch, repeated_work, [], 0) is UNREAD


@pytest.mark.parametrize(
    ("ops", "what", "confidence", "advice"),
    [
        # Arguments that a tenth depends on, at most four, most time first.
        ([(90, "a"), (10, "b")], "p, from a, b", "low", "work from some arguments"),
        ([(91, "a"), (9, "b")], "p, from a", "low", "work from some arguments"),
        (
            [(30, "c"), (24, "a"), (18, "e"), (14, "b"), (14, "d")],
            "p, from c, a, e, b",
            "low",
            "work from some arguments",
        ),
        # Half of it depends on none.
        ([(50, ""), (50, "a")], "p, from a", "high", "unchanged work"),
        ([(49, ""), (51, "a")], "p, from a", "low", "work from some arguments"),
        ([(100, "")], "p", "high", "unchanged work"),
        # Four arrays under one name are a network.
        ([(100, "w[0] w[1] w.x w['b']")], "p, from w, w.x, w['b']", "medium", "work from some arguments"),
        ([(100, "w[0] w[1] w.x v")], "p, from w, w.x, v", "low", "work from some arguments"),
    ],
)
def test_work_that_no_step_changes(monkeypatch, ops, what, confidence, advice):
    monkeypatch.setattr(
        unchanged_work, "Unchanged", lambda rows: SimpleNamespace(arguments=lambda at: set(ops[at][1].split()))
    )
    monkeypatch.setattr(unchanged_work, "_short", lambda name: "w" if name in ("w[0]", "w[1]") else name)
    monkeypatch.setattr(unchanged_work, "_where", lambda ops, every: "p")
    read = [op_of(us, rows=SimpleRows(), at=i) for i, (us, _) in enumerate(ops)]
    found = of_host(monkeypatch, unchanged_work, read, 200)
    assert sorted(found.what.replace(",", "").split()) == sorted(what.replace(",", "").split())
    assert (found.confidence, found.advice is PARTS[advice]) == (confidence, True)


class SimpleRows:
    """Rows of a program, which can be a key."""

    def __init__(self, program=None):
        self.program = program


@pytest.mark.parametrize(
    ("function", "everything", "expected"),
    [("encode", "", "encode"), ("encode", "encode", "a.py:1, a.py:2"), ("", "", "a.py:1, a.py:2"), ("", "f", "")],
)
def test_where_work_that_no_step_changes_is(monkeypatch, function, everything, expected):
    monkeypatch.setattr(unchanged_work, "of_program", lambda rows, at: at)
    monkeypatch.setattr(unchanged_work, "common", lambda some: function if len(some) == 1 else everything)
    monkeypatch.setattr(unchanged_work, "shared", lambda some: [("a.py:1", 0.5), ("a.py:2", 0.3), ("a.py:3", 0.2)])
    assert unchanged_work._where([op_of(1)], [op_of(1), op_of(2)]) == expected


@pytest.mark.parametrize(
    ("opcodes", "operands", "spaces", "row", "expected"),
    [
        (["copy-start", "copy-done"], {1: [0]}, {0: (0, 5), 1: (0,)}, 1, (64, True)),
        (["copy-start", "copy-done"], {1: [0]}, {0: (0, 1), 1: (0,)}, 1, (64, False)),
        (["copy-start", "copy-done"], {1: [0]}, {0: (0, 1), 1: (5,)}, 1, (64, True)),
        (["x", "copy-start"], {1: [0]}, {0: (5,), 1: (0,)}, 1, (0, True)),
        (["x", "copy-start"], {1: [-1]}, {0: (5,), 1: (0,)}, 1, (0, False)),
        (["x", "copy-done"], {1: [-1]}, {0: (5,), 1: (0,)}, 1, (64, False)),
        (["copy-done"], {0: []}, {0: (5,)}, 0, (64, True)),
    ],
)
def test_copies_of_the_host_s_memory(monkeypatch, opcodes, operands, spaces, row, expected):
    def leaves(shape):
        return [((), SimpleNamespace(layout=SimpleNamespace(memory_space=one))) for one in shape]

    monkeypatch.setattr(exposed_copy, "leaves", leaves)
    rows = SimpleNamespace(
        links=SimpleNamespace(operands=operands.__getitem__), opcodes=opcodes, shape=spaces.__getitem__,
        bytes=lambda row: 64,
    )  # fmt: skip
    assert exposed_copy._what(rows, row) == expected


@pytest.mark.parametrize(
    ("names", "categories", "expected"),
    [
        (["copy-start.1", "add"], ["x", "y"], ["0"]),
        (["fusion.1", "add"], ["async-done", "y"], ["0"]),
        (["slice-done", "async-copy-start"], ["x", "copy-done"], ["0", "1"]),
        (["copy.1", "add"], ["copy", "y"], None),
    ],
)
def test_ops_that_start_copies_or_wait_for_them(monkeypatch, names, categories, expected):
    kinds = []
    monkeypatch.setattr(exposed_copy, "op_kind", lambda host, ops, least: kinds.extend(ops) or OpKind(1))
    table = SimpleNamespace(
        by_self_time=lambda: range(len(names)), name=names, category=categories, self_ps=[9, 8], module=[1, 1]
    )
    environment = SimpleNamespace(hardware=Hardware.TPU)
    host = SimpleNamespace(
        ops=table, summary=SimpleNamespace(environment=environment), hlo=SimpleNamespace(located=lambda *of: None)
    )
    found = exposed_copy.gather(host)
    assert (found is None) == (expected is None)
    assert [str(one.index) for one in kinds] == (expected or [])
    environment.hardware = Hardware.GPU
    assert exposed_copy.gather(host) is None


@pytest.mark.parametrize(
    ("copies", "waits", "parts", "hardware", "devices", "expected"),
    [
        (100, 0, ["a"], Hardware.TPU, True, "10.0% of the step waits for a"),
        (99, 0, ["a"], Hardware.TPU, True, "Host copies take 9.9% of the step."),
        (90, 120, ["a"], Hardware.TPU, True, "12.0% of the step waits for copies between the device's memories"),
        (120, 120, ["a", None, "b"], Hardware.TPU, True, "12.0% of the step waits for b"),
        (200, 0, [None], Hardware.TPU, True, "Host copies take 20.0% of the step."),
        (200, 0, [None], Hardware.GPU, True, False),
        (200, 0, [None], Hardware.TPU, False, False),
    ],
)
def test_exposed_copies_over_all_hosts(copies, waits, parts, hardware, devices, expected):
    spent = {"exposed_copy": copies * US, "move_wait": waits * US}
    run = SimpleNamespace(
        base="step", per="step", hardware=hardware, has_devices=devices, part_ps=lambda name: spent.get(name, 0),
        lost_in=lambda name: Lost(spent[name], spent[name] / (1000 * US), (name,)),
        present=lambda given: [(one, f"h{i}") for i, one in enumerate(given) if one is not None],
    )  # fmt: skip
    given = [one and OpKind(9, 5 + (one == "b"), what=one) for one in parts]
    found = exposed_copy.judge(run, given)
    if isinstance(found, Finding):
        assert found.title == expected
        assert found.hosts == tuple(f"h{i}" for i, one in enumerate(parts) if one)
    else:
        assert expected == (found.reason if found.looked else False)


UNIT = MatrixUnit("TPU", 128, 8)


@pytest.mark.parametrize(
    ("sizes", "us", "limits", "saved", "wasted"),
    [
        ([(1, 128, 128, 128)], 50, Roof(10 * US, 1 * US), 0.0, 0.0),
        ([(1, 128, 128, 64)], 50, Roof(10 * US, 1 * US), 10 * US, 0.5),  # padded it takes 20 us
        ([(1, 128, 128, 64)], 15, Roof(10 * US, 1 * US), 5 * US, 0.5),
        ([(1, 128, 128, 64)], 50, Roof(10 * US, 15 * US), 5 * US, 0.5),
        ([(1, 128, 128, 64)], 50, Roof(10 * US, 25 * US), 0.0, 0.5),
        ([(1, 128, 128, 96)] * 2, 50, Roof(30 * US, 1 * US), 10 * US, 0.25),
        ([(1, 128, 128, 128), (1, 128, 128, 64)], 50, Roof(30 * US, 1 * US), 10 * US, 0.25),
        ([(1, 128, 128, 512 - 102)], 50, Roof(40 * US, 1 * US), 0.0, 102 / 512),  # less than a fifth
        ([(1, 128, 128, 512 - 103)], 99, Roof(40.9 * US, 1 * US), 10.3 * US, 103 / 512),
        ([(1, 128, 128, 0)], 50, Roof(40 * US, 1 * US), None, None),
        ([(1, 128, 128, 64)], 50, None, None, None),
    ],
)
def test_what_padding_costs_a_product(monkeypatch, sizes, us, limits, saved, wasted):
    flops = []
    monkeypatch.setattr(padding, "roof", lambda host, op, of: flops.append(of) or limits)
    monkeypatch.setattr(
        MatrixUnit, "used", lambda unit, sizes, bits: max(sizes[3], 1) / (-(-max(sizes[3], 1) // 128) * 128)
    )
    products = [Product(16, 0, False, one) for one in sizes]
    found = padding._cost(SimpleNamespace(), UNIT, op_of(us), products)
    assert found == (None if saved is None else (pytest.approx(saved), pytest.approx(wasted)))
    assert flops == [sum(2.0 * 128 * 128 * one[3] for one in sizes)]


def test_the_product_that_padding_costs_most(monkeypatch):
    """Of ops whose sizes are all known: (us saved, share of padding), None of unknown costs."""
    known = {0: (10 * US, 0.3), 1: (30 * US, 0.5), 2: (0.0, 0.1), 3: None, 4: (99 * US, 0.9), 5: (99 * US, 0.9)}
    sizes = {0: [(1, 1, 2, 3)], 1: [(1, 4, 5, 6), (1, 7, 8, 9)], 4: [(1, 9, 9, 9), None], 5: []}

    def products_of(rows, at):
        return [Product(16, 0, False, one) for one in sizes.get(at, [(1, 2, 2, 2)])]

    monkeypatch.setattr(padding, "matrix_unit", lambda space, environment: UNIT)
    monkeypatch.setattr(padding, "products_of", products_of)
    monkeypatch.setattr(padding, "_cost", lambda host, unit, op, products: known[op.at])
    ops = [op_of(40, nature=MATRIX, at=at) for at in known]
    found = of_host(monkeypatch, padding, [*ops, op_of(40, at=1)], 400)
    assert found.what == "7 x 9 times 9 x 8, 50% of the units' work is padding"
    assert (found.ops_ps, found.saving_ps, found.evidence[0].value) == (80 * US, 40 * US, 50.0)
    assert isinstance(of_host(monkeypatch, padding, ops[3:], 400), Silence)
    monkeypatch.setattr(padding, "matrix_unit", lambda space, environment: None)
    assert isinstance(of_host(monkeypatch, padding, ops, 400), Silence)


@pytest.mark.parametrize(
    ("copies", "what", "of_all", "confidence"),
    [
        # The reason that most of the time has comes first, and of it the first copy.
        ([(30, Why.CARRIED, ""), (20, Why.NOT_DONATED, "a"), (20, Why.NOT_DONATED, "b")],
         "argument a is overwritten but not donated", 400 / 7, "high"),
        ([(30, Why.CARRIED, ""), (10, Why.NOT_DONATED, "a"), (10, Why.NOT_DONATED, "b")],
         "a loop needs its old value in every iteration", 60.0, "high"),
        ([(10, Why.NOT_DONATED, "a"), (30, Why.ARGUMENT, "b")],
         "argument b is overwritten and kept by the caller", 75.0, "medium"),
    ],
)  # fmt: skip
def test_why_most_buffers_are_copied(monkeypatch, copies, what, of_all, confidence):
    found = [
        buffer_copies.BufferCopy(op_of(us, index=i), why, (i + 1) << 20, argument)
        for i, (us, why, argument) in enumerate(copies)
    ]
    monkeypatch.setattr(buffer_copies, "copies_in", lambda work: found)
    kind = of_host(monkeypatch, buffer_copies, [op_of(1)], 100)
    assert (kind.what, kind.confidence) == (what, confidence)
    assert [one.value for one in kind.evidence] == [pytest.approx(of_all), float(found[0].size >> 20)]


@pytest.mark.parametrize(
    ("ops", "asked", "kinds", "advice"),
    [
        ([(30, "a", "f/convert_element_type"), (30, "b", "f/dot")], 50.0, "a 50%, b 50%", "conversions"),
        ([(29, "a", "f/convert_element_type"), (31, "b", "f/dot")], 290 / 6, "b 52%, a 48%",
         "conversions by the compiler"),
        ([(40, "a", "f/Cast_1"), (30, "b", "convert.2"), (20, "c", "f/convert/add"), (10, "d", "")], 70.0,
         "a 40%, b 30%, c 20%", "conversions"),
    ],
)  # fmt: skip
def test_who_asks_for_conversions(monkeypatch, ops, asked, kinds, advice):
    monkeypatch.setattr(conversions, "_conversion", lambda op: ops[op.at][1] if op.at < len(ops) else "")
    names = SimpleNamespace(own_op_name=lambda at: ops[at][2])
    read = [op_of(us, does="convert", at=at, rows=names) for at, (us, _, _) in enumerate(ops)]
    others = [op_of(99, does="add", at=0, rows=names), op_of(99, does="convert", at=len(ops), rows=names)]
    found = of_host(monkeypatch, conversions, [*others, *read], 300)
    assert [one.value for one in found.evidence] == [kinds, pytest.approx(asked)]
    assert (found.what, found.advice is PARTS[advice]) == (kinds.split()[0], True)
    assert of_host(monkeypatch, conversions, others[:1], 300).ops_ps == 0


@pytest.mark.parametrize(
    ("types", "operands", "expected"),
    [
        ((11, 16), [0], "f32 to bf16"),
        ((11, 11), [0], ""),
        ((11, 16), [], ""),
        ((11, 16), [-1], ""),
        ((None, 16), [0], ""),
        ((11, None), [0], ""),
        ((11, 16, 12), [0, 2], "f64 to bf16"),  # of the larger operand
    ],
)
def test_the_types_of_a_conversion(monkeypatch, types, operands, expected):
    """Element types of the rows, of which 1 is the op."""
    monkeypatch.setattr(
        conversions, "leaves", lambda one: [] if one is None else [((), SimpleNamespace(element_type=one))]
    )
    rows = SimpleNamespace(
        links=SimpleNamespace(operands=lambda at: operands), bytes=lambda row: row, shape=types.__getitem__
    )
    assert conversions._conversion(op_of(1, rows=rows, at=1)) == expected


@pytest.mark.parametrize(
    ("does", "framework", "scatters", "what", "advice"),
    [
        ("broadcast", "", True, "zeros for the dense gradient of a table", "dense gradient"),
        ("broadcast", "", False, "broadcast", "layout"),
        ("copy", "", True, "copy", "layout"),
        ("gather", "f/x", True, "gather", "by index"),
        ("concatenate", "f/x", False, "concatenate", "whole"),
        ("copy", "f/all_gather_invariant", False, "copy of all_gather_invariant", "around a collective"),
        ("broadcast", "f/psum", True, "broadcast of psum", "around a collective"),
        ("copy", "f/all_gather/x", False, "copy", "layout"),
    ],
)
def test_what_moves_the_most_data(monkeypatch, does, framework, scatters, what, advice):
    rows = SimpleNamespace(op_name=lambda at: framework, links=SimpleNamespace(users=lambda at: [3, 4]))
    first = ProgramOp(0, MOVES, does, 50 * US, rows, 2)
    monkeypatch.setattr(ProgramOp, "place", "a.py:1")
    monkeypatch.setattr(data_movement, "copies_in", lambda work: [])
    monkeypatch.setattr(data_movement, "_reader", lambda op: "add (a.py:2)")
    monkeypatch.setattr(data_movement, "_is_scatter", lambda rows, row: scatters and row == 4)
    for hardware in (Hardware.GPU, Hardware.TPU):
        found = of_host(monkeypatch, data_movement, [first], 100, hardware=hardware).kind
        assert (found.what, found.evidence[-1].value) == (what, "add (a.py:2)")
        assert found.advice.general.startswith(PARTS[advice].general)
        assert (found.advice.general == PARTS[advice].general) == (hardware is Hardware.GPU)


@pytest.mark.parametrize("known", [(False, True), (True, False), (False, False)])
def test_use_of_devices_that_is_not_known(monkeypatch, known):
    use, kind = known
    monkeypatch.setattr(low_utilization, "run_kind", lambda run, parts, moves: "kind" if kind else Silence("x"))
    found = low_utilization.judge(SimpleNamespace(use_while_busy="use" if use else None), [])
    assert (isinstance(found, Silence), found.looked) == (True, False)


@pytest.mark.parametrize(
    ("devices", "saving", "count"),
    [((2, 1, 4), 10 + 22.5, 2), ((4, 1, 2), 15 + 15, 4), ((1, 1, 4), 22.5, 4), ((1, 1, 1), None, None)],
)
def test_work_that_devices_repeat_but_one(monkeypatch, devices, saving, count):
    """Programs of 20, 50 and 30 us."""
    program = SimpleNamespace(module=SimpleNamespace(name="jit_f"))
    rows = [SimpleRows(program) for _ in devices]
    of_rows = dict(zip(rows, devices, strict=True))
    monkeypatch.setattr(replicated_work, "devices_that_repeat", of_rows.__getitem__)
    ops = [op_of(us, rows=one) for us, one in zip((20, 50, 30), rows, strict=True)]
    found = of_host(monkeypatch, replicated_work, ops, 200)
    if saving is None:
        assert (found.ops_ps, found.evidence) == (0, ())
        assert of_host(monkeypatch, replicated_work, [], 0) is UNREAD
    else:
        assert found.saving_ps == pytest.approx(saving * US)
        assert [one.value for one in found.evidence] == [count, "jit_f"]


@pytest.mark.parametrize(
    ("infeed", "outfeed", "wait", "waited"),
    [(30, 10, 99, 20), (30, 30, 99, 0), (30, 40, 99, 0), (0, 10, 25, 25), (30, 0, 0, 30), (0, 0, 0, 0)],
)
def test_waits_for_a_sparse_core_are_its_input_beyond_its_output(monkeypatch, infeed, outfeed, wait, waited):
    kinds = [TpuPart.SPARSE_INFEED, TpuPart.SPARSE_OUTFEED, TpuPart.SPARSE_WAIT]
    monkeypatch.setattr(sparse_core_wait, "PART_OF_CATEGORY", {str(i): kind for i, kind in enumerate(kinds)})
    monkeypatch.setattr(sparse_core_wait, "work_of", lambda host: SimpleNamespace(counted_ps=80))
    table = SimpleNamespace(
        category=["0", "x", "1", "2", "0"],
        self_ps=np.array([infeed - 5 * (infeed > 0), 7, outfeed, wait, 5 * (infeed > 0)]),
    )
    environment = SimpleNamespace(hardware=Hardware.TPU)
    host = SimpleNamespace(ops=table, summary=SimpleNamespace(environment=environment))
    found = sparse_core_wait.gather(host)
    assert (found.counted_ps, found.ops_ps, found.saving_ps) == (80 + waited, waited, waited)
    assert found.of_ops == pytest.approx(waited / (80 + waited))
    environment.hardware = Hardware.GPU
    assert isinstance(sparse_core_wait.gather(host), Silence)


@pytest.mark.parametrize(
    ("plane", "steps", "frameworks", "given", "known"),
    [
        (True, True, ("PyTorch",), True, True),
        (False, True, ("PyTorch",), True, False),
        (True, False, ("PyTorch",), True, False),
        (True, True, ("JAX",), True, False),
        (True, True, ("PyTorch",), False, False),
    ],
)
def test_gradients_that_are_known(monkeypatch, plane, steps, frameworks, given, known):
    found = SimpleNamespace(gradients=9, unread=4, largest="[8]", spans="spans") if given else None
    monkeypatch.setattr(unread_gradients, "host_plane", lambda space: "plane" if plane else None)
    monkeypatch.setattr(unread_gradients, "unread_gradients", lambda space, plane: found)
    host = SimpleNamespace(
        space=None, steps="steps" if steps else None, summary=SimpleNamespace(frameworks=frameworks), devices=(),
        by_part=lambda spans, parts: np.array([5]),
    )  # fmt: skip
    loss = unread_gradients.gather(host)
    assert (loss is not None) is known
    if loss is not None:
        assert [one.value for one in loss.evidence] == [9, 4, "[8]"]


def unread(monkeypatch, *programs, steps=2):
    """Of programs: us of their product and of an op after it, runs, rows, rows read, and whether it is told which."""
    ops, cuts = [], {}
    for number, (us, after, _, rows, read, moving) in enumerate(programs):
        own = SimpleRows(SimpleNamespace(program_id=number + 1))
        cuts[own] = SimpleNamespace(ops={0, 1}, rows=rows, read=read, moving=moving)
        ops += [op_of(us, index=number, nature=MATRIX, rows=own, at=0), op_of(after, rows=own, at=1)]
        ops.append(op_of(100, rows=own, at=2))
    monkeypatch.setattr(unread_rows, "unread_rows", lambda rows: [cuts[rows]])
    runs = [one[2] for one in programs]
    names = SimpleNamespace(occurrences=runs, name=[""] * 9)
    monkeypatch.setattr(unread_rows, "work_of", lambda host: SimpleNamespace(in_programs=ops))
    monkeypatch.setattr(
        unread_rows, "op_kind",
        lambda host, some, least, saving=0.0: OpKind(1, sum(one.self_ps for one in some), saving / US),
    )  # fmt: skip
    programs_ = SimpleNamespace(names={1: "jit_a", 2: "jit_b"})
    host = SimpleNamespace(ops=names, marks=(np.zeros(steps), None), hlo=SimpleNamespace(programs=programs_))
    return unread_rows.gather(host)


@pytest.mark.parametrize(
    ("programs", "steps", "what", "saving"),
    [
        ([(40, 10, 2, 1000, 250, False)], 2, "1,000 rows of which 250 are read", 37.5),
        ([(40, 10, 2, 16, 1, False)], 2, "16 rows of which 1 is read", 46.875),
        # Of equal ones the first, else the largest.
        ([(40, 10, 2, 16, 4, False), (45, 5, 2, 8, 2, False)], 2, "16 rows of which 4 are read", 37.5),
        ([(40, 10, 2, 16, 4, False), (46, 5, 2, 8, 2, False)], 2, "8 rows of which 2 are read", 38.25),
        # Four calls per step of a program that is told which row it reads.
        ([(40, 10, 8, 16, 1, True)], 2, "16 rows anew in each of 4 calls of jit_a, for one that is read", 37.5),
        ([(40, 10, 7, 16, 1, True)], 2, "16 rows of which 1 is read", 46.875),
        ([(40, 10, 8, 16, 1, False)], 2, "16 rows of which 1 is read", 46.875),
        ([(40, 10, 8, 16, 2, True)], 2, "16 rows of which 2 are read", 43.75),
        ([(40, 10, 8, 16, 1, True)], 0, "16 rows of which 1 is read", 46.875),
        ([(0, 0, 8, 16, 1, False)], 2, "", 0),
    ],
)
def test_products_of_which_few_rows_are_read(monkeypatch, programs, steps, what, saving):
    found = unread(monkeypatch, *programs, steps=steps)
    assert (found.what, found.saving_ps) == (what, pytest.approx(saving))


def test_programs_whose_rows_are_not_known(monkeypatch):
    assert unread(monkeypatch) is UNREAD
