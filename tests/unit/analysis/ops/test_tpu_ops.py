"""TPU ops: what counts as one, clocks and observed time, costs of custom calls, SparseCores, sums of the tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders.answers import summary
from builders.asked import ask, rows
from builders.shown import profile

from tpu_profile_plugin.analysis.attribution import split_source
from tpu_profile_plugin.analysis.environment.environment import Hardware, Peaks
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.op_tables import HBM, READ, VMEM, WRITE, OpRecords, OpText, is_transfer, no_traffic
from tpu_profile_plugin.analysis.ops.rates import Resource, divide, rates
from tpu_profile_plugin.analysis.ops.tpu_ops import (
    NO_SPANS,
    _covered,
    core_records,
    described_by,
    op_events,
    op_metadata,
    op_table,
    sparse_ops,
)
from tpu_profile_plugin.analysis.summary.op_summary import summarize_ops
from tpu_profile_plugin.compat.xprof.tables import source_cell
from tpu_profile_plugin.run.catalogue.ops import OPS
from tpu_profile_plugin.run.figures.ops import OpRows
from tpu_profile_plugin.tools.ops import framework_op_stats, hlo_stats, op_profile
from tpu_profile_plugin.tools.ops.roofline_model import TOOL as ROOFLINE
from tpu_profile_plugin.tools.summary.overview_page import TOOL as OVERVIEW

GIB = 2**30 / 1e9


def core(text: str, number: int = 0, peaks: str = "") -> str:
    return f'plane {number + 2} "/device:TPU:{number}" {{device_type_string="TPU v9"{peaks}}}\n{text}'


def test_an_op_has_a_program_and_a_symbol_and_has_run() -> None:
    text = core(
        """
        metadata op {program_id=7, symbol_id=1, hlo_category="c"}
        metadata unnumbered {program_id=7, hlo_category="c"}
        metadata zero {program_id=7, symbol_id=0, hlo_category="c"}
        metadata homeless {symbol_id=2, hlo_category="c"}
        metadata idle {program_id=7, symbol_id=3, hlo_category="c"}
        line 5 "XLA Ops"
        0us +1us op
        1us +1us unnumbered
        2us +1us zero
        3us +1us homeless
        """
    )
    assert rows(ask(hlo_stats.TOOL, text), "hlo_op_name", "occurrences") == [("op", 1)]


def test_times_of_several_runs() -> None:
    text = core(
        """
        metadata while {program_id=7, symbol_id=1, hlo_category="while"}
        metadata add {program_id=7, symbol_id=2, hlo_category="c"}
        line 5 "XLA Ops"
        10us +6us while
        11us +2us add
        20us +4us while
        30us +0us add
        """
    )
    names = ("hlo_op_name", "occurrences", "total_time", "avg_time", "total_self_time", "avg_self_time")
    table = ask(hlo_stats.TOOL, text)
    assert rows(table, *names) == [("while", 2, 10, 5, 8, 4), ("add", 2, 2, 1, 2, 1)]
    # Of 20 us, from the beginning of the first op to the end of the last.
    assert rows(table, "total_self_time_percent") == [(40,), (10,)]
    found = rows(ask(ROOFLINE, text)[0], "operation", "total_time", "avg_time", "total_self_time", "avg_self_time")
    assert found[1:3] == [("while", 10, 5, 8, 4), ("add", 2, 1, 2, 1)]


def test_steps_count_for_the_time_that_was_observed() -> None:
    ops = 'metadata op {program_id=7, symbol_id=1, hlo_category="c"}\nline 5 "XLA Ops"\n10us +1us op\n'
    steps = 'line 6 "Steps"\n5us +20us "0"'
    assert rows(ask(hlo_stats.TOOL, core(ops + steps)), "total_self_time_percent") == [(5,)]


def test_half_a_device_clock_is_none() -> None:
    text = core(
        """
        metadata a {program_id=7, symbol_id=1, hlo_category="c"}
        line 5 "XLA Ops"
        0us +10us a {"Time Scale Multiplier"=0.5d, device_offset_ps=7}
        20us +10us a {"Time Scale Multiplier"=0.5d, device_duration_ps=7}
        40us +10us a {"Time Scale Multiplier"=0.5d, device_offset_ps=40000000, device_duration_ps=4000000}
        """
    )
    op = ask(op_profile.TOOL, text)["byProgramExcludeIdle"]["children"][0]["children"][0]["children"][0]
    assert (op["metrics"]["rawTime"], op["metrics"]["normalizedTimePs"]) == (24_000_000, 12_000_000)


def test_many_other_stats_are_no_clock() -> None:
    others = ", ".join(f"s{i}=1" for i in range(70))
    text = f'metadata a {{program_id=7, symbol_id=1}}\nline 5 "XLA Ops"\n0us +10us a {{{others}}}'
    assert rows(ask(hlo_stats.TOOL, core(text)), "total_time") == [(10,)]


def test_costs_are_those_of_the_op_also_of_custom_calls_whose_events_have_some() -> None:
    text = core(
        """
        metadata call {program_id=7, symbol_id=1, hlo_category="custom-call", flops=1000, bytes_accessed=100}
        metadata add {program_id=7, symbol_id=2, hlo_category="c", flops=100, bytes_accessed=10}
        line 4 "XLA Modules"
        0us +9us m
        line 5 "XLA Ops"
        0us +1us call {flops=500, bytes_accessed=50}
        1us +1us call {flops=500}
        2us +1us add {flops=900, bytes_accessed=90}
        3us +1us add
        """
    )
    names = ("hlo_op_name", "normalized_flop_rate", "measured_memory_bw")
    assert rows(ask(hlo_stats.TOOL, text), *names) == [
        ("add", pytest.approx(2 * 100 / 2000), pytest.approx(2 * 10 / 2000 / GIB)),
        ("call", pytest.approx(2 * 1000 / 2000), pytest.approx(2 * 100 / 2000 / GIB)),
    ]


TWO = """
metadata a {program_id=7, symbol_id=5, hlo_category="x", flops=1000} display=A
metadata b {program_id=7, symbol_id=SYMBOL, hlo_category="y", flops=5000} display=B
line 5 "XLA Ops"
"""
NAMES = ("hlo_op_name", "category", "occurrences", "total_time", "total_self_time", "normalized_flop_rate")


@pytest.mark.parametrize(
    ("events", "row"),
    [
        # The op whose event completes first gives the name, the category and the cost of one run.
        ("0us +100us a\n200us +50us b\n300us +50us b", ("a", "x", 3, 200, 200, pytest.approx(3 * 1000 / 200e3))),
        ("0us +50us b\n200us +50us a\n300us +50us b", ("b", "y", 3, 150, 150, pytest.approx(3 * 5000 / 150e3))),
        ("0us +1000us a\n200us +50us b", ("b", "y", 2, 1050, 1000, pytest.approx(2 * 5000 / 1050e3))),
    ],
)
def test_rows_of_one_program_and_symbol_are_one_op(events: str, row: tuple[Any, ...]) -> None:
    text = core(TWO.replace("SYMBOL", "5") + events)
    assert rows(ask(hlo_stats.TOOL, text), *NAMES) == [row]


def test_rows_of_one_program_and_name_are_one_op_with_the_costs_of_both() -> None:
    text = core(TWO.replace("SYMBOL", "6").replace("=A", "=same").replace("=B", "=same"))
    found = rows(ask(hlo_stats.TOOL, text + "\n0us +100us a\n200us +50us b\n300us +50us b"), *NAMES[2:])
    assert found == [(3, 200, 200, pytest.approx((1000 + 2 * 5000) / 200e3))]
    other = core(TWO.replace("SYMBOL", "5").replace("program_id=7", "program_id=8", 1) + "0us +1us a\n9us +1us b")
    assert len(rows(ask(hlo_stats.TOOL, other), *NAMES)) == 2


def test_events_count_by_begin_whatever_their_order_in_the_file() -> None:
    text = core(TWO.replace("SYMBOL", "6") + "300us +100us a\n0us +1000us b")
    assert rows(ask(hlo_stats.TOOL, text), "hlo_op_name", "total_self_time") == [("b", 900), ("a", 100)]


@pytest.mark.parametrize(
    ("facts", "idle"),
    [
        ('tf_op="jit(f)/add:"', 950), ('tf_op=":"', 950), ('tf_op=""', 0),
        ('tf_op="x:X", _a=1', 0), ('source="a.py:1"', 0),
    ],
)  # fmt: skip
def test_framework_ops_extend_the_observed_time_on_the_hosts_clock(facts: str, idle: int) -> None:
    clock = "{device_offset_ps=4000000000, device_duration_ps=150000000}"
    text = core(f'metadata a {{program_id=7, symbol_id=1, {facts}}}\nline 5 "XLA Ops"\n5000us +100us a {clock}')
    table = ask(framework_op_stats.TOOL, text)[0]
    assert ("Device", "IDLE", idle) in rows(table, "host_or_device", "operation", "total_time")


def test_ops_of_the_category_idle_are_idle_time() -> None:
    text = core(
        """
        metadata a {program_id=7, symbol_id=5, hlo_category="IDLE", flops=1000, tf_op="x/y:Z"}
        metadata b {program_id=7, symbol_id=6, hlo_category="loop fusion", flops=1000}
        line 5 "XLA Ops"
        0us +300us a
        400us +100us b
        """
    )
    tables = ask(framework_op_stats.TOOL, text)
    names = ("operation", "occurrences", "total_time", "device_total_self_time_percent")
    assert rows(tables[0], *names)[:2] == [("IDLE", 1, 400, 0.8), ("b", 1, 100, 0.2)]
    assert rows(tables[1], *names) == [("b", 1, 100, 0.25)]
    trees = ask(op_profile.TOOL, text)
    children = [(node["name"], node["metrics"]["rawTime"] // 10**6) for node in trees["byProgram"]["children"]]
    assert sorted(children) == [("IDLE", 100), ("a", 300), ("main", 100)]
    assert [node["name"] for node in trees["byProgramExcludeIdle"]["children"]] == ["main"]
    assert rows(ask(OVERVIEW, text)[0], "operation") == [("b",)]


def test_a_tree_of_idle_time_alone_has_no_root() -> None:
    while_ = 'metadata w {program_id=7, symbol_id=5, hlo_category="while"}\nmetadata op {}\nline 5 "XLA Ops"\n'
    tree = ask(op_profile.TOOL, core(while_ + "0us +100us w\n10us +50us op"), group_by="category")["byCategory"]
    assert (tree["name"], tree["metrics"]["rawTime"] // 10**6, tree["xla"]["category"]) == ("IDLE", 50, "IDLE")
    idle = 'metadata a {program_id=7, symbol_id=5, hlo_category="IDLE"}\nline 5 "XLA Ops"\n0us +100us a\n300us +100us a'
    tree = ask(op_profile.TOOL, core(idle), group_by="category")["byCategory"]
    assert tree["name"] == "a and its duplicate(s)"
    assert (tree["metrics"]["rawTime"] // 10**6, tree["xla"]["category"], tree["numChildren"]) == (400, "IDLE", 2)


@pytest.mark.parametrize(
    ("provenance", "scopes"),
    [
        ("a/b:c/d:e", ["a", "b:c", "d"]),
        (":Add", [""]),
        ("/:/", [""]),
        ("//a//b:", ["a", "b"]),
        ("a", ["a"]),
        ("//", []),
    ],
)
def test_scopes_of_framework_ops(provenance: str, scopes: list[str]) -> None:
    facts = f'program_id=7, symbol_id=5, hlo_category="c", tf_op="{provenance}"'
    text = core(f'metadata a {{{facts}}}\nline 5 "XLA Ops"\n0us +1us a')
    node, found = ask(op_profile.TOOL, text, group_by="provenance")["byProvenanceExcludeIdle"]["children"][0], []
    while node["children"][0]["name"] != "c":
        node = node["children"][0]
        found.append(node["name"])
    assert found == scopes


def test_programs_of_one_name_are_several() -> None:
    text = core(TWO.replace("SYMBOL", "6").replace("program_id=7", "program_id=8", 1) + "0us +1us a\n9us +1us b")
    assert [node["name"] for node in ask(op_profile.TOOL, text)["byProgramExcludeIdle"]["children"]] == ["main", "main"]


def test_an_op_without_category_is_unknown_to_the_roofline() -> None:
    table = ask(ROOFLINE, core('metadata a {program_id=7, symbol_id=5}\nline 5 "XLA Ops"\n0us +1us a'))[0]
    assert ("Total", "unknown", "a") in rows(table, "step", "category", "operation")


@pytest.mark.parametrize(("early", "late"), [("a", "b"), ("b", "a")])
def test_several_op_lines_add_up_and_keep_their_texts(early: str, late: str) -> None:
    text = core(
        f"""
        metadata "%a = f32[] a()" {{program_id=7, symbol_id=1, hlo_category="c"}} display=a
        metadata "%b = f32[] b()" {{program_id=7, symbol_id=2, hlo_category="c"}} display=b
        line 5 "XLA Ops"
        0us +1us "%{early} = f32[] {early}()"
        line 6 "XLA Ops"
        2us +2us "%{late} = f32[] {late}()"
        3us +1us "%{early} = f32[] {early}()"
        """
    )
    assert rows(ask(hlo_stats.TOOL, text), "hlo_op_name", "hlo_op_expression", "total_self_time") == [
        (early, f"%{early} = f32[] {early}()", 2),
        (late, f"%{late} = f32[] {late}()", 1),
    ]


@pytest.mark.parametrize(
    ("modules", "busy_us", "idle_us"),
    [("", 10, 20), ('line 4 "XLA Modules"', 10, 20), ('line 4 "XLA Modules"\n0us +5us m\n20us +30us m', 10, 40)],
)
def test_program_runs_count_for_the_duty_cycle(modules: str, busy_us: int, idle_us: int) -> None:
    ops = 'metadata op {hlo_category="fusion"}\nline 3 "XLA Ops"\n5us +5us op\n30us +5us op\n'
    duty = summary(core(ops + modules)).duty
    assert (duty.busy_ps // 10**6, (duty.recorded_ps - duty.busy_ps) // 10**6) == (busy_us, idle_us)


# Read 100 and write 20 bytes of HBM; read 10 and write 5 bytes of VMEM.
A_TRAFFIC = "0x0a060801100118640a060802100118140a0608011003180a0a06080210031805"
B_TRAFFIC = "0x0a06080110011801"


def test_sums_of_a_tree() -> None:
    text = core(
        f"""
        metadata a {{program_id=7, symbol_id=1, hlo_category="x", flops=100, model_flops=90, memory_access_breakdown={A_TRAFFIC}}}
        metadata b {{program_id=7, symbol_id=2, hlo_category="y", flops=7, model_flops=6, memory_access_breakdown={B_TRAFFIC}}}
        metadata c {{program_id=8, symbol_id=3, hlo_category="y", flops=1, model_flops=1, memory_access_breakdown={B_TRAFFIC}}}
        line 5 "XLA Ops"
        0us +4us a
        10us +4us a
        20us +2us b
        30us +1us c
        """  # noqa: E501
    )

    def sums(node: dict) -> tuple:
        metrics = node["metrics"]
        return (
            metrics["rawTime"] // 10**6,
            metrics["bf16Flops"],
            metrics["rawFlops"],
            metrics["rawBytesAccessedArray"],
        )

    root = ask(op_profile.TOOL, text)["byProgramExcludeIdle"]
    assert sums(root) == (11, 208, 187, [242, 20, 10])
    # Programs without a name are several.
    assert [(node["name"], *sums(node)) for node in root["children"]] == [
        ("main", 10, 207, 186, [241, 20, 10]),
        ("main", 1, 1, 1, [1, 0, 0]),
    ]
    assert [sums(category) for category in root["children"][0]["children"]] == [
        (8, 200, 180, [240, 20, 10]),
        (2, 7, 6, [1, 0, 0]),
    ]


def test_idle_time_is_an_op_of_its_own_kind() -> None:
    text = core('metadata a {program_id=7, symbol_id=1}\nline 5 "XLA Ops"\n0us +1us a\n9us +1us a')
    idle = ask(op_profile.TOOL, text)["byProgram"]["children"][0]
    assert (idle["name"], idle["xla"]["category"], idle["metrics"]["rawTime"]) == ("IDLE", "IDLE", 8_000_000)


@pytest.mark.parametrize(("group_by", "key"), [("program", "byProgram"), ("category", "byCategory")])
def test_categories_are_all_kept(group_by: str, key: str) -> None:
    ops = [f'metadata op{i} {{program_id=7, symbol_id={i + 1}, hlo_category="c{i}"}}' for i in range(120)]
    events = [f"{i * 1000}ns +{i + 1}ns op{i}" for i in range(120)]
    root = ask(op_profile.TOOL, core("\n".join([*ops, 'line 5 "XLA Ops"', *events])), group_by=group_by)[key]
    node = root if group_by == "category" else root["children"][1]
    assert len([child for child in node["children"] if child["name"] != "IDLE"]) == 120


OFFLOADED = (
    core(
        """
    metadata "%call.1 = call()" {program_id=7, symbol_id=1, hlo_category="custom-call"} display=call.1
    metadata "%call.2 = call()" {program_id=7, symbol_id=2, hlo_category="custom-call"} display=call.2
    metadata nameless
    line 4 "XLA Modules"
    0us +1us m {offload_core_id=u3, tc_offload_start_id=14}
    line 5 "XLA Ops"
    0us +4us "%call.1 = call()" {offload_core_id=u3, tc_offload_start_id=11}
    10us +4us "%call.2 = call()" {offload_core_id=u3, tc_offload_start_id=12}
    20us +2us "%call.2 = call()" {offload_core_id=u4}
    25us +2us "%call.2 = call()" {tc_offload_start_id=13}
    30us +1us nameless {offload_core_id=u3, tc_offload_start_id=15}
    """
    )
    + """
