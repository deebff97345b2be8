"""Runs of record files over HTTP: listed, shown like the same profile in one piece, damaged parts reported."""

import pytest
from builders.logdirs import SMALL, settle, write
from builders.records import BLOCK, appended
from builders.servers.board import Board
from builders.xspace_text import build

HOST, DEVICE = (build(f"plane {part}") for part in SMALL.split("plane ")[1:])
TOOLS = ("overview_page", "framework_op_stats", "hlo_stats", "trace_viewer@", "profile_contents", "op_profile")


@pytest.fixture
def board(tmp_path):
    files = {
        "plugins/profile/whole/h.xplane.pb": SMALL,
        "plugins/profile/parts/h.xplane.riegeli": appended([HOST, DEVICE]),
        "bare/h.xplane.riegeli": appended([HOST]),
    }
    return Board(write(tmp_path / "logs", files), tmp_path / "home")


def test_runs_of_record_files_are_listed(board):
    assert board.get("runs").json == ["whole", "parts", "bare"]
    assert board.get("run_tools", run="parts").json == board.get("run_tools", run="whole").json
    info = board.get("run_info", run="parts").json
    assert ([host["name"] for host in info["hosts"]], info["problems"]) == (["h"], [])


@pytest.mark.parametrize("tag", TOOLS)
def test_tools_show_what_they_show_of_one_piece(board, tag):
    whole, parts = (board.get("data", run=run, tag=tag, host="h") for run in ("whole", "parts"))
    assert (whole.status_code, parts.status_code) == (200, 200)
    assert parts.json == whole.json


def test_damaged_parts_are_a_problem_of_the_run(board, tmp_path):
    path = tmp_path / "logs/plugins/profile/parts/h.xplane.riegeli"
    data = bytearray(path.read_bytes())
    data[BLOCK + 64 + 60] ^= 1
    path.write_bytes(data)
    settle(path.parent)
    [problem] = board.get("run_info", run="parts").json["problems"]
    size = problem["message"].split(" ")[0]
    assert problem == {
        "code": "skipped_records",
        "file": "h.xplane.riegeli",
        "offset": BLOCK + 64,
        "message": f"{size} bytes at offset 65,600 were left out: the data do not match their hash. The rest is shown.",
        "remedy": "Copy the file again in binary mode, or record again.",
    }
    assert board.get("data", run="parts", tag="trace_viewer@", host="h").status_code == 200


def test_a_file_without_a_readable_record_is_corrupt(board, tmp_path):
    path = tmp_path / "logs/bare/h.xplane.riegeli"
    data = bytearray(path.read_bytes())
    data[64 + 60] ^= 1
    path.write_bytes(data)
    settle(path.parent)
    status, code, message, details = board.refused("data", run="bare", tag="overview_page")
    assert (status, code, details["offset"]) == (422, "corrupt_profile", 64)
    assert "the data do not match their hash" in message
