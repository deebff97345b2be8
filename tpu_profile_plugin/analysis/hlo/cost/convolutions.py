"""Floating point operations of convolutions: products of elements that exist, padding left out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.hlo.instructions import Instruction
from tpu_profile_plugin.analysis.hlo.shapes import Shape

_LARGEST = 1 << 20
"""Largest size of a window or an output; larger sizes are treated as corrupt: 0 FLOPs."""


def convolution_flops(instruction: Instruction, source: Shape, kernel: Shape, output: Shape) -> float:
    """FLOPs of a convolution of `source` with `kernel`; 0 if its dimensions do not fit its shapes."""
    if not instruction.HasField("convolution_dimension_numbers"):
        return 0.0
    dims, window = instruction.convolution_dimension_numbers, instruction.window.dimensions
    try:
        positions = [
            _positions(
                dimension,
                source.dimensions[dims.input_spatial_dimensions[i]],
                kernel.dimensions[dims.kernel_spatial_dimensions[i]],
                output.dimensions[dims.output_spatial_dimensions[i]],
            )
            for i, dimension in enumerate(window)
        ]
        batch = source.dimensions[dims.input_batch_dimension] // max(1, instruction.batch_group_count)
        inputs = source.dimensions[dims.input_feature_dimension] // max(1, instruction.feature_group_count)
        outputs = output.dimensions[dims.output_feature_dimension]
    except IndexError:
        return 0.0
    return 2.0 * math.prod(map(float, (inputs, outputs, batch, *positions)))


def _positions(window: Any, source: int, kernel: int, output: int) -> int:
    """Pairs of kernel element and output position that fall on an input element, in one dimension of a window."""
    stride, dilation, base = window.stride or 1, window.window_dilation or 1, window.base_dilation or 1
    # Both run over places base * i = y * step + x * other - low; the shorter one is enumerated.
    few, other, many, step = (kernel, dilation, output, stride)
    if kernel > output:
        few, other, many, step = (output, stride, kernel, dilation)
    if few > _LARGEST or min(few, many, source) < 1 or min(step, other, base) < 1:
        return 0
    offset = np.arange(few, dtype=np.float64) * other - window.padding_low
    # The places from first on that fall on an element of the dilated input are `period` apart.
    common = math.gcd(step, base)
    period = base // common
    reachable = np.mod(offset, common) == 0
    inverse = pow(step // common, -1, period) if period > 1 else 0
    residue = np.mod(np.mod(-offset // common, period) * inverse, period)
    first = np.maximum(0, np.ceil(-offset / step))
    first += np.mod(residue - first, period)
    last = np.minimum(many - 1, np.floor((base * (source - 1.0) - offset) / step))
    return int(np.where(reachable & (last >= first), (last - first) // period + 1, 0).sum())
