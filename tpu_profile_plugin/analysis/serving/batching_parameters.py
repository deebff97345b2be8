"""Batching configuration of a model server, from the tfstreamz metrics in the profile."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tpu_profile_plugin.columns import XSpace
from tpu_profile_plugin.columns import stats as read

_PLANE = "/host:tfstreamz"
_METRIC = re.compile(r"/tensorflow/serving/batching/(\w+)\{.*?model_name=([^,}]*)")
_NUMBERS = ("num_batch_threads", "max_batch_size", "batch_timeout_micros", "max_enqueued_batches")


@dataclass(frozen=True, slots=True)
class BatchingParameters:
    """Batching configuration of one model; 0 or "" where it was not recorded."""

    num_batch_threads: int = 0
    max_batch_size: int = 0
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 0
    allowed_batch_sizes: str = ""


def batching_parameters(space: XSpace) -> dict[str, BatchingParameters]:
    """Parameters by model name; of the metrics snapshots before and after the profile, the latter is used."""
    metrics: dict[str, dict[str, int | str]] = {}
    for plane in space.planes:
        if plane.name != _PLANE or len(plane.events.begin_ps) != 2:
            continue
        for name, _, value in read.items(space, plane, plane.events.stats, 1):
            if match := _METRIC.match(name):
                metrics.setdefault(match[2], {})[match[1]] = value if isinstance(value, (int, str)) else 0
    return {model: _parameters(values) for model, values in metrics.items()}


def _parameters(values: dict[str, int | str]) -> BatchingParameters:
    numbers = {name: int(values[name]) for name in _NUMBERS if str(values.get(name, "")).isdigit()}
    return BatchingParameters(**numbers, allowed_batch_sizes=str(values.get("allowed_batch_sizes", "")))
