"""Runs one of the JAX programs and captures it: `python run_jax.py MODULE PROGRAM LOGDIR` (see `check`)."""

from __future__ import annotations

import importlib
import sys
from contextlib import AbstractContextManager

import jax


def main(module: str, program: str, logdir: str) -> None:
    """Calls the program with what starts and ends its capture."""

    def profiled() -> AbstractContextManager[None]:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 1
        return jax.profiler.trace(logdir, profiler_options=options)

    getattr(importlib.import_module(f"programs.{module}"), program)(profiled)


if __name__ == "__main__":
    main(*sys.argv[1:])
