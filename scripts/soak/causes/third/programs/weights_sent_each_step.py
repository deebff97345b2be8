"""PyTorch DDP on two ranks that also sends all weights from rank 0 after every step."""

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows


def sync_weights(model):
    for parameter in model.parameters():
        distributed.broadcast(parameter.data, src=0)


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    layers = [layer for _ in range(16) for layer in (nn.Linear(192, 192), nn.LayerNorm(192), nn.GELU())]
    model = DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 192)
    sync_weights(model)

    def train_step():
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not FIXED:
            sync_weights(model)

    train_step()
    for steps in windows(14, with_stack=True):
        for _ in steps:
            train_step()
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
