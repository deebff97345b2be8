"""Every invalid request gets a JSON answer with a stable code and a reason, without paths of the server."""

from pathlib import Path

import pytest
from builders.logdirs import SMALL, write
from builders.servers.board import Board

RUN_ROUTES = ("base_runs", "run_tools", "run_info", "hosts", "module_list", "data", "data_csv")


@pytest.mark.parametrize("route", RUN_ROUTES)
@pytest.mark.parametrize("query", [{}, {"run": ""}])
def test_run_missing(board, route, query):
    assert board.refused(route, tag="profile_contents", **query) == (
        400,
        "bad_request",
        "Parameter 'run' is missing.",
        {"parameter": "run"},
    )


@pytest.mark.parametrize("route", RUN_ROUTES)
@pytest.mark.parametrize("run", ["nope", "x/y/nope", "train", "multi"])
def test_unknown_run(board, route, run):
    status, code, message, details = board.refused(route, run=run, tag="profile_contents")
    assert (status, code, details) == (404, "run_not_found", {"run": run})
    assert run in message


@pytest.mark.parametrize("route", ["data", "data_csv"])
def test_tool_missing_or_unknown(board, route):
    assert board.refused(route, run="train/multi")[:3] == (400, "bad_request", "Parameter 'tag' is missing.")
    status, code, message, details = board.refused(route, run="train/multi", tag="nope")
    assert (status, code) == (404, "tool_not_found")
    assert message.startswith("There is no tool 'nope'; there are overview_page, ")
    assert "profile_contents" in details["tools"]


@pytest.mark.parametrize("route", ["data", "data_csv"])
@pytest.mark.parametrize("query", [{"host": "zz"}, {"host": "zz,hostA"}, {"hosts": "zz"}, {"host": "../multi/hostA"}])
def test_unknown_host(board, route, query):
    status, code, _, details = board.refused(route, run="train/multi", tag="profile_contents", **query)
    assert (status, code, details) == (404, "host_not_found", {"hosts": ["hostA", "hostB"]})


def test_several_hosts_for_a_tool_that_does_not_take_a_list(board):
    status, code, message, details = board.refused(
        "data", run="train/multi", tag="profile_contents", hosts="hostA,hostB"
    )
    assert (status, code, details) == (400, "bad_request", {"parameter": "hosts"})
    assert "'hosts'" in message


@pytest.mark.parametrize(("run", "file"), [("bad/cut", "c.xplane.pb"), ("bad/noise", "n.xplane.pb")])
def test_corrupt_files(board, run, file):
    status, code, message, details = board.refused("data", run=run, tag="profile_contents")
    assert (status, code, details["file"]) == (422, "corrupt_profile", file)
    assert details["offset"] >= 0
    assert message


def test_a_truncated_host_is_an_error_when_requested(board):
    found = board.refused("data", run="bad/half", tag="profile_contents", host="torn")
    assert (found[0], found[1], found[3]["file"]) == (422, "corrupt_profile", "torn.xplane.pb")


def test_the_valid_host_beside_a_truncated_one_opens(board):
    assert board.json("data", run="bad/half", tag="profile_contents", host="good")["rows"]


@pytest.mark.parametrize(("run", "words"), [("bad/empty", "This run is empty"), ("bad/old", "before 2025")])
def test_runs_without_profiles(board, run, words):
    status, code, message, _ = board.refused("data", run=run, tag="profile_contents")
    assert (status, code) == (404, "no_data")
    assert words in message


def test_a_deleted_file(board, logdir):
    path = logdir / "train/plugins/profile/multi/hostA.xplane.pb"
    assert board.get("data", run="train/multi", tag="profile_contents", host="hostA").status_code == 200
    path.unlink()
    assert board.refused("data", run="train/multi", tag="profile_contents", host="hostA")[:2] == (404, "host_not_found")
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()
    assert board.refused("data", run="train/multi", tag="profile_contents")[:2] == (404, "run_not_found")


