"""PyTorch training that saves model and optimizer after every step."""

import tempfile
from pathlib import Path

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
x, y = torch.randn(128, 512), torch.randint(0, 10, (128,))
folder = Path(tempfile.mkdtemp())


def save_checkpoint(step):
    state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, folder / "last.pt")


def train_step():
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for steps in windows(15, with_stack=True):
    for step in steps:
        train_step()
        if not FIXED or step == steps[-1]:
            save_checkpoint(step)
        mark_step()
