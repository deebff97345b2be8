"""One reason per fault of a file or directory, whatever asks for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from builders.logdirs import SMALL, write

import tpu_profile_plugin as tp
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import Forbidden, NoData
from tpu_profile_plugin.logdir.model import UNREADABLE_DIRECTORY, Problem, RunFiles

BROKEN = "broken.xplane.pb is a link to a file that does not exist."
PIPE = "pipe.xplane.pb is not a regular file."
EMPTY = "empty.xplane.pb is empty (0 bytes): the capture ended before it wrote anything, or is still running."


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write(tmp_path, {"plugins/profile/1/good.xplane.pb": SMALL, "plugins/profile/1/empty.xplane.pb": b""})
    session = tmp_path / "plugins/profile/1"
    (session / "broken.xplane.pb").symlink_to("nowhere")
    os.mkfifo(session / "pipe.xplane.pb")
    return tmp_path


def test_hosts_are_left_out_for_the_reason_that_the_listing_gives(logdir: Path) -> None:
    run = tp.open(logdir).run()
    run.answer("overview_page")
    assert {one.host: one.message for one in run.left_out} == {"broken": BROKEN, "pipe": PIPE, "empty": EMPTY}
    assert sorted(run.problems) == sorted([BROKEN, PIPE, EMPTY])


def test_doctor_says_each_once(logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", str(logdir)])
    wrong = [line.strip().removeprefix("WRONG ") for line in capsys.readouterr().out.splitlines() if "WRONG" in line]
    assert sorted(wrong) == sorted([BROKEN, PIPE, EMPTY])


@pytest.mark.parametrize(("file", "reason"), [("broken", BROKEN), ("pipe", PIPE)])
def test_a_host_alone_fails_with_it(logdir: Path, file: str, reason: str) -> None:
    with pytest.raises(Forbidden) as raised:
        tp.open(logdir).run().on(file).answer("overview_page")
    assert raised.value.message == reason


def test_a_directory_that_may_not_be_read_is_no_empty_run() -> None:
    problem = Problem(UNREADABLE_DIRECTORY, "The server may not read the directory of this run.")
    error = RunFiles("r", "r", "d", (), (problem,)).without_hosts()
    assert (type(error), error.message) == (Forbidden, problem.message)
    assert type(RunFiles("r", "r", "d", (), ()).without_hosts()) is NoData
