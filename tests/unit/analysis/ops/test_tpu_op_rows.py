"""Rows of TPU ops: which one describes an op that several share, the order of events, what has run."""

from __future__ import annotations

import numpy as np
import pytest
from builders.answers import summary
from builders.asked import ask, rows
from builders.shown import profile

from tpu_profile_plugin.analysis.attribution import split_source
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.ops.tpu_ops import (
    NO_SPANS,
    core_records,
    described_by,
    op_events,
    op_metadata,
    op_table,
    sparse_ops,
)
from tpu_profile_plugin.analysis.summary.op_summary import summarize_ops
from tpu_profile_plugin.tools.ops import framework_op_stats, hlo_stats

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


def test_stats_are_clocks_by_their_name_alone() -> None:
    stats = ", ".join(f"s{i}={i + 1000}" for i in range(80))
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
