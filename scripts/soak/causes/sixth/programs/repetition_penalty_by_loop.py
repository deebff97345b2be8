"""Sampling from a small language model with a repetition penalty and a key/value cache."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from window import FIXED, mark_step, windows

WARMUP = 4
BATCH, LAYERS, DIM, HEADS, VOCAB, LENGTH = 6, 8, 512, 8, 8000, 256
PENALTY, PROMPT = 1.2, 150


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.out = nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)
        self.register_buffer("keys", torch.zeros(BATCH, HEADS, LENGTH, DIM // HEADS))
        self.register_buffer("values", torch.zeros(BATCH, HEADS, LENGTH, DIM // HEADS))

    def forward(self, x, position):
        q, k, v = (t.view(BATCH, HEADS, 1, -1) for t in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        self.keys[:, :, position : position + 1] = k
        self.values[:, :, position : position + 1] = v
        mixed = F.scaled_dot_product_attention(q, self.keys[:, :, : position + 1], self.values[:, :, : position + 1])
        x = x + self.out(mixed.reshape(BATCH, DIM))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def penalise(logits, seen):
    if FIXED:
        values = logits.gather(1, seen)
        values = torch.where(values > 0, values / PENALTY, values * PENALTY)
        return logits.scatter(1, seen, values)
    for row in range(len(logits)):
        for token in set(seen[row].tolist()):
            value = logits[row, token]
            if value > 0:
                logits[row, token] = value / PENALTY
            else:
                logits[row, token] = value * PENALTY
    return logits


class Generator:
    def __init__(self):
        torch.manual_seed(0)
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS)).eval()
        self.tokens = torch.randint(0, VOCAB, (BATCH, LENGTH))
        self.position = PROMPT

    @torch.inference_mode()
    def step(self, i):
        x = self.embed(self.tokens[:, self.position])
        for block in self.blocks:
            x = block(x, self.position)
        logits = x @ self.embed.weight.T
        logits = penalise(logits, self.tokens[:, : self.position + 1])
        top = logits.topk(50, dim=-1)
        chosen = torch.multinomial(F.softmax(top.values, dim=-1), 1)
        self.position += 1
        self.tokens[:, self.position] = top.indices.gather(1, chosen)[:, 0]


trainer = Generator()
for i in range(WARMUP):
    trainer.step(i)
for steps in windows(10, with_stack=True, record_shapes=True, with_modules=True, profile_memory=True):
    for i in steps:
        trainer.step(i + WARMUP)
        mark_step()
