"""Costs of instructions that call no other computation: FLOPs, and the bytes of device memory that they access."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from tpu_profile_plugin.analysis.common.data_files import rows
from tpu_profile_plugin.analysis.hlo.elementwise import COMPUTING
from tpu_profile_plugin.analysis.hlo.instructions import Instruction
from tpu_profile_plugin.analysis.hlo.shapes import (
    Shape,
    byte_size,
    element_count,
    first_part,
    leaf_bytes,
    leaves,
    type_name,
)

# Clock cycles that GPUs take per element of an elementwise operation, from `cycles.txt`.

_DEFAULT = 3
"""Cycles of operations and types that were not measured, bf16 and f8 among them."""


@cache
def _measured() -> dict[tuple[str, str], int]:
    """Cycles by opcode and element type."""
    return {
        (opcode, kind): int(cycles)
        for opcode, *measured in rows(__file__, "cycles.txt")
        for kind, cycles in zip(measured[::2], measured[1::2], strict=True)
    }


def cycles_per_element(opcode: str, element_type: str) -> int:
    """Cycles per element of the result; `element_type` as HLO text spells it."""
    return _measured().get((opcode, element_type), _DEFAULT)


# Floating point operations of convolutions: products of elements that exist, padding left out.

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


Part: TypeAlias = tuple[int, ...]
"""Path of tuple indices to a part of a value; () is the value itself."""
Key: TypeAlias = tuple[str, int, Part]
Properties: TypeAlias = dict[Key, float]
"""Properties of one execution: FLOPs, bytes, bytes read of operands, bytes written of parts of the result."""
Rule: TypeAlias = Callable[[Instruction, Sequence[Shape], Properties], None]
"""Changes the default properties of an instruction with operands of the given shapes."""

FLOPS: Key = ("flops", 0, ())
BYTES: Key = ("bytes", 0, ())
_FREE = ("parameter", "constant", "get-tuple-element", "bitcast", "after-all", "add-dependency", "domain")
_CONCATENATE, _SLOW_CONCATENATE, _WARP = 6.0, 400.0, 32
_CUDNN_CONVOLUTIONS = frozenset(
    f"__cudnn$conv{kind}"
    for kind in ("Forward", "BackwardInput", "BackwardFilter", "BiasActivationForward", "ForwardGraph")
)
CUBLAS_LT = frozenset(f"__cublas$lt${kind}" for kind in ("matmul", "matmul$f8", "matmul$mx", "groupedMatmul"))
"""Targets of the custom calls that are matrix products of known cost."""


def read(operand: int, part: Part = ()) -> Key:
    """Bytes read of a part of an operand."""
    return ("read", operand, part)


def written(part: Part = ()) -> Key:
    """Bytes written of a part of the result."""
    return ("written", 0, part)


def used(operand: int) -> Key:
    """How many times the elements of an operand are used; 1 if unknown."""
    return ("used", operand, ())


def default(instruction: Instruction, operands: Sequence[Shape]) -> Properties:
    """Reads all operands and writes the result; elementwise operations take cycles per element."""
    properties: Properties = {read(i): float(byte_size(shape)) for i, shape in enumerate(operands)}
    result = float(leaf_bytes(instruction.shape))
    properties |= {BYTES: result + sum(properties.values()), written(): result}
    if instruction.opcode in COMPUTING:
        properties[FLOPS] = elementwise_flops(instruction.opcode, instruction.shape)
    return properties


def elementwise_flops(opcode: str, shape: Shape) -> float:
    """FLOPs of an elementwise operation with a result of this shape."""
    elements = sum(element_count(leaf) for _, leaf in leaves(shape))
    return float(cycles_per_element(opcode, type_name(shape.element_type))) * float(elements)


def _free(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    for key in properties:
        properties[key] = 0.0


def _transpose(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    """A transpose that only relabels dimensions moves nothing."""
    order, minor_first = instruction.dimensions, instruction.shape.layout.minor_to_major
    if not operands or len(minor_first) != len(order) or not all(0 <= d < len(order) for d in minor_first):
        return
    if [order[d] for d in minor_first] == list(operands[0].layout.minor_to_major):
        _free(instruction, operands, properties)


def _tuple(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    _free(instruction, operands, properties)
    properties[BYTES] = properties[written()] = float(byte_size(instruction.shape))


def _slice(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    """Reads no more than it writes; of the indices of a dynamic slice only the first counts."""
    if operands:
        size = float(byte_size(instruction.shape))
        properties |= {read(0): size, written(): size, BYTES: 2 * size + sum(map(byte_size, operands[1:2]))}
        properties[used(0)] = _ratio(element_count(instruction.shape), element_count(operands[0]))


def _update_slice(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    """Writes in place: only the overwritten part is touched."""
    if len(operands) < 2:
        return
    size, elements = float(byte_size(operands[1])), element_count(instruction.shape)
    properties |= {read(0): 0.0, written(): size, BYTES: 2 * size + sum(map(byte_size, operands[2:3]))}
    properties[used(0)] = _ratio(elements - element_count(operands[1]), elements)


def _gather(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    if len(operands) > 1:
        size = float(byte_size(instruction.shape))
        properties |= {read(0): size, written(): size, BYTES: 2 * size + byte_size(operands[1])}
        properties[used(0)] = _ratio(element_count(instruction.shape), element_count(operands[0]))


def _ratio(part: int, whole: int) -> float:
    return float(part) / float(whole) if whole else 1.0


def _concatenate(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    """Along an inner dimension, threads of a warp that fall on different operands run both branches."""
    axis, first = instruction.dimensions[0] if instruction.dimensions else 0, operands[0].dimensions if operands else ()
    slow = 0 < axis < len(first) and first[axis] % _WARP
    properties[FLOPS] = (_SLOW_CONCATENATE if slow else _CONCATENATE) * float(element_count(instruction.shape))


def _dot(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    if operands:
        properties[FLOPS] = _product_flops(
            operands[0], instruction.shape, instruction.dot_dimension_numbers.lhs_contracting_dimensions
        )


def _ragged_dot(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    """Groups of rows, each with a matrix of its own; XLA then ignores the result's first dimension."""
    dims = instruction.ragged_dot_dimension_numbers
    if operands:
        flops = _product_flops(operands[0], instruction.shape, dims.dot_dimension_numbers.lhs_contracting_dimensions)
        first = instruction.shape.dimensions[0] if dims.rhs_group_dimensions and instruction.shape.dimensions else 1
        properties[FLOPS] = flops / max(1, first)


