"""Deep Q-learning from a replay memory."""

import collections
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from window import FIXED, mark_step, windows

WARMUP = 4
MEMORY, BATCH, OBS, HIDDEN, ACTIONS = 4000, 192, 160, 704, 6
GAMMA = 0.99
Transition = collections.namedtuple("Transition", "obs action reward following done")


class Replay:
    def __init__(self):
        self.items = []
        self.position = 0

    def push(self, *values):
        if len(self.items) < MEMORY:
            self.items.append(None)
        self.items[self.position] = Transition(*values)
        self.position = (self.position + 1) % MEMORY

    def sample(self):
        batch = Transition(*zip(*random.sample(self.items, BATCH)))
        if FIXED:
            obs = torch.from_numpy(np.stack(batch.obs))
            following = torch.from_numpy(np.stack(batch.following))
        else:
            obs = torch.tensor(batch.obs, dtype=torch.float32)
            following = torch.tensor(batch.following, dtype=torch.float32)
        action = torch.tensor(batch.action)
        reward = torch.tensor(batch.reward, dtype=torch.float32)
        done = torch.tensor(batch.done, dtype=torch.float32)
        return obs, action, reward, following, done


def make_network():
    return nn.Sequential(
        nn.Linear(OBS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, ACTIONS)
    )


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.rng = np.random.default_rng(0)
        self.online, self.target = make_network(), make_network()
        self.target.load_state_dict(self.online.state_dict())
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=3e-4)
        self.replay = Replay()
        for _ in range(MEMORY):
            self.act()

    def observe(self):
        return self.rng.normal(size=OBS).astype(np.float32)

    def act(self):
        action = int(self.rng.integers(ACTIONS))
        reward = float(self.rng.normal())
        self.replay.push(self.observe(), action, reward, self.observe(), self.rng.random() < 0.01)

    def step(self, i):
        for _ in range(4):
            self.act()
        obs, action, reward, following, done = self.replay.sample()
        with torch.no_grad():
            best = self.target(following).max(dim=1).values
            wanted = reward + GAMMA * best * (1 - done)
        value = self.online(obs).gather(1, action[:, None])[:, 0]
        loss = F.smooth_l1_loss(value, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.online.parameters(), 10.0)
        self.optimizer.step()


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(10, with_stack=True, record_shapes=True, with_modules=True, profile_memory=True):
    for i in steps:
        trainer.step(i + WARMUP)
        mark_step()
