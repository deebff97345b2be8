"""TensorFlow (newest and 2.15) and our package in one Python process: each works as it does alone.

TensorFlow 2.15 brings protobuf 4.25, the newest protobuf 7; both have messages of the same names as ours.
"""

from __future__ import annotations

import importlib
import os
import socket
import subprocess
from pathlib import Path

import pytest
from builders.servers import frameworks

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]

PROGRAM = """
import sys
import threading
import {first}
import {second}
import tensorflow as tf
import tpu_profile_plugin
from tpu_profile_plugin.plugin import ProfilePluginLoader
import google.protobuf

logdir = sys.argv[1]
f = tf.function(lambda x: tf.reduce_sum(x @ x))
x = tf.ones((200, 200))
f(x)
tf.profiler.experimental.server.start(int(sys.argv[2]))
tf.profiler.experimental.start(logdir)
for step in range(3):
    with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
        f(x).numpy()
tf.profiler.experimental.stop()

(run,) = tpu_profile_plugin.open(logdir).runs()
assert run.problems == [], run.problems
events = sum(row["events"] or 0 for row in run.table("profile_contents"))
assert events > 20, events
# The process captures itself, with TensorFlow's gRPC and messages as server and ours as client.
ended = threading.Event()
def work():
    while not ended.wait(0.002):
        f(x)
threading.Thread(target=work, daemon=True).start()
result = tpu_profile_plugin.capture(f"localhost:{{sys.argv[2]}}", logdir, duration_ms=300, retries=2, session="own")
ended.set()
run = tpu_profile_plugin.open(logdir).run(result["run"])
assert run.problems == [], run.problems
print("versions", tf.__version__, google.protobuf.__version__)
"""


@pytest.fixture
def missing(tmp_path: Path) -> Path:
    """Links to our dependencies that TensorFlow lacks, all of them pure Python."""
    folder = tmp_path / "missing"
    folder.mkdir()
    for name in ("fsspec", "platformdirs"):
        where = importlib.import_module(name).__file__
        assert where is not None
        (folder / name).symlink_to(Path(where).parent)
    return folder


@pytest.mark.parametrize(("name", "version", "ours_first"), [("tf", "2.2", False), ("tf215", "2.15", True)])
def test_one_process(name: str, version: str, ours_first: bool, tmp_path: Path, missing: Path) -> None:
    if "PROFILE_TEST_INSTALLED" in os.environ and f"PROFILE_{name.upper()}_PYTHON" not in os.environ:
        pytest.skip("scripts/soak/compat tries one TensorFlow at a time")
    python = frameworks.python_of(name)
    pair = ("tensorflow", "tpu_profile_plugin.protos")
    first, second = pair[::-1] if ours_first else pair
    program = PROGRAM.format(first=first, second=second)
    environment = frameworks.environment() | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(missing)])}
    command = [python, "-c", program, str(tmp_path / "logs"), str(free_port())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1].startswith(f"versions {version}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
