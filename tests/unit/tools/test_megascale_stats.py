"""Megascale stats, against answers of XProf 2.24.2 that are stored in tests/golden/xprof_megascale."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.answers import answer, rows
from builders.profiles import megascale_profiles
from builders.shown import profile

from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.analysis.megascale.collectives import (
    PLANE,
    Instruction,
    SendRecvOps,
    collectives,
    send_recv_ops,
    transmitted,
)
from tpu_profile_plugin.compat.xprof.megascale_stats import bytes_text
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.tools.fleet.megascale_stats import TOOL

STORED = json.loads((Path(__file__).parents[2] / "golden" / "xprof_megascale" / "megascale_stats.json").read_text())
HOST = megascale_profiles.two_steps()


def cells(tables: Any) -> list[list[Any]]:
    """The rows by name; cells with a formatted text as objects."""
    found = [[cell if "f" in cell else cell["v"] for cell in row["c"]] for row in tables[0]["rows"]]
    return sorted(found, key=lambda row: str(row[0]))


@pytest.mark.parametrize(("name", "hosts"), [("one", [HOST]), ("both", [HOST, megascale_profiles.two_steps(120)])])
def test_collectives_are_those_of_xprof(name: str, hosts: list[str]) -> None:
    ours = cells(answer(TOOL, *hosts))
    stored = [
        [pytest.approx(cell, rel=1e-14) if isinstance(cell, float) else cell for cell in row] for row in STORED[name]
    ]
    assert ours == stored


def test_columns() -> None:
    columns = answer(TOOL, HOST)[0]["cols"]
    assert [[column["id"], column["type"], column["label"]] for column in columns] == STORED["columns"]


def test_slack_is_what_lies_between_without_sends_and_receives() -> None:
    """The first collective: 290 us from send to recv-done, 51 us of which are ops of both."""
    table = answer(TOOL, HOST)[0]
    assert rows(table, "rendezvous_name", "slack_time", "stall_duration", "occurrences")[0] == [
        "all_reduce_1",
        0.238,
        0.159,
        2,
    ]


def test_the_page_has_the_time_of_recv_and_no_bandwidth_without_slack() -> None:
    """XProf's time of the recv op is a million times smaller, and its bandwidth without slack a number."""
    text = HOST.replace("15us +1us recv", "15us +2us recv")
    ours, xprofs = answer(TOOL, text, page=True)["collectives"], answer(TOOL, text)[0]
    assert max(value for (value,) in rows(ours, "recv_ms")) > 0
    assert {value for (value,) in rows(xprofs, "recv_stall")} == {0}
    needed = [value for (value,) in rows(xprofs, "required_bandwidth")]
    assert [value for (value,) in rows(ours, "required_gbps")] == [
        None if value == 2**31 - 1 else value for value in needed
    ]
    same = {
        "slack_ms": "slack_time",
        "stall_ms": "stall_duration",
        "total_stall_ms": "total_stall",
        "runs": "occurrences",
    }
    assert rows(ours, *same) == rows(xprofs, *same.values())


def test_ops_outside_of_modules_and_without_a_program_are_left_out() -> None:
    outside = HOST.replace("2000us +1500us", "9000us +1500us")
    assert [row[0] for row in rows(answer(TOOL, outside)[0], "occurrences")] == [1, 1, 1]
    without = "\n".join(line for line in HOST.splitlines() if "Hlo Proto" not in line)
    assert answer(TOOL, without)[0]["rows"] == []
    assert answer(TOOL, 'plane 1 "/host:CPU"')[0]["rows"] == []


