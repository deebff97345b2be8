"""PyTorch training whose four download threads hold one lock during the whole download, so that they take turns."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
parts = np.random.default_rng(0).normal(size=(16, 32, 256)).astype(np.float32)
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
pool = ThreadPoolExecutor(4)
lock = threading.Lock()
recent = {}


def download(number):
    time.sleep(0.008)  # the network
    return parts[number % 16]


def fetch(number):
    if FIXED:
        part = download(number)
        with lock:
            recent[number % 64] = part
        return part
    with lock:
        part = download(number)
        recent[number % 64] = part
        return part


def train_step(step):
    x = torch.from_numpy(np.concatenate(list(pool.map(fetch, range(4 * step, 4 * step + 4)))))
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step(0)
for steps in windows(8, with_stack=True):
    for step in steps:
        train_step(step)
        mark_step()
