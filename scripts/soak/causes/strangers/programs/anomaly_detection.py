"""PyTorch training with autograd's anomaly detection, which was left on after debugging."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
torch.autograd.set_detect_anomaly(not FIXED)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(128), nn.Linear(128, 256), nn.Linear(256, 128)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


model = nn.Sequential(*[Block() for _ in range(12)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(64, 128)


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
