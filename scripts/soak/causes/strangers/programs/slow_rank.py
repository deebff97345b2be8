"""PyTorch DDP on two ranks of which the second reads its samples from a slow disk."""

import time

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows

SECONDS = {0: 0, 1: 0 if FIXED else 0.003}


def read_sample(rank, index):
    time.sleep(SECONDS[rank])  # the disk
    return torch.full((128,), index / 100)


def read_batch(rank, step):
    return torch.stack([read_sample(rank, step + i) for i in range(12)])


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def train_step(step):
        loss = model(read_batch(rank, step)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    train_step(0)
    for steps in windows(14, with_stack=True):
        for step in steps:
            train_step(step)
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
