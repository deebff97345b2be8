"""Answers in advance: which, for whom, how far."""

from __future__ import annotations

import time

import pytest
from builders.logdirs import SMALL, write
from builders.servers.board import Board

from tpu_profile_plugin.errors import NotAvailable, NotFound
from tpu_profile_plugin.server import ahead
from tpu_profile_plugin.server.ahead import Job, JobQueue, Step

ORIGIN = {"Origin": "http://localhost", "X-Profile-Request": "1"}
FOREIGN = [
    {"Origin": "http://evil.example", "X-Profile-Request": "1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Host": "evil"},
]


@pytest.fixture
def logs(tmp_path):
    files = {
        "plugins/profile/one/h.xplane.pb": SMALL,
        "train/plugins/profile/two/a.xplane.pb": SMALL,
        "train/plugins/profile/two/b.xplane.pb": SMALL,
        "plugins/profile/none": None,
        "plugins/profile/bad/h.xplane.pb": b"\xff" * 40,
    }
    write(tmp_path / "outside", {"deep/s/h.xplane.pb": SMALL})
    return write(tmp_path / "logs", files)


@pytest.fixture
def board(logs, tmp_path):
    return Board(logs, tmp_path / "home")


def post(board, headers=ORIGIN, **query):
    return board.get("generate_cache", headers, method="POST", **query)


def ended(board, job):
    for _ in range(500):
        state = board.json("generate_cache_status", job=job)
        if state["state"] == "done":
            return state
        time.sleep(0.02)
    raise AssertionError(state)


def steps(state):
    return [(step["tool"], step["host"], step["state"]) for step in state["steps"]]


def test_a_path_in_the_logdir_as_in_the_original(board, logs):
    answer = post(board, session_path=str(logs / "plugins/profile/one"))
    assert answer.status_code == 202
    assert (answer.json["status"], answer.json["message"]) == ("ACCEPTED", "Cache generation started")
    state = ended(board, answer.json["job"])
    assert steps(state) == [("overview_page", None, "done"), ("trace_viewer@", None, "done")]
    assert (state["run"], state["done"], state["total"], state["skipped"]) == ("one", 2, 2, [])
    assert all(step["seconds"] > 0 for step in state["steps"])
    assert str(logs) not in str(state)


def test_the_answers_are_ready_afterwards(board, monkeypatch):
    state = ended(board, post(board, run="one", tools="overview_page").json["job"])
    assert steps(state) == [("overview_page", None, "done")]
    results = board.plugin.server.results()
    monkeypatch.setattr(results, "_build", lambda request: pytest.fail("computed again"))
    assert board.get("page", run="one", tag="overview_page").status_code == 200


def test_every_host_and_what_cannot_be_computed(board):
    tools = "trace_viewer@, hlo_stats,tensorflow_stats,kernel_stats,nonsense"
    state = ended(board, post(board, run="train/two", tools=tools).json["job"])
    assert steps(state) == [
        ("trace_viewer@", "a", "done"),
        ("trace_viewer@", "b", "done"),
        ("hlo_stats", None, "done"),
        ("framework_op_stats", None, "done"),
    ]
    assert state["skipped"] == ["kernel_stats", "nonsense"]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({}, 400, "bad_request"),
        ({"run": "nope"}, 404, "run_not_found"),
        ({"run": "none"}, 404, "no_data"),
        ({"run": "one", "tools": "kernel_stats,x"}, 400, "bad_request"),
        ({"session_path": "/etc"}, 403, "forbidden"),
        ({"session_path": "relative"}, 403, "forbidden"),
        ({"session_path": "a\0b"}, 403, "forbidden"),
        ({"session_path": "gs://bucket/x"}, 403, "forbidden"),
    ],
)
def test_requests_that_are_refused(board, query, status, code):
    answer = post(board, **query)
    assert (answer.status_code, answer.json["error"]["code"]) == (status, code)


def test_directories_outside_only_where_allowed(logs, tmp_path):
    path = str(tmp_path / "outside/deep/s")
    closed = Board(logs, tmp_path / "home")
    assert post(closed, session_path=path).status_code == 403
    allowed = Board(logs, tmp_path / "home", "--profile_allowed_roots", str(tmp_path / "outside"))
    state = ended(allowed, post(allowed, session_path=path, tools="profile_contents").json["job"])
    assert (state["run"], steps(state)) == ("s", [("profile_contents", None, "done")])
    state = ended(allowed, post(allowed, run_path=str(tmp_path / "outside/deep"), run="s").json["job"])
    assert state["done"] == 2


@pytest.mark.parametrize("headers", FOREIGN)
def test_foreign_pages_are_refused(board, headers):
    assert post(board, headers, run="one").status_code == 403


def test_unknown_jobs(board):
    answers = [board.get("generate_cache_status", job="x"), board.get("generate_cache_status")]
    assert [(answer.status_code, answer.json["error"]["code"]) for answer in answers] == [
        (404, "job_not_found"),
        (400, "bad_request"),
    ]


def test_a_failed_step_does_not_end_the_job():
    def ask(query):
        if query.required("tag") == "b":
            raise NotFound("There is none.")
        if query.required("tag") == "c":
            raise ValueError

    jobs = JobQueue(ask)
    job = jobs.start(Job("r", [Step({"tag": tag}) for tag in "abcd"]))
    for _ in range(300):
        if job.state == "done":
            break
        time.sleep(0.01)
    assert [(step.state, step.error) for step in job.steps] == [
        ("done", None),
        ("failed", "There is none."),
        ("failed", "The server failed on this answer; see its log for the reason."),
        ("done", None),
    ]
    assert job.describe()["done"] == 4


def test_only_so_many_wait_and_are_kept(monkeypatch):
    monkeypatch.setattr(ahead, "MAX_KEPT", 3)
    hold = True

    def ask(_):
        while hold:
            time.sleep(0.005)

    jobs = JobQueue(ask)
    first = jobs.start(Job("r", [Step({"tag": "a"})]))
    while first.state != "running":
        time.sleep(0.005)
    waiting = [jobs.start(Job("r", [])) for _ in range(ahead.MAX_WAITING)]
    with pytest.raises(NotAvailable, match="already waiting"):
        jobs.start(Job("r", []))
    hold = False
    while waiting[-1].state != "done":
        time.sleep(0.005)
    jobs.start(Job("r", []))
    with pytest.raises(NotFound):
        jobs.find(first.id)
