"""One reason per fault of a file or directory, whatever asks for it."""

from __future__ import annotations

import errno
import importlib
import os
import socket
from pathlib import Path

import pytest
from builders.logdirs import SMALL, write
from builders.servers.board import Board

import tpu_profile_plugin as tp
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import Forbidden, NoData
from tpu_profile_plugin.logdir.files import Contents, LocalFiles
from tpu_profile_plugin.logdir.model import UNREADABLE_DIRECTORY, Problem, RunFiles

BROKEN = "broken.xplane.pb is a link to a file that does not exist."
LOOP = "loop.xplane.pb is a link that leads back to itself."
FOLDER = "folder.xplane.pb is a directory, not a file."
SOCKET = "socket.xplane.pb is not a regular file."
PIPE = "pipe.xplane.pb is not a regular file."
EMPTY = "empty.xplane.pb is empty (0 bytes): the capture ended before it wrote anything, or is still running."


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path, {"plugins/profile/1/good.xplane.pb": SMALL, "plugins/profile/1/empty.xplane.pb": b""})
    session = tmp_path / "plugins/profile/1"
    (session / "broken.xplane.pb").symlink_to("nowhere")
    (session / "loop.xplane.pb").symlink_to("loop.xplane.pb")
    (session / "folder.xplane.pb").mkdir()
    os.mkfifo(session / "pipe.xplane.pb")
    monkeypatch.chdir(session)  # addresses of sockets are short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket.xplane.pb")
    return tmp_path


ALL = {"broken": BROKEN, "loop": LOOP, "folder": FOLDER, "socket": SOCKET, "pipe": PIPE, "empty": EMPTY}


def test_hosts_are_left_out_for_the_reason_that_the_listing_gives(logdir: Path) -> None:
    run = tp.open(logdir).run()
    run.answer("overview_page")
    assert {one.host: one.message for one in run.left_out} == ALL
    assert sorted(run.problems) == sorted(ALL.values())


def test_doctor_says_each_once(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", str(logdir)])
    wrong = [line.strip().removeprefix("WRONG ") for line in capsys.readouterr().out.splitlines() if "WRONG" in line]
    assert sorted(wrong) == sorted(ALL.values())


def test_the_page_has_the_same_reasons(logdir: Path) -> None:
    board = Board(logdir, logdir / "home")
    info = board.json("run_info", run="1")
    assert {host["name"]: host["problem"]["message"] for host in info["hosts"] if host["problem"]} == ALL
    assert sorted(problem["message"] for problem in info["problems"]) == sorted(ALL.values())


@pytest.mark.parametrize(("file", "reason"), [(file, reason) for file, reason in ALL.items() if file != "empty"])
def test_a_host_alone_fails_with_it(logdir: Path, file: str, reason: str) -> None:
    with pytest.raises(Forbidden) as raised:
        tp.open(logdir).run().on(file).answer("overview_page")
    assert raised.value.message == reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), "The server may not read the directory of this run."),
        (
            OSError(errno.EIO, "Input/output error"),
            "The server cannot read the directory of this run: Input/output error.",
        ),
    ],
)
def test_a_directory_that_cannot_be_listed_leaves_the_other_runs(
    logdir: Path, error: OSError, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(logdir, {"plugins/profile/2/good.xplane.pb": SMALL})
    listed = LocalFiles.stat_files

    def stat_files(self: LocalFiles, path: str) -> Contents:
        if Path(path).name == "2":
            raise error
        return listed(self, path)

    monkeypatch.setattr(LocalFiles, "stat_files", stat_files)
    assert {run.name: list(run.problems) for run in tp.open(logdir).runs()}["2"] == [reason]


def test_a_directory_that_may_not_be_read_is_no_empty_run() -> None:
    problem = Problem(UNREADABLE_DIRECTORY, "The server may not read the directory of this run.")
    error = RunFiles("r", "r", "d", (), (problem,)).without_hosts()
    assert (type(error), error.message) == (Forbidden, problem.message)
    assert type(RunFiles("r", "r", "d", (), ()).without_hosts()) is NoData


@pytest.mark.parametrize("function", ["tpu_profile_plugin.system.files.status_of", "os.access"])
def test_a_file_deleted_while_its_directory_is_listed_is_not_there(tmp_path, monkeypatch, function):
    write(tmp_path, {"gone.xplane.pb": SMALL, "kept.xplane.pb": SMALL})
    owner, _, name = function.rpartition(".")
    of = getattr(importlib.import_module(owner), name)

    def deleted_before(what, *arguments):
        (tmp_path / "gone.xplane.pb").unlink(missing_ok=True)
        return of(what, *arguments)

    monkeypatch.setattr(function, deleted_before)
    listed = LocalFiles().stat_files(str(tmp_path))
    assert {name: stat.fault for name, stat in listed.files.items()} == {"kept.xplane.pb": None}
