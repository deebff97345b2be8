"""Tools of performance counters, against answers of XProf 2.24.2 that are stored in tests/golden/xprof_counters."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.answers import answer, rows
from builders.logdirs import write
from builders.profiles import counter_profiles
from builders.servers.board import Board

from tpu_profile_plugin.analysis.counters import kernels, units
from tpu_profile_plugin.compat.xprof import counters as xprof
from tpu_profile_plugin.run.facts import PlaneFact, RunFacts
from tpu_profile_plugin.tools.ops.counters import KERNEL_UTILIZATION, PERF_COUNTERS, UTILIZATION_VIEWER, _unsigned
from tpu_profile_plugin.tools.tool import Tool

REFERENCE = Path(__file__).parents[2] / "golden" / "xprof_counters"
PROFILES = {"v6e": counter_profiles.v6e_host(), "v7x": counter_profiles.v7x_host(), "odd": counter_profiles.ODD}
EVERY = {"v6e": 37, "v7x": 37, "odd": 1}
"""Of long tables of counters, every 37th row is stored."""
PROFILE = pytest.mark.parametrize("name", PROFILES)
DESCRIPTION = 6


def reference(name: str) -> Any:
    return json.loads((REFERENCE / f"{name}.json").read_text())


@PROFILE
def test_utilization_is_that_of_xprof(name: str) -> None:
    ours = rows(answer(UTILIZATION_VIEWER, PROFILES[name]))
    stored = reference(f"{name}_utilization_viewer")
    assert ours == [[pytest.approx(c, rel=1e-14) if isinstance(c, float) else c for c in row] for row in stored]


def test_units_have_the_name_of_their_host() -> None:
    units = answer(UTILIZATION_VIEWER, PROFILES["v6e"], PROFILES["v6e"], page=True)["units"]
    found = rows(units, "host", "device", "node", "name", "achieved")
    assert {host for host, *_ in found} == {"h0", "h1"}
    assert found[: len(found) // 2] == [["h0", *rest] for _, *rest in found[len(found) // 2 :]]


@PROFILE
def test_counters_are_those_of_xprof(name: str) -> None:
    """All columns but the descriptions, which are sentences of ours."""
    table = answer(PERF_COUNTERS, PROFILES[name])
    ours = [[cell["v"] for cell in row["c"][:8]] for row in table["rows"]]
    for row, shown in zip(ours, table["rows"], strict=True):
        row[5] = [row[5], shown["c"][5]["f"]]
    for row, stored in zip(ours[:: EVERY[name]], reference(f"{name}_perf_counters"), strict=True):
        assert [*row[:DESCRIPTION], row[7]] == [*stored[:DESCRIPTION], stored[7]]
        if stored[DESCRIPTION] is None:  # a sentence of XProf's own
            assert row[DESCRIPTION] == "text" or row[DESCRIPTION].endswith(").")
        else:
            assert row[DESCRIPTION] == stored[DESCRIPTION]


@PROFILE
def test_kernels_are_those_of_xprof(name: str) -> None:
    assert answer(KERNEL_UTILIZATION, PROFILES[name]) == reference(f"{name}_kernel_utilization")


@pytest.mark.parametrize("asked", reference("asked_kernel_utilization"), ids=lambda asked: str(asked["params"]))
def test_parameters_of_kernels(asked: Any) -> None:
    params = {key: str(value).lower() for key, value in asked["params"].items()}
    assert answer(KERNEL_UTILIZATION, PROFILES["v6e"], **params) == asked["answer"]


def test_a_kernel_has_shares_of_units_and_operands() -> None:
    shown = answer(KERNEL_UTILIZATION, PROFILES["v7x"], page=True)["kernels"]
    devices = answer(KERNEL_UTILIZATION, PROFILES["v7x"])["devices"]
    kernels = [(device, kernel) for device in devices for kernel in device["kernels"]]
    assert rows(shown, "kernel", "host", "device", "device_type", "duration_us", "mxu_percent") == [
        [kernel["kernel_name"], "h0", device["device_id"], device["device_type"], kernel["duration_us"],
         kernel["mxu_utilization"]]
        for device, kernel in kernels
    ]  # fmt: skip
    for column in shown["columns"]:
        kind, _, name = column["id"].partition("_")
        field = {"unit": "other_metrics", "precision": "mxu_cycles_breakdown"}.get(kind)
        if field:
            assert (column["label"], column["unit"]) == (name, "%")
            assert column["values"] == [kernel[field].get(name) for _, kernel in kernels]


@pytest.mark.parametrize("kind", ["v6e", "v7x"])
def test_names_of_counters(kind: str) -> None:
    listed = xprof.names({"names_only": "1", "device_type": kind})
    assert listed is not None
    text = json.dumps(listed.value).encode()
    assert {"count": len(listed.value), "sha256": hashlib.sha256(text).hexdigest()} == reference("names")[kind]


def test_values_written_as_doubles_are_read() -> None:
    counters = answer(PERF_COUNTERS, counter_profiles.ODD, page=True)["counters"]
    assert rows(counters, "counter", "value")[2:4] == [["cycles", 900.5], ["cycles", 1000.5]]
    assert rows(answer(PERF_COUNTERS, counter_profiles.ODD), "Value")[2:4] == [[0], [0]]


def test_descriptions_of_our_own() -> None:
    table = answer(PERF_COUNTERS, PROFILES["v6e"], page=True)["counters"]
    found = {row[0] for row in rows(table, "description")}
    assert "Vector store instruction (TensorCore)." in found
    assert "Partial write request on pseudo-channel 1 (HBM stack 1, channel 15)." in found


@pytest.mark.parametrize("tool", [UTILIZATION_VIEWER, PERF_COUNTERS, KERNEL_UTILIZATION], ids=lambda tool: tool.id)
def test_hosts_add_up_and_availability(tool: Tool) -> None:
    one, both = (answer(tool, *[PROFILES["v6e"]] * hosts) for hosts in (1, 2))
    key = "devices" if "devices" in one else "rows"
    assert len(both[key]) == 2 * len(one[key]) > 0
    tpu = (PlaneFact("h", "/device:TPU:0", 1, 1),)
    assert tool.available(RunFacts(counter_values=True)) is None
    assert "no TPU" in str(tool.available(RunFacts()))
    assert "No performance counters" in str(tool.available(RunFacts(planes=tpu)))


def test_the_list_of_names_needs_no_run(tmp_path: Path) -> None:
    logdir = write(tmp_path / "logs", {"run/plugins/profile/s/h.xplane.pb": PROFILES["odd"]})
    board = Board(logdir, tmp_path / "home")
    assert len(board.get("data", tag="perf_counters", names_only="1", device_type="v6e").json) == 900
    assert board.get("data", tag="perf_counters", names_only="1").json["error"]["details"]["parameter"] == "device_type"
    assert board.get("data", tag="perf_counters").json["error"]["details"]["parameter"] == "run"
    tools = board.get("run_tools", run="run/s").json
    assert [tool for tool in tools if tool in ("perf_counters", "kernel_utilization", "utilization_viewer")] == [
        "perf_counters",
        "kernel_utilization",
        "utilization_viewer",
    ]


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, 0), (5, 5), (2**31 - 1, 2**31 - 1), (2**31, 2**64 - 2**31), (-1, 2**64 - 1), (2**32 + 7, 7), (-(2**32), 0)],
)
def test_ids_are_those_of_xprof(number: int, shown: int) -> None:
    assert _unsigned(number) == shown


@pytest.mark.parametrize(
    ("cycles", "replace", "expected"),
    [
        (1000, False, [7, 1000]),  # what was not counted follows from the time,
        (1000, True, [1000, 1000]),
        (0, True, [7, 0]),
        (2.0**70, False, [7, 2**64 - 1]),  # at most what a counter can have
    ],
)
def test_cycles_that_were_not_counted(cycles: float, replace: bool, expected: list[int]) -> None:
    chip = dataclasses.replace(units._v7x(), hertz=10**9)
    first, second = units.clock_ids(chip)[:2]
    sample = units.Sample(3, np.array([first, second], np.uint64), np.array([7, 0], np.uint64))
    found = kernels._with_cycles(chip, sample, cycles / 1000, replace)
    assert [found.value_of(one) for one in (first, second)] == expected
    assert found.line == 3
