"""PyTorch Gaussian process that solves for its weights by the inverse of the kernel matrix."""

import torch
from window import FIXED, mark_step, windows

torch.manual_seed(0)
points, values = torch.rand(600, 8), torch.randn(600, 1)
queries = torch.rand(200, 8)


def kernel(a, b, width):
    return (-torch.cdist(a, b).square() / width).exp()


@torch.no_grad()
def predict(width):
    matrix = kernel(points, points, width) + 0.1 * torch.eye(len(points))
    if FIXED:
        weights = torch.cholesky_solve(values, torch.linalg.cholesky(matrix))
    else:
        weights = torch.linalg.inv(matrix) @ values
    return kernel(queries, points, width) @ weights


predict(0.5)
for steps in windows(20):
    for step in steps:
        predict(0.5 + 0.01 * (step % 20))
        mark_step()
