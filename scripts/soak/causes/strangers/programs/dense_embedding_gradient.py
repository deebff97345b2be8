"""A PyTorch recommender whose embedding of 60,000 items has dense gradients, which Adam applies to every row."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

ITEMS, WIDTH = 60_000, 64
torch.manual_seed(0)
users = nn.Embedding(ITEMS, WIDTH, sparse=FIXED)
tower = nn.Sequential(nn.Linear(WIDTH, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1))
if FIXED:
    optimizers = [torch.optim.SparseAdam(users.parameters()), torch.optim.Adam(tower.parameters())]
else:
    optimizers = [torch.optim.Adam([*users.parameters(), *tower.parameters()])]


def train_step():
    ids = torch.randint(0, ITEMS, (512, 8))
    clicks = torch.rand(512)
    score = tower(users(ids).mean(dim=1))[:, 0]
    loss = nn.functional.binary_cross_entropy_with_logits(score, clicks)
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()


train_step()
for steps in windows(14):
    for _ in steps:
        train_step()
        mark_step()
