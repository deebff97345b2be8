"""PyTorch ranking model that takes rows from a table stored column by column."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
ITEMS, WIDTH, ROWS = 200_000, 64, 6000
table = torch.randn(WIDTH, ITEMS).t()  # as the exporter wrote it
if FIXED:
    table = table.contiguous()
model = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, 1))
picked = torch.randint(0, ITEMS, (8, ROWS))


def rows_of(ids):
    return table[ids]


@torch.inference_mode()
def rank_items(step):
    return model(rows_of(picked[step % 8])).squeeze(1).topk(10).indices


rank_items(0)
for steps in windows(8, with_stack=True):
    for step in steps:
        rank_items(step)
        mark_step()
