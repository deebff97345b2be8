"""What the names of PyTorch's device ops tell: launches of the optimizer, copies from pageable memory."""

from __future__ import annotations

import re

from tpu_profile_plugin.analysis.ops.table import OpTable

_OPTIMIZER = re.compile(r"(?:^|/)(?P<range>Optimizer\.\w+#(?P<name>[\w.]+?)(?:\.step)?)/")
_UPLOAD = re.compile(r"/Memcpy HtoD \((?P<source>\w+) -> ")


def optimizer_launches(table: OpTable) -> tuple[str, float]:
    """The optimizer with most kernels, and its share of all kernels; ("", 0) without one."""
    counts: dict[str, int] = {}
    for name, runs in zip(table.name, table.occurrences.tolist(), strict=True):
        if match := _OPTIMIZER.search(name):
            counts[match["name"]] = counts.get(match["name"], 0) + runs
    if not counts:
        return "", 0.0
    most = max(counts, key=lambda name: counts[name])
    return most, counts[most] / int(table.occurrences.sum())


def pageable_share(table: OpTable) -> float | None:
    """Time of copies to the device from pageable memory, as a share of all copies to it; None without copies."""
    times = {True: 0, False: 0}
    for name, ps in zip(table.name, table.time_ps.tolist(), strict=True):
        if match := _UPLOAD.search(name):
            times[match["source"] == "Pageable"] += ps
    return times[True] / sum(times.values()) if any(times.values()) else None
