"""What was left out of a run, cut or damaged, as commands tell it: once per run, on standard error."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tpu_profile_plugin.system.terminal import one_line

if TYPE_CHECKING:
    from tpu_profile_plugin.run.run import Run

_MOST = 5
_HOST = re.compile(r"\AHost ")


def told(run: Run) -> list[str]:
    """The losses of a run, a sentence each."""
    from tpu_profile_plugin.run.losses import sentences

    return sentences(run, run.losses, _MOST)


def tell(*runs: Run) -> None:
    """Prints the losses of each run; of several runs with their names."""
    for run in runs:
        warn(told(run), f"{run.name}: " if len(runs) > 1 else "")


def warn(losses: Iterable[str], about: str = "") -> None:
    """Prints sentences, a line each."""
    for text in losses:
        print(one_line(f"tpu-profile: {about}{_HOST.sub('host ', text)}"), file=sys.stderr)
