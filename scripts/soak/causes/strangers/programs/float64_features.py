"""A PyTorch model that was made double precision, because its NumPy features were."""

import numpy as np
import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
rng = np.random.default_rng(0)
features = torch.from_numpy(rng.normal(size=(512, 256)))
targets = torch.from_numpy(rng.normal(size=(512, 1)))
model = nn.Sequential(nn.Linear(256, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 1))
if FIXED:
    features, targets = features.float(), targets.float()
else:
    model = model.double()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train_step():
    loss = nn.functional.mse_loss(model(features), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(14, with_stack=True, record_shapes=True):
    for _ in steps:
        train_step()
        mark_step()
