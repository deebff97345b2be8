"""PyTorch training beside a thread that adds up the sizes of the Python objects again and again."""

import gc
import sys
import threading
import time

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(*[layer for _ in range(12) for layer in (nn.Linear(96, 96), nn.ReLU())])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(32, 96), torch.randn(32, 96)
peak = 0


def watch_memory():
    global peak
    watched = gc.get_objects()
    while True:
        peak = max(peak, sum(sys.getsizeof(one) for one in watched))
        time.sleep(3600 if FIXED else 0.01)


def train_step():
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
threading.Thread(target=watch_memory, name="memory monitor", daemon=True).start()
time.sleep(1)
for steps in windows(8, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
