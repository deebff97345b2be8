"""PyTorch detector that suppresses overlapping boxes in a Python loop with a handful of tensor ops per box."""

import numpy as np
import torch
from torch import nn
from window import FIXED, mark_step, windows

torch.manual_seed(0)
backbone = nn.Sequential(
    nn.Conv2d(3, 24, 3, stride=2), nn.ReLU(), nn.Conv2d(24, 48, 3, stride=2), nn.ReLU(), nn.Conv2d(48, 96, 3), nn.ReLU()
)
head = nn.Conv2d(96, 5, 1)
image = torch.randn(1, 3, 320, 320)


def overlaps(box, others):
    low = torch.maximum(box[..., :2], others[..., :2])
    high = torch.minimum(box[..., 2:], others[..., 2:])
    common = (high - low).clamp(min=0).prod(-1)
    return common / ((box[..., 2:] - box[..., :2]).prod(-1) + (others[..., 2:] - others[..., :2]).prod(-1) - common)


def suppress(boxes, scores):
    order = scores.argsort(descending=True)
    kept = []
    while len(order):
        best, order = order[0], order[1:]
        kept.append(best.item())
        order = order[overlaps(boxes[best], boxes[order]) < 0.7]
    return kept


def suppress_by_matrix(boxes, scores):
    order = scores.argsort(descending=True)
    boxes = boxes[order]
    near = (overlaps(boxes[:, None], boxes[None]) >= 0.7).numpy()
    kept, alive = [], np.ones(len(near), bool)
    for i in range(len(near)):
        if alive[i]:
            kept.append(i)
            alive &= ~near[i]
    return order[kept].tolist()


@torch.inference_mode()
def detect():
    out = head(backbone(image))[0].flatten(1).T
    scores, best = out[:, 4].topk(400)
    corner = torch.rand(400, 2) * 200
    boxes = torch.cat([corner, corner + 20 + out[best, :2].abs()], 1)
    return (suppress_by_matrix if FIXED else suppress)(boxes, scores)


detect()
for steps in windows(8, with_stack=True):
    for _ in steps:
        detect()
        mark_step()
