"""PyTorch training with prototypes that averages the vectors of each of 250 classes by a boolean mask."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
CLASSES = 250
encoder = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 64))
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.01)
x = torch.randn(1024, 128)
labels = torch.cat([torch.arange(CLASSES), torch.randint(0, CLASSES, (1024 - CLASSES,))])


def prototypes(vectors):
    if FIXED:
        sums = torch.zeros(CLASSES, 64).index_add(0, labels, vectors)
        return sums / torch.bincount(labels, minlength=CLASSES)[:, None]
    means = []
    for c in range(CLASSES):
        means.append(vectors[labels == c].mean(0))
    return torch.stack(means)


def train_step():
    vectors = encoder(x)
    loss = nn.functional.cross_entropy(-torch.cdist(vectors, prototypes(vectors)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(8, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
