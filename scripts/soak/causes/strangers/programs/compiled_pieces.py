"""A PyTorch simulation that compiled each small formula for itself and calls them from a Python loop."""

import torch
from window import FIXED, mark_step, windows

torch.manual_seed(0)


def force(x):
    return -x * torch.exp(-x * x) + 0.1 * torch.sin(3 * x)


def move(x, v):
    return x + 0.01 * v


def push(v, f):
    return 0.999 * v + 0.01 * f


def bound(x):
    return x.clamp(-3, 3)


def advance(x, v):
    for _ in range(10):
        v = push(v, force(x))
        x = bound(move(x, v))
    return x, v


if FIXED:
    advance = torch.compile(advance)
else:
    force, move, push, bound = (torch.compile(f) for f in (force, move, push, bound))
x, v = torch.randn(4096), torch.randn(4096)


def simulate(x, v):
    for _ in range(4):
        x, v = advance(x, v)
    return x, v


with torch.no_grad():
    simulate(x, v)
    for steps in windows(16, with_stack=True):
        for _ in steps:
            x, v = simulate(x, v)
            mark_step()
