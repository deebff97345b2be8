"""Data-parallel training in three processes; top-5 accuracy over all of them is logged."""

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch import multiprocessing
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows

WARMUP, WORLD = 4, 3
BATCH, FEATURES, HIDDEN, CLASSES = 128, 192, 256, 2000


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 64)
        )
        self.head = nn.Linear(64, CLASSES)

    def forward(self, x):
        return self.head(self.body(x))


def hits_in_top5(logits, labels):
    return (logits.topk(5, dim=1).indices == labels[:, None]).any(dim=1).sum()


def global_accuracy(logits, labels):
    if FIXED:
        counts = torch.stack([hits_in_top5(logits, labels), torch.tensor(len(labels))])
        dist.all_reduce(counts)
        return counts[0].item() / counts[1].item()
    gathered = [None] * WORLD
    dist.all_gather_object(gathered, (logits, labels))
    hits = sum(hits_in_top5(a, b).item() for a, b in gathered)
    return hits / sum(len(b) for _, b in gathered)


class Trainer:
    def __init__(self, rank):
        torch.manual_seed(0)
        self.model = DistributedDataParallel(Net())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        rng = np.random.default_rng(rank)
        self.batches = [
            (
                torch.from_numpy(rng.normal(size=(BATCH, FEATURES)).astype(np.float32)),
                torch.from_numpy(rng.integers(0, CLASSES, BATCH)),
            )
            for _ in range(4)
        ]
        self.log = []

    def step(self, i):
        x, y = self.batches[i % len(self.batches)]
        logits = self.model(x)
        loss = F.cross_entropy(logits, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.log.append((loss.item(), global_accuracy(logits.detach(), y)))


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
