"""PyTorch generation whose cache of keys and values grows by concatenation."""

import torch
from window import FIXED, mark_step, windows

torch.manual_seed(0)
BATCH, HEADS, PROMPT, DEPTH, LAYERS = 8, 8, 512, 64, 4
WIDTH = HEADS * DEPTH
weights = [torch.randn(WIDTH, 3 * WIDTH) * 0.02 for _ in range(LAYERS)]
prompt = torch.randn(2, LAYERS, BATCH, HEADS, PROMPT, DEPTH)


def new_cache():
    if not FIXED:
        return [[prompt[0, layer], prompt[1, layer]] for layer in range(LAYERS)]
    room = torch.empty(LAYERS, 2, BATCH, HEADS, PROMPT + 32, DEPTH)
    room[..., :PROMPT, :] = prompt.transpose(0, 1)
    return room


def remember(cache, layer, position, k, v):
    if FIXED:
        cache[layer, 0, :, :, position] = k[:, :, 0]
        cache[layer, 1, :, :, position] = v[:, :, 0]
        return cache[layer, 0, :, :, : position + 1], cache[layer, 1, :, :, : position + 1]
    for i, new in enumerate((k, v)):
        cache[layer][i] = torch.cat((cache[layer][i], new), dim=2)
    return cache[layer]


@torch.no_grad()
def next_token(x, cache, position):
    for layer in range(LAYERS):
        q, k, v = (x @ weights[layer]).view(BATCH, 3, HEADS, 1, DEPTH).unbind(1)
        keys, values = remember(cache, layer, position, k, v)
        x = x + ((q @ keys.transpose(2, 3) / 8).softmax(-1) @ values).view(BATCH, WIDTH)
    return x / x.norm(dim=1, keepdim=True)


for steps in windows(16):
    cache, x = new_cache(), torch.randn(BATCH, WIDTH)
    for position, _ in enumerate(steps, start=PROMPT):
        x = next_token(x, cache, position)
        mark_step()
