"""A small training in PyTorch (see `history`)."""

from __future__ import annotations

from pathlib import Path

import history
import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

LAYERS, WIDTH, BATCH = 6, 320, 256
torch.set_num_threads(1)
_DATA = np.random.default_rng(0)


def build(op: int, function: int) -> history.Step:
    """A step that sorts `op` numbers in an op and `function` numbers in Python."""
    torch.manual_seed(0)
    weights = [(torch.randn(WIDTH, WIDTH) * 0.05).requires_grad_() for _ in range(LAYERS)]
    optimizer = torch.optim.SGD(weights, lr=0.01)
    batch, numbers = torch.randn(BATCH, WIDTH), torch.randn(op)
    rows = _DATA.standard_normal(function).astype(np.float32)

    def step(number: int) -> None:
        first = float(history.collate(rows, number)[0])
        hidden = batch
        for weight in weights:
            hidden = torch.tanh(hidden @ weight)
        hidden = torch.softmax(hidden @ hidden.T, dim=1) @ hidden
        loss = ((hidden - batch) ** 2).mean() + first + torch.sort(numbers).values[0]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def capture(folder: Path, step: history.Step) -> None:
    """Records steps."""
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=0, active=1000),
        on_trace_ready=tensorboard_trace_handler(str(folder), use_gzip=True),
        record_shapes=True,
        with_stack=True,
    ) as recording:
        for number in range(history.STEPS):
            step(number)
            recording.step()


if __name__ == "__main__":
    history.record(build, capture)
