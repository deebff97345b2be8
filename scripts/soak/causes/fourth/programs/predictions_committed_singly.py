"""PyTorch scorer that stores each of its predictions in a database by a transaction of its own."""

import sqlite3
import tempfile
from pathlib import Path

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
folder = tempfile.TemporaryDirectory()
database = sqlite3.connect(Path(folder.name) / "predictions.db")
database.execute("create table predictions (step integer, row integer, label integer, odds real)")
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 20))
x = torch.randn(8, 48, 512)
INSERT = "insert into predictions values (?, ?, ?, ?)"


def store(step, labels, odds):
    rows = [(step, i, label, p) for i, (label, p) in enumerate(zip(labels, odds))]
    if FIXED:
        database.executemany(INSERT, rows)
        database.commit()
        return
    for row in rows:
        database.execute(INSERT, row)
        database.commit()


@torch.inference_mode()
def score(step):
    odds, labels = model(x[step % 8]).softmax(1).max(1)
    store(step, labels.tolist(), odds.tolist())


score(0)
for steps in windows(8, with_stack=True):
    for step in steps:
        score(step)
        mark_step()
