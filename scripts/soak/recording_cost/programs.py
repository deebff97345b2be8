"""Programs whose steps are timed with and without the profiler: `python programs.py FRAMEWORK FOLDER [PROGRAM ...]`.

Runs in the environment of the framework. Each program runs rounds without and with the profiler in turn; the times are
the processor's time of the main thread, so that other work on the machine counts little. Profiles are stored as
`FOLDER/<program>-<recording>/<round>`, medians in `FOLDER/seconds.json`.
"""

from __future__ import annotations

import abc
import functools
import json
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROUNDS, STEPS = 3, 12
Body = Callable[[], object]


def _identity(value: int) -> int:
    return value


def calls() -> None:
    """One tiny function after the other."""
    for number in range(10_000):
        _identity(number)


def nested() -> None:
    """Functions that call functions."""

    def outer(value: int) -> int:
        return inner(value)

    def inner(value: int) -> int:
        return _identity(value) + 1

    for number in range(3000):
        outer(number)


def builtins() -> None:
    """Calls of native functions."""
    values: list[int] = []
    add = values.append
    for number in range(20_000):
        add(number)


class _Counts:
    def __init__(self) -> None:
        self.of: dict[str, int] = {}

    def put(self, key: str) -> None:
        self.of[key] = self.get(key) + 1

    def get(self, key: str) -> int:
        return self.of.get(key, 0)


def objects() -> None:
    """Methods, dictionaries and texts."""
    counts = _Counts()
    for number in range(2000):
        counts.put(f" Key{number % 97} ".strip().lower())


def texts() -> None:
    """JSON and regular expressions."""
    rows = [{"a": number, "b": [1, 2, 3], "c": {"x": str(number)}} for number in range(20)]
    for _ in range(10):
        text = json.dumps(rows, indent=1)
        json.loads(text)
        re.sub(r"\d+", lambda match: match[0][::-1], text)


def arrays() -> None:
    """Small arrays of NumPy."""
    values = np.arange(64, dtype=np.float32)
    for _ in range(500):
        values = np.sqrt(np.abs(values - values.mean())) + 1


_RANDOM = random.Random(1)
_LENGTHS = [int(_RANDOM.expovariate(1 / 60)) for _ in range(400)]


def loops() -> None:
    """Functions with loops, which take microseconds."""

    def work(count: int) -> int:
        return sum_of(range(count))

    def sum_of(numbers: range) -> int:
        result = 0
        for number in numbers:
            result += number * number
        return result

    for count in _LENGTHS:
        work(count)


def bytecode() -> None:
    """A loop without any calls."""
    result = 0
    for number in range(100_000):
        result += number * number % 7


_LARGE = np.random.default_rng(0).random((500, 500))


def few() -> None:
    """A few long calls."""
    for _ in range(3):
        _LARGE.dot(_LARGE)


PYTHON = (calls, nested, builtins, objects, texts, arrays, loops, bytecode, few)


class Framework(abc.ABC):
    """Programs of a framework, and how it records: by name, options of its profiler."""

    recordings: dict[str, Any]
    programs: dict[str, Body]

    @abc.abstractmethod
    def marked(self, step: int) -> Any:
        """Marks a step that is recorded."""

    @abc.abstractmethod
    def profiled(self, folder: Path, options: Any) -> Any:
        """Records what runs inside."""


class Jax(Framework):
    def __init__(self) -> None:
        import jax
        import jax.numpy as jnp

        self.jax = jax
        values = jnp.ones((64, 64))
        product = jax.jit(lambda array: (array @ array).sum())
        tree = {f"layer{number}": {"w": jnp.ones((8, 8)), "b": jnp.ones(8)} for number in range(20)}

        def eager() -> None:
            result = values
            for _ in range(100):
                result = result + 1.0
            result.block_until_ready()

        def jitted() -> None:
            for _ in range(50):
                product(values).block_until_ready()

        def trees() -> None:
            jax.tree.map(lambda leaf: leaf * 0.9, tree)["layer0"]["b"].block_until_ready()

        def after(body: Body) -> Body:
            def with_device() -> None:
                body()
                product(values).block_until_ready()

            return with_device

        self.programs = {body.__name__: after(body) for body in PYTHON}
        self.programs |= {"eager": eager, "jitted": jitted, "trees": trees}
        self.recordings = {"ops": 0, "functions": 1}

    def marked(self, step: int) -> Any:
        return self.jax.profiler.StepTraceAnnotation("train", step_num=step)

    @contextmanager
    def profiled(self, folder: Path, options: Any) -> Iterator[None]:
        chosen = self.jax.profiler.ProfileOptions()
        chosen.python_tracer_level = options
        with self.jax.profiler.trace(str(folder), profiler_options=chosen):
            yield


