"""Keras Q-learning that moves its target network by get_weights and set_weights at every step."""

import keras
import numpy as np
import tensorflow as tf
from window import FIXED, LOGDIR, timed


def network():
    layers = [keras.layers.Dense(512, "relu") for _ in range(5)]
    model = keras.Sequential([keras.layers.Input((64,)), *layers, keras.layers.Dense(8)])
    return model


rng = np.random.default_rng(0)
online, target = network(), network()
target.set_weights(online.get_weights())
optimizer = keras.optimizers.SGD(0.01)
states, later = (tf.constant(rng.normal(size=(64, 64)).astype(np.float32)) for _ in range(2))
actions = tf.constant(rng.integers(0, 8, 64))
rewards = tf.constant(rng.normal(size=64).astype(np.float32))


def move_target():
    mixed = [0.995 * old + 0.005 * new for old, new in zip(target.get_weights(), online.get_weights())]
    target.set_weights(mixed)


@tf.function
def train_step(states, actions, rewards, later):
    goal = rewards + 0.99 * tf.reduce_max(target(later), 1)
    with tf.GradientTape() as tape:
        chosen = tf.gather(online(states), actions, batch_dims=1)
        loss = tf.reduce_mean((chosen - goal) ** 2)
    grads = tape.gradient(loss, online.trainable_variables)
    optimizer.apply_gradients(zip(grads, online.trainable_variables))
    if FIXED:
        for old, new in zip(target.trainable_variables, online.trainable_variables):
            old.assign(0.995 * old + 0.005 * new)
    return loss


def train(steps):
    for step in steps:
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(states, actions, rewards, later).numpy()
            if not FIXED:
                move_target()


train(range(2))
for steps in timed(8):
    train(steps)
if LOGDIR:
    with tf.profiler.experimental.Profile(LOGDIR, tf.profiler.experimental.ProfilerOptions(python_tracer_level=1)):
        train(range(40, 48))
