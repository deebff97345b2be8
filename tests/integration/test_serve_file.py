"""A profile served alone, whatever its name: all routes answer, and nothing is written beside it."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from urllib.request import urlopen

import pytest
from builders import kineto
from builders.logdirs import SMALL
from builders.servers.board import Board
from builders.xspace_text import build

import tpu_profile_plugin as tp
from tpu_profile_plugin.serving import board as tensorboard

FILES = {
    "h.xplane.pb": build(SMALL),
    "no suffix": build(SMALL),
    "rank0_trace.json": kineto.training(1),
    "päcked (1).gz": gzip.compress(kineto.training(1)),
}


@pytest.fixture(params=FILES)
def file(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_PROFILE_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "folder" / request.param
    path.parent.mkdir()
    path.write_bytes(FILES[request.param])
    return path


def test_every_tool_of_a_profile_answers(file: Path) -> None:
    address = str(tensorboard(str(file), 0).launch())

    def get(route: str) -> bytes:
        with urlopen(f"{address}data/plugin/profile/{route}") as answer:
            return bytes(answer.read())

    (run,) = json.loads(get("runs_info"))
    assert (run["run"], run["hosts"], run["problems"]) == ("folder", 1, [])
    info = json.loads(get("run_info?run=folder"))
    assert [host["name"] for host in info["hosts"]] == tp.open(file).run().hosts
    available = [tool["id"] for tool in info["tools"] if tool["available"] and tool["id"] not in ("compare", "query")]
    assert "overview_page" in available
    for tool in available:
        assert get(f"page?run=folder&tag={tool}"), tool
    assert b"<html" in get("report?run=folder")
    status = json.loads(get("status"))
    assert (status["absolute_logdir"], status["capture_enabled"], status["problems"]) == (str(file), False, [])
    assert [path.name for path in file.parent.iterdir()] == [file.name], "nothing is written beside it"


def test_pages_and_reports_of_a_run_in_a_notebook(file: Path) -> None:
    run = tp.open(file).run()
    with urlopen(run.show().url.replace("index.html", "run_info")) as answer:
        assert json.loads(answer.read())["run"] == "folder"
    assert b"report-data" in run.report().data
    assert b"report-data" in tp.open(FILES[file.name]).run().report().data
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_that_is_gone_or_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_PROFILE_CACHE_DIR", "off")
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(build(SMALL))
    address = str(tensorboard(str(path), 0).launch()) + "data/plugin/profile/"

    def planes() -> int:
        with urlopen(f"{address}data?run={tmp_path.name}&tag=profile_contents") as answer:
            return len(json.loads(answer.read())["rows"])

    before = planes()
    path.write_bytes(build(f'{SMALL}\nplane 7 "/more"\nline 1 a\n0us +1us x'))
    assert planes() == before + 1
    shutil.move(path, tmp_path / "away")
    with urlopen(f"{address}status") as answer:
        assert [one["message"] for one in json.loads(answer.read())["problems"]] == ["There is no file h.xplane.pb."]
    with pytest.raises(OSError, match="404"):
        planes()


def test_a_logdir_that_is_a_file_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "rank0_trace.json"
    path.write_bytes(kineto.training(1))
    board = Board(path, tmp_path / "home")
    assert board.json("runs_info") == []
    status = board.json("status")
    (problem,) = status["problems"]
    assert (problem["code"], problem["file"], status["absolute_logdir"]) == ("logdir_is_file", path.name, str(path))
    assert problem["message"] == "The logdir is a file, rank0_trace.json, not a directory."
    assert problem["remedy"].startswith("`tpu-profile serve rank0_trace.json` shows a profile alone.")
    assert f"plugins/profile/<session>/{path.name}" in problem["remedy"]
