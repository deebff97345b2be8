"""Capturing over HTTP: jobs, XProf's request, and rejected requests."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
from builders.logdirs import write
from builders.servers.board import Board
from builders.servers.fake_profiler import XSPACE, serving

ORIGIN = {"Origin": "http://localhost", "X-Profile-Request": "1"}


@pytest.fixture
def empty(tmp_path):
    return write(tmp_path / "logs", {"x": None})


@pytest.fixture
def board(empty, tmp_path):
    return Board(empty, tmp_path / "home")


def post(board: Board, route: str, body: Any = None, headers: dict[str, str] | None = None, **query: str) -> Any:
    kind = {"json": body} if body is not None else {}
    return board.client.post(f"{board.prefix}/{route}", query_string=query, headers=headers, **kind)


def ended(board: Board, job: str) -> Any:
    for _ in range(500):
        state = board.json("capture_status", job=job)
        if state["state"] != "running":
            return state
        time.sleep(0.02)
    raise AssertionError(state)


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json["error"]["code"]


def test_a_job_from_start_to_the_open_run(board, empty):
    with serving() as fake:
        answer = post(board, "capture_profile", {"addresses": fake.address, "duration_ms": 100}, ORIGIN)
        assert answer.status_code == 202
        assert answer.headers["Cache-Control"] == "no-store"
        job = ended(board, answer.json["job"])
    (worker,) = job["workers"]
    assert (job["state"], worker["state"], worker["bytes"], worker["events"]) == ("done", "done", len(XSPACE), 4)
    assert board.json("runs") == [job["run"]]
    assert board.json("data", run=job["run"], tag="profile_contents")["rows"]
    assert [known["job"] for known in board.json("capture_jobs")] == [job["job"]]
    assert str(empty) not in str(job)


def test_options_of_the_dialog_reach_the_profiler(board):
    body = {"duration_ms": 50, "python_tracer_level": 1, "advanced": {"tpu_x": "1", "enable_hlo_proto": "false"}}
    with serving() as fake:
        ended(board, post(board, "capture_profile", {"addresses": [fake.address], **body}, ORIGIN).json["job"])
    opts = fake.requests[0].opts
    assert (opts.python_tracer_level, opts.enable_hlo_proto) == (1, False)
    assert opts.advanced_configuration["tpu_x"].int64_value == 1


def test_the_original_query_waits_and_answers_in_its_shape(board):
    with serving() as fake:
        query = {
            "service_addr": fake.address, "is_tpu_name": "false", "duration": "60", "num_retry": "3", "worker_list": "",
            "host_tracer_level": "3", "device_tracer_level": "1", "python_tracer_level": "1", "delay": "10",
        }  # fmt: skip
        answer = post(board, "capture_profile", **query)
    assert (answer.status_code, answer.json["result"]) == (200, "Capture profile successfully. Please refresh.")
    opts = fake.requests[0].opts
    assert (opts.duration_ms, opts.host_tracer_level, opts.python_tracer_level) == (60, 3, 1)
    assert board.json("runs") == [answer.json["run"]]


def test_the_original_query_returns_errors(board):
    with serving("busy") as fake:
        answer = post(board, "capture_profile", service_addr=fake.address, duration="60")
    assert answer.status_code == 500
    assert answer.json["error"].startswith(f"UNAVAILABLE: {fake.address}: Another profiling session is active")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"service_addr": "localhost", "duration": "100"}, "has no port"),
        ({"service_addr": "", "duration": "100"}, "No address"),
        ({"service_addr": "localhost:1", "duration": "0"}, "duration_ms must be from 1"),
        ({"service_addr": "localhost:1", "duration": "x"}, "duration_ms must be a whole number"),
        ({"service_addr": "a:1,b", "num_retry": "1"}, "has no port"),
    ],
)
def test_invalid_arguments(board, query, words):
    answer = post(board, "capture_profile", **query)
    assert answer.status_code == 400
    assert words in answer.json["error"]
    body = {{"duration": "duration_ms", "num_retry": "retries"}.get(name, name): value for name, value in query.items()}
    answer = post(board, "capture_profile", body)
    assert code(answer) == (400, "bad_request")
    assert words in answer.json["error"]["message"]


def test_cancel_and_keep(board):
    with serving() as fake:
        jobs = []
        for keep in (False, True):
            body = {"addresses": fake.address, "duration_ms": 20_000}
            jobs.append(post(board, "capture_profile", body).json["job"])
            while len(fake.requests) < len(jobs):
                time.sleep(0.01)
            assert post(board, "capture_cancel", {"job": jobs[-1], "keep": keep}).status_code == 200
            ended(board, jobs[-1])
        states = [ended(board, job)["state"] for job in jobs]
    assert states == ["cancelled", "done"]
    assert len(board.json("runs")) == 1


def test_an_unknown_job(board):
    assert code(board.get("capture_status", job="nope")) == (404, "job_not_found")
    assert code(board.get("capture_status")) == (400, "bad_request")
    assert code(post(board, "capture_cancel", {"job": "nope"})) == (404, "job_not_found")


def test_get_explains_the_request(board):
    answer = board.get("capture_profile")
    assert code(answer) == (405, "method_not_allowed")
    assert "POST" in answer.json["error"]["message"]
    assert "capture_status" in answer.json["error"]["message"]


FOREIGN = [
    {"Origin": "http://evil.example", "X-Profile-Request": "1"},
    {"Origin": "null", "X-Profile-Request": "1"},
    {"Origin": "http://localhost:81", "X-Profile-Request": "1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "X-Profile-Request": "1"},
    {"Sec-Fetch-Site": "none", "X-Profile-Request": "1"},
    {"Sec-Fetch-Site": "same-origin"},
    {"Origin": "http://localhost"},
    {"Host": "evil.example:6006"},
    {"Host": "evil.example:6006", "Origin": "http://evil.example:6006", "X-Profile-Request": "1"},
    {"Host": "evil.example", "Sec-Fetch-Site": "same-origin", "X-Profile-Request": "1"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("route", ["capture_profile", "capture_cancel", "capture_probe", "capture_continuous"])
def test_pages_of_other_origins_are_rejected(board, route, headers):
    with serving() as fake:
        for query, body in (({"service_addr": fake.address}, None), ({}, {"addresses": fake.address})):
            assert code(post(board, route, body, headers, **query)) == (403, "forbidden")
    assert fake.requests == []
    assert fake.terminated == []


@pytest.mark.parametrize(
    "headers",
    [
        ORIGIN,
        {"Host": "127.0.0.1:6006", "Origin": "http://127.0.0.1:6006", "X-Profile-Request": "1"},
        {"Host": "[::1]:6006", "Sec-Fetch-Site": "same-origin", "X-Profile-Request": "1"},
        {"Host": "board.lab.example", "Origin": "https://board.lab.example", "X-Profile-Request": "1"},
        {},
    ],
)
def test_our_page_and_programs_are_allowed(empty, tmp_path, headers):
    board = Board(empty, tmp_path / "home", "--profile_server_names", "board.lab.example")
    assert code(post(board, "capture_profile", {"addresses": "x"}, headers)) == (400, "bad_request")


def test_html_forms_cannot_send_json(board):
    answer = board.client.post(f"{board.prefix}/capture_profile", data=b'{"addresses": "x"}', content_type="text/plain")
    assert code(answer) == (400, "bad_request")


@pytest.mark.parametrize("address", ["10.1.2.3:9012", "[2001:db8::1]:9012", "0.0.0.0:9012", "169.254.169.254:80"])
def test_addresses_outside_the_allow_list_are_not_dialled(board, address):
    for route in ("capture_profile",):
        status, found = code(post(board, route, {"addresses": f"localhost:1,{address}"}))
        assert (status, found) == (403, "forbidden")
    (result,) = post(board, "capture_probe", {"addresses": address}).json
    assert result["error"]["code"] == "forbidden"
    assert result["steps"]["port"] is None


def test_capturing_can_be_disabled(empty, tmp_path):
    board = Board(empty, tmp_path / "home", "--profile_capture_hosts", "off")
    assert code(post(board, "capture_profile", {"addresses": "localhost:1"})) == (403, "forbidden")
    assert board.json("status")["capture_enabled"] is False
    assert board.json("config")["hideCaptureProfileButton"] is True


def test_without_a_logdir(tmp_path):
    board = Board("", tmp_path / "home")
    assert board.json("status")["capture_enabled"] is False
    answer = post(board, "capture_profile", {"addresses": "localhost:1"})
    assert code(answer) == (501, "not_available")
    assert "--logdir" in answer.json["error"]["message"]


def test_status_reports_capture_enabled(board):
    assert board.json("status")["capture_enabled"] is True


def test_the_probe_reports_its_steps(board):
    with serving() as fake, serving("absent") as other:
        found = post(
            board, "capture_probe", {"addresses": [fake.address, other.address, "no-such-host.invalid:1"]}
        ).json
    assert [result["ok"] for result in found] == [True, False, False]
    assert found[0]["steps"] == dict.fromkeys(("name", "allowed", "port", "grpc", "profiler"), True)
    assert found[1]["error"]["code"] == "not_a_profiler"
    assert found[2]["steps"] == {"name": False, "allowed": None, "port": None, "grpc": None, "profiler": None}
    assert fake.terminated[0].startswith("probe-")


def test_the_identity_in_the_cloud_is_not_used_where_no_tpu_may_be_captured(board, monkeypatch):
    asked = []
    monkeypatch.setattr("tpu_profile_plugin.capture.addresses._fetch", lambda *what: asked.append(what))
    body = {"service_addr": "projects/other/locations/eu-a/nodes/t", "is_tpu_name": True}
    for route in ("capture_profile", "capture_probe"):
        assert code(post(board, route, body)) == (403, "forbidden")
    assert code(post(board, "capture_continuous", {**body, "action": "start"})) == (403, "forbidden")
    assert asked == []


def test_a_tpu_name_outside_its_cloud_explains_what_to_enter(empty, tmp_path, monkeypatch):
    def unreachable(*_):
        raise OSError("no route")

    board = Board(empty, tmp_path / "home", "--profile_capture_hosts", "10.0.0.0/8")
    monkeypatch.setattr("tpu_profile_plugin.capture.addresses._fetch", unreachable)
    answer = post(board, "capture_profile", {"service_addr": "my-tpu", "is_tpu_name": True})
    assert code(answer) == (501, "not_available")
    assert "Enter the workers' addresses instead" in answer.json["error"]["message"]


def test_grpc_is_not_imported_before_the_first_capture():
    program = (
        "import sys, tpu_profile_plugin.server.app, tpu_profile_plugin.server.options, tpu_profile_plugin.cli; "
        "heavy = ('grpc', 'google.protobuf', 'numpy', 'tpu_profile_plugin.capture'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
