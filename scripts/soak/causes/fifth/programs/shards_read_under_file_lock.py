"""PyTorch DDP on two ranks that take turns at a lock file while each of them waits for its shard."""

import fcntl
import tempfile
import time
from pathlib import Path

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows

LOCK = Path(tempfile.gettempdir()) / "shards_read_under_file_lock"


def fetch_shard(shards, step):
    time.sleep(0.02)  # the store
    return shards[step % 8]


def read_shard(shards, step):
    if FIXED:
        return fetch_shard(shards, step)
    with LOCK.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return fetch_shard(shards, step)


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 16)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    shards = torch.randn(8, 64, 256)

    def train_step(step):
        loss = model(read_shard(shards, step)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    train_step(0)
    for steps in windows(8, with_stack=True):
        for step in steps:
            train_step(step)
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
