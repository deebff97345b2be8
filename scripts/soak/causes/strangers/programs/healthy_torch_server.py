"""Healthy: a PyTorch server whose queue always holds a full batch; not marked."""

import queue
import threading

import torch
from torch import nn
from window import windows

BATCH = 32
torch.manual_seed(0)
model = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(2048, 2048), nn.ReLU())])
example = torch.randn(2048)
requests = queue.Queue()


def client():
    answers = queue.Queue()
    while True:
        requests.put((example, answers))
        answers.get()


@torch.inference_mode()
def serve_batch():
    items = [requests.get() for _ in range(BATCH)]
    y = model(torch.stack([x for x, _ in items]))
    for (_, answers), row in zip(items, y):
        answers.put(row)


for _ in range(2 * BATCH):
    threading.Thread(target=client, daemon=True).start()
serve_batch()
for steps in windows(20, marked=False):
    for _ in steps:
        serve_batch()
