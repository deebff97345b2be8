"""PyTorch graph network that sums over neighbours by a dense adjacency matrix."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
NODES, EDGES, WIDTH = 2500, 12_500, 64
source, target = torch.randint(0, NODES, (2, EDGES))
adjacency = torch.zeros(NODES, NODES).index_put_((target, source), torch.ones(EDGES), accumulate=True)
degree = adjacency.sum(1, keepdim=True).clamp(min=1)
layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
optimizer = torch.optim.SGD(layers.parameters(), lr=0.05)
features, labels = torch.randn(NODES, WIDTH), torch.randint(0, WIDTH, (NODES,))


def aggregate(x):
    if FIXED:
        return torch.zeros_like(x).index_add(0, target, x[source]) / degree
    return adjacency @ x / degree


def train_step():
    x = features
    for layer in layers:
        x = layer(aggregate(x)).relu()
    loss = nn.functional.cross_entropy(x, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(12):
    for _ in steps:
        train_step()
        mark_step()
