"""PyTorch training of a recurrent network that goes backward over the summed loss after each chunk."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
CHUNKS, LENGTH, WIDTH = 8, 12, 96
model = nn.GRU(WIDTH, WIDTH)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
sequence = torch.randn(CHUNKS, LENGTH, 16, WIDTH)


def train_sequence(sequence):
    total, state = 0.0, None
    for chunk in sequence:
        output, state = model(chunk, state)
        total = total + output.square().mean()
        if not FIXED:
            optimizer.zero_grad()
            total.backward(retain_graph=True)
    if FIXED:
        optimizer.zero_grad()
        total.backward()
    optimizer.step()


train_sequence(sequence)
for steps in windows(12, with_stack=True):
    for _ in steps:
        train_sequence(sequence)
        mark_step()
