"""Healthy PyTorch training of an LSTM of two layers with large batches."""

import torch
from torch import nn
from window import mark_step, windows

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5000, 192)
        self.recurrent = nn.LSTM(192, 192, num_layers=2)
        self.head = nn.Linear(192, 20)

    def forward(self, tokens):
        return self.head(self.recurrent(self.words(tokens))[0])


model = Tagger()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
tokens, tags = torch.randint(0, 5000, (24, 96)), torch.randint(0, 20, (24, 96))


def train_step():
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


train_step()
for steps in windows(12, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
