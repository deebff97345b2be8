"""PyTorch DDP on two ranks that sends the model's large buffers to the other rank in each forward pass."""

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows


class Retriever(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64))
        self.register_buffer("memory", torch.randn(65_536, 64))

    def forward(self, x, near):
        return (self.encoder(x) * self.memory[near]).sum(-1)


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(Retriever(), broadcast_buffers=not FIXED)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, near = torch.randn(256, 256), torch.randint(0, 65_536, (256,))

    def train_step():
        loss = model(x, near).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    train_step()
    for steps in windows(15):
        for _ in steps:
            train_step()
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