def transfers(text: str) -> list[tuple[str, int, int, int, int]]:
    """Name, opcode, participants, begin and duration in us of each run."""
    space = profile(text)
    found = send_recv_ops(space, next(plane for plane in space.planes if plane.name == PLANE), hlo_programs(space))
    of = [found.instructions[row] for row in found.instruction.tolist()]
    times = (found.begin_ns // 1000 - 1).tolist(), (found.duration_ps // 10**6).tolist()
    return [(one.name, one.opcode, one.group, *at) for one, *at in zip(of, *times, strict=True)]


def run_of(events: list[str], more: str = "", info: bool = True) -> str:
    text = megascale_profiles.host(megascale_profiles.TRANSFERS[:1], [(10, 90), (200, 100)], events)
    return (text if info else text.replace(", dcn_collective_info", ", other")) + more


def test_runs_of_ops_are_those_within_a_run_of_their_program() -> None:
    events = ["5us +1us send.0", "10us +2us recv.0", "90us +10us send.0", "95us +6us send.0", "290us +10us send-done.0"]
    assert transfers(run_of(events)) == [
        ("recv.0", 1, 0, 10, 2), ("send.0", 0, 4, 90, 10), ("send-done.0", 2, 0, 290, 10),
    ]  # fmt: skip
    # Lines come in any order.
    head, modules, ops = run_of(events).partition('line 1 "XLA Modules"')
    runs, line, rest = ops.partition('line 2 "XLA Ops"')
    ops_alone, plane, host = rest.partition('plane 2 "/host:CPU"')
    swapped = f"{head}{line}{ops_alone}{modules}{runs}{plane}{host}"
    assert transfers(swapped) == transfers(run_of(events))


def test_the_number_of_participants_may_be_missing_or_come_first() -> None:
    events = ["20us +2us send.0"]
    assert transfers(run_of(events, info=False)) == [("send.0", 0, 0, 20, 2)]
    text = run_of(events)
    (line,) = [line for line in text.splitlines() if line.startswith('metadata "%send.0')]
    category, _, info = line.partition("{")[2].partition("}")[0].partition(", ")
    assert transfers(text.replace(f"{category}, {info}", f"{info}, {category}")) == [("send.0", 0, 4, 20, 2)]
    # Only the first stat of all is the number of participants.
    alone = text.replace('plane 1 "/device:TPU:0"', f'plane 1 "/device:TPU:0"\nmetadata first {{{info}}}')
    assert transfers(alone.replace(f"{category}, {info}", category)) == [("send.0", 0, 0, 20, 2)]


def test_ops_that_the_program_lacks_are_left_out() -> None:
    text = run_of(["20us +2us send.0"]).replace('display="send.0"', 'display="send.9"')
    assert transfers(text) == []


def test_other_ops_of_these_categories_are_neither_sent_nor_received() -> None:
    text = run_of(["20us +2us send.0"]).replace('display="send.0"', 'display="p.0"')
    assert transfers(text) == [("p.0", -1, 4, 20, 2)]
    assert collectives(SendRecvOps(*(np.zeros(1, np.int64),) * 5, (Instruction("x", -1, 1, "r", "", 8, 2),))) == ()


def test_an_op_without_a_rendezvous_takes_that_of_its_channel() -> None:
    """A done op before any send of its channel is of none."""
    instructions = (
        Instruction("send-done.9", 2, 9, None, "", 8, 2),
        Instruction("send.1", 0, 1, "first", "ALL_REDUCE", 8, 2),
        Instruction("recv-done.1", 3, 1, None, "", 400, 2),
        Instruction("send.2", 0, 2, "second", "ALL_GATHER", 8, 4),
        Instruction("recv-done.2", 3, 2, None, "", 100, 4),
    )
    row = np.array([4, 0, 1, 3, 2, 4], np.int32)
    begin, length = np.array([1, 2, 10, 20, 50, 90]) * 1000, np.array([1, 1, 4, 5, 7, 6]) * 1000
    found = collectives(SendRecvOps(row, begin, begin + length, length, length * 1000, instructions))
    shown = [(one.rendezvous, one.runs, one.bytes, one.slack_us, one.observed_us, one.stall_us) for one in found]
    # Between send and recv-done: 40 us with 9 of ops, and 70 us with 12; stalled for the ops of the collective.
    assert shown == [("first", 1, 400, 31, 47, 11), ("second", 1, 75, 58, 76, 11)]


@pytest.mark.parametrize(
    ("kind", "bytes"),
    [
        ("ONE_TO_ONE", 400),
        ("ALL_GATHER", 75),
        ("ALL_REDUCE", 150),
        ("ALL_TO_ALL", 75),
        ("REDUCE_SCATTER", 300),
        ("X", 0),
    ],
)
def test_transmitted_bytes(kind: str, bytes: int) -> None:
    assert transmitted(100, 4, kind) == bytes
    assert transmitted(100, 0, kind) == 0


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0B"), (1023, "1023B"), (1536, "1.5K"), (3 << 20, "3.00M"), (5 << 30, "5.00G")]
)
def test_sizes(count: int, text: str) -> None:
    assert bytes_text(count) == text


def test_availability() -> None:
    assert TOOL.available(RunFacts(megascale=True)) is None
    assert "MegaScale:" in str(TOOL.available(RunFacts()))


def test_flows_go_from_send_to_copy_to_done() -> None:
    """The arrows of XProf's trace, and the ones to the recv-done, which XProf leaves without a source."""
    found = answer(TOOL, HOST, timeline="true", page=True)["timeline"]
    host, kinds = found["hosts"][0], found["kinds"]
    parts = host["parts"]
    first = [i for i, name in enumerate(parts["rendezvous"]) if host["names"][name] == "all_reduce_1"]
    edges = sorted(
        (parts["begin_ps"][a] // 10**6, kinds[parts["kind"][a]], kinds[parts["kind"][b]], parts["begin_ps"][b] // 10**6)
        for a, b in zip(*host["flows"], strict=True)
        if a in first and parts["begin_ps"][a] < 10**9
    )
    assert edges == [
        (11, "send", "DeviceToHost START", 14),
        (11, "send", "recv-done", 301),
        (11, "send", "send-done", 101),
        (15, "recv", "HostToDevice START", 279),
        (15, "recv", "recv-done", 301),
        (17, "DeviceToHost END", "send-done", 101),
        (282, "HostToDevice END", "recv-done", 301),
    ]


def test_a_profile_without_the_runtime_has_the_flows_of_ops() -> None:
    text = HOST.partition('plane 3 "/device:CUSTOM:Megascale Trace"')[0]
    host = answer(TOOL, text, timeline="true", page=True)["timeline"]["hosts"][0]
    assert len(host["flows"][0]) == 12
    assert answer(TOOL, 'plane 1 "/host:CPU"', timeline="true", page=True)["timeline"]["hosts"][0]["flows"] == [[], []]
