"""Times a program's loop and records it once more with the framework's profiler, for the programs of `outside/score`.

A program is called `python PROGRAM.py slow|twin|fixed [LOGDIR]`; its loop runs over what `windows` yields.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

FIXED = sys.argv[1] != "slow"
"""Whether to run the repaired program."""
LOGDIR = sys.argv[2] if len(sys.argv) > 2 else ""
ROUNDS = 5
LEAD = 2
"""Further steps of a recording with PyTorch's schedule: one is skipped, one warms the profiler up."""
TURNS = os.environ.get("PROFILE_TURNS")
"""Path before which `score` waits for `.readyN` and creates `.goN`: slow and repaired program take turns."""

_recording: Any = None
if "torch" in sys.modules:
    import torch

    torch.set_num_threads(1)  # threads that wait for each other's core would blur the timing


def windows(steps: int, marked: bool = True, **options: bool) -> Iterator[range]:
    """Step numbers of the timed windows and, with a logdir, of a recorded one; prints the seconds per step.

    The options are those of PyTorch's profiler, whose steps are marked by `mark_step`, or not at all.
    """
    yield from timed(steps)
    if LOGDIR:
        lead = LEAD if "torch" in sys.modules and marked else 0
        with _recorded(steps if marked else 0, options):
            yield range(ROUNDS * steps, (ROUNDS + 1) * steps + lead)


def timed(steps: int) -> Iterator[range]:
    """The timed windows alone, for programs that record by a callback."""
    seconds = []
    for window in range(ROUNDS):
        _await_turn(window)
        begin = time.perf_counter()
        yield range(window * steps, (window + 1) * steps)
        seconds.append((time.perf_counter() - begin) / steps)
    if not _rank():
        print(json.dumps({"seconds_per_step": seconds}), flush=True)
    _await_turn(ROUNDS)


def mark_step() -> None:
    """Ends a step of PyTorch's recording."""
    if _recording is not None:
        _recording.step()


def keras_callbacks(batches: tuple[int, int]) -> list[Any]:
    """The TensorBoard callback that records these batches, for `model.fit` behind the timed windows."""
    import keras

    return [keras.callbacks.TensorBoard(log_dir=LOGDIR, write_graph=False, profile_batch=batches)] if LOGDIR else []


def _await_turn(window: int) -> None:
    if TURNS and not _rank():
        Path(f"{TURNS}.ready{window}").touch()
        while not Path(f"{TURNS}.go{window}").exists():
            time.sleep(0.005)


def _rank() -> int:
    if "torch" not in sys.modules:
        return 0
    from torch import distributed

    return distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else 0


def _recorded(steps: int, options: dict[str, bool]) -> AbstractContextManager[Any]:
    if "torch" in sys.modules:
        return _recorded_torch(steps, options)
    if "tensorflow" in sys.modules:
        import tensorflow as tf

        return tf.profiler.experimental.Profile(LOGDIR)  # type: ignore[no-any-return]
    import jax

    return jax.profiler.trace(LOGDIR)  # type: ignore[no-any-return]


@contextmanager
def _recorded_torch(steps: int, options: dict[str, bool]) -> Iterator[None]:
    """Records all steps if none are to be marked."""
    from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

    global _recording
    folder = Path(LOGDIR) / "plugins/profile/recorded"
    plan = schedule(wait=1, warmup=1, active=steps, repeat=1) if steps else None
    handler = tensorboard_trace_handler(str(folder), use_gzip=True)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=handler, **options) as _recording:
        yield
    _recording = None
