"""Recorded events as columns: what each row says, which rows there are, and stats as columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pytest
from builders.answers import run_of
from builders.programs.hlo import metadata_plane, op, program

import tpu_profile_plugin
from tpu_profile_plugin.errors import BadRequest, CorruptProfile, NotFound
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.run.relations import events as module
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.units import PS_PER_US

DEMO = Path(__file__).parents[3] / "demo"
US = PS_PER_US
DOT = (
    'hlo_category="convolution", program_id=u7, symbol_id=u1, flops=100, bytes_accessed=10, '
    'tf_op="jit(f)/dot:", source="/m/train.py:12"'
)
TPU = """
host tpu-a
plane 1 "/device:TPU:0"
  metadata "%dot.1 = f32[8]{0} dot()" {DOT} display="dot.1"
  metadata "%add.2 = f32[8]{0} add()" {hlo_category="loop fusion", program_id=u7, symbol_id=u2} display="add.2"
  line 1 "XLA Modules"
    0us +40us jit_f(7) {run_id=5}
  line 2 "XLA Ops"
    0us +30us "%dot.1 = f32[8]{0} dot()" {queue=u1}
    5us +10us "%add.2 = f32[8]{0} add()"
  line 3 Steps
    0us +50us "0" {group_id=0}
plane 2 "/host:CPU"
  line 9 worker display=4 "the worker"
    10us +20us "layer/Add:AddV2"
    12us +3us inner
""".replace("DOT", DOT)
PROGRAM = program(
    [
        op("x", "parameter", "f32[8,128]"),
        op("add.1", "add", "f32[8,128]", "x", "x", op_name="jit(f)/add", source_file="/m/model.py", source_line=7),
    ],
    module="jit_f",
)
GPU = f"""
{metadata_plane(jit_f=(1, PROGRAM))}
plane 1 "/device:GPU:0"
  line 5 "Stream #5"
    5us +2us k {{correlation_id=u9, hlo_op="outer::add.1", program_id=1, hlo_module="jit_f", tf_op="XlaModule:"}}
    8us +1us k {{correlation_id=u10, hlo_op="gone", program_id=3, hlo_module="jit_g", tf_op="jit(g)/sub:", flops=4}}
    9us +1us copy
