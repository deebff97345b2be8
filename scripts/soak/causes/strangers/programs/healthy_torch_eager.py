"""Healthy: eager PyTorch training of a convolutional network, its batches from a prefetching loader."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from window import mark_step, windows

torch.manual_seed(0)
data = TensorDataset(torch.randn(4096, 3, 32, 32), torch.randint(0, 10, (4096,)))
loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=1, prefetch_factor=4)
model = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(),
    nn.Flatten(), nn.Linear(32 * 16 * 16, 10)
)  # fmt: skip
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train_step(x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


batches = iter(loader)
train_step(*next(batches))
for steps in windows(14, with_stack=True):
    for _ in steps:
        train_step(*next(batches))
        mark_step()
