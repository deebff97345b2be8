"""TensorFlow training that writes histograms of all gradients at every step."""

import tempfile

import numpy as np
import tensorflow as tf
from window import FIXED, LOGDIR, timed

rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(1024, 256)), tf.float32)
model = tf.keras.Sequential([tf.keras.layers.Dense(256, "relu") for _ in range(4)])
optimizer = tf.keras.optimizers.SGD(0.01)
writer = tf.summary.create_file_writer(tempfile.mkdtemp())


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - x))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss, grads


def write_histograms(step, grads):
    with writer.as_default(step):
        for i, grad in enumerate(grads):
            tf.summary.histogram(f"gradients/{i}", grad)


def train(steps):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            loss, grads = train_step()
            if not FIXED or step == steps[-1]:
                write_histograms(step, grads)
            loss.numpy()


train(range(2))
for steps in timed(20):
    train(steps)
if LOGDIR:
    with tf.profiler.experimental.Profile(LOGDIR, tf.profiler.experimental.ProfilerOptions(python_tracer_level=1)):
        train(range(100, 120))
