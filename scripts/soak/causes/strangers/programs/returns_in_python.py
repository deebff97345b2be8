"""A PyTorch actor-critic that computes its advantages backwards in time in Python, an op per term."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

HORIZON, ENVS = 192, 4
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
observations, rewards = torch.randn(HORIZON, ENVS, 32), torch.randn(HORIZON, ENVS)
powers = torch.tensor(0.93) ** (torch.arange(HORIZON)[None] - torch.arange(HORIZON)[:, None])
discounts = torch.triu(powers)


@torch.no_grad()
def advantages(values):
    following = torch.cat([values[1:], torch.zeros(1, ENVS)])
    if FIXED:
        return discounts @ (rewards + 0.98 * following - values)
    out, last = [], torch.zeros(ENVS)
    for t in reversed(range(HORIZON)):
        delta = rewards[t] + 0.98 * following[t] - values[t]
        last = delta + 0.93 * last
        out.insert(0, last)
    return torch.stack(out)


def train_step():
    values = model(observations)[..., 0]
    loss = (advantages(values) * values).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(14):
    for _ in steps:
        train_step()
        mark_step()
