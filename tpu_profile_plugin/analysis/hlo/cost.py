"""Cost of one execution of an HLO instruction: floating point operations and bytes of device memory.

The rules are those of XLA's cost analysis for GPUs (`CostModel`) and CPUs (`CpuCostModel`): an estimate from shapes,
not a measurement. Library calls whose work is not visible in the program have no cost; matrix products of cuBLASLt and
convolutions of cuDNN have that of the operation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from tpu_profile_plugin.analysis.common.rows import file_rows
from tpu_profile_plugin.analysis.hlo.instructions import (
    COMPUTING,
    Computation,
    Instruction,
    Instructions,
    is_elementwise,
    replica_groups,
)
from tpu_profile_plugin.analysis.hlo.shapes import (
    Shape,
    bits_of,
    byte_size,
    element_count,
    first_part,
    is_tuple,
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
        for opcode, *measured in file_rows(__file__, "cycles.txt")
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
    """Uses of each element of an operand, on average; 1 if unknown."""
    return ("used", operand, ())


def _elementwise_flops(opcode: str, shape: Shape) -> float:
    """FLOPs of an elementwise operation with a result of this shape."""
    return float(cycles_per_element(opcode, type_name(shape.element_type))) * float(elements_of(shape))


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


_CONTRACTING = re.compile(rb'\s*:\s*\{[^{}]*?"lhs_contracting_dimensions"\s*:\s*\[([^][{}]*)\]')


def _contracting(config: bytes) -> list[int]:
    """Contracting dimensions of the left operand from the backend configuration of a matrix product, which is JSON."""
    of_product = config.partition(b'"gemm_backend_config"')[2]
    match = _CONTRACTING.match(of_product.partition(b'"dot_dimension_numbers"')[2])
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
    iota, groups = replica_groups(instruction)
    sizes = [len(group.replica_ids) for group in groups] if iota is None else [int(iota.num_devices_per_group)]
    ranks = max([1, *sizes])
    return float(transferred // ranks * (3 * ranks - 1))


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


# How often each value inside a fusion is computed, from the roots that its elementwise uses lead to.


@dataclass(frozen=True, slots=True)
class _Value:
    """One instruction of a fusion.

    Attributes:
      id: its id.
      operands: ids of its operands.
      elements: number of elements of its result.
      elementwise: each element of the result needs the same element of each operand; also true of tuples.
    """

    id: int
    operands: Sequence[int]
    elements: int
    elementwise: bool


def _utilization(values: Iterable[_Value], root: int, share: Callable[[int, int], float]) -> Mapping[int, float]:
    """How often each value is computed in full, relative to its size.

    A value is computed once for each root that its elementwise uses lead to. The operands of all other instructions are
    roots, too; a root counts as often as these instructions use it.

    Args:
      values: the instructions of a fusion.
      root: id of its result.
      share: how many times an instruction (id) uses the elements of its operand (position).
    """
    by_id = {value.id: value for value in values}
    roots: dict[int, set[int]] = {id_: set() for id_ in by_id}
    weight = dict.fromkeys(by_id, np.float32(0.0))
    use = dict.fromkeys(by_id, np.float32(0.0))
    if root in by_id:
        roots[root], weight[root] = {root}, np.float32(1.0)
    for user in _users_first(by_id):
        use[user.id] = sum((weight[r] for r in roots[user.id]), np.float32(0.0))
        for position, operand in enumerate(user.operands):
            if operand not in by_id:
                continue
            if user.elementwise:
                roots[operand] |= roots[user.id]
                continue
            roots[operand].add(operand)
            elements = np.float32(by_id[operand].elements)
            if elements:
                # Single precision, as in XLA: rounding up depends on it.
                times = use[user.id] * np.float32(share(user.id, position))
                weight[operand] += np.ceil(times * elements) / elements
    return {id_: float(times) for id_, times in use.items()}


def _users_first(by_id: Mapping[int, _Value]) -> list[_Value]:
    """The values in an order in which each comes after all its users; operands that are not among them are ignored."""
    order: list[_Value] = []
    seen: set[int] = set()
    for start in by_id:
        stack = [(start, False)]
        while stack:
            id_, done = stack.pop()
            if done:
                order.append(by_id[id_])
            elif id_ in by_id and id_ not in seen:
                seen.add(id_)
                stack.append((id_, True))
                stack.extend((operand, False) for operand in by_id[id_].operands)
    return order[::-1]


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one execution; all 0 when unknown.

    Attributes:
      flops: operations; operations on narrow operands count less.
      read, written: bytes of device memory; parts of tuples mostly do not count.
      bytes: bytes that it accesses; of a collective, those of the whole exchange.
      model_flops: operations, of any width alike.
    """

    flops: float = 0.0
    read: float = 0.0
    written: float = 0.0
    bytes: float = 0.0
    model_flops: float = 0.0