def test_a_file_that_keeps_changing_is_a_503(board, monkeypatch):
    from tpu_profile_plugin.logdir import files

    def read(self, path, size, mtime_ns, tag):
        raise files.file_changed("hostA.xplane.pb")

    monkeypatch.setattr(files.LocalFiles, "read", read)
    answer = board.get("data", run="train/multi", tag="profile_contents")
    assert (answer.status_code, answer.json["error"]["code"]) == (503, "file_changed")
    assert answer.headers["Retry-After"] == "2"
    monkeypatch.undo()
    assert board.get("data", run="train/multi", tag="profile_contents").status_code == 200


def test_a_file_that_grew_between_listing_and_reading_is_read_again(board, logdir, monkeypatch):
    from tpu_profile_plugin.logdir import files

    original, calls = files.LocalFiles.read, []

    def read(self, path, size, mtime_ns, tag):
        if not calls:
            calls.append(1)
            write(logdir, {"train/plugins/profile/multi/hostA.xplane.pb": SMALL + SMALL.replace("plane 1", "plane 9")})
        return original(self, path, size, mtime_ns, tag)

    monkeypatch.setattr(files.LocalFiles, "read", read)
    table = board.json("data", run="train/multi", tag="profile_contents", host="hostA")
    assert len(table["rows"]) == 4


def test_a_file_without_read_permission(board, monkeypatch):
    from tpu_profile_plugin.logdir import files

    def read(self, path, size, mtime_ns, tag):
        raise files.file_unreadable("hostA.xplane.pb")

    monkeypatch.setattr(files.LocalFiles, "read", read)
    assert board.refused("data", run="train/multi", tag="profile_contents")[:3] == (
        403,
        "forbidden",
        "The server may not read hostA.xplane.pb.",
    )


def test_a_file_that_becomes_readable_is_read_again(board, monkeypatch):
    from tpu_profile_plugin.logdir import files

    def read(self, path, size, mtime_ns, tag):
        raise files.file_unreadable("hostA.xplane.pb")

    monkeypatch.setattr(files.LocalFiles, "read", read)
    info = board.json("run_info", run="train/multi")
    assert [problem["code"] for problem in info["problems"]] == ["forbidden", "forbidden"]
    assert board.json("run_tools", run="train/multi") == []
    monkeypatch.undo()
    assert board.json("run_info", run="train/multi")["problems"] == []


