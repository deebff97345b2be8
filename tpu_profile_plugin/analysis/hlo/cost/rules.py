"""Costs of instructions that call no other computation: FLOPs, and the bytes of device memory that they access."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tpu_profile_plugin.analysis.hlo.cost.convolutions import convolution_flops
from tpu_profile_plugin.analysis.hlo.cost.cycles import cycles_per_element
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

Part: TypeAlias = tuple[int, ...]
"""Path of tuple indices to a part of a value; () is the value itself."""
Key: TypeAlias = tuple[str, int, Part]
Properties: TypeAlias = dict[Key, float]
"""What is known of one execution: FLOPs, bytes, bytes read of operands, bytes written of parts of the result."""
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
    """How many times the elements of an operand are used; once where nothing is known."""
    return ("used", operand, ())


def default(one: Instruction, operands: Sequence[Shape]) -> Properties:
    """Reads all operands and writes the result; elementwise operations take cycles per element."""
    found: Properties = {read(i): float(byte_size(shape)) for i, shape in enumerate(operands)}
    result = float(leaf_bytes(one.shape))
    found |= {BYTES: result + sum(found.values()), written(): result}
    if one.opcode in COMPUTING:
        found[FLOPS] = elementwise_flops(one.opcode, one.shape)
    return found


def elementwise_flops(opcode: str, shape: Shape) -> float:
    """FLOPs of an elementwise operation with a result of this shape."""
    elements = sum(element_count(leaf) for _, leaf in leaves(shape))
    return float(cycles_per_element(opcode, type_name(shape.element_type))) * float(elements)


def _free(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    for key in found:
        found[key] = 0.0


def _transpose(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    """One that only relabels dimensions moves nothing."""
    order, minor_first = one.dimensions, one.shape.layout.minor_to_major
    if not operands or len(minor_first) != len(order) or not all(0 <= d < len(order) for d in minor_first):
        return
    if [order[d] for d in minor_first] == list(operands[0].layout.minor_to_major):
        _free(one, operands, found)


def _tuple(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    _free(one, operands, found)
    found[BYTES] = found[written()] = float(byte_size(one.shape))


def _slice(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    """Reads no more than it writes; of a dynamic one's indices only the first counts."""
    if operands:
        size = float(byte_size(one.shape))
        found |= {read(0): size, written(): size, BYTES: 2 * size + sum(map(byte_size, operands[1:2]))}
        found[used(0)] = _ratio(element_count(one.shape), element_count(operands[0]))


