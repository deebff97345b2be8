"""Captures from a fake profiler server: every failure has its own message, and no incomplete files remain."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from builders.servers.fake_profiler import HUGE, XSPACE, large, response, serving

from tpu_profile_plugin.capture.addresses import AllowList, parse_addresses
from tpu_profile_plugin.capture.job import Job
from tpu_profile_plugin.capture.options import options_from
from tpu_profile_plugin.logdir import Logdir

TESTS = Path(__file__).parents[1]


def start(logdir, *addresses, worker_list=False, inspect=None, **options) -> Job:
    options = {"duration_ms": 100} | options
    job = Job(
        str(logdir), parse_addresses(addresses), options_from(options), AllowList(), worker_list=worker_list,
        inspect=inspect, back_off_s=0.05,
    )  # fmt: skip
    return job.start()


def capture(logdir, *addresses, **options) -> Job:
    job = start(logdir, *addresses, **options)
    assert job.wait(30)
    return job


def contents(logdir) -> dict[str, int]:
    return {str(path.relative_to(logdir)): path.stat().st_size for path in Path(logdir).rglob("*") if path.is_file()}


def failure(job) -> tuple[str, str]:
    assert job.state == "failed"
    (worker,) = job.describe()["workers"]
    assert worker["error"]["todo"]
    return worker["error"]["code"], worker["error"]["message"]


@contextmanager
def listening(answer: bytes = b"") -> Iterator[str]:
    """A server that accepts connections, sends `answer`, and then nothing more."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                kept.append(connection)
                connection.sendall(answer)
                if answer:
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        for connection in kept:
            connection.close()


