"""Records one run of a history: what the programs of the three frameworks share.

A program is called as `python PROGRAM.py SESSION OP FUNCTION`: it records a few steps whose op and whose function in
Python sort so many numbers, and stores the profile in the directory SESSION.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

STEPS = 100
_WARM_UP = 4

Step = Callable[[int], None]
"""One step of a training, complete when it returns."""
Build = Callable[[int, int], Step]
"""A step whose op and whose function sort this many elements."""
Capture = Callable[[Path, Step], None]
"""Records `STEPS` calls of a step and stores the profile in a directory."""


def collate(rows: np.ndarray, number: int) -> np.ndarray:
    """The function that has more to do: it prepares the input of a step in Python."""
    return np.sort(np.roll(rows, number), kind="mergesort")


def record(build: Build, capture: Capture) -> None:
    """Records the run that the command line asks for."""
    session, op, function = sys.argv[1:]
    step = build(int(op), int(function))
    for number in range(_WARM_UP):
        step(number)
    with tempfile.TemporaryDirectory() as folder:
        capture(Path(folder), step)
        Path(session).mkdir(parents=True)
        for file in Path(folder).rglob("*"):
            if file.name.endswith((".xplane.pb", ".pt.trace.json.gz")):
                shutil.move(file, session)
