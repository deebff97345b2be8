"""PyTorch server that answers its waiting requests one by one."""

import queue
import threading
from concurrent.futures import Future

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
CLIENTS = 16
model = nn.Sequential(*[layer for _ in range(3) for layer in (nn.Linear(1024, 1024), nn.ReLU())]).eval()
requests = queue.Queue()


def client():
    query = torch.randn(1024)
    while True:
        answer = Future()
        requests.put((query, answer))
        answer.result()


def take():
    waiting = [requests.get()]
    while FIXED and len(waiting) < CLIENTS and not requests.empty():
        waiting.append(requests.get())
    return waiting


@torch.no_grad()
def serve(count):
    while count > 0:
        waiting = take()
        scores = model(torch.stack([query for query, _ in waiting]))
        for (_, answer), score in zip(waiting, scores):
            answer.set_result(score.argmax())
        count -= len(waiting)


for _ in range(CLIENTS):
    threading.Thread(target=client, daemon=True).start()
serve(CLIENTS)
for steps in windows(15, with_stack=True):
    for _ in steps:
        serve(CLIENTS)
        mark_step()
