"""PyTorch training that asserts after each layer that all activations are finite, left over from a search for a NaN."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)


def assert_healthy(x, name):
    assert not torch.isnan(x).any(), f"NaN in {name}"
    assert not torch.isinf(x).any(), f"infinity in {name}"
    assert x.abs().max() < 1e4, f"too large values in {name}"


class Residual(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.name = f"block {number}"
        self.up, self.down = nn.Linear(256, 256), nn.Linear(256, 256)

    def forward(self, x):
        hidden = self.up(x)
        if not FIXED:
            assert_healthy(hidden, self.name)
        hidden = self.down(hidden.relu())
        if not FIXED:
            assert_healthy(hidden, self.name)
        return x + hidden


model = nn.Sequential(*[Residual(i) for i in range(10)], nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(192, 256), torch.randint(0, 10, (192,))


def train_step():
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(14, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
