"""PyTorch training that parses JSON lines and cleans their text by regular expressions within each step."""

import json
import random
import re

import torch
from torch import nn
from window import FIXED, mark_step, windows

random.seed(0)
torch.manual_seed(0)
WORDS = [f"word{i}" for i in range(2000)]
lines = [
    json.dumps({"text": "<p>" + " ".join(random.choices(WORDS, k=120)) + "</p> see http://site/a?b=c", "label": i % 10})
    for i in range(256)
]
vocabulary = {word: i + 1 for i, word in enumerate(WORDS)}
model = nn.Sequential(nn.EmbeddingBag(2001, 256), nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def clean(text):
    text = re.sub(r"<[^>]+>", " ", text)
    text = re.sub(r"https?://\S+", " ", text)
    text = re.sub(r"[^\w\s]", " ", text.lower())
    return re.findall(r"\b[a-z]+[0-9]*\b", text)


def encode(line):
    record = json.loads(line)
    ids = [vocabulary.get(word, 0) for word in clean(record["text"])][:120]
    return ids + [0] * (120 - len(ids)), record["label"]


def make_batch(step):
    rows, labels = zip(*(encode(line) for line in lines[step % 2 * 128 :][:128]))
    return torch.tensor(rows), torch.tensor(labels)


ready = [make_batch(0), make_batch(1)]


def train_step(step):
    x, y = ready[step % 2] if FIXED else make_batch(step)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


train_step(0)
for steps in windows(16, with_stack=True):
    for step in steps:
        train_step(step)
        mark_step()
