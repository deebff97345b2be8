"""PyTorch transformer that computes the heads of its attention one by one."""

import torch
from torch import nn
from torch.nn import functional
from window import FIXED, mark_step, windows

torch.manual_seed(0)
HEADS, WIDTH = 32, 256
DEPTH = WIDTH // HEADS


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, DEPTH) for _ in range(3))

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(1, 2) / DEPTH**0.5
        return scores.softmax(-1) @ self.value(x)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        if FIXED:
            self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        else:
            self.heads = nn.ModuleList(Head() for _ in range(HEADS))
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        if FIXED:
            q, k, v = self.qkv(x).unflatten(2, (3, HEADS, DEPTH)).permute(2, 0, 3, 1, 4)
            return x + self.out(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.out(torch.cat([head(x) for head in self.heads], -1))


model = nn.Sequential(*[Attention() for _ in range(3)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(4, 24, WIDTH)
for steps in windows(12):
    for _ in steps:
        loss = model(x).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        mark_step()
