"""PyTorch compiled text encoder whose batches are all padded to the longest length allowed."""

import torch
from torch import nn
from torch.nn import functional
from window import FIXED, mark_step, windows

torch.manual_seed(0)
LONGEST, WIDTH, HEADS = 384, 128, 4
lengths = torch.randint(40, 64, (8, 8))
texts = [[torch.randint(1, 1000, (int(length),)) for length in batch] for batch in lengths]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(1000, WIDTH)
        self.mixers = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(2))
        self.widen = nn.ModuleList(nn.Linear(WIDTH, 4 * WIDTH) for _ in range(2))
        self.narrow = nn.ModuleList(nn.Linear(4 * WIDTH, WIDTH) for _ in range(2))

    def forward(self, tokens):
        mask = (tokens != 0)[:, None, None]
        x = self.words(tokens)
        for mixer, widen, narrow in zip(self.mixers, self.widen, self.narrow):
            q, k, v = mixer(x).unflatten(2, (3, HEADS, WIDTH // HEADS)).permute(2, 0, 3, 1, 4)
            x = x + functional.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)
            x = x + narrow(functional.gelu(widen(x)))
        return (x * mask[:, 0, 0, :, None]).sum(1)


def pad_batch(batch):
    length = max(map(len, batch)) if FIXED else LONGEST
    return torch.stack([functional.pad(text, (0, length - len(text))) for text in batch])


encode = torch.compile(Encoder().eval(), dynamic=FIXED)
with torch.no_grad():
    for batch in texts:
        encode(pad_batch(batch))
    for steps in windows(15):
        for step in steps:
            encode(pad_batch(texts[step % 8]))
            mark_step()
