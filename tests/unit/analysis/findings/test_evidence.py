"""Limits and numbers of evidence that several rules have, on typed-in values."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tpu_profile_plugin.analysis.communication.host_collectives import CollectiveSums
from tpu_profile_plugin.analysis.devices.collectives import CollectiveKey, Transfer
from tpu_profile_plugin.analysis.devices.launched import Launched
from tpu_profile_plugin.analysis.findings.evidence.device import op_kinds, op_work
from tpu_profile_plugin.analysis.findings.evidence.device.collectives import bandwidth
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import (
    UNREAD,
    OpKind,
    RunKind,
    Telling,
    judge_kind,
    op_kind,
    run_kind,
)
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import (
    OpWork,
    ReadOp,
    Roof,
    in_words,
    roof,
    shares,
    time_ps,
    work_of,
)
from tpu_profile_plugin.analysis.findings.evidence.device.programs_run import programs_by_time
from tpu_profile_plugin.analysis.findings.evidence.host import launched
from tpu_profile_plugin.analysis.findings.evidence.host.launched import is_uncompiled, starved, synced, uncompiled
from tpu_profile_plugin.analysis.findings.evidence.host.usual import usual_shares
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, OpOf
from tpu_profile_plugin.analysis.ops.op_nature import Nature
from tpu_profile_plugin.analysis.ops.op_tables import OpTable

US = 10**6


@pytest.mark.parametrize(
    ("eager", "whole", "per_step", "distinct", "median_us", "expected"),
    [
        (False, False, 30, 8, 19, True),
        (False, False, 29, 8, 19, False),
        (False, False, 30, 7, 19, False),
        (False, False, 30, 8, 20, False),
        (True, False, 50, 8, 19, True),
        (True, False, 49, 8, 19, False),
        # A recording without steps has as many as ten of them.
        (False, True, 300, 8, 19, True),
        (False, True, 299, 8, 19, False),
        (True, True, 500, 8, 19, True),
        (True, True, 499, 8, 19, False),
    ],
)
def test_steps_that_consist_of_many_tiny_launches(eager, whole, per_step, distinct, median_us, expected):
    assert is_uncompiled(Launched(eager, whole, per_step, distinct, median_us * US)) is expected


@pytest.mark.parametrize(
    ("kind", "transfer", "ranks", "expected"),
    [
        # Two runs of 3000 bytes in 2 us; a reduction among four passes each byte one and a half times.
        ("all-reduce", Transfer(3000, ((0, 1, 2, 3),)), 2, (3000, 4.5)),
        ("all-reduce", Transfer(3000), 2, (3000, 3.0)),  # as many as were recorded, if there are several
        ("all-reduce", Transfer(3000), 1, (3000, None)),
        ("all-gather", Transfer(1000, ((0, 1, 2, 3),)), 2, (4000, 3.0)),
        ("all-gather", Transfer(1000), 1, (None, None)),
        ("all-reduce", Transfer(), 2, (None, None)),
    ],
)
def test_bandwidth_on_the_bus(kind, transfer, ranks, expected):
    sums = CollectiveSums(
        CollectiveKey(f"{kind}.1", 7, kind), transfer, 4, 2, 4 * US, 0, None, 2 * US, ranks, 0, 0, -1, 0, US, 0
    )
    assert bandwidth(sums) == expected


def test_what_time_goes_to():
    found = shares([("copy", 10), ("gather", 60), ("copy", 30)])
    assert found == [("gather", 0.6), ("copy", 0.4)]
    assert in_words(found) == "gather 60%, copy 40%"
    assert shares([]) == []


@pytest.mark.parametrize(
    ("on_cpus", "of_step", "expected"),
    [
        # On CPUs single steps count as twice the median of those with any such time.
        (True, [0, 0, 0, 10, 10, 80], [1, 1, 1, 1, 1, 0.25]),
        (True, [0, 10, 20, 10, 40], [1, 1, 1, 1, 0.75]),
        (True, [10, 10, 10, 80], [1, 1, 1, 1]),
        (True, [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]),
        (False, [0, 0, 0, 10, 10, 80], [1, 1, 1, 1, 1, 1]),
    ],
)
def test_what_steps_usually_lose(on_cpus: bool, of_step: list[int], expected: list[float]):
    host: Any = SimpleNamespace(on_cpus=on_cpus)
    assert usual_shares(host, np.array(of_step)).tolist() == expected


# The time of ops, on a typed-in table.


def table(*ops: tuple[str, str, int], **more: Any) -> OpTable:
    """Ops of program 7: name, category and self time."""
    name, category, self_ps = zip(*ops, strict=True) if ops else ((), (), ())
    return OpTable((7,) * len(ops), name, category, ("",) * len(ops), self_ps=np.array(self_ps, np.int64), **more)


def host_of(ops: OpTable, places: dict[str, str] | None = None, **more: Any) -> Any:
    """A host that ran these ops; `places`: source lines of those whose program is known."""
    rows = SimpleNamespace(place=lambda at: at, op_name=lambda at: f"jit/{at}")
    known = places or {}
    hlo = SimpleNamespace(located=lambda program, name: (rows, known[name]) if name in known else None)
    view = {"name": "h0", "ops": ops, "hlo": hlo, "derived": {}, "devices": (), "on_cpus": False}
    return SimpleNamespace(**{**view, **more})


@pytest.mark.parametrize(
    ("ps", "read"),
    [((950, 40, 10), ["a"]), ((949, 41, 10), ["a", "b"]), ((500, 450, 50), ["a", "b"]), ((40, 50, 910), ["c", "b"])],
)
def test_ops_are_read_until_they_have_nearly_all_of_the_time(ps, read):
    ops = table(*zip("abc", ("copy", "fusion", "copy"), ps, strict=True), ("w", "while", 9000))
    work = work_of(host_of(ops))
    assert [ops.name[one.index] for one in work.read] == read
    assert (work.counted_ps, work.in_programs) == (1000, [])
    assert time_ps(work.read) == sum(one.self_ps for one in work.read) >= 950
    nothing = work_of(host_of(table()))
    assert (nothing.counted_ps, nothing.read) == (0, ())


@pytest.mark.parametrize(
    ("most", "counted", "read"),
    [(4, 800, ["a", "c"]), (3, 800, ["a", "c"]), (2, 780, ["a", "c"]), (1, 500, ["a"])],
)
def test_ops_that_consist_of_others_do_not_count(most, counted, read, monkeypatch):
    """Of 1000 ps, 200 are of an op whose instruction shows that; with fewer ops to read, only these are counted."""
    natures = {"x.py:2": (Nature.NOT_COUNTED, ""), "x.py:3": (Nature.MATRIX, "dot")}
    monkeypatch.setattr(op_work, "by_program", lambda rows, at, category: natures[at])
    monkeypatch.setattr(op_work, "MOST_OPS", most)
    ops = table(("a", "copy", 500), ("b", "fusion", 200), ("c", "fusion", 280), ("d", "copy", 20))
    work = work_of(host_of(ops, {"b": "x.py:2", "c": "x.py:3"}))
    assert [ops.name[one.index] for one in work.read] == read
    assert work.counted_ps == counted
    assert [one.place for one in work.read] == ["", "x.py:3"][: len(read)]
    assert [one.does for one in work.of(Nature.MATRIX)] == ["dot"][: len(read) - 1]


@pytest.mark.parametrize(
    ("flops", "tera_flops", "hbm", "expected"),
    [
        # Three runs of 4e12 operations at 2e12 per second, and 600 bytes at 300 GB/s.
        (4.0, 2.0, 300.0, Roof(6.0, 2000.0)),
        (0.0, 2.0, 300.0, None),
        (4.0, 0.0, 300.0, None),
        (4.0, 2.0, 0.0, None),
    ],
)
def test_the_roofline_of_an_op(flops, tera_flops, hbm, expected):
    ops = table(("a", "copy", 1), ("b", "fusion", 2), occurrences=np.array([9, 3]), bytes=np.array([7.0, 600.0]))
    host = host_of(ops, summary=SimpleNamespace(peaks=SimpleNamespace(tera_flops=tera_flops, hbm=hbm)))
    assert roof(host, ReadOp(1, Nature.MATRIX, "", 2), flops) == expected


def blame(**ps: int) -> Any:
    """Wall time of ops of program 7, and 1000 ps of none."""
    ops = [SimpleNamespace(program=7, name=name) for name in ps]
    return SimpleNamespace(ops=ops, op=np.array([*range(len(ps)), -1]), ps=np.array([*ps.values(), 1000]))


@pytest.mark.parametrize(
    ("on_cpus", "wall", "saving", "share"),
    [
        (False, {"a": 50, "b": 25, "c": 25}, None, 0.7),
        (False, {"a": 50, "b": 25, "c": 25}, 35, 0.35),
        # On CPUs, of the wall time: ops run at the same time there.
        (True, {"a": 50, "b": 30, "c": 20}, None, 0.7),
        (True, {"a": 60, "b": 20, "c": 20}, None, 0.8),
        (True, {"a": 60, "b": 20, "c": 20}, 35, 0.4),
        (True, {}, 35, 0.35),
    ],
)
def test_the_share_of_ops_of_a_kind(on_cpus, wall, saving, share):
    ops = table(("a", "copy", 60), ("b", "fusion", 30), ("c", "copy", 10))
    host = host_of(ops, on_cpus=on_cpus, blame=blame(**wall))
    mine = [ReadOp(0, Nature.MOVEMENT, "copy", 60), ReadOp(2, Nature.MOVEMENT, "copy", 10)]
    found = op_kind(host, mine, 0.1, saving)
    assert (found.counted_ps, found.ops_ps, found.saving_ps) == (100, 70, 70 if saving is None else saving)
    assert found.of_ops * found.saving_ps / found.ops_ps == pytest.approx(share)
    numbers = {one.label: (one.value, one.unit) for one in found.of_op}
    assert numbers["Busy share of a"] == (60.0, "%")
    assert numbers["Self time of a, all runs on h0"] == (60 / 10**6, "us")
    assert found.most == ", most of it in a"
    assert op_kind(host, [], 0.1) == OpKind(100)


@pytest.mark.parametrize(
    ("ps", "most"),
    [
        ((40, 35, 25, 0), ", most of it at y.py:2, the largest part, 40%, in a"),
        ((50, 30, 10, 10), ", most of it at x.py:1, the largest part, 50%, in a"),
        ((50, 49, 1, 0), "; the op a (x.py:1) has the largest part, 50%"),
        ((51, 40, 9, 0), ", most of it in a (x.py:1)"),
        ((34, 33, 33, 0), ", most of it at y.py:2, the largest part, 34%, in a"),
    ],
)
def test_the_line_or_the_op_that_most_of_it_is_in(ps, most):
    ops = table(*zip("abcd", ("copy",) * 4, ps, strict=True))
    places = {"a": "x.py:1", "b": "y.py:2", "c": "y.py:2", "d": "x.py:1"}
    host = host_of(ops, places, blame=blame())
    host.derived[work_of.__wrapped__] = OpWork(ops, 100, ())
    found = op_kind(host, [ReadOp(i, Nature.MOVEMENT, "copy", one) for i, one in enumerate(ps)], 2.0)
    assert found.most == most
    assert [one.value for one in found.of_op][-2:] == ["jit/x.py:1", "x.py:1"]


def test_lines_of_some_of_the_ops_are_of_all_of_them(monkeypatch):
    """Of the two most costly ops most is at one line, of all three 40%."""
    monkeypatch.setattr(op_kinds, "_MOST_OPS", 2)
    ops = table(("a", "copy", 40), ("b", "copy", 35), ("c", "copy", 25))
    host = host_of(ops, {"a": "x.py:1", "b": "y.py:2"}, blame=blame())
    host.derived[work_of.__wrapped__] = OpWork(ops, 100, ())
    found = op_kind(host, [ReadOp(i, Nature.MOVEMENT, "copy", ps) for i, ps in enumerate((40, 35, 25))], 2.0)
    assert found.most == "; the op a (x.py:1) has the largest part, 40%"


@pytest.mark.parametrize(("least", "told"), [(0.3, True), (0.301, False)])
def test_the_longest_run_of_an_op_that_costs_enough(least, told):
    def device(*runs: tuple[int, int, int], program: int = 7) -> Any:
        op, begin, end = (np.array(side) for side in zip(*runs, strict=True))
        ops = [SimpleNamespace(name=name, program=program) for name in "ab"]
        return SimpleNamespace(ops=ops, runs=SimpleNamespace(op=op, begin_ps=begin * US, end_ps=end * US))

    devices = (
        device((0, 10, 20), (0, 30, 70)),
        device((1, 0, 90), (0, 20, 80), (0, 100, 130)),
        device((0, 0, 99), program=8),
    )
    ops = table(("a", "copy", 30), ("b", "fusion", 70))
    host = host_of(ops, devices=devices, blame=blame())
    found = op_kind(host, [ReadOp(0, Nature.MOVEMENT, "copy", 30)], least)
    windows = [one.query["window"] for one in found.of_op if "window" in one.query]
    assert windows == ([f"0,{140 * US}"] if told else [])


def run_of(hosts: tuple[str, ...]) -> Any:
    """A run with steps of 1000 ps, 500 of them computation and 100 data movement."""
    return SimpleNamespace(
        base="step",
        part_ps={"compute": 500, "data_movement": 100}.__getitem__,
        lost_in=lambda group, ps: Lost(ps, ps / 1000, (group,)),
        present=lambda parts: [(part, host) for part, host in zip(parts, hosts, strict=True) if part is not None],
    )


@pytest.mark.parametrize(("moves", "ps", "segment"), [(True, 84.0, "device_compute"), (False, 70.0, "compute")])
def test_ops_of_a_kind_on_several_hosts(moves, ps, segment):
    parts = [OpKind(800, 80, 60, 0.1, ", in a"), OpKind(200, 100, 80, 0.5, ", in b"), OpKind(0), None, UNREAD]
    run = run_of(("h0", "h1", "h2", "h3", "h4"))
    found = run_kind(run, parts, moves=moves)
    assert isinstance(found, RunKind)
    assert (found.of_ops, found.lost.ps, found.lost.segments) == (0.18, pytest.approx(ps), (segment,))
    assert (found.kind.most, found.hosts) == (", in b", ("h0", "h1"))
    assert run_kind(run, [None, UNREAD, None, None, None], moves=moves) is UNREAD


@pytest.mark.parametrize(
    ("least", "more", "told"),
    [
        (0.06, {}, "6.0% of the step, in a"),
        (0.0601, {}, "Only 6.0%."),
        (0.06, {"most": ""}, "Only 6.0%."),
        (0.06, {"excuse": "they must"}, "Only 6.0%; they must."),
    ],
)
def test_a_kind_of_ops_is_told_from_its_limit_on(least, more, told):
    telling = Telling("{share:.1%} of the {base}{most}", "Only {share:.1%}.", "Of the ops", "formula", least)
    kind = replace(OpKind(1000, 200, 100, 0.2, ", in a"), **more)
    found = judge_kind(telling, run_of(("h0",)), [kind])
    assert (found.title if isinstance(found, Finding) else found.reason) == told
    if isinstance(found, Finding):
        assert [(one.label, one.value) for one in found.evidence] == [("Of the ops", 20.0)]


@pytest.mark.parametrize(
    ("modules", "self_ps", "most", "expected"),
    [
        ((7, 8, 7, 9), (30, 50, 40, 5), 8, [7, 8]),  # 9 has no HLO
        ((7, 8, 7, 9), (30, 50, 40, 5), 1, [7]),
        ((8, 7), (10, 10), 8, [7, 8]),
        ((9, 0), (10, 10), 8, []),
        ((0, 0), (10, 10), 8, [6, 8, 7]),  # no op names its program: by size
        ((), (), 2, [6, 8]),
    ],
)
def test_programs_by_time(modules, self_ps, most, expected):
    programs = SimpleNamespace(modules={6: "", 7: "", 8: ""}, size={6: 300, 7: 100, 8: 200}.__getitem__)
    host: Any = SimpleNamespace(hlo=SimpleNamespace(programs=programs))
    host.ops = SimpleNamespace(module=modules, self_ps=np.array(self_ps, np.int64))
    assert programs_by_time(host, most) == expected


@pytest.mark.parametrize(
    ("busy", "between", "step", "expected"),
    [(500, 50, 1000, True), (501, 50, 1000, False), (500, 49, 1000, False), (0, 0, 0, False), (0, 1000, 1000, True)],
)
def test_devices_that_wait_between_programs(busy, between, step, expected):
    parts = {"device_compute": busy - busy // 2, "input_copy": busy // 2}
    parts |= {"idle_host": between - between // 2, "idle_other": between // 2}
    host: Any = SimpleNamespace(time=SimpleNamespace(part_ps=lambda part: parts.get(part, 0), step_ps=step))
    assert starved(host) is expected


@pytest.mark.parametrize(
    ("per_step", "steps", "waits", "expected"),
    [(9, 4, 12, True), (9, 4, 11, False), (9, 4, 13, True), (0, 4, 5, False), (9, 0, 5, False), (2, 3, 2, True)],
)
def test_hosts_that_wait_for_a_third_of_what_they_launch(monkeypatch, per_step, steps, waits, expected):
    monkeypatch.setattr(launched, "launched_by", lambda host, steps: Launched(False, False, per_step, 1, 1))
    windows: Any = range(steps)
    assert synced(SimpleNamespace(), windows, waits) is expected


@pytest.mark.parametrize(
    ("waits", "steps", "per_step", "found"),
    [
        (True, 4, 30, True),
        (False, 4, 30, False),
        (True, None, 30, False),
        (False, None, 30, False),
        (True, 4, 29, False),
    ],
)
def test_hosts_whose_steps_are_not_compiled(monkeypatch, waits, steps, per_step, found):
    launches = Launched(False, False, per_step, 8, 19 * US)
    monkeypatch.setattr(launched, "launched_by", lambda host, steps: launches)
    monkeypatch.setattr(launched, "starved", lambda host: waits)
    host: Any = SimpleNamespace(steps=None if steps is None else range(steps))
    assert uncompiled(host) is (launches if found else None)


@pytest.mark.parametrize(
    ("op", "value", "text", "code"),
    [
        (None, "m.py:3", "", ("m.py", 3)),
        (None, 7, "", None),
        (OpOf("dot.1"), "x", "dot.1", None),
        (OpOf("dot.1", 5, "%dot.1 = dot()"), "m.py:3", "%dot.1 = dot()", ("m.py", 3)),
        (OpOf("dot.1", 5, "", "n.py", 4), "m.py:3", "dot.1", ("n.py", 4)),
        (OpOf(""), "x", "", None),
    ],
)
def test_the_op_of_evidence_and_its_line(
    op: OpOf | None, value: str | int, text: str, code: tuple[str, int] | None
) -> None:
    found = Evidence("label", value, op=op)
    assert (found.op_text, found.code) == (text, code)
