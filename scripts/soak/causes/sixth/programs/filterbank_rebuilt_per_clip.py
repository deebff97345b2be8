"""Keyword spotting: log-mel spectrograms of short clips, and a small convolutional network."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from window import FIXED, mark_step, windows

WARMUP = 4
RATE, SAMPLES, CLIPS, CLASSES = 16000, 16000, 16, 12
FFT, HOP, MELS = 512, 160, 40


def hertz_to_mel(hertz):
    return 2595.0 * np.log10(1.0 + hertz / 700.0)


def mel_to_hertz(mel):
    return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)


def mel_filters():
    """Triangles, evenly spaced on the mel scale."""
    edges = mel_to_hertz(np.linspace(hertz_to_mel(20.0), hertz_to_mel(RATE / 2), MELS + 2))
    bins = np.linspace(0, RATE / 2, FFT // 2 + 1)
    filters = np.zeros((MELS, len(bins)), np.float32)
    for m in range(MELS):
        left, centre, right = edges[m], edges[m + 1], edges[m + 2]
        rise = (bins - left) / (centre - left)
        fall = (right - bins) / (right - centre)
        filters[m] = np.maximum(0.0, np.minimum(rise, fall))
    return torch.from_numpy(filters)


class LogMel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(FFT))
        if FIXED:
            self.register_buffer("filters", mel_filters())

    def forward(self, clip):
        spectrum = torch.stft(clip, FFT, HOP, window=self.window, return_complex=True)
        power = spectrum.real**2 + spectrum.imag**2
        filters = self.filters if FIXED else mel_filters()
        return torch.log(filters @ power + 1e-6)


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.features = LogMel()
        self.model = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(16, CLASSES),
        )
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        rng = np.random.default_rng(0)
        self.clips = [rng.normal(size=SAMPLES).astype(np.float32) for _ in range(8 * CLIPS)]
        self.labels = torch.from_numpy(rng.integers(0, CLASSES, 8 * CLIPS))

    def step(self, i):
        start = i * CLIPS % len(self.clips)
        clips = [torch.from_numpy(c) for c in self.clips[start : start + CLIPS]]
        x = torch.stack([self.features(c) for c in clips])[:, None]
        loss = F.cross_entropy(self.model(x), self.labels[start : start + CLIPS])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


trainer = Trainer()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(10, with_stack=True, record_shapes=True, with_modules=True, profile_memory=True):
    for i in steps:
        trainer.step(i + WARMUP)
        mark_step()
