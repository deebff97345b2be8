"""What one execution of an HLO instruction costs on a GPU: floating point operations and bytes of device memory.

The rules are those of XLA's cost analysis for GPUs: an estimate from shapes, not a measurement. Library calls whose
work is not visible in the program have no cost; matrix products of cuBLASLt and convolutions of cuDNN have that of the
operation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.hlo.cost import rules
from tpu_profile_plugin.analysis.hlo.cost.utilization import Value, utilization
from tpu_profile_plugin.analysis.hlo.elementwise import is_elementwise
from tpu_profile_plugin.analysis.hlo.instructions import Computation, Instruction, Instructions
from tpu_profile_plugin.analysis.hlo.shapes import (
    Shape,
    bits_of,
    byte_size,
    element_count,
    first_part,
    is_tuple,
    leaf_bytes,
    leaves,
)


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one execution; all 0 when unknown.

    Attributes:
      flops: operations; those on narrow operands count for less.
      read, written: bytes of device memory; parts of tuples mostly do not count.
      bytes: bytes that it accesses; of a collective, those of the whole exchange.
      model_flops: operations of any width alike.
    """

    flops: float = 0.0
    read: float = 0.0
    written: float = 0.0
    bytes: float = 0.0
    model_flops: float = 0.0


_MAX_DEPTH = 50
"""Computations that call one another in a chain; what is called beyond has no cost."""
_SCALE = {4: 4.0, 8: 2.0}
"""Speed of operations on narrow operands, by bits."""


