"""A logdir of many runs whose summaries are in the user's cache: `python -m builders.profiles.many_runs DIRECTORY N`.

All have the same small profile; the summaries are simulated, with a place that takes longer from the middle on.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from builders.histories import simulated
from builders.logdirs import SMALL, write
from builders.xspace_text import build
from tpu_profile_plugin.logdir import Logdir
from tpu_profile_plugin.trend.summaries import KeptSummaries


def make(directory: Path, count: int) -> None:
    """Writes profiles, labels and summaries, a run an hour."""
    small = build(SMALL)
    files: dict[str, str | bytes | None] = {}
    summaries = simulated(np.random.default_rng(5), count, since=count // 2, planted=0.02, places=100)
    for row, one in enumerate(summaries):
        files[f"plugins/profile/{one.run}/h.xplane.pb"] = small
        files[f"plugins/profile/{one.run}/labels.json"] = json.dumps({"commit": f"{row:040x}"[::-1]}).encode()
    write(directory, files)
    kept = KeptSummaries()
    found = {files.name: files for files in Logdir(str(directory)).runs()}
    for row, one in enumerate(summaries):
        began_ms = 1_700_000_000_000 + 3_600_000 * row
        kept.keep(found[one.run], replace(one, written_ms=began_ms))


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]))
