"""PyTorch training with a compiled model, but a loss of many elementwise ops that is not compiled."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 2048))
model = torch.compile(network)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, target = torch.randn(256, 256), torch.rand(256, 2048)


def robust_loss(logits, target):
    odds = torch.sigmoid(logits)
    near = odds * target + (1 - odds) * (1 - target)
    focal = -((1 - near) ** 2) * torch.log(near + 1e-6)
    error = logits - torch.logit(target, eps=1e-3)
    huber = torch.where(error.abs() < 1, 0.5 * error**2, error.abs() - 0.5)
    smooth = torch.sqrt(error**2 + 1e-3) + torch.log1p(torch.exp(-error.abs()))
    return (focal + 0.1 * huber + 0.05 * smooth * (1 + target)).mean()


loss_fn = torch.compile(robust_loss) if FIXED else robust_loss


def train_step():
    loss = loss_fn(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for _ in range(3):
    train_step()
for steps in windows(8, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
