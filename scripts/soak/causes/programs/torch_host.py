"""Programs of PyTorch on the CPU, each with one planted cause of lost time, and a healthy one."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS = 8
torch.set_num_threads(1)


def _model(width: int = 512) -> tuple[nn.Module, torch.optim.Optimizer]:
    model = nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


def _train(
    model: nn.Module, optimizer: torch.optim.Optimizer, images: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def _batch(size: int = 256) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(size, 256), torch.randint(0, 10, (size,))


class Decoded(Dataset):
    """Images that are decoded in Python, pixel by pixel."""

    def __len__(self) -> int:
        return 64 * (STEPS + 2)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        pixels = [((index * 31 + i * 17) % 255) / 255 - 0.5 for i in range(256)]
        for _ in range(4):
            pixels = [min(max(1.1 * pixel, -1.0), 1.0) for pixel in pixels]
        return torch.tensor(pixels), index % 10


def decoding_dataset(profiled) -> None:
    """The program's own process decodes each batch before it trains on it."""
    model, optimizer = _model(128)
    batches = iter(DataLoader(Decoded(), batch_size=64))
    _train(model, optimizer, *next(batches))
    with profiled() as recording:
        for images, labels in batches:
            _train(model, optimizer, images, labels)
            recording.step()


def one_worker(profiled) -> None:
    """A single worker process decodes slower than the program trains."""
    model, optimizer = _model(64)
    batches = iter(DataLoader(Decoded(), batch_size=64, num_workers=1, prefetch_factor=1))
    _train(model, optimizer, *next(batches))
    with profiled() as recording:
        for images, labels in batches:
            _train(model, optimizer, images, labels)
            recording.step()


_WORDS = re.compile(r"[a-z]+")
_TEXT = "the quick brown fox jumps over the lazy dog and runs away from the angry bear " * 60


def tokens_of(text: str) -> torch.Tensor:
    """Sums of letters per word, in Python."""
    words = _WORDS.findall(text)
    return torch.tensor([sum(map(ord, word)) % 97 / 97 for word in words][:256])


def tokenizing_loop(profiled) -> None:
    """Texts become tokens between the steps."""
    model, optimizer = _model(128)
    _, labels = _batch(32)
    with profiled() as recording:
        for _ in range(STEPS):
            rows = torch.stack([tokens_of(_TEXT) for _ in range(32)])
            _train(model, optimizer, rows, labels)
            recording.step()


def confusion(scores: list[list[float]], labels: list[int]) -> float:
    """Accuracy and a matrix of confusions, in Python."""
    matrix = [[0] * 10 for _ in range(10)]
    for row, label in zip(scores, labels, strict=True):
        best = max(range(10), key=lambda i: row[i])
        matrix[label][best] += 1
    return sum(matrix[i][i] for i in range(10)) / len(labels)


def metrics_in_python(profiled) -> None:
    """After each step the program evaluates a large batch by loops in Python."""
    model, optimizer = _model(128)
    images, labels = _batch()
    scores, truth = torch.randn(6000, 10).tolist(), torch.randint(0, 10, (6000,)).tolist()
    with profiled() as recording:
        for _ in range(STEPS):
            _train(model, optimizer, images, labels)
            confusion(scores, truth)
            recording.step()


def frequent_checkpoints(profiled) -> None:
    """Every fourth step saves everything, and waits for it."""
    model, optimizer = _model(1500)
    images, labels = _batch(32)
    with tempfile.TemporaryDirectory() as folder, profiled() as recording:
        for step in range(4 * 4):
            _train(model, optimizer, images, labels)
            if step % 4 == 3:
                torch.save(
                    {"model": model.state_dict(), "more": torch.randn(10_000_000)}, Path(folder) / f"{step % 8}.pt"
                )
            recording.step()


def changing_shapes(profiled) -> None:
    """Each batch has another length, and the compiled function is compiled for each."""
    model, _ = _model(16)
    compiled = torch.compile(model, backend="eager", dynamic=False)
    torch._dynamo.config.cache_size_limit = 64
    compiled(torch.randn(7, 256))
    with profiled() as recording:
        for step in range(STEPS):
            compiled(torch.randn(8 + step, 256)).sum().backward()
            recording.step()


def healthy_training(profiled) -> None:
    """Large batches from memory: nearly all time is in ops."""
    model, optimizer = _model(1024)
    images, labels = _batch(1024)
    _train(model, optimizer, images, labels)
    with profiled() as recording:
        for _ in range(STEPS):
            _train(model, optimizer, images, labels)
            recording.step()
