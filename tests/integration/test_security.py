"""Protection against other names and origins and against injection; docs/developer/security.md has the model."""

from __future__ import annotations

import logging
import os
import stat

import pytest
from builders.board import Board
from builders.logdirs import SMALL, write
from werkzeug.test import EnvironBuilder

ROUTES = ("index.html", "index.js", "config", "version", "status", "runs", "runs_info", "capture_jobs", "nope")
NAMES = ["evil.example", "evil.example:6006", "board.lab.example.evil.example", "[::1", "", "localhost.evil.example"]


class TestNames:
    @pytest.fixture
    def closed(self, logdir, tmp_path):
        return Board(logdir, tmp_path / "home", "--profile_server_names", "board.lab.example")

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("route", ROUTES)
    def test_nothing_is_served_under_a_name_that_is_not_listed(self, closed, name, route):
        """A page whose name resolves to this machine (DNS rebinding) is same-origin to the browser."""
        answer = closed.get(route, headers={"Host": name})
        assert (answer.status_code, answer.json["error"]["code"]) == (403, "forbidden")

    @pytest.mark.parametrize("name", ["board.lab.example", "BOARD.lab.example:443", "localhost:6006", "[::1]:6006"])
    def test_listed_names_and_this_machines_own_are_served(self, closed, name):
        assert closed.get("runs", headers={"Host": name}).status_code == 200

    def test_without_a_list_reading_works_under_any_name_as_in_tensorboard(self, board):
        assert board.get("runs", headers={"Host": "evil.example"}).status_code == 200


@pytest.mark.parametrize("route", [*ROUTES, "data?run=train/multi&tag=profile_contents", "static/nope.js"])
def test_no_answer_may_be_embedded_or_read_by_another_origin(board, route):
    path, _, query = route.partition("?")
    answer = board.client.get(f"{board.prefix}/{path}", query_string=query, headers={"Origin": "http://evil.example"})
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert not [name for name, _ in answer.headers if name.lower().startswith("access-control-")]


INJECTED = "x\r\nSet-Cookie: a=b\r\n\r\n<script>"


@pytest.mark.parametrize("route", ["runs", "hosts", "run_info", "data", "data_csv", "module_list", "capture_status"])
@pytest.mark.parametrize(
    "parameter", ["run", "tag", "host", "hosts", "module_name", "session_path", "id", "job", "base"]
)
def test_line_breaks_in_parameters_reach_no_header_and_no_log(board, caplog, route, parameter):
    caplog.set_level(logging.DEBUG, logger="tpu_profile_plugin")
    query = {"run": "train/multi", "tag": "profile_contents", parameter: INJECTED}
    answer = board.get(route, **query)
    assert answer.status_code in (200, 400, 403, 404)
    for name, value in answer.headers:
        assert name != "Set-Cookie"
        assert "\r" not in value
        assert "\n" not in value
    assert "<script>" not in answer.text or answer.content_type.startswith(("application/json", "text/plain"))
    assert not [record for record in caplog.records if "\n" in record.getMessage()]


@pytest.mark.parametrize("route", ["data", "data_csv", "progress"])
def test_line_breaks_in_the_base_reach_no_header_and_no_log(board, caplog, route):
    caplog.set_level(logging.DEBUG, logger="tpu_profile_plugin")
    answer = board.get(route, run="train/multi", tag="compare", base=INJECTED)
    assert (answer.status_code, answer.json["error"]["code"]) == (404, "run_not_found")
    assert "Set-Cookie" not in answer.headers
    assert not [record for record in caplog.records if "\n" in record.getMessage()]


def test_line_breaks_in_the_path_reach_no_log(board, caplog):
    environ = EnvironBuilder(path="/").get_environ()
    environ["PATH_INFO"] = f"{board.prefix}/run\r\nInjected: 1"
    answer = board.client.open(environ)
    assert answer.status_code == 404
    assert not [record for record in caplog.records if "\nInjected" in record.getMessage()]


def test_host_names_out_of_files_reach_the_csv_header_safely(tmp_path):
    name = 'a"; filename=evil.exe\r\nSet-Cookie: a=b; x="'
    logdir = write(tmp_path / "logs", {f"plugins/profile/s/{name}.xplane.pb": SMALL})
    board = Board(logdir, tmp_path / "home")
    answer = board.get("data_csv", run="s", tag="profile_contents", host=name)
    assert answer.status_code == 200
    assert "Set-Cookie" not in answer.headers
    assert all("\n" not in value and "\r" not in value for value in answer.headers.values())
    assert "filename=evil" not in answer.headers["Content-Disposition"].replace('"; filename', "")


def test_the_cache_is_private_to_the_user(logdir, tmp_path):
    before = os.umask(0)
    try:
        board = Board(logdir, tmp_path / "home")
        assert board.get("data", run="train/multi", tag="profile_contents", host="hostA").status_code == 200
        board.plugin.server.results()._disk.flush()
    finally:
        os.umask(before)
    made = list((tmp_path / "home" / "results").rglob("*"))
    assert any(path.is_file() for path in made), "no answer was kept"
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in made} == {0}
