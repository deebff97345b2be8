"""A PyTorch evaluation that writes the predictions of each batch to a compressed file; not marked."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from window import FIXED, windows

folder = Path(tempfile.mkdtemp())
torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 1)
)
images = torch.randn(8, 8, 3, 64, 64)


def save(step, masks):
    if FIXED:
        np.save(folder / f"{step}.npy", masks.astype(np.float16))
    else:
        np.savez_compressed(folder / f"{step}.npz", masks=masks)


@torch.no_grad()
def evaluate(step):
    scores = model(images[step % 8])
    save(step % 4, scores.softmax(dim=1).numpy())


evaluate(0)
for steps in windows(14, marked=False, with_stack=True):
    for step in steps:
        evaluate(step)
