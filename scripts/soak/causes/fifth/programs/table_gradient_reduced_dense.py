"""PyTorch DDP on two ranks that average the whole gradient of a table of which a step uses 256 rows."""

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows

WORDS, WIDTH = 48_000, 64


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    table = nn.Embedding(WORDS, WIDTH, sparse=FIXED)
    model = DistributedDataParallel(nn.Sequential(table, nn.Flatten(), nn.Linear(4 * WIDTH, 256), nn.ReLU()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    ids = torch.randint(0, WORDS, (8, 64, 4))

    def train_step(step):
        loss = model(ids[step % 8]).square().mean()
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