class CostModel:
    """Costs of one program's instructions."""

    immediate = 8
    """Constants of more elements than this are read from memory."""

    def __init__(self, program: Instructions) -> None:
        self._program = program
        self._known: dict[int, rules.Properties] = {}
        self._depth = 0
        self._rules: dict[str, rules.Rule] = {
            **rules.RULES,
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

    def cost(self, one: Instruction) -> Cost:
        """Cost of one execution of an instruction."""
        operands, found = self._operands(one), self._properties(one)
        model, accessed = _whole(found.get(rules.FLOPS, 0.0)), _whole(found.get(rules.BYTES, 0.0))
        keys = [rules.read(i, part) for i, shape in enumerate(operands) for part in _in_device_memory(shape)]
        own = [rules.written(part) for part in _in_device_memory(one.shape)]
        taken, made = (_whole(sum(found.get(key, 0.0) for key in each)) if accessed else 0.0 for each in (keys, own))
        return Cost(model - _whole(model - model / self._scale(one, operands)), taken, made, accessed, model)

    def _default(self, one: Instruction, operands: Sequence[Shape]) -> rules.Properties:
        return rules.default(one, operands)

    def _scale(self, one: Instruction, operands: Sequence[Shape]) -> float:
        return _scale(one, operands)

    def _operands(self, one: Instruction) -> list[Shape]:
        return [operand.shape for i in one.operand_ids if (operand := self._program.find(i)) is not None]

    def _properties(self, one: Instruction) -> rules.Properties:
        """Properties of an instruction; none while they are being made, so that one that calls itself ends."""
        found = self._known.get(one.id)
        if found is None and self._depth < _MAX_DEPTH:
            self._known[one.id] = {}
            operands = self._operands(one)
            found = self._default(one, operands)
            if rule := self._rules.get(one.opcode):
                self._depth += 1
                rule(one, operands, found)
                self._depth -= 1
            self._known[one.id] = found
        return found or {}

    def _called(self, one: Instruction) -> list[Computation]:
        called = map(self._program.computation, one.called_computation_ids)
        return [computation for computation in called if computation is not None]

    def _sums(self, inner: Computation) -> rules.Properties:
        """Each property added up over the instructions of a computation."""
        sums: rules.Properties = {}
        for one in inner.instructions:
            for key, value in self._properties(one).items():
                sums[key] = sums.get(key, 0.0) + value
        return sums

    def _flops(self, inner: Computation) -> float:
        return math.fsum(self._properties(one).get(rules.FLOPS, 0.0) for one in inner.instructions)

    def _reducer(self, one: Instruction) -> str:
        roots = (inner.root for inner in self._called(one))
        return str(next((root.opcode for root in roots if root is not None), ""))

    def _call(self, one: Instruction, operands: Sequence[Shape], found: rules.Properties) -> None:
        """One run of each computation: of a loop, one iteration."""
        found.clear()
        for inner in self._called(one):
            for key, value in self._sums(inner).items():
                found[key] = found.get(key, 0.0) + value

    def _conditional(self, one: Instruction, operands: Sequence[Shape], found: rules.Properties) -> None:
        """The worst of the branches, property by property."""
        found.clear()
        for inner in self._called(one):
            for key, value in self._sums(inner).items():
                found[key] = max(found.get(key, value), value)

    def _map(self, one: Instruction, operands: Sequence[Shape], found: rules.Properties) -> None:
        found[rules.FLOPS] = sum(map(self._flops, self._called(one))) * float(element_count(one.shape))

    def _reduce(self, one: Instruction, operands: Sequence[Shape], found: rules.Properties) -> None:
        """Initial values are read once for each element of the result."""
        inputs, results = len(operands) // 2, float(element_count(first_part(one.shape)))
        for i, initial in enumerate(operands[inputs:], inputs):
            found[rules.read(i)] = results * byte_size(initial)
            found[rules.used(i)] = results
        found[rules.BYTES] = float(leaf_bytes(one.shape)) + sum(found[rules.read(i)] for i in range(len(operands)))
        applied = max(0.0, float(element_count(operands[0])) - results) if operands else 0.0
        found[rules.FLOPS] = applied * sum(map(self._flops, self._called(one)[:1]))

    def _reduce_window(self, one: Instruction, operands: Sequence[Shape], found: rules.Properties) -> None:
        results = float(element_count(first_part(one.shape)))
        window = math.prod(float(dimension.size) for dimension in one.window.dimensions)
        applied = max(0.0, window - 1) * results
        if span := _reduced_span(one):
            applied = results // span + span - 1
        found[rules.FLOPS] = applied * sum(map(self._flops, self._called(one)[:1]))

    def _scatter(self, one: Instruction, operands: Sequence[Shape], found: rules.Properties) -> None:
        """Reads, combines and writes as much as the updates hold."""
        count = len(operands) // 2
        if not count:
            return
        sizes = [float(byte_size(shape)) for shape in operands[count + 1 :]]
        found |= {rules.read(i): size for i, size in enumerate(sizes)}
        found |= {rules.written(): sum(sizes), rules.BYTES: 3 * sum(sizes) + byte_size(operands[count])}
        applied = float(element_count(operands[count + 1]))
        found[rules.FLOPS] = applied * sum(map(self._flops, self._called(one)[:1]))

    def _select_and_scatter(self, one: Instruction, operands: Sequence[Shape], found: rules.Properties) -> None:
        called = [self._flops(inner) for inner in self._called(one)]
        if len(called) == 2 and len(operands) > 1:
            window = math.prod(float(dimension.size) for dimension in one.window.dimensions)
            found[rules.FLOPS] = float(element_count(operands[1])) * ((window - 1) * called[0] + called[1])

    def _all_reduce(self, one: Instruction, operands: Sequence[Shape], found: rules.Properties) -> None:
        rules.all_reduce(one, operands, found, self._reducer(one))

    def _reduce_scatter(self, one: Instruction, operands: Sequence[Shape], found: rules.Properties) -> None:
        rules.reduce_scatter(one, operands, found, self._reducer(one))

    def _async_start(self, one: Instruction, operands: Sequence[Shape], found: rules.Properties) -> None:
        """Only a wrapped reduce-scatter has a cost."""
        found.clear()
        root = next((inner.root for inner in self._called(one)), None)
        if root is not None and root.opcode == "reduce-scatter":
            self._reduce_scatter(root, self._operands(root), found)

    def _fusion(self, one: Instruction, operands: Sequence[Shape], found: rules.Properties) -> None:
        inner = self._program.called(one)
        if inner is None or inner.root is None:
            return
        if one.fusion_kind == "kCustom":
            moved = next((i for i in inner.instructions if i.opcode in ("gather", "scatter")), None)
            if moved is not None:
                self._rules[moved.opcode](moved, self._operands(moved), found)
                return
        found.clear()
        found |= self._fusion_results(one, inner.root)
        self._fused(inner, found)

    def _fused(self, inner: Computation, found: rules.Properties) -> None:
        """Adds FLOPs and what is read to the results of a fusion."""
        use = self._utilization(inner)
        found[rules.FLOPS] = math.fsum(
            self._properties(i).get(rules.FLOPS, 0.0) * use.get(i.id, 0.0) for i in inner.instructions
        )
        found[rules.BYTES] = found[rules.written()] + self._large_constants(inner, use)
        parts = {
            (i.operand_ids[0], i.tuple_index): i.id
            for i in reversed(inner.instructions)
            if i.opcode == "get-tuple-element" and i.operand_ids
        }
        for i in inner.instructions:
            if i.opcode == "parameter":
                found |= _parameter(i, parts, use)
                found[rules.BYTES] += found[rules.read(i.parameter_number)]

    def _fusion_results(self, one: Instruction, root: Instruction) -> rules.Properties:
        """Bytes written of each part of a fusion's result; an update in place writes only the update."""
        made = [self._program.find(i) for i in root.operand_ids] if root.opcode == "tuple" else []
        found: rules.Properties = {}
        for part, leaf in leaves(one.shape):
            source = root if not part else made[part[0]] if len(part) == 1 and part[0] < len(made) else None
            update = self._update(source)
            found[rules.written(part)] = float(byte_size(leaf if update is None else update))
        return found | {rules.written(): math.fsum(found.values())}

    def _update(self, one: Instruction | None) -> Shape | None:
        """Shape of what an update in place writes; None for other instructions."""
        operands = self._operands(one) if one is not None and one.opcode == "dynamic-update-slice" else []
        return operands[1] if len(operands) > 1 else None

    def _large_constants(self, inner: Computation, use: dict[int, float]) -> float:
        large = (i for i in inner.instructions if i.opcode == "constant" and element_count(i.shape) > self.immediate)
        return math.fsum(byte_size(i.shape) * min(1.0, use.get(i.id, 0.0)) for i in large)

    def _utilization(self, inner: Computation) -> dict[int, float]:
        """How often each value inside a fusion is computed."""
        root = inner.root
        assert root is not None
        # What an update in place overwrites is not computed at all.
        in_place = {root.id, *(root.operand_ids if root.opcode == "tuple" else ())}
        by_id = {i.id: i for i in inner.instructions}

        def share(user: int, position: int) -> float:
            one = by_id[user]
            if one.opcode == "dynamic-update-slice" and position == 0 and user in in_place:
                return 0.0
            return self._properties(one).get(rules.used(position), 1.0)

        values = [
            Value(i.id, i.operand_ids, elements_of(i.shape), _passes_through(i, self._program))
            for i in inner.instructions
        ]
        return dict(utilization(values, root.id, share))


def _passes_through(one: Instruction, program: Instructions) -> bool:
    return one.opcode in ("tuple", "get-tuple-element") or is_elementwise(one, program)


def elements_of(shape: Shape) -> int:
    """Number of elements of all arrays in a shape."""
    return sum(element_count(leaf) for _, leaf in leaves(shape))


def _parameter(one: Instruction, parts: Mapping[tuple[int, int], int], use: Mapping[int, float]) -> rules.Properties:
    """Bytes that a fusion reads of the operand behind a parameter, and how often it uses it.

    `parts` holds the id of the instruction that takes a part of a tuple, by the tuple's id and the part's index.
    """
    number = one.parameter_number
    found: rules.Properties = {rules.used(number): use.get(one.id, 0.0)}
    for part, leaf in leaves(one.shape):
        taken = one.id
        for index in part:
            taken = parts.get((taken, index), taken)
        found[rules.read(number, part)] = float(round(byte_size(leaf) * min(1.0, use.get(taken, 0.0))))
    total = math.fsum(value for key, value in found.items() if key[0] == "read")
    return found | {rules.read(number): total}


def _reduced_span(one: Instruction) -> float:
    """Size of the one dimension that a window reduces as a whole, for each of its positions; 0 for other windows."""
    sizes = [d for d in one.window.dimensions if d.size != 1]
    padded = [d for d in one.window.dimensions if d.padding_low or d.padding_high]
    if len(sizes) != 1 or len(padded) != 1 or is_tuple(one.shape):
        return 0.0
    for axis, d in enumerate(one.window.dimensions):
        if d.size != 1 and d.padding_low == d.padding_high != 0 and d.size == 2 * d.padding_low + 1:
            size = one.shape.dimensions[axis] if axis < len(one.shape.dimensions) else 0
            return float(size) if d.padding_low == size - 1 else 0.0
    return 0.0


def _in_device_memory(shape: Shape) -> Iterable[tuple[int, ...]]:
    """The parts of a value that lie in the device's main memory."""
    return (part for part, leaf in leaves(shape) if leaf.layout.memory_space == 0)


def _scale(one: Instruction, operands: Sequence[Shape]) -> float:
    """How much faster operations on these operands are than on 16 bits."""
    if one.opcode == "custom-call":
        library = one.custom_call_target in rules.CUBLAS_LT
        return _SCALE.get(bits_of(operands[0].element_type), 1.0) if library and operands else 1.0
    return _SCALE.get(max((bits_of(shape.element_type) for shape in operands), default=0), 1.0)


def _whole(value: float) -> float:
    """A figure without fraction; 0 for what is unknown."""
    return float(int(value)) if np.isfinite(value) and value > 0 else 0.0
