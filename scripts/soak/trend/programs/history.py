"""Records several runs of a history: what the programs of the three frameworks share.

A program is called as `python PROGRAM.py LOGDIR FIRST COUNT SINCE PLACE SHARE`: it records the runs FIRST to FIRST +
COUNT - 1, and from the run SINCE on, PLACE ("op" or "function"; "" for none) has SHARE percent of the step more to do.
How large that work has to be is measured once per history and stored in LOGDIR/planted.json.
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

SMALL = 500
"""Elements that each place sorts without a planted change."""
STEPS = 25
BURNING = 0.2
"""Share of the runs beside which a process of low priority keeps the same core busy."""
_PROBE, _MOST_TIMES = 4000, 3.0
"""The size that is tried first, and by how much a size is changed at once: what is measured varies."""
_REPEATS = 30

Step = Callable[[int], None]
"""One step of a training, complete when it returns."""
Build = Callable[[int, int], Step]
"""A step whose op and whose function sort this many elements."""
Capture = Callable[[Path, Step], None]
"""Records `STEPS` calls of a step and stores the profile in a directory."""


def collate(rows: np.ndarray) -> np.ndarray:
    """The function that has more to do: it prepares the input of a step in Python."""
    return np.sort(rows, kind="mergesort")


def record(build: Build, capture: Capture) -> None:
    """Records the runs that the command line asks for."""
    logdir, first, count, since, place, share = sys.argv[1:]
    begin, changed = int(first), int(since)
    size = planted(Path(logdir), build, place, float(share) / 100)
    plain = build(SMALL, SMALL)
    heavy = build(*_sizes(place, size))
    chance = random.Random(f"{logdir.rpartition('/')[2]} {first}")
    for run in range(begin, begin + int(count)):
        step = heavy if place and run >= changed else plain
        for row in range(3):
            step(row)
        burns = chance.random() < BURNING
        with tempfile.TemporaryDirectory() as folder, _Burner(burns):
            capture(Path(folder), step)
            session = Path(logdir) / f"plugins/profile/run{run:03}"
            shutil.rmtree(session, ignore_errors=True)  # of a process that was stopped
            session.mkdir(parents=True)
            for file in Path(folder).rglob("*"):
                if file.is_file() and file.name.endswith((".xplane.pb", ".pt.trace.json.gz")):
                    shutil.move(file, session)
        labels = {"number": run, "planted": int(bool(place) and run >= changed), "burner": int(burns)}
        (session / "labels.json").write_text(json.dumps(labels))


def planted(logdir: Path, build: Build, place: str, share: float) -> int:
    """How many elements the place has to sort to take this share of the step more; measured by the first process."""
    stored = logdir / "planted.json"
    if stored.exists():
        return int(json.loads(stored.read_text())["elements"])
    size, found, whole = SMALL, 0.0, 0.0
    if place:
        size = _PROBE
        for _ in range(4):
            found, whole = _measured(build, place, size)
            times = min(max(share / max(found, 1e-4), 1 / _MOST_TIMES), _MOST_TIMES)
            size = int(SMALL + (size - SMALL) * times)
        found, whole = _measured(build, place, size)
    logdir.mkdir(parents=True, exist_ok=True)
    stored.write_text(json.dumps({"elements": size, "share": found, "step_ms": whole * 1e3}))
    return size


def _measured(build: Build, place: str, size: int) -> tuple[float, float]:
    """The share of the step that the place takes more with this size, and the seconds of a step without it."""
    plain, heavy = build(SMALL, SMALL), build(*_sizes(place, size))
    more, usual = [], []
    for row in range(_REPEATS + 3):
        times = []
        for step in (plain, heavy):
            begin = time.perf_counter()
            step(row)
            times.append(time.perf_counter() - begin)
        if row >= 3:
            more.append(times[1] - times[0])
            usual.append(times[0])
    whole = statistics.median(usual)
    return statistics.median(more) / whole, whole


def _sizes(place: str, size: int) -> tuple[int, int]:
    return (size if place == "op" else SMALL, size if place == "function" else SMALL)


class _Burner(AbstractContextManager):
    """A process that keeps the core busy at low priority; without `burns`, none."""

    def __init__(self, burns: bool) -> None:
        self.burns = burns

    def __enter__(self) -> None:
        command = ["chrt", "-o", "0", "nice", "-n", "10", sys.executable, "-c", "while True: pass"]
        self.process = subprocess.Popen(command) if self.burns else None

    def __exit__(self, *failed: object) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
