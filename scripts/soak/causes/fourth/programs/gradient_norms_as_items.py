"""PyTorch training that logs norms of each parameter and its gradient as numbers, one by one, at every step."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
layers = [layer for _ in range(48) for layer in (nn.Linear(96, 96), nn.LayerNorm(96), nn.ReLU())]
model = nn.Sequential(*layers)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(48, 96), torch.randn(48, 96)
log = []


def log_norms():
    names = [name for name, _ in model.named_parameters()]
    if FIXED:
        grads = torch.stack(torch._foreach_norm([p.grad for p in model.parameters()])).tolist()
        log.append(dict(zip(names, grads)))
        return
    row = {}
    for name, parameter in model.named_parameters():
        row[f"grad/{name}"] = parameter.grad.norm().item()
        row[f"weight/{name}"] = parameter.detach().norm().item()
        row[f"largest/{name}"] = parameter.grad.abs().max().item()
    log.append(row)


def train_step():
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    log_norms()
    optimizer.step()


train_step()
for steps in windows(8, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
