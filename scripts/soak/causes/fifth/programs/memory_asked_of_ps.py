"""PyTorch training that starts the program ps after each step to log how much memory it has."""

import os
import subprocess

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 16))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(96, 256), torch.randn(96, 16)
log = []


def memory_in_use():
    if FIXED:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4
    command = ["ps", "-o", "rss=", "-p", str(os.getpid())]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def train_step():
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.append(memory_in_use())


train_step()
for steps in windows(8, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