def _product_flops(left: Shape, output: Shape, contracting: Sequence[int]) -> float:
    sizes = [left.dimensions[d] for d in contracting if -1 < d < len(left.dimensions)]
    return 2.0 * float(element_count(output)) * math.prod(map(float, sizes))


def _convolution(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    if len(operands) > 1:
        properties[FLOPS] = convolution_flops(instruction, operands[0], operands[1], first_part(instruction.shape))


def _custom_call(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    """Cost of library calls; other custom calls are unknown, which XLA counts as -1."""
    target = instruction.custom_call_target
    if target in CUBLAS_LT and operands:
        properties[FLOPS] = _product_flops(
            operands[0], first_part(instruction.shape), _contracting(instruction.backend_config)
        )
    elif target in _CUDNN_CONVOLUTIONS and len(operands) > 1:
        _convolution(instruction, operands, properties)
    else:
        properties |= dict.fromkeys((FLOPS, *properties), -1.0)
        return
    # Scratch memory of a library call is not a result.
    result = float(byte_size(first_part(instruction.shape)))
    properties[BYTES] += result - properties[written()]
    properties[written()] = result


_CONTRACTING = re.compile(
    rb'"gemm_backend_config"\s*:.*?"dot_dimension_numbers"\s*:\s*\{[^{}]*"lhs_contracting_dimensions"\s*:\s*\[([^]]*)\]',
    re.DOTALL,
)


def _contracting(config: bytes) -> list[int]:
    """Contracting dimensions of the left operand from the backend configuration of a matrix product, which is JSON."""
    match = _CONTRACTING.search(config)
    return [int(number) for number in re.findall(rb"\d{1,9}", match[1])] if match else []


def _sort(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    elements = min(element_count(operands[0]), 1 << 62) if operands else 0
    properties[FLOPS] = float(elements * (elements - 1).bit_length())


def _cholesky(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    """One triangle is read, one written."""
    if operands and operands[0].dimensions:
        half = byte_size(operands[0]) / 2.0
        properties |= {read(0): half, written(): half, BYTES: 2 * half}
        properties[FLOPS] = float(operands[0].dimensions[-1] * element_count(operands[0]) // 3)


def _triangular_solve(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    """Half of the triangular operand is read; XLA counts the other operand in its place, too."""
    if len(operands) > 1 and operands[0].dimensions:
        properties[BYTES] -= byte_size(operands[0]) / 2.0
        properties[read(0)] = float(byte_size(operands[1]))
        properties[FLOPS] = 2.0 * float(operands[0].dimensions[-1]) * float(element_count(operands[1]))


def _fft(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    factors = math.prod(max(0, length.bit_length() - 1) for length in instruction.fft_length)
    properties[FLOPS] = 8.0 * float(factors) * float(element_count(first_part(operands[0]))) if operands else 0.0


def _infeed(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    properties |= {written(part): float(byte_size(leaf)) for part, leaf in leaves(instruction.shape)}
    properties[BYTES] = properties[written()] = float(leaf_bytes(instruction.shape))


def _outfeed(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    for i, shape in enumerate(operands):
        properties |= {read(i, part): float(byte_size(leaf)) for part, leaf in leaves(shape)}
        properties[read(i)] = float(leaf_bytes(shape))
    properties[BYTES] = float(sum(map(leaf_bytes, operands)))


def _all_gather(instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
    """Every rank sends what it holds around a ring; the result of a start also holds the operands."""
    parts = instruction.shape.tuple_shapes[1:] if instruction.opcode == "all-gather-start" else (instruction.shape,)
    properties[BYTES] = _ring(instruction, sum(map(leaf_bytes, parts)))


def _ring(instruction: Instruction, transferred: int) -> float:
    """Bytes that a ring of ranks reads and writes: each holds one shard, all but one are passed on."""
    ranks = _ranks(instruction)
    return float(transferred // ranks * (3 * ranks - 1))


def _ranks(instruction: Instruction) -> int:
    """Size of the largest group of devices; 1 where the instruction lists none."""
    devices = instruction.collective_device_list
    for holder, field in ((devices, "iota_replica_group_list"), (instruction, "iota_collective_device_list")):
        if holder.HasField(field):
            return max(1, int(getattr(holder, field).num_devices_per_group))
    groups = instruction.replica_groups or devices.replica_groups
    return max((len(group.replica_ids) for group in groups), default=1) or 1


def all_reduce(instruction: Instruction, operands: Sequence[Shape], properties: Properties, reducer: str) -> None:
    """Reads the operands and writes the result; a start is counted by its result alone."""
    size = float(leaf_bytes(instruction.shape))
    properties[FLOPS] = elementwise_flops(reducer, instruction.shape)
    properties[BYTES] = size + (
        0.0 if instruction.opcode == "all-reduce-start" else float(sum(map(byte_size, operands)))
    )


def reduce_scatter(instruction: Instruction, operands: Sequence[Shape], properties: Properties, reducer: str) -> None:
    """Every rank adds up its shard while the shards of all ranks go around a ring."""
    properties[FLOPS] = elementwise_flops(reducer, instruction.shape)
    properties[BYTES] = _ring(instruction, sum(map(leaf_bytes, operands)))


RULES: dict[str, Rule] = {
    **dict.fromkeys(_FREE, _free),
    "all-gather": _all_gather,
    "all-gather-start": _all_gather,
    "cholesky": _cholesky,
    "concatenate": _concatenate,
    "convolution": _convolution,
    "custom-call": _custom_call,
    "dot": _dot,
    "dynamic-slice": _slice,
    "dynamic-update-slice": _update_slice,
    "fft": _fft,
    "gather": _gather,
    "infeed": _infeed,
    "outfeed": _outfeed,
    "ragged-dot": _ragged_dot,
    "slice": _slice,
    "sort": _sort,
    "transpose": _transpose,
    "triangular-solve": _triangular_solve,
    "tuple": _tuple,
}
