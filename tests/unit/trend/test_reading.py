"""Runs read in slices, and the trend as columns."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from builders.histories import profile, summary
from builders.logdirs import write
from builders.servers.board import Board

from tpu_profile_plugin.trend.reading import columns
from tpu_profile_plugin.trend.trend import of_summaries


def runs_of(count: int) -> dict[str, str | bytes | None]:
    files: dict[str, str | bytes | None] = {
        f"logs/plugins/profile/r{row}/h.xplane.pb": profile({"fusion": 300, "copy": 100 + 20 * (row >= 4)})
        for row in range(count)
    }
    if count > 4:
        files["logs/plugins/profile/r4/labels.json"] = b'{"commit": "abc"}'
    files["logs/plugins/profile/bad/h.xplane.pb"] = b"\x0a\xff\xff\xff\xff\x0f"
    return files


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board(write(tmp_path, runs_of(8)) / "logs", tmp_path / "home")


def read_all(board: Board) -> list[int]:
    left = []
    while not left or left[-1]:
        left.append(board.json("trend", read="true")["remaining"])
    return left


def test_nothing_is_read_before_it_is_asked_for(board: Board):
    found = board.json("trend")
    assert (found["listed"], found["remaining"], found["runs"]["run"], found["series"]) == (9, 9, [], [])


def test_a_slice_reads_at_least_one_run_and_stays_known(board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tpu_profile_plugin.trend.reading.SLICE_S", 0.0)
    assert [board.json("trend", read="true") for _ in range(2)] == [
        {"listed": 9, "remaining": 8},
        {"listed": 9, "remaining": 7},
    ]
    found = board.json("trend")
    assert (len(found["runs"]["run"]), found["remaining"]) == (2, 7)
    other = Board(tmp_path / "logs", tmp_path / "home")
    assert other.json("trend")["remaining"] == 7
    assert read_all(other) == [6, 5, 4, 3, 2, 1, 0]
    assert board.json("trend")["remaining"] == 0


def test_without_a_cache_runs_are_read_once_by_the_server(tmp_path: Path):
    board = Board(write(tmp_path, runs_of(2)) / "logs", tmp_path / "home", "--profile_disk_mb", "0")
    read_all(board)
    assert sorted(board.json("trend")["runs"]["run"]) == ["bad", "r0", "r1"]
    assert not (tmp_path / "home" / "runs").exists()


def test_a_change_is_told_with_its_place_and_a_damaged_run_with_its_reason(board: Board):
    read_all(board)
    found = board.json("trend")
    assert [run for run, why in zip(found["runs"]["run"], found["runs"]["problem"], strict=True) if why] == ["bad"]
    [series] = found["series"]
    assert [found["runs"]["run"][row] for row in series["rows"]] == [f"r{row}" for row in range(8)]
    assert series["step_ps"] == [410_000_000] * 4 + [430_000_000] * 4
    [change] = series["changes"]
    assert (change["index"], change["kind"], change["before_ps"], change["after_ps"]) == (4, "step", 410e6, 430e6)
    assert change["parts"] == [{"name": "copy", "before_ps": 100_000_000, "after_ps": 120_000_000}]
    assert change["labels"] == "commit none -> abc"
    assert series["places"][0] == {"name": "copy", "ps": [100_000_000] * 4 + [120_000_000] * 4, "changes": [4]}
    assert found["runs"]["labels"]["commit"][series["rows"][4]] == "abc"


def test_labels_that_change_are_seen_and_runs_that_are_gone_are_not(board: Board, tmp_path: Path):
    read_all(board)
    (tmp_path / "logs/plugins/profile/r2/labels.json").write_text('{"commit": "new"}')
    shutil.rmtree(tmp_path / "logs/plugins/profile/r3")
    found = board.json("trend")
    runs = found["runs"]["run"]
    assert found["runs"]["labels"]["commit"][runs.index("r2")] == "new"
    assert ("r3" in runs, found["listed"], found["remaining"]) == (False, 8, 0)


def test_what_all_ops_share_is_a_change_without_a_level():
    names = [f"op{place}" for place in range(8)]
    runs = [
        summary(f"r{row:02}", row + 1, dict.fromkeys(names, 1e9 * (1 + 0.1 * (row >= 10)) * (1 + 0.001 * (row % 3))))
        for row in range(20)
    ]
    [series] = columns(of_summaries(runs))["series"]
    machine = [one for one in series["changes"] if one["kind"] == "machine"]
    assert [(one["index"], one["before_ps"], round(one["change_percent"])) for one in machine] == [(10, None, 10)]
    assert machine[0]["sentence"] == "All ops together 10.0% slower since r10."
    assert series["is_adjusted"]


def test_a_run_without_steps_is_in_no_series():
    runs = [summary("a", 1, {"x": 1e9}), replace(summary("b", 2, {}), conditions=None, problem="Why.")]
    found = columns(of_summaries(runs, unread=3))
    assert found["runs"]["problem"] == ["", "Why."]
    assert [one["rows"] for one in found["series"]] == [[0]]
    assert found["remaining"] == 3
    assert found["series"][0]["no_change"] == "Too few runs to see a shift: 6 are needed."
