"""PyTorch server that turns its weights of 8 bits into floats again for each request."""

import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)


class QuantizedLinear(nn.Module):
    def __init__(self, size):
        super().__init__()
        weight = torch.randn(size, size) * 0.03
        scale = weight.abs().amax(1, keepdim=True) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("weight", (weight / scale).round().to(torch.int8))
        self.register_buffer("floats", self.dequantised())

    def dequantised(self):
        return self.weight.to(torch.float32) * self.scale

    def forward(self, x):
        weight = self.floats if FIXED else self.dequantised()
        return nn.functional.linear(x, weight).relu()


model = nn.Sequential(*[QuantizedLinear(1024) for _ in range(6)])
queries = torch.randn(8, 12, 1024)


@torch.inference_mode()
def answer(query):
    return model(query).argmax(1).tolist()


answer(queries[0])
for steps in windows(8, with_stack=True):
    for step in steps:
        answer(queries[step % 8])
        mark_step()
