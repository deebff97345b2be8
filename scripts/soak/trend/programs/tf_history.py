"""A small training in TensorFlow (see `history`)."""

from __future__ import annotations

from pathlib import Path

import history
import numpy as np
import tensorflow as tf

LAYERS, WIDTH, BATCH = 6, 320, 256
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
_DATA = np.random.default_rng(0)


def build(op: int, function: int) -> history.Step:
    """A step that sorts `op` numbers in the graph and `function` numbers in Python."""
    weights = [tf.Variable(_normal(WIDTH, WIDTH) * 0.05) for _ in range(LAYERS)]
    batch, numbers = tf.constant(_normal(BATCH, WIDTH)), tf.constant(_normal(op))
    rows = _normal(function)

    @tf.function
    def update(first: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            hidden = batch
            for weight in weights:
                hidden = tf.tanh(hidden @ weight)
            hidden = tf.nn.softmax(tf.matmul(hidden, hidden, transpose_b=True)) @ hidden
            loss = tf.reduce_mean((hidden - batch) ** 2) + first
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.01 * gradient)
        return loss + tf.sort(numbers + first, name="ranking")[0]

    def step(number: int) -> None:
        with tf.profiler.experimental.Trace("collate"):  # this version records no frames of Python
            first = history.collate(rows, number)[0]
        update(tf.constant(first)).numpy()

    return step


def _normal(*shape: int) -> np.ndarray:
    return _DATA.standard_normal(shape).astype(np.float32)


def capture(folder: Path, step: history.Step) -> None:
    """Records steps."""
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=1)
    tf.profiler.experimental.start(str(folder), options)
    for number in range(history.STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            step(number)
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    history.record(build, capture)
