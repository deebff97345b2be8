"""PyTorch training on a table from which the step takes each row by iloc and each value by name."""

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.profiler import record_function
from window import FIXED, mark_step, windows

torch.manual_seed(0)
rng = np.random.default_rng(0)
columns = [f"feature{i}" for i in range(12)]
frame = pd.DataFrame(rng.normal(size=(5000, 12)), columns=columns)
frame["target"] = rng.normal(size=5000)
features = torch.tensor(frame[columns].to_numpy(), dtype=torch.float32)
targets = torch.tensor(frame["target"].to_numpy(), dtype=torch.float32)
model = nn.Sequential(nn.Linear(12, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def make_batch():
    indices = rng.integers(0, 5000, 128)
    if FIXED:
        return features[indices], targets[indices]
    rows = [frame.iloc[i] for i in indices]
    x = torch.tensor([[row[name] for name in columns] for row in rows], dtype=torch.float32)
    return x, torch.tensor([row["target"] for row in rows], dtype=torch.float32)


def train_step():
    with record_function("make_batch"):
        x, y = make_batch()
    with record_function("optimize"):
        loss = nn.functional.mse_loss(model(x)[:, 0], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train_step()
for steps in windows(14):
    for _ in steps:
        train_step()
        mark_step()
