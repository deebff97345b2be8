"""PyTorch server that merges byte pairs of each word in Python, again for each request."""

import functools
import random

import torch
from torch import nn
from window import FIXED, mark_step, windows

random.seed(0)
torch.manual_seed(0)
WORDS = ["".join(random.choices("etaoinshrdlu", k=random.randint(3, 12))) for _ in range(300)]
RANKS = {(a, b): i for i, (a, b) in enumerate((a, b) for a in "etaoinshrdlu" for b in "etaoinshrdlu")}
requests = [" ".join(random.choices(WORDS, k=500)) for _ in range(8)]
model = nn.Sequential(nn.EmbeddingBag(4096, 512), nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 2048)).eval()


def best_pair(parts):
    return min(range(len(parts) - 1), key=lambda i: RANKS.get((parts[i][-1], parts[i + 1][0]), 999))


def merge_word(word):
    parts = list(word)
    while len(parts) > 2:
        i = best_pair(parts)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return [sum(part.encode()) * 31 % 4096 for part in parts]


if FIXED:
    merge_word = functools.lru_cache(maxsize=10_000)(merge_word)


def tokenize(text):
    return [token for word in text.split() for token in merge_word(word)]


@torch.no_grad()
def answer(text):
    tokens = torch.tensor([tokenize(text)])
    return model(tokens.expand(16, -1)).argmax(1)


for text in requests:
    answer(text)
for steps in windows(15, with_stack=True):
    for step in steps:
        answer(requests[step % 8])
        mark_step()
