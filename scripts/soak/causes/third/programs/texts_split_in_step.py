"""TensorFlow classifier that splits its texts into words within each step."""

import numpy as np
import tensorflow as tf
from window import FIXED, windows

rng = np.random.default_rng(0)
words = np.array(["".join(rng.choice(list("abcdefgh"), 6)).title() for _ in range(2000)])
texts = tf.constant([", ".join(rng.choice(words, 180)) + "!" for _ in range(512)])
labels = tf.constant(rng.integers(0, 10, 512))
vectorize = tf.keras.layers.TextVectorization(2500, output_sequence_length=200)
vectorize.adapt(texts)
if FIXED:
    texts = vectorize(texts)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Embedding(2500, 32),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(64, "relu"),
        tf.keras.layers.Dense(10),
    ]
)
model.build((None, 200))
optimizer = tf.keras.optimizers.SGD(0.01)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(texts, labels):
    tokens = texts if FIXED else vectorize(texts)
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(tokens))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


train_step(texts[:128], labels[:128])
for steps in windows(15):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            begin = step % 4 * 128
            train_step(texts[begin : begin + 128], labels[begin : begin + 128]).numpy()
