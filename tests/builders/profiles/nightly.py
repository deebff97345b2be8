"""Runs of forty nights, and one that is damaged: an op takes longer from night 23 on, another less from night 34 on.

Below the directory given: `python -m builders.profiles.nightly DIRECTORY`.
"""

import json
import random
import sys
from pathlib import Path

from builders.histories import profile
from builders.logdirs import write

NIGHTS = 40


def runs() -> dict[str, str | bytes | None]:
    """The files by path; nights differ by a machine that is more or less busy, and by noise of each op."""
    rng = random.Random(3)
    files: dict[str, str | bytes | None] = {"bad/plugins/profile/s/h.xplane.pb": b"\x0a\xff\xff\xff\xff\x0f"}
    for night in range(1, NIGHTS + 1):
        lengths = {f"op{place}": 60 + 10 * place for place in range(8)}
        lengths |= {"dot": 340 if night >= 23 else 300, "op3": 65 if night >= 34 else 90}
        machine = 1 + rng.gauss(0, 0.02)
        noisy = {name: round(us * machine * (1 + rng.gauss(0, 0.004))) for name, us in lengths.items()}
        place = f"n{night:02}/plugins/profile/s"
        files[f"{place}/h.xplane.pb"] = profile(noisy)
        files[f"{place}/labels.json"] = json.dumps({"commit": f"{night:040x}"[::-1]}).encode()
    return files


if __name__ == "__main__":
    write(Path(sys.argv[1]), runs())
