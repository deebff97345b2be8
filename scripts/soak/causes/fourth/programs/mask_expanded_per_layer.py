"""PyTorch encoder that builds its mask again in each layer, as numbers for each head and pair of positions."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
BATCH, HEADS, LENGTH, WIDTH = 4, 8, 256, 128
lengths = torch.randint(LENGTH // 2, LENGTH, (BATCH,))
x = torch.randn(BATCH, LENGTH, WIDTH)


def expanded_mask(lengths):
    causal = torch.tril(torch.ones(LENGTH, LENGTH)).repeat(BATCH, HEADS, 1, 1)
    held = (torch.arange(LENGTH)[None] < lengths[:, None]).float()[:, None, None].repeat(1, HEADS, LENGTH, 1)
    return (1.0 - causal * held) * -1e9


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, mask):
        q, k, v = self.qkv(x).view(BATCH, LENGTH, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / 4.0
        scores = scores + (mask if FIXED else expanded_mask(lengths))
        return x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))


layers = nn.ModuleList(Layer() for _ in range(5))


@torch.inference_mode()
def encode(x):
    mask = None
    if FIXED:
        mask = torch.full((LENGTH, LENGTH), -1e9).triu(1)[None, None]
        mask = mask.masked_fill((torch.arange(LENGTH) >= lengths[:, None])[:, None, None], -1e9)
    for layer in layers:
        x = layer(x, mask)
    return x


encode(x)
for steps in windows(8, with_stack=True):
    for _ in steps:
        encode(x)
        mark_step()
