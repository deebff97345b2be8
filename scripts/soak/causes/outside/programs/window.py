"""Times a program's loop three times and records it once more with the framework's profiler.

A program is called `python PROGRAM.py slow|twin [LOGDIR]`; its loop runs over what `windows` yields.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

TWIN = sys.argv[1] == "twin"
"""Whether to run the repaired program."""
LOGDIR = sys.argv[2] if len(sys.argv) > 2 else ""
ROUNDS = 3


def windows(steps: int) -> Iterator[range]:
    """Step numbers of three timed windows and, with a logdir, of a recorded one; prints the seconds per step."""
    seconds = []
    for window in range(ROUNDS):
        begin = time.perf_counter()
        yield range(window * steps, (window + 1) * steps)
        seconds.append((time.perf_counter() - begin) / steps)
    if LOGDIR:
        start, stop = _profiler()
        start(LOGDIR)
        yield range(ROUNDS * steps, (ROUNDS + 1) * steps)
        stop()
    print(json.dumps({"seconds_per_step": seconds}), flush=True)


def _profiler():  # type: ignore[no-untyped-def]
    """The start and stop of the profiler of the framework that the program uses."""
    if "tensorflow" in sys.modules:
        import tensorflow as tf

        return tf.profiler.experimental.start, tf.profiler.experimental.stop
    import jax

    return jax.profiler.start_trace, jax.profiler.stop_trace
