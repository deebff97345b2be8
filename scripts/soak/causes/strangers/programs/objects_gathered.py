"""PyTorch DDP on two ranks that gathers the losses and predictions of each step as pickled Python objects."""

import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import record_function
from window import FIXED, mark_step, windows


def gather_metrics(loss, scores):
    record = {
        "loss": loss.item(),
        "rows": [{"id": i, "scores": row} for i, row in enumerate(scores.tolist())],
    }
    records = [None, None]
    distributed.all_gather_object(records, record)
    return sum(one["loss"] for one in records) / 2


def work(rank):
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 100)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(512, 128), torch.randint(0, 100, (512,))

    def train_step(step):
        scores = model(x)
        loss = nn.functional.cross_entropy(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not FIXED or step % 100 == 99:
            with record_function("gather_metrics"):
                gather_metrics(loss, scores)

    train_step(0)
    for steps in windows(14):
        for step in steps:
            train_step(step)
            mark_step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    multiprocessing.spawn(work, nprocs=2)
