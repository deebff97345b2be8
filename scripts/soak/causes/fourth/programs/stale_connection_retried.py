"""PyTorch server that asks a feature store over a connection the store has closed, and waits before it tries again."""

import http.client
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 16))
vectors = np.random.default_rng(0).normal(size=(64, 512)).astype(np.float32)


class Store(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(vectors.nbytes))
        self.end_headers()
        self.wfile.write(vectors.tobytes())
        self.close_connection = True

    def log_message(self, *_):
        pass


store = ThreadingHTTPServer(("127.0.0.1", 0), Store)
threading.Thread(target=store.serve_forever, daemon=True).start()
connection = http.client.HTTPConnection(*store.server_address, timeout=5)


def fetch_features(path):
    delay = 0.05
    if FIXED:
        connection.close()
    while True:
        try:
            connection.request("GET", path)
            return np.frombuffer(connection.getresponse().read(), np.float32).reshape(64, 512)
        except (http.client.HTTPException, OSError):
            connection.close()
            time.sleep(delay)
            delay *= 2


@torch.inference_mode()
def answer(number):
    return model(torch.from_numpy(fetch_features(f"/features/{number}").copy())).argmax(1).tolist()


answer(0)
for steps in windows(8, with_stack=True):
    for step in steps:
        answer(step)
        mark_step()
