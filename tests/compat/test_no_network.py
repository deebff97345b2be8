"""Answers need no network: every tool, the pages' files and the command line, with all connections forbidden.

tests/browser/offline.test.js asks the same of a real server and of both browsers, in a network namespace of their own.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest
from builders.servers.board import Board

from tpu_profile_plugin.cli import main

DEMO = Path(__file__).parents[2] / "demo"


@pytest.fixture(autouse=True)
def cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes name lookups and connections raise."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        pytest.fail("something wants the network")

    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse, raising=False)


def test_every_tool_answers(tmp_path: Path) -> None:
    board = Board(DEMO, tmp_path)
    asked = 0
    for run in board.json("runs"):
        for tool in board.json("run_info", run=run)["tools"]:
            if tool["available"] and tool["id"] != "graph_viewer":  # requires the name of a module
                base = {"base": run} if tool["id"] == "compare" else {}
                assert board.get("data", run=run, tag=tool["id"], **base).status_code == 200, (run, tool["id"])
                asked += 1
    assert asked > 20


def test_the_page_and_its_files(tmp_path: Path) -> None:
    board = Board(DEMO, tmp_path)
    assert 'src="./static/' in board.get("index.html").text
    assert board.json("status")["problems"] == []


def test_the_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(DEMO)]) == 0
    assert "tools with data" in capsys.readouterr().out
