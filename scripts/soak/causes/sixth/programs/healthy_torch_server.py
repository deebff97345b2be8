"""A text embedding server: requests from clients are collected into one padded batch."""

import queue
import threading

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from window import mark_step, windows

WARMUP = 4
VOCAB, DIM, HEADS, LAYERS, CLIENTS = 4000, 192, 4, 3, 12


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        layer = nn.TransformerEncoderLayer(DIM, HEADS, 4 * DIM, batch_first=True, activation="gelu")
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)

    def forward(self, words, padding):
        x = self.layers(self.embed(words), src_key_padding_mask=padding)
        weight = (~padding).float().unsqueeze(-1)
        return F.normalize((x * weight).sum(1) / weight.sum(1), dim=-1)


class Server:
    def __init__(self):
        torch.manual_seed(0)
        self.model = Encoder().eval()
        self.requests = queue.Queue(maxsize=4 * CLIENTS)
        self.answers = 0
        threading.Thread(target=self.clients, daemon=True).start()

    def clients(self):
        """Texts of similar length, always more of them than the server can answer."""
        rng = np.random.default_rng(0)
        while True:
            self.requests.put(rng.integers(1, VOCAB, rng.integers(40, 49)))

    def collect(self):
        texts = [self.requests.get() for _ in range(CLIENTS)]
        width = max(len(t) for t in texts)
        words = np.zeros((CLIENTS, width), np.int64)
        for row, text in enumerate(texts):
            words[row, : len(text)] = text
        words = torch.from_numpy(words)
        return words, words == 0

    @torch.inference_mode()
    def step(self, i):
        vectors = self.model(*self.collect())
        self.answers += len(vectors.tolist())


trainer = Server()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(10, with_stack=True, record_shapes=True, with_modules=True, profile_memory=True):
    for i in steps:
        trainer.step(i + WARMUP)
        mark_step()
