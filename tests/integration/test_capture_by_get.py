"""The GET with which XProf's own frontend captures: refused in words, or allowed by the operator."""

from __future__ import annotations

import pytest
from builders.logdirs import write
from builders.servers.board import Board
from builders.servers.fake_profiler import serving

FRONTEND = {"Accept": "application/json, text/plain, */*", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"}
PLAIN_HTTP = {"Accept": "application/json, text/plain, */*", "Referer": "http://localhost/data/plugin/profile/x.html"}


def made(tmp_path, *flags):
    return Board(write(tmp_path / "logs", {"x": None}), tmp_path / "home", *flags)


@pytest.fixture
def off(tmp_path):
    return made(tmp_path)


@pytest.fixture
def on(tmp_path):
    return made(tmp_path, "--profile_capture_by_get")


def capture(board, fake, headers, retries=3):
    query = {
        "service_addr": fake.address,
        "is_tpu_name": "false",
        "duration": "50",
        "num_retry": str(retries),
        "worker_list": "",
    }
    return board.get("capture_profile", headers, **query)


def test_off_by_default_with_words_that_the_frontend_shows(off):
    """Angular hands a body that is no JSON to the page as text, which shows it behind "Failed to capture profile"."""
    with serving() as fake:
        answer = capture(off, fake, FRONTEND)
        assert fake.requests == []
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert answer.content_type.startswith("text/plain")
    assert "--profile_capture_by_get" in answer.text
    assert "index.html" in answer.text
    assert off.json("runs") == []


@pytest.mark.parametrize("headers", [FRONTEND, PLAIN_HTTP], ids=["https or localhost", "plain http"])
def test_the_frontend_captures_if_it_may(on, headers):
    with serving() as fake:
        answer = capture(on, fake, headers)
    assert (answer.status_code, answer.json["result"]) == (200, "Capture profile successfully. Please refresh.")
    assert on.json("runs") == [answer.json["run"]]


def test_failures_are_those_of_the_original(on):
    with serving("busy") as fake:
        answer = capture(on, fake, FRONTEND, retries=1)
    assert answer.status_code == 500
    assert "Another profiling session is active" in answer.json["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {**FRONTEND, "Sec-Fetch-Site": "cross-site"},
        {**FRONTEND, "Sec-Fetch-Site": "same-site"},
        {**FRONTEND, "Sec-Fetch-Site": "none"},
        {**FRONTEND, "Sec-Fetch-Dest": "image"},
        {**FRONTEND, "Sec-Fetch-Dest": "document"},
        {**FRONTEND, "Sec-Fetch-Dest": "iframe"},
        {**FRONTEND, "Accept": "image/avif,image/webp,*/*"},
        {**FRONTEND, "Origin": "http://evil.example"},
        {**FRONTEND, "Host": "evil.example:6006"},
        {**PLAIN_HTTP, "Referer": "http://evil.example/data/plugin/profile/"},
        {**PLAIN_HTTP, "Referer": "http://localhost:81/"},
        {**PLAIN_HTTP, "Referer": "http://[::1/"},
        {**PLAIN_HTTP, "Accept": "text/html"},
    ],
)
def test_nothing_but_scripts_of_own_pages(on, headers):
    with serving() as fake:
        answer = capture(on, fake, headers)
        assert fake.requests == []
    assert answer.status_code == 403
    assert answer.content_type.startswith("text/plain")


def test_the_other_limits_hold(tmp_path):
    board = made(tmp_path, "--profile_capture_by_get", "--profile_capture_hosts", "off")
    with serving() as fake:
        answer = capture(board, fake, FRONTEND)
    assert (answer.status_code, "disabled" in answer.text) == (403, True)
    on = made(tmp_path, "--profile_capture_by_get")
    answer = on.get("capture_profile", FRONTEND, service_addr="10.1.2.3:9012", duration="50")
    assert answer.status_code == 403
    assert "10.1.2.3" in answer.json["error"]


def test_the_environment_switches_it_on(tmp_path, monkeypatch):
    monkeypatch.setenv("TPU_PROFILE_CAPTURE_BY_GET", "true")
    with serving() as fake:
        assert capture(made(tmp_path), fake, FRONTEND).status_code == 200
