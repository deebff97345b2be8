"""Healthy: PyTorch DDP on two ranks with large equal batches of a small model."""

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import mark_step, windows


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(4096, 256)

    def train_step():
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    train_step()
    for steps in windows(14):
        for _ in steps:
            train_step()
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
