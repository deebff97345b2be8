"""PyTorch DDP on two ranks in which rank 0 reads all examples and sends them to the other rank at every step."""

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    images, labels = torch.randn(512, 3, 96, 96), torch.randint(0, 10, (512,))
    layers = [nn.AvgPool2d(4), nn.Conv2d(3, 16, 5, stride=2), nn.ReLU()]
    model = DistributedDataParallel(nn.Sequential(*layers, nn.Flatten(), nn.Linear(16 * 10 * 10, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def load_batch(step):
        if FIXED:
            picked = slice(step % 4 * 128 + rank * 64, step % 4 * 128 + rank * 64 + 64)
            return images[picked], labels[picked]
        x, y = torch.empty(128, 3, 96, 96), torch.empty(128, dtype=torch.long)
        if rank == 0:
            picked = slice(step % 4 * 128, step % 4 * 128 + 128)
            x, y = images[picked].contiguous(), labels[picked].contiguous()
        distributed.broadcast(x, src=0)
        distributed.broadcast(y, src=0)
        return x[rank * 64 : rank * 64 + 64], y[rank * 64 : rank * 64 + 64]

    def train_step(step):
        x, y = load_batch(step)
        loss = nn.functional.cross_entropy(model(x), y)
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
