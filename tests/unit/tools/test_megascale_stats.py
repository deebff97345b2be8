"""Megascale stats, against answers of XProf 2.24.2 that are stored in tests/golden/xprof_megascale."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders.answers import answer, rows
from builders.profiles import megascale_profiles

from tpu_profile_plugin.analysis.megascale.collectives import transmitted
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
