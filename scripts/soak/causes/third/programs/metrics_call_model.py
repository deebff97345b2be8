"""PyTorch training whose metrics each run the model again on the batch of the step."""

import torch
from torch import nn
from torch.nn import functional
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 100))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(256, 256), torch.randint(0, 100, (256,))


def predict(x):
    return model(x)


def accuracy(logits):
    return (logits.argmax(1) == y).float().mean()


def top_five(logits):
    return (logits.topk(5).indices == y[:, None]).any(1).float().mean()


def entropy(logits):
    return torch.distributions.Categorical(logits=logits).entropy().mean()


def calibration(logits):
    confidence, guess = logits.softmax(1).max(1)
    return (confidence - (guess == y).float()).abs().mean()


def train_step():
    logits = predict(x)
    loss = functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    metrics = []
    for metric in (accuracy, top_five, entropy, calibration):
        metrics.append(metric(logits.detach() if FIXED else predict(x)))
    optimizer.step()
    return metrics


for steps in windows(15, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
