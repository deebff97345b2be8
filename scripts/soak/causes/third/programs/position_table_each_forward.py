"""PyTorch transformer that fills its table of positions anew in each forward pass."""

import math

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
LENGTH, WIDTH = 48, 64


def position_table(length, width):
    table = torch.zeros(length, width)
    for position in range(length):
        for i in range(0, width, 2):
            angle = position / 10_000 ** (i / width)
            table[position, i] = math.sin(angle)
            table[position, i + 1] = math.cos(angle)
    return table


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 256, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.register_buffer("table", position_table(LENGTH, WIDTH))

    def forward(self, x):
        table = self.table if FIXED else position_table(x.shape[1], x.shape[2])
        return self.layers(x + table)


model = Encoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, LENGTH, WIDTH)
for steps in windows(12, with_stack=True):
    for _ in steps:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mark_step()