"""


def rows(run: Run, *ids: str, **chosen: object) -> list[tuple[object, ...]]:
    """The cells of some columns, row by row."""
    table = run.events(**chosen).read()  # type: ignore[arg-type]
    return list(zip(*(table.column(id_) for id_ in ids), strict=True))


def test_where_and_when_events_were_and_how_they_are_nested() -> None:
    ids = ("run", "plane", "line", "line_id", "name", "long_name", "begin_ps", "duration_ps", "self_ps", "depth")
    tpu, host = "/device:TPU:0", "/host:CPU"
    assert rows(run_of(TPU), *ids) == [
        ("run", tpu, "XLA Modules", 1, "jit_f(7)", None, 0, 40 * US, 40 * US, 0),
        ("run", tpu, "XLA Ops", 2, "dot.1", "%dot.1 = f32[8]{0} dot()", 0, 30 * US, 20 * US, 0),
        ("run", tpu, "XLA Ops", 2, "add.2", "%add.2 = f32[8]{0} add()", 5 * US, 10 * US, 10 * US, 1),
        ("run", tpu, "Steps", 3, "0", None, 0, 50 * US, 50 * US, 0),
        ("run", host, "the worker", 9, "layer/Add:AddV2", None, 10 * US, 20 * US, 17 * US, 0),
        ("run", host, "the worker", 9, "inner", None, 12 * US, 3 * US, 3 * US, 1),
    ]


def test_ops_of_a_tpu_are_those_of_the_metadata() -> None:
    ids = ("hlo_module", "hlo_op", "framework_op", "source_file", "source_line", "category", "flops", "bytes", "run_id")
    none = (None,) * 5
    assert rows(run_of(TPU), *ids) == [
        ("jit_f(7)", None, *none, None, 5),
        ("jit_f(7)", "dot.1", "jit(f)/dot:", "/m/train.py", 12, "convolution", 100.0, 10.0, None),
        ("jit_f(7)", "add.2", None, None, None, "loop fusion", None, None, None),
        (None, None, *none, None, None),
        (None, None, "layer/Add:AddV2", None, None, None, None, None, None),
        (None, None, *none, None, None),
    ]


def test_ops_of_a_gpu_are_those_of_its_programs_else_of_the_event() -> None:
    ids = ("hlo_module", "hlo_op", "framework_op", "source_file", "source_line", "category", "flops", "correlation_id")
    assert rows(run_of(GPU), *ids) == [
        ("jit_f(1)", "add.1", "jit(f)/add:", "/m/model.py", 7, "non-fusion elementwise", 3072.0, 9),
        ("jit_g(3)", "gone", "jit(g)/sub:", None, None, None, 4.0, 10),
        (None,) * 8,
    ]


def test_groups_that_are_steps_give_the_number_of_the_step() -> None:
    steps = """
    plane 2 "/host:CPU"
      line 1 main
        0us +30us train {_r=1, step_num=7}
        1us +5us work
        50us +30us train {_r=1, step_num=8}
        90us +5us after
    """
    assert rows(run_of(steps), "name", "step", "group_id") == [
        ("train", 0, 0),
        ("work", 0, 0),
        ("train", 1, 1),
        ("after", None, None),
    ]
    in_file = (
        'plane 1 "/device:TPU:0"\nline 1 Steps\n0us +9us "4" {group_id=4}\nline 2 "XLA Ops"\n1us +2us a {group_id=9}'
    )
    assert rows(run_of(in_file), "step", "group_id") == [(4, 4), (None, 9)]
    strange = in_file.replace("group_id=9", f"group_id={2**62}")
    assert rows(run_of(strange), "step", "group_id") == [(4, 4), (None, 2**62)]


def test_events_are_chosen_by_host_plane_line_and_time() -> None:
    run = run_of(TPU, GPU)
    names = [name for (name,) in rows(run, "name")]
    assert len(names) == 9
    first, second = run.hosts
    assert rows(run, "host", hosts=second) == [(second,)] * 3
    assert rows(run, "host", hosts=[first, second], planes="TPU") == [(first,)] * 4
    assert rows(run, "name", planes=["/host:CPU"]) == [("layer/Add:AddV2",), ("inner",)]
    assert rows(run, "name", planes="host", lines="^the work") == [("layer/Add:AddV2",), ("inner",)]
    assert rows(run, "name", lines=["XLA Ops", "worker"], window=(12 * US, None)) == [
        ("dot.1",),
        ("add.2",),
        ("layer/Add:AddV2",),
        ("inner",),
    ]
    assert rows(run, "name", window=(41 * US, 60 * US)) == [("0",)]
    assert rows(run, "name", window=(None, 0)) == [("jit_f(7)",), ("dot.1",), ("0",)]
    # The facts of chosen events are those that they have among all.
    assert rows(run, "self_ps", "depth", lines="XLA Ops", window=(6 * US, 7 * US)) == [(20 * US, 0), (10 * US, 1)]
    assert rows(run, "name", planes="nothing") == []


STATS = """
plane 1 "/host:CPU"
  metadata a {size=3, kind="big", shared=0.5}
  line 1 main
    0us +1us a {size=-4, note=&"x", id=u18446744073709551615, mixed=1, both=u1}
    1us +1us a {kind="small", id=u1, mixed="one", both=0.5}
    2us +1us b {raw=0x0102, hash=u18446744073709551615}
    3us +1us b {hash=-1}
