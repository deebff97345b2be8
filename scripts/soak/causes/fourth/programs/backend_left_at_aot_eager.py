"""PyTorch compiled by the backend "aot_eager", which was chosen to debug and runs the graph op by op."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.rand(512)), nn.Parameter(torch.rand(512))
        self.mix = nn.Linear(512, 512)

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        x = (x - mean) / torch.sqrt((x - mean).square().mean(-1, keepdim=True) + 1e-5) * self.scale + self.shift
        gate = torch.sigmoid(1.7 * x) * x + 0.1 * torch.tanh(x) - 0.05 * x.abs() / (1 + x.abs())
        return x + self.mix(gate)


model = torch.compile(nn.Sequential(*[Block() for _ in range(3)]), backend="inductor" if FIXED else "aot_eager")
x = torch.randn(512, 512)


@torch.inference_mode()
def score():
    return model(x).sum(-1)


score()
score()
for steps in windows(8, with_stack=True):
    for _ in steps:
        score()
        mark_step()
