"""TensorFlow training whose metrics are updated outside of its compiled step."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
x = tf.constant(rng.normal(size=(256, 256)), tf.float32)
y = tf.constant(rng.integers(0, 2, (256, 1)), tf.float32)
model = tf.keras.Sequential(
    [tf.keras.Input((256,)), tf.keras.layers.Dense(512, "relu"), tf.keras.layers.Dense(1, "sigmoid")]
)
optimizer = tf.keras.optimizers.SGD(0.01)
loss_fn = tf.keras.losses.BinaryCrossentropy()
metrics = [
    tf.keras.metrics.AUC(),
    tf.keras.metrics.AUC(curve="PR"),
    tf.keras.metrics.Precision(),
    tf.keras.metrics.Recall(),
    tf.keras.metrics.PrecisionAtRecall(0.8),
    tf.keras.metrics.BinaryAccuracy(),
]


def update_metrics(y, scores):
    for metric in metrics:
        metric.update_state(y, scores)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        scores = model(x)
        loss = loss_fn(y, scores)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if FIXED:
        update_metrics(y, scores)
    return scores


update_metrics(y, train_step(x, y))
for steps in windows(15):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            scores = train_step(x, y)
            if not FIXED:
                update_metrics(y, scores)
            scores.numpy()