@contextmanager
def fake_process(*behaviours: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "builders.servers.fake_profiler", *behaviours]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(
        command, cwd=TESTS.parent, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["address"]
        finally:
            process.kill()


def test_a_capture_is_stored_byte_for_byte_and_opens(tmp_path):
    with serving() as fake:
        job = capture(tmp_path, fake.address)
    (worker,) = job.describe()["workers"]
    assert (job.state, worker["state"], worker["bytes"]) == ("done", "done", len(XSPACE))
    assert worker["file"] == f"plugins/profile/{job.session.name}/127.0.0.1_{fake.address.rpartition(':')[2]}.xplane.pb"
    assert (tmp_path / worker["file"]).read_bytes() == XSPACE
    assert [run.name for run in Logdir(str(tmp_path)).runs()] == [job.session.name]
    assert contents(tmp_path) == {worker["file"]: len(XSPACE)}


def test_the_request_suits_old_and_new_servers(tmp_path):
    with serving() as fake:
        job = capture(
            tmp_path, fake.address, host_tracer_level=3, python_tracer_level=1, device_tracer_level=0,
            device_type="tpu",
            host_traceme_filter_mask=7, advanced={"tpu_trace_mode": "TRACE_ONLY_XLA", "tpu_num": "5", "gpu_x": "true"},
        )  # fmt: skip
    (request,) = fake.requests
    assert request.emit_xspace
    assert request.repository_root == str(tmp_path / "plugins/profile")
    assert (request.session_id, request.host_name) == (job.session.name, job.workers[0].host)
    assert (request.duration_ms, request.opts.duration_ms, request.opts.version) == (100, 100, 1)
    levels = (request.opts.host_tracer_level, request.opts.device_tracer_level, request.opts.python_tracer_level)
    assert levels == (3, 0, 1)
    assert request.opts.include_dataset_ops
    assert request.opts.enable_hlo_proto
    assert (request.opts.device_type, request.opts.trace_options.host_traceme_filter_mask) == (3, 7)
    sent = request.opts.advanced_configuration
    assert (sent["tpu_trace_mode"].string_value, sent["tpu_num"].int64_value, sent["gpu_x"].bool_value) == (
        "TRACE_ONLY_XLA", 5, True,
    )  # fmt: skip


def test_several_workers_start_at_the_same_time_into_one_run(tmp_path):
    with serving() as one, serving() as two:
        job = capture(tmp_path, f"grpc://{one.address}, grpc://{two.address}", delay_ms=300)
    assert job.state == "done"
    starts = [fake.requests[0].opts.start_timestamp_ns for fake in (one, two)]
    assert starts[0] == starts[1]
    assert all(fake.times[0] < starts[0] / 1e9 for fake in (one, two))
    assert one.requests[0].session_id == two.requests[0].session_id
    (run,) = Logdir(str(tmp_path)).runs()
    assert len(run.hosts) == 2


def test_several_workers_without_a_delay_get_three_seconds():
    assert [options_from({}).delay_for(n) for n in (1, 2)] == [0, 3000]
    assert [options_from({"delay_ms": 500}).delay_for(n) for n in (1, 2)] == [500, 500]
    assert options_from({"duration_ms": 100_000, "delay_ms": 5000}).attempt_seconds(1) == 205


def test_two_captures_in_one_second_are_two_runs(tmp_path):
    with serving() as fake:
        names = [capture(tmp_path, fake.address, session_id="same").session.name for _ in range(3)]
    assert names == ["same", "same_2", "same_3"]
    assert sorted(run.name for run in Logdir(str(tmp_path)).runs()) == names


def test_names_cannot_leave_the_session(tmp_path):
    with serving() as fake:
        job = capture(tmp_path / "in", fake.address, session_id="../../evil/x")
    assert job.session.name == "evil_x"
    assert all(path.startswith("in/plugins/profile/evil_x/") for path in contents(tmp_path))


@pytest.mark.parametrize(
    ("behaviour", "code", "words"),
    [
        ("empty", "empty_trace", "recorded no event"),
        ("no_events", "empty_trace", "recorded no event"),
        ("busy", "busy", "Another profiling session is active"),
        ("garbage", "garbled", "does not parse"),
        ("bad_xspace", "garbled", "not a profile"),
        ("internal", "worker_failed", "/proc/nope; No such file or directory"),
        ("refuse", "refused", "bad level"),
        ("lost", "connection_lost", "connection was lost"),
        ("absent", "not_a_profiler", "not a profiler server"),
        ("old_elsewhere", "stored_elsewhere", "stored it itself"),
    ],
)
def test_failures_of_a_worker(tmp_path, behaviour, code, words):
    with serving(behaviour) as fake:
        found, message = failure(capture(tmp_path, fake.address))
    assert found == code
    assert words in message
    assert contents(tmp_path) == {}
    assert Logdir(str(tmp_path)).runs() == []


def test_a_closed_port(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    began = time.monotonic()
    assert failure(capture(tmp_path, f"localhost:{port}")) == (
        "nothing_listens", f"Nothing listens on localhost:{port}: the connection was refused.",
    )  # fmt: skip
    assert time.monotonic() - began < 2
    assert contents(tmp_path) == {}


def test_a_name_that_does_not_resolve(tmp_path):
    code, message = failure(capture(tmp_path, "no-such-host.invalid:1234"))
    assert code == "name_unknown"
    assert "no-such-host.invalid" in message


def test_a_port_that_does_not_speak_grpc(tmp_path):
    with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        assert failure(capture(tmp_path, address))[0] == "not_grpc"


def test_a_port_that_does_not_respond(tmp_path, monkeypatch):
    monkeypatch.setattr("tpu_profile_plugin.capture.client.CONNECT_S", 0.5)
    monkeypatch.setattr("tpu_profile_plugin.capture.client.connect.__defaults__", ((1 << 31) - 1, 0.5))
    with listening() as address:
        assert failure(capture(tmp_path, address))[0] == "not_grpc"


def test_a_hanging_server_exceeds_the_deadline_and_is_not_retried(tmp_path, monkeypatch):
    monkeypatch.setattr("tpu_profile_plugin.capture.options.CaptureOptions.attempt_seconds", lambda *_: 0.5)
    with serving("hang") as fake:
        code, message = failure(capture(tmp_path, fake.address, retries=3))
        assert (code, len(fake.requests)) == ("deadline", 1)
    assert "No response within" in message
    assert contents(tmp_path) == {}


def test_a_server_that_dies_during_the_capture(tmp_path):
    with fake_process("crash") as (_, address):
        code, message = failure(capture(tmp_path, address, duration_ms=5000))
    assert code == "connection_lost"
    assert "before the profile arrived" in message
    assert contents(tmp_path) == {}


def test_a_profile_above_the_usual_limit_arrives(tmp_path):
    with serving("large") as fake:
        job = capture(tmp_path, fake.address)
    assert job.workers[0].bytes == len(large(12_000_000))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")
@pytest.mark.parametrize("behaviour", ["huge", "huge_garbage"])
def test_a_huge_response_takes_no_memory(tmp_path, behaviour):
    """It goes to disk as it arrives, whether it is a profile or refused."""

    def anonymous_mb() -> int:
        return int(Path("/proc/self/status").read_text().split("RssAnon:")[1].split()[0]) >> 10

    most, done = [], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            most.append(anonymous_mb())

    with fake_process(behaviour) as (_, address):
        before = anonymous_mb()
        watcher = threading.Thread(target=watch)
        watcher.start()
        job = capture(tmp_path, address)
        done.set()
        watcher.join()
    assert max(most) - before < 60
    if behaviour == "huge":
        assert job.workers[0].bytes == len(large(HUGE))
        (path,) = tmp_path.rglob("*.xplane.pb")
        assert path.stat().st_size == len(large(HUGE))
    else:
        assert failure(job)[0] == "garbled"
        assert contents(tmp_path) == {}


def test_a_full_disk_while_a_large_response_arrives(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    with serving("large") as fake:
        code, message = failure(capture(tmp_path, fake.address))
    assert (code, message) == ("not_stored", "The profile cannot be received: No space left on device.")
    assert contents(tmp_path) == {}


def test_a_profile_above_our_limit_is_rejected_with_its_size(tmp_path):
    with serving("large") as fake:
        code, message = failure(capture(tmp_path, fake.address, max_bytes=5_000_000))
    assert code == "too_large"
    assert "0.005 GB" in message
    assert contents(tmp_path) == {}


def test_an_old_server_that_stores_the_file_itself(tmp_path):
    with serving("old") as fake:
        job = capture(tmp_path, fake.address)
    (worker,) = job.describe()["workers"]
    assert (job.state, worker["stored_by_worker"], worker["bytes"]) == ("done", True, len(XSPACE))
    assert (tmp_path / worker["file"]).read_bytes() == XSPACE


def test_an_old_and_a_new_server_share_a_run(tmp_path):
    with serving("old") as old, serving() as new:
        job = capture(tmp_path, old.address, new.address, delay_ms=0)
    assert job.state == "done"
    (run,) = Logdir(str(tmp_path)).runs()
    assert len(run.hosts) == 2


def test_a_historical_server_that_sends_the_profile_as_tool_data(tmp_path):
    data = b"\x0a\x09xplane.pb\x12" + bytes([len(XSPACE) & 0x7F | 0x80, len(XSPACE) >> 7]) + XSPACE
    answer = b"\x32" + bytes([len(data) & 0x7F | 0x80, len(data) >> 7]) + data
    with serving(answer) as fake:
        assert capture(tmp_path, fake.address).workers[0].bytes == len(XSPACE)


def test_a_profile_in_two_fields_is_concatenated(tmp_path):
    with serving(response(XSPACE[:0]) + response(XSPACE)) as fake:
        job = capture(tmp_path, fake.address)
    assert (tmp_path / job.workers[0].file).read_bytes() == XSPACE


def test_busy_is_retried_after_a_pause(tmp_path):
    with serving("busy", "empty", "ok") as fake:
        job = capture(tmp_path, fake.address, retries=3)
        gaps = [b - a for a, b in zip(fake.times, fake.times[1:], strict=False)]
    assert (job.state, job.workers[0].attempt, len(gaps)) == ("done", 3, 2)
    assert gaps[0] > 0.05
    assert gaps[1] > 0.1
    starts = [request.opts.start_timestamp_ns for request in fake.requests]
    assert sorted(set(starts)) == starts


def test_permanent_failures_are_not_retried(tmp_path):
    for behaviour in ("refuse", "garbage", "internal"):
        with serving(behaviour) as fake:
            capture(tmp_path, fake.address, retries=3)
            assert len(fake.requests) == 1


def test_one_of_two_workers_failing_is_reported_and_the_other_stored(tmp_path):
    with serving() as good, serving("garbage") as bad:
        job = capture(tmp_path, good.address, bad.address, delay_ms=0)
    assert job.state == "done"
    assert [worker["state"] for worker in job.describe()["workers"]] == ["done", "failed"]
    assert job.describe()["warnings"] == ["1 of 2 workers returned no profile."]
    assert len(contents(tmp_path)) == 1


def test_cancel_frees_the_worker_and_stores_nothing(tmp_path):
    with serving() as fake:
        job = start(tmp_path, fake.address, duration_ms=20_000)
        _until(lambda: fake.requests)
        job.cancel()
        assert job.wait(3)
        _until(lambda: fake.cancelled)
        assert (job.state, job.describe()["message"]) == ("cancelled", "Cancelled: nothing was stored.")
        assert fake.terminated == []
    assert contents(tmp_path) == {}


def test_cancel_between_attempts(tmp_path):
    with serving("busy") as fake:
        job = start(tmp_path, fake.address, retries=20)
        _until(lambda: len(fake.requests) > 2)
        job.cancel()
        assert job.wait(3)
    assert job.state == "cancelled"


def test_stop_keeps_what_was_recorded(tmp_path):
    with serving() as fake:
        job = start(tmp_path, fake.address, duration_ms=20_000)
        _until(lambda: fake.requests)
        job.stop()
        assert job.wait(3)
        assert fake.terminated == [job.session.name]
    assert job.state == "done"
    job.stop()
    assert fake.terminated == [job.session.name]


def test_progress_while_it_runs(tmp_path):
    with serving() as fake:
        job = start(tmp_path, fake.address, duration_ms=600, delay_ms=300)
        phases = set()
        while not job.wait(0.02):
            phases.add(job.describe()["phase"])
    assert {"delay", "recording"} <= phases
    assert job.describe()["phase"] == "ended"


def test_a_logdir_that_is_full(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tpu_profile_plugin.capture.session.os.fsync", full)
    with serving() as fake:
        code, message = failure(capture(tmp_path, fake.address))
    assert code == "not_stored"
    assert "No space left" in message
    assert str(tmp_path) not in message
    assert contents(tmp_path) == {}


def test_worker_list_sends_one_request_to_the_first(tmp_path):
    with serving(workers=True) as fake:
        port = fake.address.rpartition(":")[2]
        job = capture(tmp_path, fake.address, f"localhost:{port}", worker_list=True, delay_ms=0)
    assert job.state == "done"
    (asked,) = fake.sessions
    assert list(asked.hosts) == [fake.address, f"localhost:{port}"]
    assert fake.requests == []
    assert {worker.host for worker in job.workers} == {"127.0.0.1", "localhost"}


def test_worker_list_without_server_support_asks_each_worker(tmp_path):
    with serving() as fake:
        job = capture(tmp_path, fake.address, worker_list=True)
    assert job.state == "done"
    assert "asked individually" in job.warnings[0]


def test_events_are_counted_and_invalid_profiles_rejected(tmp_path):
    from tpu_profile_plugin.errors import CorruptProfile

    def noise(_):
        raise CorruptProfile("noise", offset=3)

    with serving() as fake:
        assert capture(tmp_path, fake.address, inspect=lambda _: 42).workers[0].events == 42
        assert failure(capture(tmp_path, fake.address, inspect=noise))[0] == "garbled"


KILLED = """
import os, sys, threading, time
from tpu_profile_plugin.capture import prepare
from tpu_profile_plugin.capture import session
real = session.os.fsync
def slow(handle):
    print("storing", flush=True)
    time.sleep(30)
session.os.fsync = slow
prepare(sys.argv[1], sys.argv[2], duration_ms=100).run()
"""


def test_kill_during_storing_leaves_no_run(tmp_path):
    with serving("large") as fake:
        command = [sys.executable, "-c", KILLED, fake.address, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "storing\n"
            process.send_signal(signal.SIGKILL)
        assert contents(tmp_path)  # something is left, but
        assert Logdir(str(tmp_path)).runs() == []
        assert capture(tmp_path, fake.address).state == "done"
        assert len(Logdir(str(tmp_path)).runs()) == 1


def test_leftovers_are_removed_after_a_day(tmp_path):
    old = tmp_path / "plugins" / ".capture-0"
    old.mkdir(parents=True)
    (old / "x.part").write_bytes(b"1")
    os.utime(old, (1, 1))
    with serving() as fake:
        capture(tmp_path, fake.address)
    assert not old.exists()


def _until(probe, timeout_s: float = 5.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not probe():
        assert time.monotonic() < deadline
        time.sleep(0.01)
