"""PyTorch on two ranks that averages the gradient of each of its many parameters by a collective of its own."""

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from window import FIXED, mark_step, windows


def average_gradients(model):
    grads = [p.grad for p in model.parameters()]
    if FIXED:
        flat = parameters_to_vector(grads)
        distributed.all_reduce(flat)
        vector_to_parameters(flat / 2, grads)
        return
    for grad in grads:
        distributed.all_reduce(grad)
        grad /= 2


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = nn.Sequential(*[layer for _ in range(30) for layer in (nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU())])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 64)

    def train_step():
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        average_gradients(model)
        optimizer.step()

    train_step()
    for steps in windows(14):
        for _ in steps:
            train_step()
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
