"""A PyTorch graph network that averages the neighbours of each node in a Python loop over the nodes; not marked."""

import torch
from torch import nn
from window import FIXED, windows

NODES, EDGES, WIDTH = 256, 2048, 128
torch.manual_seed(0)
source, target = torch.randint(0, NODES, (EDGES,)), torch.randint(0, NODES, (EDGES,))
neighbours = [source[target == node] for node in range(NODES)]
features, labels = torch.randn(NODES, WIDTH), torch.randint(0, 7, (NODES,))


def aggregate(x):
    if FIXED:
        total = torch.zeros_like(x).index_add(0, target, x[source])
        count = torch.bincount(target, minlength=NODES).clamp(min=1)
        return total / count[:, None]
    rows = [x[n].mean(dim=0) if len(n) else torch.zeros(WIDTH) for n in neighbours]
    return torch.stack(rows)


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2 * WIDTH, WIDTH) for _ in range(2)])
        self.head = nn.Linear(WIDTH, 7)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(torch.cat([x, aggregate(x)], dim=1)))
        return self.head(x)


model = Graph()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def train_step():
    loss = nn.functional.cross_entropy(model(features), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(12, marked=False):
    for _ in steps:
        train_step()
