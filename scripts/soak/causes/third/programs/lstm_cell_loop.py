"""PyTorch sequence classifier whose LSTM is a Python loop over time steps that calls a cell for each."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
LENGTH, BATCH, WIDTH = 120, 16, 48


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent = nn.LSTM(WIDTH, WIDTH) if FIXED else nn.LSTMCell(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 10)

    def encode(self, x):
        if FIXED:
            return self.recurrent(x)[0]
        h = c = x.new_zeros(BATCH, WIDTH)
        outputs = []
        for t in range(x.shape[0]):
            h, c = self.recurrent(x[t], (h, c))
            outputs.append(h)
        return torch.stack(outputs)

    def forward(self, x):
        return self.head(self.encode(x).mean(0))


model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(LENGTH, BATCH, WIDTH), torch.randint(0, 10, (BATCH,))


def train_step():
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(12, with_stack=True):
    for _ in steps:
        train_step()
        mark_step()
