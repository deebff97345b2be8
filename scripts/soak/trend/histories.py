"""The twelve histories of real captures: what each plants, where, and from which run on."""

from __future__ import annotations

import random
import re
from typing import NamedTuple

RUNS = 30
"""Runs of a history, each a process."""
BURNING = 1 / 3
"""Share of the runs beside which another process takes the same core from time to time."""
LOADS = (5, 10, 20)
"""Percent of the core that it takes."""
NAMES = {"op": re.compile("sort|topk|ranking", re.I), "function": re.compile("collate")}
"""The names that the planted op and function have as places."""


class Planned(NamedTuple):
    """A history: framework, and the place ("op", "function", "" for none) that has `percent` of the step more to do."""

    framework: str
    place: str = ""
    percent: int = 0


PLANNED = {
    "jax_op_3": Planned("jax", "op", 3),
    "jax_function_10": Planned("jax", "function", 10),
    "tf_op_10": Planned("tf", "op", 10),
    "tf_function_1": Planned("tf", "function", 1),
    "torch_op_1": Planned("torch", "op", 1),
    "torch_function_3": Planned("torch", "function", 3),
    **{f"{framework}_equal_{row}": Planned(framework) for framework in ("jax", "tf", "torch") for row in (1, 2)},
}
"""By name."""


def since(name: str) -> int:
    """The first run of a history with the planted work: at random in the middle."""
    return random.Random(name).randrange(RUNS // 3, 2 * RUNS // 3 + 1)


def load(name: str, run: int) -> int:
    """Percent of the core that another process takes beside a run: at random."""
    chance = random.Random(f"{name} {run}")
    return chance.choice(LOADS) if chance.random() < BURNING else 0
