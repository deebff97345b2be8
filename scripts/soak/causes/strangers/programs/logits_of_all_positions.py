"""A PyTorch prefill that computes the logits of all positions over the vocabulary and uses the last row."""

import torch
from torch import nn
from window import FIXED, windows

WIDTH, VOCABULARY, LENGTH = 256, 16_000, 160
torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.Sequential(*[Layer() for _ in range(3)])
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.layers(self.embed(tokens))
        if FIXED:
            x = x[:, -1:]
        return self.head(x)


model = Model().eval()
prompts = torch.randint(0, VOCABULARY, (16, 1, LENGTH))


@torch.inference_mode()
def prefill(tokens):
    return model(tokens)[:, -1].argmax(dim=-1)


prefill(prompts[0])
for steps in windows(15, marked=False, with_stack=True, record_shapes=True):
    for step in steps:
        prefill(prompts[step % 16])
