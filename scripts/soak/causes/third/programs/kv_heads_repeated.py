"""PyTorch decoding with shared key heads that copies keys and values for each of the query heads."""

import torch
from window import FIXED, mark_step, windows

torch.manual_seed(0)
BATCH, HEADS, SHARED, CONTEXT, DEPTH = 8, 16, 2, 768, 64
GROUP = HEADS // SHARED
caches = [torch.randn(2, BATCH, SHARED, CONTEXT, DEPTH) for _ in range(3)]
projections = [torch.randn(HEADS * DEPTH, HEADS * DEPTH) * 0.03 for _ in range(6)]


def expand_heads(cached):
    return cached.repeat_interleave(GROUP, dim=1)


def attend(query, keys, values):
    if FIXED:
        query = query.view(BATCH, SHARED, GROUP, DEPTH)
    else:
        query = query.view(BATCH, HEADS, 1, DEPTH)
        keys, values = expand_heads(keys), expand_heads(values)
    weights = (query @ keys.transpose(2, 3) / DEPTH**0.5).softmax(-1)
    return (weights @ values).reshape(BATCH, HEADS * DEPTH)


@torch.no_grad()
def next_token(x):
    for layer, (keys, values) in enumerate(caches):
        x = x + attend(x @ projections[2 * layer], keys, values) @ projections[2 * layer + 1]
    return x / x.norm(dim=1, keepdim=True)


x = next_token(torch.randn(BATCH, HEADS * DEPTH))
for steps in windows(15, with_stack=True):
    for _ in steps:
        x = next_token(x)
        mark_step()
