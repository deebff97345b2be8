"""Runs one of the PyTorch programs and captures it: `python run_torch.py MODULE PROGRAM LOGDIR` (see `check`)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler


def main(module: str, program: str, logdir: str) -> None:
    """Calls the program with what starts and ends its capture and gives `step`, to be called after each step."""
    torch.manual_seed(0)
    session = Path(logdir) / "plugins/profile/planted"

    @contextmanager
    def profiled() -> Iterator[profile]:
        # With a schedule the profiler marks steps; it ends with the program.
        with profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=0, warmup=0, active=1000),
            on_trace_ready=tensorboard_trace_handler(str(session), use_gzip=True),
            record_shapes=True,
            with_stack=True,
        ) as recording:
            yield recording

    getattr(importlib.import_module(f"programs.{module}"), program)(profiled)


if __name__ == "__main__":
    main(*sys.argv[1:])
