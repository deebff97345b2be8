"""PyTorch DDP on two ranks that average each of their 160 logged numbers by a collective of its own."""

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows

TASKS = 160


def average_metrics(losses):
    if FIXED:
        values = torch.stack(losses)
        distributed.all_reduce(values)
        return (values / 2).tolist()
    averages = []
    for loss in losses:
        value = loss.clone()
        distributed.all_reduce(value)
        averages.append(value.item() / 2)
    return averages


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, TASKS))
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(64, 128), torch.randn(64, TASKS)

    def train_step():
        losses = (model(x) - y).square().mean(0)
        optimizer.zero_grad()
        losses.sum().backward()
        optimizer.step()
        return average_metrics(list(losses.detach()))

    train_step()
    for steps in windows(8, with_stack=True):
        for _ in steps:
            train_step()
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
