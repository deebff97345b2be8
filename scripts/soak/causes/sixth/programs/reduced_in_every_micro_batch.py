"""Data-parallel training in two processes, accumulating gradients over micro-batches."""

import contextlib

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch import multiprocessing
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows

WARMUP, WORLD = 4, 2
MICRO, ACCUMULATE, FEATURES, HIDDEN, CLASSES = 64, 4, 256, 448, 20


class Trainer:
    def __init__(self, rank):
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Linear(FEATURES, HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.ReLU(),
            nn.Linear(HIDDEN, CLASSES),
        )
        self.model = DistributedDataParallel(net)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02)
        rng = np.random.default_rng(rank)
        rows = MICRO * ACCUMULATE * 3
        self.x = torch.from_numpy(rng.normal(size=(rows, FEATURES)).astype(np.float32))
        self.y = torch.from_numpy(rng.integers(0, CLASSES, rows))
        self.losses = []

    def micro_batches(self, i):
        start = i * MICRO * ACCUMULATE % len(self.x)
        for k in range(ACCUMULATE):
            rows = slice(start + k * MICRO, start + (k + 1) * MICRO)
            yield k, self.x[rows], self.y[rows]

    def backward(self, x, y):
        loss = F.cross_entropy(self.model(x), y) / ACCUMULATE
        loss.backward()
        return loss.item()

    def step(self, i):
        self.optimizer.zero_grad()
        total = 0.0
        for k, x, y in self.micro_batches(i):
            local = FIXED and k < ACCUMULATE - 1
            with self.model.no_sync() if local else contextlib.nullcontext():
                total += self.backward(x, y)
        self.optimizer.step()
        self.losses.append(total)


def work(rank):
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    trainer = Trainer(rank)
    for i in range(WARMUP):
        trainer.step(i)
    for steps in windows(10, with_stack=True, record_shapes=True, with_modules=True, profile_memory=True):
        for i in steps:
            trainer.step(i + WARMUP)
            mark_step()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=WORLD)
