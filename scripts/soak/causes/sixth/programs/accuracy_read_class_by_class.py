"""A compiled classifier with many classes; the log shows the accuracy of each class."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from window import FIXED, mark_step, windows

WARMUP = 5
BATCH, FEATURES, HIDDEN, CLASSES = 384, 256, 512, 200


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(FEATURES, HIDDEN)
        self.second = nn.Linear(HIDDEN, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN)
        self.head = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        x = F.gelu(self.first(x))
        x = self.norm(x + F.silu(self.second(x)))
        return self.head(x)


def class_accuracies(predicted, labels):
    if FIXED:
        hits = torch.bincount(labels[predicted == labels], minlength=CLASSES)
        members = torch.bincount(labels, minlength=CLASSES).clamp(min=1)
        return dict(enumerate((hits / members).tolist()))
    result = {}
    for c in range(CLASSES):
        members = labels == c
        hits = (predicted[members] == c).float().sum().item()
        result[c] = hits / max(int(members.sum()), 1)
    return result


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = Net()
        self.compiled = torch.compile(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        rng = np.random.default_rng(0)
        self.batches = [
            (
                torch.from_numpy(rng.normal(size=(BATCH, FEATURES)).astype(np.float32)),
                torch.from_numpy(rng.integers(0, CLASSES, BATCH)),
            )
            for _ in range(4)
        ]
        self.log = []

    def step(self, i):
        x, y = self.batches[i % len(self.batches)]
        logits = self.compiled(x)
        loss = F.cross_entropy(logits, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.log.append(class_accuracies(logits.detach().argmax(dim=1), y))


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(10, with_stack=True, record_shapes=True, with_modules=True, profile_memory=True):
    for i in steps:
        trainer.step(i + WARMUP)
        mark_step()