"""


@pytest.mark.parametrize(
    ("stat", "dtype", "cells"),
    [
        ("size", "int64", [-4, 3, None, None]),
        ("kind", "object", ["big", "small", None, None]),
        ("shared", "float64", [0.5, 0.5, None, None]),
        ("note", "object", ["x", None, None, None]),
        ("id", "uint64", [2**64 - 1, 1, None, None]),
        ("mixed", "object", ["1", "one", None, None]),
        ("both", "float64", [1.0, 0.5, None, None]),
        ("raw", "object", [None, None, "2 bytes", None]),
        ("hash", "object", [None, None, "18446744073709551615", "-1"]),
    ],
)
def test_a_stat_is_a_column_of_a_type_that_holds_all_its_values(stat: str, dtype: str, cells: list[object]) -> None:
    events = run_of(STATS).events(stats=[stat])
    assert (events[stat].dtype, events.read().column(stat)) == (np.dtype(dtype), cells)
    assert events.to_arrow().column(stat).to_pylist() == cells


def test_the_type_of_a_stat_is_that_of_all_hosts() -> None:
    one, two = STATS, 'plane 1 "/host:CPU"\nline 1 main\n0us +1us a {size=0.5}'
    assert run_of(one, two).events(stats="size").read().column("size") == [-4.0, 3.0, None, None, 0.5]
    assert run_of(one, two).events(stats="note").read().column("note") == ["x", None, None, None, None]
    assert run_of(one, two).events(hosts=run_of(one, two).hosts[0], stats="size")["size"].dtype == np.int64


def test_derived_events_are_a_table_of_their_own() -> None:
    run = run_of(TPU.replace("{group_id=0}", ""))
    table = run.relation("derived_events").read()
    found = list(zip(*(table.column(id_) for id_ in ("line", "name", "begin_ps", "duration_ps", "step")), strict=True))
    assert set(table.column("plane")) == {"/device:TPU:0"}
    assert found == [
        ("Steps", "0", 0, 50 * US, 0),
        ("Framework Name Scope", "jit(f)", 0, 30 * US, 0),
        ("Framework Ops", "dot", 0, 30 * US, 0),
        ("Source code", "/m/train.py:12", 0, 30 * US, 0),
    ]
    assert len(run.relation("events")) == 6


def test_what_is_wrong_is_said() -> None:
    run = run_of(STATS)
    with pytest.raises(NotFound, match=r"^No event has a stat 'sise'; similar ones are size\.$"):
        run.events(stats=["sise"])
    with pytest.raises(NotFound, match=r"^No event has a stat 'size'\.$"):
        run.events(stats=["size"], planes="TPU")
    with pytest.raises(BadRequest, match="'flops' is a column of all events"):
        run.events(stats=["flops"])
    with pytest.raises(BadRequest, match="Parameter 'lines': the regular expression is not valid"):
        run.events(lines="(")
    with pytest.raises(BadRequest, match="ends at 1 ps, before it begins at 2 ps"):
        run.events(window=(2, 1))
    with pytest.raises(NotFound, match="There is no host 'x'; the hosts are"):
        run.events(hosts="x")
    with pytest.raises(CorruptProfile):
        run_of(b"\xff\xff").events().read()


def test_parts_are_planes_of_hosts_and_pieces_of_large_planes(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(TPU, GPU)
    assert [len(part) for part in run.events().batches()] == [4, 2, 3]
    monkeypatch.setattr(module, "MOST_ROWS", 3)
    assert [len(part) for part in run.events().batches()] == [3, 1, 2, 3]
    assert [len(part) for part in run.events(window=(0, 20 * US)).batches()] == [3, 1, 2, 3]


def test_a_host_that_does_not_decode_is_left_out() -> None:
    run = run_of(TPU, b"\xff\xff")
    assert len(run.relation("events")) == 6
    assert [host.code for host in run.left_out] == ["corrupt_profile"]


def test_columns_of_all_events_are_not_copied() -> None:
    run = run_of(TPU)
    part = next(run.events().batches())
    events = run.profiles[0].space.planes[0].events
    assert all(np.shares_memory(part[id_], getattr(events, id_)) for id_ in ("begin_ps", "duration_ps"))
    batch = next(iter(run.events().reader()))
    assert batch.column("begin_ps").buffers()[1].address == events.begin_ps.ctypes.data


def test_the_schema_is_the_same_for_all_runs() -> None:
    schema = run_of(TPU).events().to_arrow().schema
    assert schema == run_of(GPU).events().to_arrow().schema == run_of("host a").relation("events").to_arrow().schema
    assert schema.field("depth").type == pyarrow.int32()
    assert all(schema.field(name).metadata[b"sentence"].endswith(b".") for name in schema.names)
    with pytest.raises(NotFound, match="There is no table 'x'; there are events, steps"):
        run_of(TPU).relation("x")


def test_steps_have_the_numbers_of_the_table_of_steps() -> None:
    """The second host records one step before those that both have."""
    marker = "{}us +90us train {{_r=1, step_num={}}}"
    texts = [
        "\n".join(['plane 9 "/host:CPU"', "line 1 main", *(marker.format(100 * number, number) for number in numbers)])
        for numbers in ((5, 6), (4, 5, 6))
    ]
    run = run_of(*texts)
    assert rows(run, "host", "step", "group_id") == [
        ("h0", 0, 0), ("h0", 1, 1), ("h1", None, 0), ("h1", 0, 1), ("h1", 1, 2),
    ]  # fmt: skip
    assert run.events(hosts="h1").read().column("step") == [None, 0, 1]
    assert run.relation("steps").read().column("step") == [0, 1, 0, 1]


@pytest.mark.parametrize("run", tpu_profile_plugin.open(str(DEMO)).runs(), ids=lambda run: run.name)
def test_events_of_captures_are_those_of_the_files_and_of_the_tool(run: OpenRun) -> None:
    events = run.events().read()
    assert len(events) == sum(len(plane.events) for host in run.profiles for plane in host.space.planes)
    groups = run.table("events", by="line,name", limit=100_000)
    assert int(events["self_ps"].sum()) == int(groups["self"].sum())
    line = (events["line"] == groups.column("line")[0]) & (events["name"] == groups.column("name")[0])
    assert int(events["duration_ps"][line].sum()) == groups.column("total")[0]
    steps = set(run.relation("steps").read().column("step"))
    marked = [step for step in events.column("step") if step is not None]
    assert np.mean([step in steps for step in marked] or [1]) > 0.5  # the first and last step may be incomplete


def test_a_run_id_that_is_a_fraction_is_none() -> None:
    text = 'plane 1 "/host:CPU"\nline 1 main\n0us +1us a {run_id=0.5}\n1us +1us b {run_id=7}'
    assert rows(run_of(text), "name", "run_id") == [("a", None), ("b", 7)]