_MAX_DEPTH = 50
"""Maximum length of a chain of calls, and of fusions within each other; deeper computations have no cost."""
_SPEED = {4: 4.0, 8: 2.0}
"""Relative speed of operations on narrow operands, by bits."""


class CostModel:
    """Costs of one program's instructions. Each thread needs its own model; models may share `finished`."""

    immediate = 8
    """Constants with more elements are read from memory."""

    def __init__(self, program: Instructions, finished: dict[int, Properties] | None = None) -> None:
        """`finished`: properties by id of the instruction, which models of one class and program may share."""
        self._program = program
        self._finished = {} if finished is None else finished
        self._making: set[int] = set()
        self._depth = 0
        self._rules: dict[str, Rule] = {
            **RULES,
            "all-reduce": self._all_reduce,
            "all-reduce-start": self._all_reduce,
            "async-start": self._async_start,
            "call": self._call,
            "conditional": self._conditional,
            "fusion": self._fusion,
            "map": self._map,
            "reduce": self._reduce,
            "reduce-scatter": self._reduce_scatter,
            "reduce-window": self._reduce_window,
            "scatter": self._scatter,
            "select-and-scatter": self._select_and_scatter,
            "while": self._call,
        }

    def cost(self, instruction: Instruction) -> Cost:
        """Cost of one execution of an instruction."""
        operands, properties = self._operands(instruction), self._properties(instruction)
        model, accessed = _whole(properties.get(FLOPS, 0.0)), _whole(properties.get(BYTES, 0.0))
        flops = model - _whole(model - model / self._relative_speed(instruction, operands))
        reads = [read(i, part) for i, shape in enumerate(operands) for part in _in_device_memory(shape)]
        writes = [written(part) for part in _in_device_memory(instruction.shape)]
        taken, made = (
            _whole(sum(properties.get(key, 0.0) for key in keys)) if accessed else 0.0 for keys in (reads, writes)
        )
        return Cost(flops, taken, made, accessed, model)

    def _default(self, instruction: Instruction, operands: Sequence[Shape]) -> Properties:
        """Reads all operands and writes the result; elementwise operations take cycles per element."""
        properties: Properties = {read(i): float(byte_size(shape)) for i, shape in enumerate(operands)}
        result = float(leaf_bytes(instruction.shape))
        properties |= {BYTES: result + sum(properties.values()), written(): result}
        if instruction.opcode in COMPUTING:
            properties[FLOPS] = _elementwise_flops(instruction.opcode, instruction.shape)
        return properties

    def _relative_speed(self, instruction: Instruction, operands: Sequence[Shape]) -> float:
        """Speed of operations on these operands, relative to 16 bits."""
        if instruction.opcode == "custom-call":
            library = instruction.custom_call_target in CUBLAS_LT
            return _SPEED.get(bits_of(operands[0].element_type), 1.0) if library and operands else 1.0
        return _SPEED.get(max((bits_of(shape.element_type) for shape in operands), default=0), 1.0)

    def _operands(self, instruction: Instruction) -> list[Shape]:
        return [operand.shape for i in instruction.operand_ids if (operand := self._program.find(i)) is not None]

    def _properties(self, instruction: Instruction) -> Properties:
        """Properties of an instruction; none while they are being made, so that recursive calls end."""
        properties = self._finished.get(instruction.id)
        if properties is None and instruction.id not in self._making and self._depth < _MAX_DEPTH:
            self._making.add(instruction.id)
            operands = self._operands(instruction)
            properties = self._default(instruction, operands)
            if rule := self._rules.get(instruction.opcode):
                self._depth += 1
                rule(instruction, operands, properties)
                self._depth -= 1
            self._finished[instruction.id] = properties
            self._making.discard(instruction.id)
        return properties or {}

    def _called(self, instruction: Instruction) -> list[Computation]:
        called = map(self._program.computation, instruction.called_computation_ids)
        return [computation for computation in called if computation is not None]

    def _sums(self, inner: Computation) -> Properties:
        """Each property added up over the instructions of a computation."""
        sums: Properties = {}
        for instruction in inner.instructions:
            for key, value in self._properties(instruction).items():
                sums[key] = sums.get(key, 0.0) + value
        return sums

    def _flops(self, inner: Computation) -> float:
        return math.fsum(self._properties(i).get(FLOPS, 0.0) for i in inner.instructions)

    def _reducer(self, instruction: Instruction) -> str:
        roots = (inner.root for inner in self._called(instruction))
        return str(next((root.opcode for root in roots if root is not None), ""))

    def _call(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        """One run of each computation: of a loop, one iteration."""
        properties.clear()
        for inner in self._called(instruction):
            for key, value in self._sums(inner).items():
                properties[key] = properties.get(key, 0.0) + value

    def _conditional(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        """The worst of the branches, property by property."""
        properties.clear()
        for inner in self._called(instruction):
            for key, value in self._sums(inner).items():
                properties[key] = max(properties.get(key, value), value)

    def _map(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        properties[FLOPS] = sum(map(self._flops, self._called(instruction))) * float(element_count(instruction.shape))

    def _reduce(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        """Initial values are read once for each element of the result."""
        inputs, results = len(operands) // 2, float(element_count(first_part(instruction.shape)))
        for i, initial in enumerate(operands[inputs:], inputs):
            properties[read(i)] = results * byte_size(initial)
            properties[used(i)] = results
        properties[BYTES] = float(leaf_bytes(instruction.shape)) + sum(
            properties[read(i)] for i in range(len(operands))
        )
        applied = max(0.0, float(element_count(operands[0])) - results) if operands else 0.0
        properties[FLOPS] = applied * sum(map(self._flops, self._called(instruction)[:1]))

    def _reduce_window(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        results = float(element_count(first_part(instruction.shape)))
        window = math.prod(float(dimension.size) for dimension in instruction.window.dimensions)
        applied = max(0.0, window - 1) * results
        if span := _reduced_span(instruction):
            applied = results // span + span - 1
        properties[FLOPS] = applied * sum(map(self._flops, self._called(instruction)[:1]))

    def _scatter(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        """Reads, combines and writes the size of the updates."""
        count = len(operands) // 2
        if not count:
            return
        sizes = [float(byte_size(shape)) for shape in operands[count + 1 :]]
        properties |= {read(i): size for i, size in enumerate(sizes)}
        properties |= {written(): sum(sizes), BYTES: 3 * sum(sizes) + byte_size(operands[count])}
        applied = float(element_count(operands[count + 1]))
        properties[FLOPS] = applied * sum(map(self._flops, self._called(instruction)[:1]))

    def _select_and_scatter(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        called = [self._flops(inner) for inner in self._called(instruction)]
        if len(called) == 2 and len(operands) > 1:
            window = math.prod(float(dimension.size) for dimension in instruction.window.dimensions)
            properties[FLOPS] = float(element_count(operands[1])) * ((window - 1) * called[0] + called[1])

    def _all_reduce(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        """Reads the operands and writes the result; a start is counted by its result alone."""
        read_bytes = 0.0 if instruction.opcode == "all-reduce-start" else float(sum(map(byte_size, operands)))
        properties[FLOPS] = _elementwise_flops(self._reducer(instruction), instruction.shape)
        properties[BYTES] = float(leaf_bytes(instruction.shape)) + read_bytes

    def _reduce_scatter(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        """Every rank adds up its shard while the shards of all ranks go around a ring."""
        properties[FLOPS] = _elementwise_flops(self._reducer(instruction), instruction.shape)
        properties[BYTES] = _ring(instruction, sum(map(leaf_bytes, operands)))

    def _async_start(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        """Only a wrapped reduce-scatter has a cost."""
        properties.clear()
        root = next((inner.root for inner in self._called(instruction)), None)
        if root is not None and root.opcode == "reduce-scatter":
            self._reduce_scatter(root, self._operands(root), properties)

    def _fusion(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        inner = self._program.called(instruction)
        if inner is None or inner.root is None:
            return
        if instruction.fusion_kind == "kCustom":
            moved = next((i for i in inner.instructions if i.opcode in ("gather", "scatter")), None)
            if moved is not None:
                self._rules[moved.opcode](moved, self._operands(moved), properties)
                return
        properties.clear()
        properties |= self._fusion_results(instruction, inner.root)
        self._fused(inner, properties)

    def _fused(self, inner: Computation, properties: Properties) -> None:
        """Adds FLOPs and bytes read to the results of a fusion."""
        use = self._utilization(inner)
        properties[FLOPS] = math.fsum(
            self._properties(i).get(FLOPS, 0.0) * use.get(i.id, 0.0) for i in inner.instructions
        )
        properties[BYTES] = properties[written()] + math.fsum(
            byte_size(i.shape) * min(1.0, use.get(i.id, 0.0)) for i in self._large_constants(inner)
        )
        parts = {
            (i.operand_ids[0], i.tuple_index): i.id
            for i in reversed(inner.instructions)
            if i.opcode == "get-tuple-element" and i.operand_ids
        }
        for i in inner.instructions:
            if i.opcode == "parameter":
                properties |= _parameter(i, parts, use)
                properties[BYTES] += properties[read(i.parameter_number)]

    def _fusion_results(self, instruction: Instruction, root: Instruction) -> Properties:
        """Bytes written of each part of a fusion's result; an update in place writes only the update."""
        made = [self._program.find(i) for i in root.operand_ids] if root.opcode == "tuple" else []
        properties: Properties = {}
        for part, leaf in leaves(instruction.shape):
            source = root if not part else made[part[0]] if len(part) == 1 and part[0] < len(made) else None
            in_place = source is not None and source.opcode == "dynamic-update-slice"
            operands = self._operands(source) if in_place else []
            properties[written(part)] = float(byte_size(operands[1] if len(operands) > 1 else leaf))
        return properties | {written(): math.fsum(properties.values())}

    def _large_constants(self, inner: Computation) -> list[Instruction]:
        return [i for i in inner.instructions if i.opcode == "constant" and element_count(i.shape) > self.immediate]

    def _utilization(self, inner: Computation) -> Mapping[int, float]:
        root = inner.root
        assert root is not None
        # Elements that an update in place overwrites are not computed at all.
        in_place = {root.id, *(root.operand_ids if root.opcode == "tuple" else ())}
        by_id = {i.id: i for i in inner.instructions}

        def share(user: int, position: int) -> float:
            instruction = by_id[user]
            if instruction.opcode == "dynamic-update-slice" and position == 0 and user in in_place:
                return 0.0
            return self._properties(instruction).get(used(position), 1.0)

        def elementwise(i: Instruction) -> bool:
            return i.opcode in ("tuple", "get-tuple-element") or is_elementwise(i, self._program)

        values = [_Value(i.id, i.operand_ids, elements_of(i.shape), elementwise(i)) for i in inner.instructions]
        return _utilization(values, root.id, share)


def elements_of(shape: Shape) -> int:
    """Number of elements of all arrays in a shape."""
    return sum(element_count(leaf) for _, leaf in leaves(shape))


def _parameter(parameter: Instruction, parts: Mapping[tuple[int, int], int], use: Mapping[int, float]) -> Properties:
    """Bytes that a fusion reads of a parameter's operand, and how often it uses the operand.

    `parts` holds the id of the instruction that takes a part of a tuple, by the tuple's id and the part's index.
    """
    number = parameter.parameter_number
    properties: Properties = {used(number): use.get(parameter.id, 0.0)}
    for part, leaf in leaves(parameter.shape):
        taken = parameter.id
        for index in part:
            taken = parts.get((taken, index), taken)
        properties[read(number, part)] = float(round(byte_size(leaf) * min(1.0, use.get(taken, 0.0))))
    total = math.fsum(value for key, value in properties.items() if key[0] == "read")
    return properties | {read(number): total}


def _reduced_span(instruction: Instruction) -> float:
    """Size of the one dimension that a window reduces as a whole, for each of its positions; 0 for other windows."""
    sizes = [d for d in instruction.window.dimensions if d.size != 1]
    padded = [d for d in instruction.window.dimensions if d.padding_low or d.padding_high]
    if len(sizes) != 1 or len(padded) != 1 or is_tuple(instruction.shape):
        return 0.0
    for axis, d in enumerate(instruction.window.dimensions):
        if d.size != 1 and d.padding_low == d.padding_high != 0 and d.size == 2 * d.padding_low + 1:
            size = instruction.shape.dimensions[axis] if axis < len(instruction.shape.dimensions) else 0
            return float(size) if d.padding_low == size - 1 else 0.0
    return 0.0


def _in_device_memory(shape: Shape) -> Iterable[tuple[int, ...]]:
    """The parts of a value that lie in the device's main memory."""
    return (part for part, leaf in leaves(shape) if leaf.layout.memory_space == 0)


def _whole(value: float) -> float:
    """A figure without fraction; 0 if unknown."""
    return float(int(value)) if np.isfinite(value) and value > 0 else 0.0


_PER_ELEMENT = COMPUTING | {"rng", "rng-bit-generator"}
_OF_GPUS = ("all-gather", "all-gather-start", "all-reduce-start", "concatenate", "ragged-dot", "reduce-scatter")
"""Opcodes whose rule for GPUs does not hold on CPUs."""
_ALONE = frozenset(("broadcast", "reshape"))
"""Users that read an operand of a fusion on their own."""
_Users: TypeAlias = Mapping[int, Sequence[Instruction]]


class CpuCostModel(CostModel):
    """Costs of one program's instructions on a CPU.

    Every operation counts one per element, transcendental functions too. A fused instruction counts once for all its
    users, and an operand of a fusion is read once for all instructions that read it whole.
    """

    immediate = 1

    def __init__(self, program: Instructions, finished: dict[int, Properties] | None = None) -> None:
        super().__init__(program, finished)
        for opcode in _OF_GPUS:
            del self._rules[opcode]

    def _default(self, instruction: Instruction, operands: Sequence[Shape]) -> Properties:
        properties = super()._default(instruction, operands)
        properties[FLOPS] = float(elements_of(instruction.shape)) if instruction.opcode in _PER_ELEMENT else 0.0
        return properties

    def _relative_speed(self, instruction: Instruction, operands: Sequence[Shape]) -> float:
        return 1.0

    def _reduce(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        bytes_ = {key: value for key, value in properties.items() if key != FLOPS}
        super()._reduce(instruction, operands, properties)
        properties |= bytes_

    def _all_reduce(self, instruction: Instruction, operands: Sequence[Shape], properties: Properties) -> None:
        """Two replicas are assumed: each element of the result is one addition."""
        properties[FLOPS] = float(elements_of(instruction.shape))

    def _fused(self, inner: Computation, properties: Properties) -> None:
        users = _users(inner)
        properties[FLOPS] = self._flops(inner)
        constants = self._large_constants(inner)
        properties[BYTES] = properties[written()] + math.fsum(byte_size(i.shape) for i in constants)
        for instruction in inner.instructions:
            if instruction.opcode == "parameter":
                parts = {
                    part: self._read_of(_part_reader(instruction, part, users), users)
                    for part, _ in leaves(instruction.shape)
                }
                properties |= {read(instruction.parameter_number, part): size for part, size in parts.items()}
                properties[read(instruction.parameter_number)] = math.fsum(parts.values())
                properties[BYTES] += properties[read(instruction.parameter_number)]

    def _read_of(self, operand: Instruction, users: _Users, depth: int = 0) -> float:
        """Bytes that the instructions of a fusion read of an operand: its parts, and the whole once."""
        size, whole, read_whole = 0.0, float(byte_size(operand.shape)), False
        for user in users.get(operand.id, ()):
            first = user.operand_ids[0] == operand.id
            if user.opcode == "fusion":
                size += self._read_inside(operand, user, depth)
            elif user.opcode == "slice" or (user.opcode == "dynamic-slice" and first):
                size += byte_size(user.shape)
            elif user.opcode in _ALONE:
                size += whole
            elif not read_whole and not (user.opcode == "dynamic-update-slice" and first):
                read_whole, size = True, size + whole
        return size

    def _read_inside(self, operand: Instruction, fusion: Instruction, depth: int) -> float:
        inner = self._program.called(fusion)
        if inner is None or depth >= _MAX_DEPTH:
            return 0.0
        users = _users(inner)
        places = {place for place, id_ in enumerate(fusion.operand_ids) if id_ == operand.id}
        parameters = (i for i in inner.instructions if i.opcode == "parameter" and i.parameter_number in places)
        return math.fsum(self._read_of(parameter, users, depth + 1) for parameter in parameters)


def _users(inner: Computation) -> _Users:
    users: dict[int, list[Instruction]] = {}
    for user in inner.instructions:
        for id_ in dict.fromkeys(user.operand_ids):
            users.setdefault(id_, []).append(user)
    return users


def _part_reader(parameter: Instruction, part: tuple[int, ...], users: _Users) -> Instruction:
    """The instruction that takes a part of a tuple, or the last instruction on the path to it."""
    taken = parameter
    for index in part:
        takes = (i for i in users.get(taken.id, ()) if i.opcode == "get-tuple-element" and i.tuple_index == index)
        taken = next(takes, taken)
    return taken
