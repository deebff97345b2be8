"""Keras training whose PyDataset fetches the parts of a batch from a slow store within the training loop."""

import time

import keras
import numpy as np
from window import FIXED, keras_callbacks, timed

rng = np.random.default_rng(0)
shards = rng.normal(size=(8, 32, 256)).astype(np.float32)


def fetch(shard):
    time.sleep(0.004)  # the answer of the store
    return shards[shard % 8]


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        x = np.concatenate([fetch(index + part) for part in range(6)])
        return x, x[:, :16]


model = keras.Sequential([keras.layers.Dense(1024, "relu"), keras.layers.Dense(1024, "relu"), keras.layers.Dense(16)])
model.compile("sgd", "mse")
data = Batches(workers=8, max_queue_size=16) if FIXED else Batches()
model.fit(data, steps_per_epoch=2, verbose=0)
for steps in timed(12):
    model.fit(data, steps_per_epoch=len(steps), verbose=0)
model.fit(data, steps_per_epoch=18, verbose=0, callbacks=keras_callbacks((3, 15)))
