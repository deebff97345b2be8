"""Recorded runs for tests of what holds of any run: those of demo/ and of the samples beside the checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import tpu_profile_plugin
from builders.rings import ALL
from tpu_profile_plugin.opening import OpenLogdir

ALIKE = frozenset(
    ("cats20", "gpu2", "gpu_mi300_conv_legacy", "gpu_mi300_gemm", "infb", "jax_scan", "jax_scan_conv", "tf_data_slow")
) | {"train_prefetched"}
"""Runs of the same kind as another one: read at night only."""


def chosen(run: Path | str) -> bool:
    """Whether tests read a run, which is told by its name or folder, in this ring."""
    return ALL or ALIKE.isdisjoint(Path(run).parts)


@cache
def opened(path: Path) -> OpenLogdir:
    """A logdir, which all tests of a process share; they only read."""
    return tpu_profile_plugin.open(path)
