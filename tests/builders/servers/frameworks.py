"""Environments with JAX and TensorFlow for tests against real profilers, and programs that run in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CACHE = Path(os.environ.get("PROFILE_TEST_ENVS", "~/.cache/tpu-profile-tests")).expanduser()

JAX_SERVER = """
import os, time
import jax, jax.numpy as jnp
jax.profiler.start_server({port})
f = jax.jit(lambda x: (x @ x).sum())
x = jnp.ones((200, 200))
f(x).block_until_ready()
print("ready", flush=True)
tests = os.getppid()
while os.getppid() == tests:
    with jax.profiler.StepTraceAnnotation("train", step_num=1):
        f(x).block_until_ready()
    time.sleep(0.002)
"""

TF_SERVER = """
import os, time
import tensorflow as tf
tf.profiler.experimental.server.start({port})
f = tf.function(lambda x: tf.reduce_sum(x @ x))
x = tf.ones((200, 200))
f(x)
print("ready", flush=True)
tests = os.getppid()
while os.getppid() == tests:
    with tf.profiler.experimental.Trace("train", step_num=1, _r=1):
        f(x).numpy()
    time.sleep(0.002)
"""

JAX_PROGRAM = """
import jax, jax.numpy as jnp
f = jax.jit(lambda x: (x @ x).sum())
x = jnp.ones((200, 200))
f(x).block_until_ready()
with jax.profiler.trace({logdir!r}):
    for step in range(3):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            f(x).block_until_ready()
"""

TF_PROGRAM = """
import tensorflow as tf
f = tf.function(lambda x: tf.reduce_sum(x @ x))
x = tf.ones((200, 200))
f(x)
tf.profiler.experimental.start({logdir!r})
for step in range(3):
    with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
        f(x).numpy()
tf.profiler.experimental.stop()
"""

KERAS_PROGRAM = """
import numpy as np, tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
callback = tf.keras.callbacks.TensorBoard(log_dir={logdir!r}, profile_batch=(2, 4))
model.fit(np.ones((64, 4)), np.ones((64, 1)), batch_size=8, epochs=1, verbose=0, callbacks=[callback])
"""


def python_of(name: str) -> str:
    """The interpreter of an environment ("jax", "tf", "tf215"); skips the test where there is none.

    PROFILE_JAX_PYTHON, PROFILE_TF_PYTHON and PROFILE_TF215_PYTHON name one; scripts/setup makes them in a cache.
    """
    given = os.environ.get(f"PROFILE_{name.upper()}_PYTHON")
    made = CACHE / name / "bin" / "python"
    # The mark is written when everything is installed, so that half of an environment is not taken for one.
    if given:
        return given
    if made.exists() and (CACHE / name / "complete").exists():
        return str(made)
    pytest.skip(f"no environment with {name}: set PROFILE_{name.upper()}_PYTHON, or run scripts/setup_frameworks")


def environment() -> dict[str, str]:
    """For programs of a framework: CPU only, quiet."""
    quiet = {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | quiet


def run_program(python: str, program: str, **values: Any) -> None:
    """Runs a program to its end; fails the test with its output."""
    command = [python, "-c", program.format(**values)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if "TensorBoard is not installed" in done.stderr:
        pytest.skip("this environment has no TensorBoard, which the Keras callback needs")
    assert done.returncode == 0, done.stderr[-3000:]


@contextmanager
def running(python: str, program: str, **values: Any) -> Iterator[None]:
    """Runs a program that prints "ready" and goes on, while the context lasts."""
    command = [python, "-c", program.format(**values)]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line == "ready\n", f"the program ended at once: {line!r}"
            yield
        finally:
            process.kill()