def test_a_bug_in_a_tool_is_an_internal_error_without_its_text(board, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError(f"secret {Path.cwd()}")

    monkeypatch.setattr("tpu_profile_plugin.tools.summary.profile_contents.contents", broken)
    status, code, message, details = board.refused("data", run="train/multi", tag="profile_contents")
    assert (status, code, details) == (500, "internal", {})
    assert "secret" not in message
    assert "secret" in caplog.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("route", ["runs", "data", "index.html", "static/x.js", "version"])
def test_reading_routes_take_get_and_head_only(board, method, route):
    answer = board.get(route, method=method, run="train/multi", tag="profile_contents")
    assert (answer.status_code, answer.json["error"]["code"]) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "route",
    [
        *("capture_profile", "capture_cancel", "capture_probe", "capture_continuous"),
        *("generate_cache", "query", "query_cancel"),
    ],
)
def test_routes_that_write_accept_only_post(board, route):
    for method in ("GET", "HEAD", "DELETE"):
        answer = board.get(route, method=method)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "route", ["nope", "runs/x", "bundle.js", "static/nope.js", "static/../index.html", "data/../runs.json"]
)
def test_unknown_routes(board, route):
    answer = board.get(route)
    assert (answer.status_code, answer.json["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "DELETE"])
def test_unknown_routes_are_unknown_for_every_method(board, method):
    assert board.get("nope", method=method).status_code == 404


TRAVERSALS = [
    "../outside/secret",
    "..",
    "../../../../etc",
    "/etc",
    "train/../train/multi",
    "train/multi/../../../outside/secret",
    "./train/multi",
    "train//multi",
    "train/multi\0",
    "train\\multi",
    "%2e%2e/outside/secret",
    "linked/secret",
    "file:///etc",
    "memory://x",
    "~/x",
    "*",
    "tr?in/multi",
    "a" * 10_000,
]


@pytest.mark.parametrize("value", TRAVERSALS)
@pytest.mark.parametrize("parameter", ["run", "host", "hosts", "tag", "session_path", "run_path"])
def test_no_parameter_is_ever_a_path(board, logdir, tmp_path, parameter, value):
    write(tmp_path, {"outside/plugins/profile/secret/s.xplane.pb": SMALL, "outside/secret/s.xplane.pb": SMALL})
    (logdir / "linked").symlink_to(tmp_path / "outside/plugins/profile")
    for path in {"run": RUN_ROUTES, "host": ("data", "data_csv"), "hosts": ("data",), "tag": ("data",)}.get(
        parameter, ("runs", "runs_info", *RUN_ROUTES)
    ):
        query = {"run": "train/multi", "tag": "profile_contents", parameter: value}
        answer = board.get(path, **query)
        assert answer.status_code in (400, 403, 404), (path, answer.status_code)
        assert answer.json["error"]["code"] in (
            "run_not_found",
            "host_not_found",
            "tool_not_found",
            "forbidden",
            "bad_request",
        )
        assert str(tmp_path) not in answer.text
        assert len(answer.data) < 2000


@pytest.mark.parametrize("module", ["../multi/jit_step(14)", "/etc/passwd"])
def test_the_module_name_is_not_a_path_either(board, module):
    assert board.get("module_list", run="train/multi", module_name=module).text == "NO_MODULE"


class TestOutsideTheLogdir:
    @pytest.fixture
    def allowing(self, logdir, tmp_path):
        write(tmp_path, {"ok/s1/h.xplane.pb": SMALL, "ok/s2/h.xplane.pb": SMALL, "secret/s/h.xplane.pb": SMALL})
        return Board(logdir, tmp_path / "home", "--profile_allowed_roots", str(tmp_path / "ok"))

    def test_off_by_default(self, board, tmp_path):
        for parameter in ("session_path", "run_path"):
            status, code, message, _ = board.refused("runs", **{parameter: str(tmp_path)})
            assert (status, code) == (403, "forbidden")
            assert "--profile_allowed_roots" in message

    def test_session_path(self, allowing, tmp_path):
        where = {"session_path": str(tmp_path / "ok/s1")}
        assert allowing.json("runs", **where) == ["s1"]
        assert [run["run"] for run in allowing.json("runs_info", **where)] == ["s1"]
        assert "overview_page" in allowing.json("run_tools", run="s1", **where)
        assert allowing.json("hosts", run="s1", tag="x", **where) == [{"hostname": "h"}]
        assert allowing.json("data", run="s1", tag="profile_contents", **where)["rows"]
        assert allowing.json("data", tag="profile_contents", **where)["rows"]
        status, code, message, _ = allowing.refused("data", run="other", tag="profile_contents", **where)
        assert (status, code) == (400, "bad_request")
        assert str(tmp_path) not in message

    def test_run_path(self, allowing, tmp_path):
        where = {"run_path": str(tmp_path / "ok")}
        assert allowing.json("runs", **where) == ["s2", "s1"]
        assert [run["run"] for run in allowing.json("runs_info", **where)] == ["s2", "s1"]
        assert allowing.json("data", run="s2", tag="profile_contents", **where)["rows"]
        assert allowing.refused("data", run="s3", tag="profile_contents", **where)[:2] == (404, "run_not_found")

    def test_session_path_wins_and_empty_counts_as_absent(self, allowing, tmp_path):
        both = {"session_path": str(tmp_path / "ok/s1"), "run_path": str(tmp_path / "secret")}
        assert allowing.json("runs", **both) == ["s1"]
        assert "train/multi" in allowing.json("runs", session_path="", run_path="")

    @pytest.mark.parametrize("path", ["secret/s", "ok/../secret/s", "", "ok/s1/../../secret/s"])
    def test_nothing_outside_the_roots(self, allowing, tmp_path, path):
        status, code, message, _ = allowing.refused("runs", session_path=f"{tmp_path}/{path}")
        assert (status, code) == (403, "forbidden")
        assert str(tmp_path) not in message
