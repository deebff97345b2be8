"""Keras fit with a callback that averages the weights in NumPy, by get_weights, after each batch; marked by Keras."""

import numpy as np
import tensorflow as tf
from window import FIXED, keras_callbacks, timed

rng = np.random.default_rng(0)
x = rng.normal(size=(1024, 512)).astype(np.float32)
y = rng.integers(0, 10, 1024)
model = tf.keras.Sequential([tf.keras.layers.Dense(1536, "relu") for _ in range(4)] + [tf.keras.layers.Dense(10)])
optimizer = tf.keras.optimizers.SGD(0.01)
model.compile(optimizer, tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))


class AverageWeights(tf.keras.callbacks.Callback):
    every = 100 if FIXED else 1
    average = None

    def on_train_batch_end(self, batch, logs=None):
        if batch % self.every == self.every - 1:
            weights = self.model.get_weights()
            if self.average is None:
                self.average = weights
            self.average = [0.99 * a + 0.01 * w for a, w in zip(self.average, weights)]


dataset = tf.data.Dataset.from_tensor_slices((x, y)).cache().repeat().batch(64).prefetch(2)
callbacks = [AverageWeights()]
model.fit(dataset, steps_per_epoch=3, verbose=0, callbacks=callbacks)
for steps in timed(12):
    model.fit(dataset, steps_per_epoch=len(steps), verbose=0, callbacks=callbacks)
model.fit(dataset, steps_per_epoch=18, verbose=0, callbacks=[*callbacks, *keras_callbacks((3, 15))])
