"""PyTorch audio classifier that computes its spectrogram frame by frame."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
FRAME, HOP, FRAMES = 256, 128, 500
taper = torch.hann_window(FRAME)
model = nn.Sequential(nn.Linear(FRAME // 2 + 1, 128), nn.ReLU(), nn.Linear(128, 32))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
audio = torch.randn(4, HOP * (FRAMES + 1))


def spectrogram(audio):
    if FIXED:
        return torch.fft.rfft(audio.unfold(1, FRAME, HOP) * taper).abs().log1p()
    columns = []
    for begin in range(0, HOP * FRAMES, HOP):
        frame = audio[:, begin : begin + FRAME] * taper
        columns.append(torch.fft.rfft(frame).abs().log1p())
    return torch.stack(columns, dim=1)


def train_step():
    loss = model(spectrogram(audio)).logsumexp(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step()
for steps in windows(15):
    for _ in steps:
        train_step()
        mark_step()
