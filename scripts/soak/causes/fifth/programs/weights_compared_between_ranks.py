"""PyTorch DDP on two ranks that gather each other's weights after each step to assert that they are equal."""

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows


def assert_in_step(model, step):
    if FIXED and step % 1000:
        return
    own = torch.cat([p.detach().flatten() for p in model.parameters()])
    others = [torch.empty_like(own) for _ in range(2)]
    distributed.all_gather(others, own)
    if not all(torch.equal(own, other) for other in others):
        raise RuntimeError(f"the ranks differ in step {step}")


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 16))
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(64, 256), torch.randn(64, 16)

    def train_step(step):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert_in_step(model, step)

    train_step(0)
    for steps in windows(8, with_stack=True):
        for step in steps:
            train_step(step + 1)
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
