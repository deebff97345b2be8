"""PyTorch DDP on two ranks of which rank 0 posts its metrics to a tracking server after each step."""

import json
import queue
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows


class Tracker(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(0.04)  # it is far away
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


def post(port, metrics):
    body = json.dumps(metrics).encode()
    urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", body).close()


def work(rank, port):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(256, 256), torch.randint(0, 10, (256,))
    waiting = queue.SimpleQueue()

    def send():
        while True:
            post(port, [waiting.get() for _ in range(5)])

    def train_step(step):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            metrics = {"step": step, "loss": loss.item()}
            if FIXED:
                waiting.put(metrics)
            else:
                post(port, metrics)

    threading.Thread(target=send, daemon=True).start()
    train_step(0)
    for steps in windows(14, with_stack=True):
        for step in steps:
            train_step(step)
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Tracker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    multiprocessing.spawn(work, args=(server.server_port,), nprocs=2)
