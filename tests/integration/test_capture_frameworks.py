"""Captures from real profiler servers of JAX and TensorFlow, and logdirs that their own interfaces write."""

from __future__ import annotations

import re
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from builders.servers import frameworks
from builders.servers.board import Board
from builders.servers.fake_profiler import XSPACE, serving

import tpu_profile_plugin
from tpu_profile_plugin.capture import CaptureFailed
from tpu_profile_plugin.cli import main
from tpu_profile_plugin.run.facts import count_events

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]
SERVERS = {"jax": frameworks.JAX_SERVER, "tf": frameworks.TF_SERVER, "tf215": frameworks.TF_SERVER}


@pytest.fixture(scope="module")
def servers():
    """Starts each server once: name -> address."""
    with ExitStack() as stack:
        started: dict[str, str] = {}

        def start(name: str) -> str:
            if name not in started:
                python = frameworks.python_of(name.partition("#")[0])
                port = free_port()
                stack.enter_context(frameworks.running(python, SERVERS[name.partition("#")[0]], port=port))
                started[name] = f"localhost:{port}"
            return started[name]

        yield start


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def lines(run) -> int:
    return sum(row["events"] or 0 for row in run.table("profile_contents"))


@pytest.mark.parametrize("name", ["jax", "tf", "tf215"])
def test_a_capture_through_python_opens(servers, tmp_path, name):
    result = tpu_profile_plugin.capture(servers(name), str(tmp_path), duration_ms=500, retries=2)
    (worker,) = result["workers"]
    assert worker["stored_by_worker"] is (name == "tf215")
    run = tpu_profile_plugin.open(tmp_path).run(result["run"])
    assert run.problems == []
    assert lines(run) > 100


def test_a_capture_through_http_opens(servers, tmp_path):
    board = Board(tmp_path, tmp_path / "home")
    query = {"service_addr": servers("jax"), "duration": "500", "num_retry": "2"}
    answer = board.client.post(f"{board.prefix}/capture_profile", query_string=query)
    assert answer.json["result"] == "Capture profile successfully. Please refresh."
    assert "overview_page" in board.json("run_tools", run=answer.json["run"])


def test_two_workers_at_once_through_the_command(servers, tmp_path, capsys):
    addresses = f"{servers('jax')},{servers('jax#2')}"
    flags = ["--logdir", str(tmp_path), "--duration-ms", "500", "--delay-ms", "500"]
    assert main(["capture", addresses, *flags]) == 0
    (run,) = tpu_profile_plugin.open(tmp_path).runs()
    assert len(run.hosts) == 2


def test_busy(servers, tmp_path):
    from tpu_profile_plugin.capture import prepare

    address = servers("jax")
    first = prepare(address, str(tmp_path), duration_ms=2500).start()
    while first.describe()["phase"] != "recording":
        first.wait(0.01)
    first.wait(0.5)
    with pytest.raises(CaptureFailed, match="Another profiling session is active"):
        tpu_profile_plugin.capture(address, str(tmp_path), duration_ms=100)
    assert first.wait(30)
    assert first.state == "done"


def test_cancel_frees_the_program_and_stop_stores(servers, tmp_path):
    from tpu_profile_plugin.capture import prepare

    address = servers("jax")
    for stop in (False, True):
        job = prepare(address, str(tmp_path), duration_ms=20_000, retries=3).start()
        while job.describe()["phase"] != "recording":
            job.wait(0.01)
        job.wait(0.5)
        if stop:
            job.stop()
        else:
            job.cancel()
        assert job.wait(10)
        assert job.state == ("done" if stop else "cancelled")
    assert len(tpu_profile_plugin.open(tmp_path).runs()) == 1


def test_nothing_recorded(servers, tmp_path):
    with pytest.raises(CaptureFailed, match="recorded no"):
        tpu_profile_plugin.capture(
            servers("jax"), str(tmp_path), duration_ms=100, host_tracer_level=0, device_tracer_level=0
        )
    assert tpu_profile_plugin.open(tmp_path).runs() == []


def test_continuous_profiling(servers, tmp_path):
    from tpu_profile_plugin.capture import continuous

    address = servers("jax")
    with pytest.raises(CaptureFailed, match="is not running"):
        continuous.snapshot(address, str(tmp_path))
    # On a CPU only the host has events.
    assert continuous.start(address, host_tracer_level=2)[0]["ok"]
    assert continuous.start(address)[0]["error"]["code"] == "already_started"
    results = []
    for _ in range(2):
        time.sleep(0.5)
        results.append(continuous.snapshot(address, str(tmp_path), inspect=count_events))
    assert continuous.stop(address)[0]["ok"]
    assert continuous.stop(address)[0]["error"]["code"] == "not_started"
    assert all(result["workers"][0]["events"] > 10 for result in results)
    assert len(tpu_profile_plugin.open(tmp_path).runs()) == 2


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("jax", frameworks.JAX_PROGRAM),
        ("tf", frameworks.TF_PROGRAM),
        ("tf", frameworks.KERAS_PROGRAM),
        ("tf215", frameworks.KERAS_PROGRAM),
    ],
    ids=["jax-trace", "tf-programmatic", "keras-3", "keras-2"],
)
def test_profiles_written_by_the_frameworks_open(tmp_path, name, program):
    frameworks.run_program(frameworks.python_of(name), program, logdir=str(tmp_path))
    (run,) = tpu_profile_plugin.open(tmp_path).runs()
    assert run.problems == []
    assert lines(run) > 10
    assert run.answer("overview_page")


CAPTURE = """
import google.protobuf, sys
sys.path.insert(0, {root!r})
import tpu_profile_plugin
result = tpu_profile_plugin.capture({address!r}, {logdir!r}, duration_ms=50)
assert result["workers"][0]["bytes"] == {size}, result
assert google.protobuf.__version__.startswith({version!r}), google.protobuf.__version__
"""


@pytest.mark.parametrize(("name", "version"), [("tf215", "4.25"), ("tf", "")])
def test_the_client_loads_beside_the_protobuf_of_tensorflow(tmp_path, name, version):
    python = frameworks.python_of(name)
    root = str(Path(tpu_profile_plugin.__file__).parents[1])
    with serving() as fake:
        values = {"root": root, "address": fake.address, "logdir": str(tmp_path), "size": len(XSPACE)}
        frameworks.run_program(python, CAPTURE, version=version, **values)


SAMPLED = """
import pathlib, sys, time
sys.path.insert(0, {root!r})
import tensorflow as tf
from tpu_profile_plugin.recording.profilers import Wanted, imported

def save():
    time.sleep(0.02)

f = tf.function(lambda x: tf.reduce_sum(x @ x))
x = tf.ones((200, 200))
f(x)
profiler, _ = imported("tensorflow", Wanted())
profiler.begin(pathlib.Path({logdir!r}))
for number in range(5):
    with profiler.step("train", number):
        f(x).numpy()
        save()
profiler.end()
"""


def test_functions_are_sampled_where_tensorflow_records_none(tmp_path):
    root = str(Path(tpu_profile_plugin.__file__).parents[1])
    frameworks.run_program(frameworks.python_of("tf"), SAMPLED, root=root, logdir=str(tmp_path))
    (run,) = tpu_profile_plugin.open(tmp_path).runs()
    assert run.problems == []
    first = next(iter(run.findings()))
    assert re.search(r"^Devices wait .* of the step .*<string>:\d+ save", first.title), first.title
    assert first.share > 0.5
