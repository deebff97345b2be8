"""Healthy PyTorch DDP on two ranks that averages gradients once per four large microbatches."""

from contextlib import nullcontext

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import mark_step, windows


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(256, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 10))
    model = DistributedDataParallel(network, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = torch.randn(4, 256, 256)

    def train_step():
        optimizer.zero_grad(set_to_none=False)
        for i, x in enumerate(batches):
            with nullcontext() if i == 3 else model.no_sync():
                (model(x).square().mean() / 4).backward()
        optimizer.step()

    train_step()
    for steps in windows(12):
        for _ in steps:
            train_step()
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
