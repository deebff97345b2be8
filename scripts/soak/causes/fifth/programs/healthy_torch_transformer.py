"""Healthy eager PyTorch training of a transformer encoder with a fused optimizer."""

import torch
from torch import nn
from window import mark_step, windows

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
model = nn.Sequential(nn.Embedding(1000, 128), nn.TransformerEncoder(layer, 2), nn.Linear(128, 1000))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
tokens = torch.randint(0, 1000, (16, 8, 96))


def train_step(step):
    batch = tokens[step % 16]
    loss = nn.functional.cross_entropy(model(batch).flatten(0, 1), batch.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step(0)
for steps in windows(8, with_stack=True):
    for step in steps:
        train_step(step)
        mark_step()
