"""PyTorch attention queries under torch.compile that are rotated by complex numbers, which the compiler cannot fuse."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
LENGTH, HEADS, WIDTH = 512, 8, 64
angles = torch.outer(torch.arange(LENGTH), 1e4 ** (-torch.arange(0, WIDTH, 2) / WIDTH))
turns = torch.polar(torch.ones_like(angles), angles)[:, None]
cosines, sines = angles.cos()[:, None], angles.sin()[:, None]
project = nn.Linear(32, 2 * HEADS * WIDTH)
x = torch.randn(4, LENGTH, 32)


def rotate(x):
    if FIXED:
        even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack([even * cosines - odd * sines, even * sines + odd * cosines], -1).flatten(-2)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turns).flatten(-2)


@torch.compile
def agreement(x):
    queries, keys = project(x).unflatten(-1, (2, HEADS, WIDTH)).unbind(2)
    return (rotate(queries * 0.125) * rotate(keys)).sum(-1).sigmoid().mean(1)


@torch.inference_mode()
def step_once():
    return agreement(x)


step_once()
for steps in windows(8, with_stack=True):
    for _ in steps:
        step_once()
        mark_step()