class TensorFlow(Framework):
    def __init__(self) -> None:
        import tensorflow as tf

        self.profiler = tf.profiler.experimental
        values = tf.ones((64, 64))
        product = tf.function(lambda array: tf.reduce_sum(array @ array))
        dense = [tf.keras.layers.Dense(64, activation="relu") for _ in range(4)]

        def eager() -> None:
            result = values
            for _ in range(100):
                result = result + 1.0

        def functions() -> None:
            for _ in range(20):
                product(values)

        def layers() -> None:
            functools.reduce(lambda result, layer: layer(result), dense, values)

        self.programs = {body.__name__: body for body in PYTHON}
        self.programs |= {"eager": eager, "functions": functions, "layers": layers}
        self.recordings = {"ops": 0, "functions": 1}

    def marked(self, step: int) -> Any:
        return self.profiler.Trace("train", step_num=step, _r=1)

    @contextmanager
    def profiled(self, folder: Path, options: Any) -> Iterator[None]:
        chosen = self.profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=options)
        self.profiler.start(str(folder), chosen)
        yield
        self.profiler.stop()


class Torch(Framework):
    def __init__(self) -> None:
        import torch

        self.torch = torch
        torch.manual_seed(0)
        torch.set_num_threads(1)
        nn = torch.nn

        def training(net: Any, values: Any, **options: Any) -> Body:
            optimizer = torch.optim.AdamW(net.parameters(), **options)

            def step() -> None:
                optimizer.zero_grad()
                result = net(values)
                (result[0] if isinstance(result, tuple) else result).square().mean().backward()
                optimizer.step()

            return step

        def ops() -> None:
            result = torch.ones(8)
            for _ in range(1000):
                result = result + 1.0

        rows = [{"id": number, "text": "word " * 5} for number in range(64)]

        def batches() -> None:
            tensors = [torch.tensor([len(word) + row["id"] for word in row["text"].split()]) for row in rows]
            torch.stack(tensors).float().mean().item()

        def blocks(width: int, depth: int) -> Any:
            layers = [
                layer for _ in range(depth) for layer in (nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
            ]
            return nn.Sequential(*layers)

        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 4)
        images = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.programs = {body.__name__: body for body in PYTHON}
        self.programs |= {
            "ops": ops,
            "batches": batches,
            "small_mlp": training(blocks(32, 8), torch.rand(8, 32)),
            "large_mlp": training(blocks(512, 8), torch.rand(256, 512), foreach=False),
            "attention": training(encoder, torch.rand(4, 16, 64)),
            "images": training(images, torch.rand(8, 3, 16, 16)),
            "recurrent": training(nn.LSTM(16, 16, batch_first=True), torch.rand(4, 20, 16)),
        }
        self.recordings = {
            "ops": {},
            "shapes": {"record_shapes": True},
            "memory": {"profile_memory": True},
            "functions": {"with_stack": True},
            "all": {"record_shapes": True, "profile_memory": True, "with_stack": True},
        }

    @contextmanager
    def marked(self, step: int) -> Iterator[None]:
        yield
        self.recording.step()

    @contextmanager
    def profiled(self, folder: Path, options: Any) -> Iterator[None]:
        profiler = self.torch.profiler
        folder.mkdir(parents=True)
        with profiler.profile(
            activities=[profiler.ProfilerActivity.CPU],
            schedule=profiler.schedule(wait=0, warmup=1, active=STEPS - 2, repeat=1),
            on_trace_ready=lambda done: done.export_chrome_trace(str(folder / "host.pt.trace.json.gz")),
            **options,
        ) as self.recording:
            yield


def steps(body: Body, mark: Callable[[int], Any] | None = None) -> float:
    """The median of the steps, without the first and the last."""
    seconds = []
    for step in range(STEPS):
        begin = time.thread_time()
        if mark is None:
            body()
        else:
            with mark(step):
                body()
        seconds.append(time.thread_time() - begin)
    return statistics.median(seconds[2:-2])


def main(name: str, folder: str, *chosen: str) -> None:
    framework = {"jax": Jax, "tensorflow": TensorFlow, "torch": Torch}[name]()
    result: dict[str, Any] = {}
    for program, body in framework.programs.items():
        if chosen and program not in chosen:
            continue
        steps(body)
        for recording, options in framework.recordings.items():
            rounds = []
            for number in range(ROUNDS):
                alone = steps(body)
                with framework.profiled(Path(folder) / f"{program}-{recording}/{number}", options):
                    rounds.append((alone, steps(body, framework.marked)))
            result[f"{program}-{recording}"] = [statistics.median(side) for side in zip(*rounds, strict=True)]
    (Path(folder) / "seconds.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
