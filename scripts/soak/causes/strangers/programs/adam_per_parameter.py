"""PyTorch training of many small parameters by an Adam that updates them one by one."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(64, 64), nn.Linear(64, 64), nn.LayerNorm(64)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


model = nn.Sequential(*[Expert() for _ in range(30)])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False, fused=FIXED)
x = torch.randn(32, 64)


def train_step():
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(14, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
