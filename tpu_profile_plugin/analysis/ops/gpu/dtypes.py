"""Data types of PyTorch's kernels, and what their operations count for on a device whose rate depends on the type."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.environment.environment import gpu_capabilities, plane_int
from tpu_profile_plugin.analysis.environment.gpus import peaks_by_dtype
from tpu_profile_plugin.analysis.ops.torch_inputs import TYPES, dtype_of
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64

_HALF = "fp16"


def half_equivalents(space: XSpace, plane: Plane, events: I64) -> F64:
    """How many operations in half precision the device could do in the time of one, per event; 1 where unknown.

    By this the share of the peak (which is that of half precision) is the share of what the op's data type allows.
    """
    name, memory = gpu_capabilities(space, plane).name, plane_int(space, plane, "memory_size")
    peaks = peaks_by_dtype(name, memory)
    if _HALF not in peaks or plane.stat_metadata.row(TYPES) is None:
        return np.ones(len(events))
    types, texts = read.strings(space, plane, plane.events.stats, TYPES)
    columns = types[events].astype(np.int64), plane.events.metadata[events].astype(np.int64)
    code, first = row_codes(*columns)
    names = plane.event_metadata.names
    pairs = zip(*(column[first].tolist() for column in columns), strict=True)
    known = (dtype_of(texts[text], names[row]) if text >= 0 else "" for text, row in pairs)
    weights = np.array([peaks[_HALF] / peaks.get(dtype, peaks[_HALF]) for dtype in known])
    return weights[code] if len(weights) else np.ones(0)
