"""PyTorch training that polls a queue of batches every 30 ms, though the next batch is there much earlier."""

import queue
import threading
import time

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batches = queue.Queue()
wanted = threading.Semaphore(0)


def load():
    while True:
        wanted.acquire()
        time.sleep(0.002)  # the disk
        batches.put((torch.randn(64, 256), torch.randint(0, 10, (64,))))


def next_batch():
    wanted.release()
    if FIXED:
        return batches.get()
    while batches.empty():
        time.sleep(0.03)
    return batches.get()


def train_step(x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


threading.Thread(target=load, daemon=True).start()
train_step(*next_batch())
for steps in windows(14, with_stack=True):
    for _ in steps:
        train_step(*next_batch())
        mark_step()