plane 9 "/device:TPU:0 SparseCore 0"
    metadata scatter {program_id=8, symbol_id=2, hlo_category="scatter", flops=7, model_flops=5, bytes_accessed=30}
    metadata gather {program_id=8, symbol_id=1, hlo_category="gather", flops=1000, bytes_accessed=20}
    metadata anonymous
    line 1 "Sparse Core Modules"
    0us +4us module {offload_core_id=u3, tc_offload_start_id=u11}
    10us +4us module {offload_core_id=u3, tc_offload_start_id=u12}
    20us +4us module {offload_core_id=u4, tc_offload_start_id=u0}
    25us +4us module {offload_core_id=u0, tc_offload_start_id=u13}
    30us +4us module {offload_core_id=u3, tc_offload_start_id=u15}
    line 2 "Sparse Core Ops"
    0us +2us gather
    1us +1us scatter
    10us +1us gather
    11us +1us gather
    12us +1us anonymous
    21us +1us gather
    26us +1us gather
    31us +1us gather
    50us +1us gather
    """
)


def test_ops_of_sparse_cores_are_those_of_the_run_around_them() -> None:
    names = ("hlo_op_name", "parent_op_name", "occurrences", "total_time", "total_self_time", "avg_self_time")
    assert rows(ask(hlo_stats.TOOL, OFFLOADED), *names) == [
        ("call.2", "", 3, 8, 8, 8 / 3),
        ("gather", "call.2", 2, 2, 2, 1),
        ("call.1", "", 1, 4, 4, 4),
        ("gather", "call.1", 1, 2, 1, 1),
        ("scatter", "call.1", 1, 1, 1, 1),
    ]


def test_costs_of_ops_of_sparse_cores() -> None:
    names = ("hlo_op_name", "parent_op_name", "normalized_flop_rate", "model_flop_rate", "measured_memory_bw")
    found = {(name, parent): values for name, parent, *values in rows(ask(hlo_stats.TOOL, OFFLOADED), *names)}
    assert found["gather", "call.2"] == pytest.approx([1, 1, 0.02 / GIB])
    assert found["scatter", "call.1"] == pytest.approx([0.007, 0.005, 0.03 / GIB])


def test_without_hand_overs_nothing_runs_for_another() -> None:
    plain = OFFLOADED.replace("offload_core_id=u3, tc_offload_start_id=1", "x=u3, y=1").replace("offload", "other")
    assert {parent for (parent,) in rows(ask(hlo_stats.TOOL, plain), "parent_op_name")} == {""}


def test_what_moves_data_to_and_from_the_device() -> None:
    found = [is_transfer(name) for name in ("infeed", "sparsecorev0 infeed", "outfeed", "copy", "")]
    assert found == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        (OpText(source_file="f.py", source_line=1), "<div class='source-info-cell' title=''>f.py:1</div>"),
        (OpText(source_file="f.py", source_line=-1), ""),
        (OpText(source_line=3), ""),
    ],
)
def test_source_cells(text: OpText, cell: str) -> None:
    ops = OpRows(OpRecords(text=(text,)), np.array([0]))
    (place,), (stack,) = (OPS.column(id_).value(ops) for id_ in ("source_info", "source_stack"))
    assert source_cell(place, stack) == cell


def test_sources() -> None:
    known = {"f.py:2147483647": ("f.py", 2147483647), "f.py: +7": ("f.py", 7), "f.py:-1": ("f.py", -1), ":5": ("", 5)}
    assert {text: split_source(text) for text in known} == known
    unknown = ("f.py:2147483648", "f.py:", "f.py", "f.py:x", "a:f.py:5", "f.py:1\ng.py:2", "f.py:" + "9" * 5000)
    assert {split_source(text) for text in unknown} == {("", 0)}


@pytest.mark.parametrize(
    ("hardware", "where", "bound"),
    [
        (Hardware.GPU, (HBM, READ), Resource.HBM),
        (Hardware.GPU, (VMEM, WRITE), Resource.UNKNOWN),
        (Hardware.TPU, (VMEM, WRITE), Resource.VMEM_WRITE),
        (Hardware.TPU, (HBM, WRITE), Resource.HBM),
    ],
)
def test_the_memory_that_binds(hardware: Hardware, where: tuple[int, int], bound: Resource) -> None:
    traffic = no_traffic(1)
    traffic[(0, *where)] = 1e4
    one = np.array([1e6])
    found = rates(one, 0 * one, 0 * one, 0 * one, traffic, Peaks(1.0, (100.0,) * 7), hardware)
    assert found.bound == (bound,)


def test_division_by_next_to_nothing() -> None:
    found = divide(np.array([3.0, 3.0, 1e-300]), np.array([2.0, 0.0, 1e-300]))
    assert found.tolist() == [1.5, 0, 1]


@pytest.mark.parametrize(
    ("recorded", "known"), [("0x", False), ("0x0a060801100018e807", True), ("0x0a070803100118e807", True)]
)
def test_memory_accesses_may_be_recorded_but_none_of_them_of_hbm(recorded: str, known: bool) -> None:
    facts = f'program_id=7, symbol_id=1, hlo_category="c", bytes_accessed=1000000, memory_access_breakdown={recorded}'
    text = core(f'metadata a {{{facts}}}\nline 5 "XLA Ops"\n0us +1us a')
    found = rows(ask(hlo_stats.TOOL, text), "hbm_bw")[0][0]
    assert found == (0 if known else pytest.approx(1e6 / 1e3 / GIB))
    totals = [row for row in rows(ask(ROOFLINE, text)[0], "step", "hbm_bw") if row[0] == "Total"]
    assert totals == [("Total", found)] * 4


@pytest.mark.parametrize(
    ("line", "event", "expected"),
    [
        ("Framework Ops", "plain", {"a": 10}),
        ("Framework Ops", "b", {"a": 10, "b": 100}),
        ("Sparse Core Steps", "plain", {"a": 10}),
        ("Steps", "b", {"a": 10}),
    ],
)
def test_recorded_lines_of_framework_ops_and_steps_extend_the_time(
    line: str, event: str, expected: dict[str, int]
) -> None:
    ops = "\n".join(
        f'metadata {name} {{program_id=7, symbol_id={symbol}, hlo_category="c"}}'
        for symbol, name in enumerate("ab", start=1)
    )
    text = core(f'{ops}\nline 5 "XLA Ops"\n10us +10us a\nline 6 "{line}"\n0us +100us {event}')
    found = rows(ask(hlo_stats.TOOL, text), "hlo_op_name", "total_self_time")
    assert dict(found) == expected
    tree = ask(op_profile.TOOL, text)["byProgram"]
    assert tree["metrics"]["rawTime"] // 10**6 == max(100, sum(expected.values()))


# Duty cycle of TPUs: own time of the innermost op, custom calls of unknown cost, several lines, SparseCores.


DUTY_OPS = """
metadata f {hlo_category="loop fusion", program_id=7, symbol_id=1}
metadata w {hlo_category="while", program_id=7, symbol_id=2}
metadata i {hlo_category="infeed", program_id=7, symbol_id=3}
metadata c {hlo_category="custom-call", program_id=7, symbol_id=4}
metadata k {hlo_category="custom-call", program_id=7, symbol_id=5, flops=1000}
metadata m {hlo_category="megacore fusion", program_id=7, symbol_id=6}
metadata async-done.1 {hlo_category="loop fusion", program_id=7, symbol_id=7}
metadata d {hlo_category="outfeed", program_id=7, symbol_id=8} display=async-done
metadata none {}
"""


def duty(events, more=""):
    """Percent of the duty cycle, and of that without custom calls of unknown cost."""
    found = summary(f'plane 0 "/device:TPU:0"\nline 3 "XLA Ops"\n{DUTY_OPS}{events}\n{more}').duty
    return round(found.percent, 1), round(found.sure_percent, 1)


@pytest.mark.parametrize(
    ("events", "percent"),
    [
        # 100 + (300 - 100) + 100 of 1000: the infeed inside the loop is no work.
        ("0us +100us f\n200us +300us w\n300us +100us i\n900us +100us f", 40.0),
        # Spans of ops inside count once: 1000 - (100..500).
        ("0us +1000us w\n100us +300us i\n200us +300us i", 60.0),
        # An op inside an infeed is work.
        ("0us +1000us i\n100us +200us f", 20.0),
        # Overlap without inclusion: the later op's own time is work as well.
        ("0us +1000us w\n100us +500us i\n200us +600us f", 90.0),
        ("0us +500us w\n400us +600us i", 50.0),
        # Events of a line count by begin, longest first, whatever their order in the file.
        ("300us +100us i\n0us +1000us w", 90.0),
        ("0us +500us i\n0us +500us w\n500us +500us f", 100.0),
        ("0us +500us f\n500us +500us m", 50.0),
        ("0us +500us f\n500us +500us async-done.1", 50.0),
        ("0us +500us none\n500us +500us i", 50.0),
    ],
)
def test_the_innermost_op_decides(events, percent):
    assert duty(events) == (percent, percent)


def test_nesting_is_that_of_the_hosts_clock():
    inside = "device_offset_ps=200000000, device_duration_ps=100000000"
    assert duty(f"0us +1000us w {{device_offset_ps=0, device_duration_ps=9}}\n300us +100us i {{{inside}}}") == (
        90.0,
        90.0,
    )


@pytest.mark.parametrize(
    ("call", "sure"),
    [("c", 20.0), ("k", 50.0), ("c {flops=3}", 50.0), ("c {model_flops=3}", 50.0), ("c {bytes_accessed=3}", 20.0)],
)
def test_custom_calls_without_known_cost_may_wait(call, sure):
    assert duty(f"0us +100us f\n100us +300us {call}\n900us +100us f") == (50.0, sure)


def test_ops_inside_a_custom_call_are_work():
    assert duty("0us +1000us c\n100us +200us f\n400us +100us i") == (90.0, 20.0)


def test_op_lines_are_nested_each_for_itself():
    assert duty('0us +1000us w\nline 4 "XLA Ops"\n200us +100us i') == (100.0, 100.0)
    assert duty('0us +500us f\nline 4 "XLA Ops"\n0us +1000us i') == (50.0, 50.0)


def test_ops_of_sparse_cores_have_categories_too():
    sparse = f'plane 1 "/device:TPU:0 SparseCore 0"\nline 3 "Sparse Core Ops"\n{DUTY_OPS}0us +1000us i\n0us +500us c'
    # Two chips: 0 of 1000 and 500 of 1000; custom calls of SparseCores are work.
    assert duty("0us +1000us i", sparse) == (25.0, 25.0)


# Rows of TPU ops: which one describes an op that several share, the order of events, what has run.


PLANE = 'plane 2 "/device:TPU:0"\n'
SHARED = """
metadata idle {program_id=7, symbol_id=1}
metadata single {program_id=7, symbol_id=2}
metadata free {symbol_id=9}
metadata a {program_id=7, symbol_id=5}
metadata b {program_id=7, symbol_id=5}
metadata c {program_id=8, symbol_id=5}
metadata d {program_id=8, symbol_id=5}
line 5 "XLA Ops"
"""


def described(events: str, metadata: str = SHARED) -> dict[str, str]:
    """The name of the row that describes each of the rows, by name."""
    space = profile(PLANE + metadata + events)
    names = space.planes[0].event_metadata.names
    by = op_metadata(space, space.planes[0]).row.tolist()
    return {name: names[row] for name, row in zip(names, by, strict=True)}


@pytest.mark.parametrize(
    ("events", "pair"),
    [
        ("", ["a", "b"]),
        ("0us +10us a\n20us +5us b", ["a", "a"]),
        ("0us +10us b\n20us +5us a", ["b", "b"]),
        ("0us +100us a\n10us +5us b", ["b", "b"]),
        # Of those that end together the innermost one completes first.
        ("0us +10us a\n5us +5us b", ["b", "b"]),
        ("0us +10us b\n5us +5us a", ["a", "a"]),
        ("0us +10us a", ["a", "a"]),
        ("0us +1us free\n1us +1us single\n2us +10us b", ["b", "b"]),
        ("0us +1us c\n2us +10us b\n20us +5us a", ["b", "b"]),
    ],
)
def test_of_rows_with_one_program_and_symbol_the_first_completed_one_describes_both(
    events: str, pair: list[str]
) -> None:
    found = described(events)
    alone = {"idle": "idle", "single": "single", "free": "free"}
    other = {"c": "c", "d": "c" if "us c" in events else "d"}
    assert found == {**alone, **dict(zip("ab", pair, strict=True)), **other}


def test_rows_that_share_nothing_describe_themselves() -> None:
    metadata = 'metadata a {program_id=7, symbol_id=5}\nmetadata b {program_id=7, symbol_id=6}\nline 5 "XLA Ops"\n'
    assert described("0us +1us b\n1us +1us a", metadata) == {"a": "a", "b": "b"}
    # Nor does one without a program share anything with those that do.
    more = "metadata single {program_id=7, symbol_id=4}\nmetadata free {symbol_id=9}\n"
    two = metadata.replace("symbol_id=6", "symbol_id=5")
    assert described("0us +1us free\n1us +10us b", more + two) == {
        "single": "single",
        "free": "free",
        "a": "b",
        "b": "b",
    }


def test_each_group_has_its_own_first_one() -> None:
    space = profile(PLANE + SHARED + "0us +1us a\n1us +1us b\n2us +1us b\n3us +1us a\n4us +1us d")
    shared = op_metadata(space, space.planes[0]).shared
    groups = np.array([0, 0, 1, 1, 2])
    names = space.planes[0].event_metadata.names
    found = described_by(space.planes[0], shared, np.arange(5), groups)
    by_name = [dict(zip(names, (names[row] for row in group), strict=True)) for group in found.tolist()]
    alone = {"idle": "idle", "single": "single", "free": "free"}
    assert by_name == [
        {**alone, "a": "a", "b": "a", "c": "c", "d": "d"},
        {**alone, "a": "b", "b": "b", "c": "c", "d": "d"},
        {**alone, "a": "a", "b": "b", "c": "d", "d": "d"},
    ]


@pytest.mark.parametrize(
    ("spans", "order"),
    [
        ([(0, 5), (10, 5), (20, 5)], [0, 1, 2]),
        ([(20, 10), (10, 5)], [1, 0]),
        ([(20, 5), (10, 10)], [1, 0]),
        ([(0, 5), (0, 10)], [1, 0]),
        ([(0, 10), (0, 5)], [0, 1]),
        ([(0, 5), (0, 5)], [0, 1]),
        ([(0, 5), (20, 5), (10, 5)], [0, 2, 1]),
        ([(5, 5), (5, 10), (0, 1)], [2, 1, 0]),
        ([(0, 9), (0, 3), (0, 5)], [0, 2, 1]),
        ([], []),
    ],
)
def test_events_of_a_line_by_begin_and_the_longest_first(spans: list[tuple[int, int]], order: list[int]) -> None:
    events = "\n".join(f"{begin}us +{length}us e" for begin, length in spans)
    plane = profile(f'{PLANE}line 5 "XLA Ops"\n{events}').planes[0]
    assert op_events(plane).tolist() == order


def test_op_lines_follow_one_another_and_other_lines_are_left_out() -> None:
    lines = 'line 5 "XLA Ops"\n9us +1us e\n3us +1us e\nline 6 Steps\n0us +1us s\nline 7 "XLA Ops"\n1us +1us e'
    assert op_events(profile(PLANE + lines).planes[0]).tolist() == [1, 0, 3]


def test_only_ops_that_ran_are_in_the_table() -> None:
    space = profile(PLANE + SHARED + "0us +0us a\n1us +2us single\n3us +1us free")
    metadata = op_metadata(space, space.planes[0])
    table, _ = op_table(space, space.planes[0], metadata, {}, NO_SPANS)
    assert sorted(zip(table.name, table.occurrences.tolist(), strict=True)) == [("a", 1), ("single", 1)]
    records = core_records(space, space.planes[0], metadata)
    times = zip(table.name, records.normalized_ps.tolist(), records.normalized_self_ps.tolist(), strict=True)
    assert sorted(times) == [("a", 0, 0), ("single", 2e6, 2e6)]


def test_times_on_the_devices_clock_scale_those_without_children_alike() -> None:
    clock = '{{"Time Scale Multiplier"=0.5d, device_offset_ps={}, device_duration_ps={}}}'
    events = f"0us +40us a {clock.format(0, 40_000_000)}\n10us +10us single {clock.format(10_000_000, 10_000_000)}"
    space = profile(PLANE + SHARED + events)
    records = core_records(space, space.planes[0], op_metadata(space, space.planes[0]))
    times = zip(records.table.name, records.normalized_ps.tolist(), records.normalized_self_ps.tolist(), strict=True)
    assert sorted(times) == [("a", 20e6, 15e6), ("single", 5e6, 5e6)]


def test_the_union_of_spans() -> None:
    first, second = (np.array([10, 30]), np.array([20, 50])), (np.array([15, 60]), np.array([35, 70]))
    assert [_covered(parts) for parts in ([], [first], [second], [first, second])] == [0, 30, 30, 50]


@pytest.mark.parametrize("half", ["", "device_offset_ps=7000, ", "device_duration_ps=7000, "])
def test_stats_are_clocks_by_their_name_alone(half: str) -> None:
    stats = half + ", ".join(f"s{i}={i + 1000}" for i in range(80))
    text = f'{PLANE}metadata a {{program_id=7, symbol_id=5}}\nline 5 "XLA Ops"\n0us +2us a {{{stats}}}'
    assert rows(ask(hlo_stats.TOOL, text), "hlo_op_name", "total_time") == [("a", 2)]


CALL = 'metadata c {{hlo_category="custom-call", program_id=7, symbol_id=4{}}}\nline 3 "XLA Ops"\n0us +50us c{}\n'


@pytest.mark.parametrize(
    ("facts", "event", "sure"),
    [
        ("", "", 0),
        (", flops=3", "", 50),
        (", model_flops=3", "", 50),
        (", model_flops=-3", "", 0),
        (", bytes_accessed=3", "", 0),
        ("", " {flops=3}", 50),
        ("", " {model_flops=3}", 50),
        ("", " {flops=-3}", 0),
    ],
)
def test_custom_calls_of_known_cost_alone_on_a_core(facts: str, event: str, sure: float) -> None:
    ops = 'metadata i {hlo_category="infeed", program_id=7, symbol_id=5}\n' + CALL.format(facts, event)
    plain = 'plane 0 "/device:TPU:0"\n' + ops + "50us +50us i"
    found = summary(plain).duty
    assert (found.percent, found.sure_percent) == (50, sure)


def test_custom_calls_that_are_all_ops_of_a_core() -> None:
    only = 'plane 0 "/device:TPU:0"\n' + CALL.format("", " {flops=3}") + "50us +50us c"
    assert (summary(only).duty.percent, summary(only).duty.sure_percent) == (100, 50)


@pytest.mark.parametrize(("event", "idle"), [("", 900), (" {_a=0}", 900), (" {_a=1}", 0)])
def test_asynchronous_events_do_not_extend_the_observed_time(event: str, idle: int) -> None:
    listed = event.strip(" {}")
    clock = f"device_offset_ps=4000000000, device_duration_ps=100000000{', ' + listed if listed else ''}"
    text = f"""{PLANE}metadata a {{program_id=7, symbol_id=1, tf_op="x:X"}}
    line 5 "XLA Ops"
    4900us +100us a {{{clock}}}"""
    table = ask(framework_op_stats.TOOL, text)[0]
    assert ("Device", "IDLE", idle) in rows(table, "host_or_device", "operation", "total_time")


def test_lines_of_sources_are_32_bit_numbers_of_up_to_31_characters() -> None:
    known = {"f.py:-2147483648": -(2**31), "f.py:-63": -63, "f.py:" + "5".zfill(31): 5}
    assert {text: split_source(text) for text in known} == {text: ("f.py", line) for text, line in known.items()}
    unknown = ("f.py:-2147483649", "f.py:" + "5".zfill(32))
    assert {split_source(text) for text in unknown} == {("", 0)}


HANDED_OVER = """
plane 2 "/device:TPU:0"
    metadata call {program_id=7, symbol_id=1}
    line 5 "XLA Ops"
    0us +4us call {offload_core_id=u0, tc_offload_start_id=0}
plane 9 "/device:TPU:0 SparseCore 0"
    metadata gather {program_id=8, symbol_id=1}
    line 1 "Sparse Core Modules"
    0us +4us module {offload_core_id=u0, tc_offload_start_id=u0}
    line 2 "Sparse Core Ops"
    0us +2us gather {offload_core_id=u0, tc_offload_start_id=0}
plane 10 "/device:TPU:0 SparseCore 1"
    metadata scatter {program_id=8, symbol_id=2}
    line 1 "Sparse Core Modules"
    0us +4us module
    line 2 "Sparse Core Ops"
    0us +2us scatter
"""


def test_only_ops_of_tensor_cores_hand_over_and_only_sparse_cores_with_hand_overs_take_them() -> None:
    space = profile(HANDED_OVER)
    found = {key: records.table.name for key, records in sparse_ops(space, space.planes).items()}
    assert found == {(7, "call"): ("gather",)}


def test_steps_without_ops_are_observed_time() -> None:
    space = profile(PLANE + 'line 6 Steps\n5us +20us "0"')
    assert summarize_ops(space, None, HloOps(space)).records.table.total_ps == 20 * 10**6
