"""PyTorch recurrent network that enters autocast anew at each time step, so that its weights are cast each time."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
cell = nn.ModuleDict({"into": nn.Linear(256, 640), "again": nn.Linear(640, 640), "out": nn.Linear(640, 64)})
optimizer = torch.optim.SGD(cell.parameters(), lr=0.01)
x, y = torch.randn(12, 8, 256), torch.randn(8, 64)


def advance(state, row):
    return torch.tanh(cell["into"](row) + cell["again"](state))


def forward():
    state = torch.zeros(8, 640)
    if FIXED:
        with torch.autocast("cpu", torch.bfloat16):
            for row in x:
                state = advance(state, row)
            return cell["out"](state).float()
    for row in x:
        with torch.autocast("cpu", torch.bfloat16):
            state = advance(state, row)
    with torch.autocast("cpu", torch.bfloat16):
        return cell["out"](state).float()


def train_step():
    loss = nn.functional.mse_loss(forward(), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(8, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
