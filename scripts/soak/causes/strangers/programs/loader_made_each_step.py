"""PyTorch training that takes each batch by next(iter(loader)), which starts the loader's worker anew."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from window import FIXED, mark_step, windows

torch.manual_seed(0)
data = TensorDataset(torch.randn(8192, 256), torch.randint(0, 10, (8192,)))
loader = DataLoader(data, batch_size=128, shuffle=True, num_workers=1)
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train_step(x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


batches = iter(loader)
train_step(*next(batches))
for steps in windows(12):
    batches = iter(loader)
    for _ in steps:
        x, y = next(batches) if FIXED else next(iter(loader))
        train_step(x, y)
        mark_step()
