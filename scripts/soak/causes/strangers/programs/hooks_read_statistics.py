"""PyTorch training whose forward hooks read mean, deviation and share of zeros of every activation as numbers."""

import torch
from torch import nn
from torch.profiler import record_function
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(*[layer for _ in range(10) for layer in (nn.Linear(256, 256), nn.ReLU())])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(512, 256)
history = []


def watch(module, inputs, output):
    with record_function("activation_statistics"):
        zeros = (output == 0).float().mean().item()
        history.append((output.mean().item(), output.std().item(), output.abs().max().item(), zeros))


if not FIXED:
    for module in model:
        module.register_forward_hook(watch)


def train_step():
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(14):
    for _ in steps:
        train_step()
        mark_step()
