"""PyTorch DDP on two ranks that gathers all logits to count how many answers are right."""

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from window import FIXED, mark_step, windows

CLASSES, BATCH = 10_000, 256


def accuracy(logits, labels):
    if FIXED:
        counts = torch.tensor([(logits.argmax(1) == labels).sum(), len(labels)])
        distributed.all_reduce(counts)
        return counts[0] / counts[1]
    parts = [torch.empty_like(logits) for _ in range(2)]
    distributed.all_gather(parts, logits)
    answers = [torch.empty_like(labels) for _ in range(2)]
    distributed.all_gather(answers, labels)
    return (torch.cat(parts).argmax(1) == torch.cat(answers)).float().mean()


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, CLASSES)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(BATCH, 64), torch.randint(0, CLASSES, (BATCH,))

    def train_step():
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return accuracy(logits.detach(), y)

    train_step()
    for steps in windows(12, with_stack=True):
        for _ in steps:
            train_step()
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
