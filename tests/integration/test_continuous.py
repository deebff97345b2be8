"""Continuous profiling from Python, the command line and over HTTP, with a fake profiler server."""

from __future__ import annotations

import time

import pytest
from builders.logdirs import write
from builders.servers.board import Board
from builders.servers.fake_profiler import XSPACE, response, serving

import tpu_profile_plugin
from tpu_profile_plugin.capture import CaptureFailed, continuous
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.errors import BadRequest

ORIGIN = {"Origin": "http://localhost", "X-Profile-Request": "1"}


@pytest.fixture
def board(tmp_path):
    return Board(write(tmp_path / "logs", {"x": None}), tmp_path / "home")


def post(board, body, headers=ORIGIN):
    return board.client.post(f"{board.prefix}/capture_continuous", json=body, headers=headers)


def failure(results):
    [result] = results
    assert result["ok"] is False
    assert result["error"]["todo"]
    return result["error"]["code"]


def test_start_snapshots_stop(tmp_path):
    with serving() as fake:
        assert continuous.start(fake.address) == [{"address": fake.address, "ok": True, "error": None}]
        results = [continuous.snapshot(fake.address, str(tmp_path)) for _ in range(2)]
        assert continuous.stop([fake.address])[0]["ok"]
        assert fake.continuous is None
    assert results[0]["run"] != results[1]["run"]
    assert [result["kind"] for result in results] == ["snapshot"] * 2
    stored = [path.read_bytes() for path in tmp_path.rglob("*.xplane.pb")]
    assert stored == [XSPACE, XSPACE]


def test_the_request_records_devices_in_a_circular_buffer():
    with serving() as fake:
        continuous.start(fake.address, max_trace_buffers=4)
        request = fake.continuous
        continuous.stop(fake.address)
        continuous.start(fake.address, host_tracer_level=2, tpu_circular_buffer_tracing=False)
        louder = fake.continuous
    levels = (request.opts.host_tracer_level, request.opts.device_tracer_level, request.opts.python_tracer_level)
    assert levels == (0, 1, 0)
    assert (request.opts.duration_ms, request.repository_root, request.emit_xspace) == (2000, "", True)
    sent = request.opts.advanced_configuration
    assert (sent["tpu_circular_buffer_tracing"].bool_value, sent["max_trace_buffers"].int64_value) == (True, 4)
    assert louder.opts.host_tracer_level == 2
    assert louder.opts.advanced_configuration["tpu_circular_buffer_tracing"].bool_value is False


def test_what_may_go_wrong(tmp_path):
    with serving() as fake:
        assert failure(continuous.stop(fake.address)) == "not_started"
        with pytest.raises(CaptureFailed, match="is not running in this program"):
            continuous.snapshot(fake.address, str(tmp_path))
        continuous.start(fake.address)
        assert failure(continuous.start(fake.address)) == "already_started"
    with serving("no_continuous") as fake:
        assert failure(continuous.start(fake.address)) == "no_continuous"
    assert failure(continuous.start(fake.address)) == "nothing_listens"
    with pytest.raises(BadRequest, match="has no port"):
        continuous.start("localhost")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("behaviour", ["empty", "nothing", response(XSPACE[:-7])], ids=["empty", "nothing", "garbled"])
def test_a_snapshot_without_a_profile_is_not_stored(tmp_path, behaviour):
    with serving(behaviour) as fake:
        continuous.start(fake.address)
        with pytest.raises(CaptureFailed) as failed:
            continuous.snapshot(fake.address, str(tmp_path), inspect=len)
        assert fake.snapshots == 1
    assert failed.value.details["workers"][0]["error"]["code"] in ("empty_trace", "garbled")
    assert not (tmp_path / "plugins").exists()


def test_on_the_command_line(tmp_path, capsys):
    with serving() as fake:
        assert main(["capture", fake.address, "--continuous", "start", "--option", "max_trace_buffers=3"]) == 0
        assert fake.continuous.opts.advanced_configuration["max_trace_buffers"].int64_value == 3
        assert main(["capture", fake.address, "--continuous", "start"]) == 1
        assert main(["capture", fake.address, "--continuous", "snapshot"]) == 2
        snapshot = ["--continuous", "snapshot", "--logdir", str(tmp_path), "--session", "mine"]
        assert main(["capture", fake.address, *snapshot]) == 0
        assert main(["capture", fake.address, "--continuous", "stop", "--json"]) == 0
    out = capsys.readouterr()
    assert f"{fake.address}: recording\n" in out.out
    assert "Take a snapshot, or stop it first." in out.out
    assert "Run: mine" in out.out
    assert "--logdir is missing" in out.err
    assert tpu_profile_plugin.open(tmp_path).runs()[0].name == "mine"


def test_over_http(board):
    with serving() as fake:
        started = post(board, {"action": "start", "addresses": fake.address})
        assert (started.status_code, started.json[0]["ok"]) == (200, True)
        assert fake.continuous.opts.host_tracer_level == 0
        job = post(board, {"action": "snapshot", "service_addr": fake.address})
        assert (job.status_code, job.json["kind"]) == (202, "snapshot")
        for _ in range(500):
            state = board.json("capture_status", job=job.json["job"])
            if state["state"] != "running":
                break
            time.sleep(0.02)
        assert (state["state"], state["workers"][0]["events"]) == ("done", 4)
        assert board.json("runs") == [state["run"]]
        assert post(board, {"action": "stop", "addresses": fake.address}).json[0]["ok"]
        assert fake.continuous is None


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"addresses": "localhost:1"}, 400),
        ({"action": "pause", "addresses": "localhost:1"}, 400),
        ({"action": "start"}, 400),
        ({"action": "start", "addresses": ",".join(f"localhost:{port}" for port in range(1, 70))}, 400),
        ({"action": "start", "addresses": "localhost:1", "host_tracer_level": 9}, 400),
        ({"action": "start", "addresses": "10.1.2.3:9012"}, 403),
        ({"action": "stop", "addresses": "10.1.2.3:9012"}, 403),
        ({"action": "snapshot", "addresses": "10.1.2.3:9012"}, 403),
    ],
)
def test_requests_that_are_refused(board, body, status):
    assert post(board, body).status_code == status


def test_foreign_pages_and_other_methods_are_refused(board, tmp_path):
    with serving() as fake:
        body = {"action": "start", "addresses": fake.address}
        for headers in ({"Origin": "http://evil.example", "X-Profile-Request": "1"}, {"Sec-Fetch-Site": "cross-site"}):
            assert post(board, body, headers).status_code == 403
        assert board.get("capture_continuous").status_code == 405
        off = Board(tmp_path / "logs", tmp_path / "home", "--profile_capture_hosts", "off")
        assert post(off, body).status_code == 403
        assert fake.continuous is None
