"""PyTorch DDP on two ranks that accumulates gradients over six microbatches and averages them after each."""

from contextlib import nullcontext

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows

MICRO = 6


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(MICRO, 4, 512)

    def train_step():
        optimizer.zero_grad()
        for i in range(MICRO):
            with model.no_sync() if FIXED and i < MICRO - 1 else nullcontext():
                loss = model(x[i]).square().mean()
                loss.backward()
        optimizer.step()

    train_step()
    for steps in windows(14, with_stack=True):
        for _ in steps:
            train_step()
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