def _update_slice(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    """Writes in place: the part that is not overwritten is not touched."""
    if len(operands) < 2:
        return
    size, elements = float(byte_size(operands[1])), element_count(one.shape)
    found |= {read(0): 0.0, written(): size, BYTES: 2 * size + sum(map(byte_size, operands[2:3]))}
    found[used(0)] = _ratio(elements - element_count(operands[1]), elements)


def _gather(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    if len(operands) > 1:
        size = float(byte_size(one.shape))
        found |= {read(0): size, written(): size, BYTES: 2 * size + byte_size(operands[1])}
        found[used(0)] = _ratio(element_count(one.shape), element_count(operands[0]))


def _ratio(part: int, whole: int) -> float:
    return float(part) / float(whole) if whole else 1.0


def _concatenate(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    """Along an inner dimension, threads of a warp that fall on different operands run both branches."""
    axis, first = one.dimensions[0] if one.dimensions else 0, operands[0].dimensions if operands else ()
    slow = 0 < axis < len(first) and first[axis] % _WARP
    found[FLOPS] = (_SLOW_CONCATENATE if slow else _CONCATENATE) * float(element_count(one.shape))


def _dot(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    if operands:
        found[FLOPS] = _product_flops(operands[0], one.shape, one.dot_dimension_numbers.lhs_contracting_dimensions)


def _ragged_dot(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    """Rows in groups, each with a matrix of its own; XLA then leaves out the result's first dimension."""
    dims = one.ragged_dot_dimension_numbers
    if operands:
        flops = _product_flops(operands[0], one.shape, dims.dot_dimension_numbers.lhs_contracting_dimensions)
        first = one.shape.dimensions[0] if dims.rhs_group_dimensions and one.shape.dimensions else 1
        found[FLOPS] = flops / max(1, first)


def _product_flops(left: Shape, output: Shape, contracting: Sequence[int]) -> float:
    sizes = [left.dimensions[d] for d in contracting if -1 < d < len(left.dimensions)]
    return 2.0 * float(element_count(output)) * math.prod(map(float, sizes))


def _convolution(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    if len(operands) > 1:
        found[FLOPS] = convolution_flops(one, operands[0], operands[1], first_part(one.shape))


def _custom_call(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    """Library calls; of others nothing is known, which XLA counts as -1."""
    target = one.custom_call_target
    if target in CUBLAS_LT and operands:
        found[FLOPS] = _product_flops(operands[0], first_part(one.shape), _contracting(one.backend_config))
    elif target in _CUDNN_CONVOLUTIONS and len(operands) > 1:
        _convolution(one, operands, found)
    else:
        found |= dict.fromkeys((FLOPS, *found), -1.0)
        return
    # Memory that a library call uses for itself is no result.
    result = float(byte_size(first_part(one.shape)))
    found[BYTES] += result - found[written()]
    found[written()] = result


_CONTRACTING = re.compile(
    rb'"gemm_backend_config"\s*:.*?"dot_dimension_numbers"\s*:\s*\{[^{}]*"lhs_contracting_dimensions"\s*:\s*\[([^]]*)\]',
    re.DOTALL,
)


def _contracting(config: bytes) -> list[int]:
    """Contracting dimensions of the left operand from the backend configuration of a matrix product, which is JSON."""
    found = _CONTRACTING.search(config)
    return [int(number) for number in re.findall(rb"\d{1,9}", found[1])] if found else []


def _sort(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    elements = min(element_count(operands[0]), 1 << 62) if operands else 0
    found[FLOPS] = float(elements * (elements - 1).bit_length())


def _cholesky(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    """One triangle is read, one written."""
    if operands and operands[0].dimensions:
        half = byte_size(operands[0]) / 2.0
        found |= {read(0): half, written(): half, BYTES: 2 * half}
        found[FLOPS] = float(operands[0].dimensions[-1] * element_count(operands[0]) // 3)


def _triangular_solve(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    """Half of the triangular operand is read; XLA counts the other operand in its place as well."""
    if len(operands) > 1 and operands[0].dimensions:
        found[BYTES] -= byte_size(operands[0]) / 2.0
        found[read(0)] = float(byte_size(operands[1]))
        found[FLOPS] = 2.0 * float(operands[0].dimensions[-1]) * float(element_count(operands[1]))


def _fft(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    factors = math.prod(max(0, length.bit_length() - 1) for length in one.fft_length)
    found[FLOPS] = 8.0 * float(factors) * float(element_count(first_part(operands[0]))) if operands else 0.0


def _infeed(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    found |= {written(part): float(byte_size(leaf)) for part, leaf in leaves(one.shape)}
    found[BYTES] = found[written()] = float(leaf_bytes(one.shape))


def _outfeed(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    for i, shape in enumerate(operands):
        found |= {read(i, part): float(byte_size(leaf)) for part, leaf in leaves(shape)}
        found[read(i)] = float(leaf_bytes(shape))
    found[BYTES] = float(sum(map(leaf_bytes, operands)))


def _all_gather(one: Instruction, operands: Sequence[Shape], found: Properties) -> None:
    """Every rank sends what it holds around a ring; the result of a start also holds the operands."""
    parts = one.shape.tuple_shapes[1:] if one.opcode == "all-gather-start" else (one.shape,)
    found[BYTES] = _ring(one, sum(map(leaf_bytes, parts)))


def _ring(one: Instruction, transferred: int) -> float:
    """Bytes that a ring of ranks reads and writes: each holds one shard, all but one are passed on."""
    ranks = _ranks(one)
    return float(transferred // ranks * (3 * ranks - 1))


def _ranks(one: Instruction) -> int:
    """Size of the largest group of devices; 1 where the instruction lists none."""
    devices = one.collective_device_list
    for holder, field in ((devices, "iota_replica_group_list"), (one, "iota_collective_device_list")):
        if holder.HasField(field):
            return max(1, int(getattr(holder, field).num_devices_per_group))
    groups = one.replica_groups or devices.replica_groups
    return max((len(group.replica_ids) for group in groups), default=1) or 1


def all_reduce(one: Instruction, operands: Sequence[Shape], found: Properties, reducer: str) -> None:
    """Reads the operands and writes the result; a start is counted by its result alone."""
    size = float(leaf_bytes(one.shape))
    found[FLOPS] = elementwise_flops(reducer, one.shape)
    found[BYTES] = size + (0.0 if one.opcode == "all-reduce-start" else float(sum(map(byte_size, operands))))


def reduce_scatter(one: Instruction, operands: Sequence[Shape], found: Properties, reducer: str) -> None:
    """Every rank adds up its shard while the shards of all ranks go around a ring."""
    found[FLOPS] = elementwise_flops(reducer, one.shape)
    found[BYTES] = _ring(one, sum(map(leaf_bytes, operands)))


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
