"""Runs one of the TensorFlow programs and captures it: `python run_tf.py MODULE PROGRAM LOGDIR` (see `check`)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf


def main(module: str, program: str, logdir: str) -> None:
    """Calls the program with what starts and ends its capture."""

    @contextmanager
    def profiled() -> Iterator[None]:
        options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=1)
        tf.profiler.experimental.start(logdir, options)
        yield
        tf.profiler.experimental.stop()

    getattr(importlib.import_module(f"programs.{module}"), program)(profiled)


if __name__ == "__main__":
    main(*sys.argv[1:])
