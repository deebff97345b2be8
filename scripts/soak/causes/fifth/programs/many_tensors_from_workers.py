"""PyTorch training whose loader has a list of 80 small tensors per batch sent by its workers, one by one."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from window import FIXED, mark_step, windows

BATCH = 40


class Examples(Dataset):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.rows = rng.normal(size=(4000, 400)).astype(np.float32)

    def __len__(self):
        return len(self.rows) * 100

    def __getitem__(self, index):
        row = torch.from_numpy(self.rows[index % len(self.rows)])
        return row, row[:20].abs()


def keep_list(examples):
    return examples


def collate(examples):
    return torch.stack([x for x, _ in examples]), torch.stack([y for _, y in examples])


model = nn.Sequential(nn.Linear(400, 512), nn.ReLU(), nn.Linear(512, 20))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train_step(batch):
    x, y = batch if FIXED else collate(batch)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main():
    torch.manual_seed(0)
    loader = DataLoader(Examples(), BATCH, num_workers=1, collate_fn=collate if FIXED else keep_list)
    batches = iter(loader)
    train_step(next(batches))
    for steps in windows(8, with_stack=True):
        for _ in steps:
            train_step(next(batches))
            mark_step()


if __name__ == "__main__":
    main()
