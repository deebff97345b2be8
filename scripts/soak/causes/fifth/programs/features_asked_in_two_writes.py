"""PyTorch server that asks a feature store by two small writes, the second of which waits for an acknowledgement."""

import socket
import struct
import threading

import numpy as np
import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 16))
vectors = np.random.default_rng(0).normal(size=(16, 64, 256)).astype(np.float32)


def serve_features(listener):
    connection, _ = listener.accept()
    with connection, connection.makefile("rb") as file:
        while header := file.read(4):
            (size,) = struct.unpack("<I", header)
            (number,) = struct.unpack("<I", file.read(size))
            connection.sendall(vectors[number % 16].tobytes())


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve_features, args=(listener,), daemon=True).start()
store = socket.create_connection(listener.getsockname())
answers = store.makefile("rb")


def ask_store(number):
    body = struct.pack("<I", number)
    header = struct.pack("<I", len(body))
    if FIXED:
        store.sendall(header + body)
    else:
        store.sendall(header)
        store.sendall(body)
    return np.frombuffer(answers.read(vectors[0].nbytes), np.float32).reshape(64, 256)


@torch.inference_mode()
def answer(number):
    return model(torch.from_numpy(ask_store(number).copy())).argmax(1).tolist()


answer(0)
for steps in windows(8, with_stack=True):
    for step in steps:
        answer(step)
        mark_step()
