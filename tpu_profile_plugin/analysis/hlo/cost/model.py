"""Cost of one execution of an HLO instruction on a GPU: floating point operations and bytes of device memory.

The rules are those of XLA's cost analysis for GPUs: an estimate from shapes, not a measurement. Library calls whose
work is not visible in the program have no cost; matrix products of cuBLASLt and convolutions of cuDNN have that of the
operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.hlo.cost import rules
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

# How often each value inside a fusion is computed, from the roots that its elementwise uses lead to.


@dataclass(frozen=True, slots=True)
class Value:
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


def utilization(values: Iterable[Value], root: int, share: Callable[[int, int], float]) -> Mapping[int, float]:
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


def _users_first(by_id: Mapping[int, Value]) -> list[Value]:
    """The values in an order in which each comes after all its users; operands that are not among them are ignored."""
    order: list[Value] = []
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
"""Maximum length of a chain of calls; deeper computations have no cost."""
_SCALE = {4: 4.0, 8: 2.0}
"""Relative speed of operations on narrow operands, by bits."""


class CostModel:
    """Costs of one program's instructions. Each thread needs its own model; models may share `known`."""

    immediate = 8
    """Constants with more elements are read from memory."""

    def __init__(self, program: Instructions, known: dict[int, rules.Properties] | None = None) -> None:
        """`known`: finished properties by id of the instruction, which models of one class and program may share."""
        self._program = program
        self._known = {} if known is None else known
        self._making: set[int] = set()
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

    def cost(self, instruction: Instruction) -> Cost:
        """Cost of one execution of an instruction."""
        operands, properties = self._operands(instruction), self._properties(instruction)
        model, accessed = _whole(properties.get(rules.FLOPS, 0.0)), _whole(properties.get(rules.BYTES, 0.0))
        keys = [rules.read(i, part) for i, shape in enumerate(operands) for part in _in_device_memory(shape)]
        result_keys = [rules.written(part) for part in _in_device_memory(instruction.shape)]
        taken, made = (
            _whole(sum(properties.get(key, 0.0) for key in each)) if accessed else 0.0 for each in (keys, result_keys)
        )
        return Cost(model - _whole(model - model / self._scale(instruction, operands)), taken, made, accessed, model)

    def _default(self, instruction: Instruction, operands: Sequence[Shape]) -> rules.Properties:
        return rules.default(instruction, operands)

    def _scale(self, instruction: Instruction, operands: Sequence[Shape]) -> float:
        return _scale(instruction, operands)

    def _operands(self, instruction: Instruction) -> list[Shape]:
        return [operand.shape for i in instruction.operand_ids if (operand := self._program.find(i)) is not None]

    def _properties(self, instruction: Instruction) -> rules.Properties:
        """Properties of an instruction; none while they are being made, so that recursive calls end."""
        properties = self._known.get(instruction.id)
        if properties is None and instruction.id not in self._making and self._depth < _MAX_DEPTH:
            self._making.add(instruction.id)
            operands = self._operands(instruction)
            properties = self._default(instruction, operands)
            if rule := self._rules.get(instruction.opcode):
                self._depth += 1
                rule(instruction, operands, properties)
                self._depth -= 1
            self._known[instruction.id] = properties
            self._making.discard(instruction.id)
        return properties or {}

    def _called(self, instruction: Instruction) -> list[Computation]:
        called = map(self._program.computation, instruction.called_computation_ids)
        return [computation for computation in called if computation is not None]

    def _sums(self, inner: Computation) -> rules.Properties:
        """Each property added up over the instructions of a computation."""
        sums: rules.Properties = {}
        for instruction in inner.instructions:
            for key, value in self._properties(instruction).items():
                sums[key] = sums.get(key, 0.0) + value
        return sums

    def _flops(self, inner: Computation) -> float:
        return math.fsum(self._properties(one).get(rules.FLOPS, 0.0) for one in inner.instructions)

    def _reducer(self, instruction: Instruction) -> str:
        roots = (inner.root for inner in self._called(instruction))
        return str(next((root.opcode for root in roots if root is not None), ""))

    def _call(self, instruction: Instruction, operands: Sequence[Shape], properties: rules.Properties) -> None:
        """One run of each computation: of a loop, one iteration."""
        properties.clear()
        for inner in self._called(instruction):
            for key, value in self._sums(inner).items():
                properties[key] = properties.get(key, 0.0) + value

    def _conditional(self, instruction: Instruction, operands: Sequence[Shape], properties: rules.Properties) -> None:
        """The worst of the branches, property by property."""
        properties.clear()
        for inner in self._called(instruction):
            for key, value in self._sums(inner).items():
                properties[key] = max(properties.get(key, value), value)

    def _map(self, instruction: Instruction, operands: Sequence[Shape], properties: rules.Properties) -> None:
        properties[rules.FLOPS] = sum(map(self._flops, self._called(instruction))) * float(
            element_count(instruction.shape)
        )

    def _reduce(self, instruction: Instruction, operands: Sequence[Shape], properties: rules.Properties) -> None:
        """Initial values are read once for each element of the result."""
        inputs, results = len(operands) // 2, float(element_count(first_part(instruction.shape)))
        for i, initial in enumerate(operands[inputs:], inputs):
            properties[rules.read(i)] = results * byte_size(initial)
            properties[rules.used(i)] = results
        properties[rules.BYTES] = float(leaf_bytes(instruction.shape)) + sum(
            properties[rules.read(i)] for i in range(len(operands))
        )
        applied = max(0.0, float(element_count(operands[0])) - results) if operands else 0.0
        properties[rules.FLOPS] = applied * sum(map(self._flops, self._called(instruction)[:1]))

    def _reduce_window(self, instruction: Instruction, operands: Sequence[Shape], properties: rules.Properties) -> None:
        results = float(element_count(first_part(instruction.shape)))
        window = math.prod(float(dimension.size) for dimension in instruction.window.dimensions)
        applied = max(0.0, window - 1) * results
        if span := _reduced_span(instruction):
            applied = results // span + span - 1
        properties[rules.FLOPS] = applied * sum(map(self._flops, self._called(instruction)[:1]))

    def _scatter(self, instruction: Instruction, operands: Sequence[Shape], properties: rules.Properties) -> None:
        """Reads, combines and writes the size of the updates."""
        count = len(operands) // 2
        if not count:
            return
        sizes = [float(byte_size(shape)) for shape in operands[count + 1 :]]
        properties |= {rules.read(i): size for i, size in enumerate(sizes)}
        properties |= {rules.written(): sum(sizes), rules.BYTES: 3 * sum(sizes) + byte_size(operands[count])}
        applied = float(element_count(operands[count + 1]))
        properties[rules.FLOPS] = applied * sum(map(self._flops, self._called(instruction)[:1]))

    def _select_and_scatter(
        self, instruction: Instruction, operands: Sequence[Shape], properties: rules.Properties
    ) -> None:
        called = [self._flops(inner) for inner in self._called(instruction)]
        if len(called) == 2 and len(operands) > 1:
            window = math.prod(float(dimension.size) for dimension in instruction.window.dimensions)
            properties[rules.FLOPS] = float(element_count(operands[1])) * ((window - 1) * called[0] + called[1])

    def _all_reduce(self, instruction: Instruction, operands: Sequence[Shape], properties: rules.Properties) -> None:
        rules.all_reduce(instruction, operands, properties, self._reducer(instruction))

    def _reduce_scatter(
        self, instruction: Instruction, operands: Sequence[Shape], properties: rules.Properties
    ) -> None:
        rules.reduce_scatter(instruction, operands, properties, self._reducer(instruction))

    def _async_start(self, instruction: Instruction, operands: Sequence[Shape], properties: rules.Properties) -> None:
        """Only a wrapped reduce-scatter has a cost."""
        properties.clear()
        root = next((inner.root for inner in self._called(instruction)), None)
        if root is not None and root.opcode == "reduce-scatter":
            self._reduce_scatter(root, self._operands(root), properties)

    def _fusion(self, instruction: Instruction, operands: Sequence[Shape], properties: rules.Properties) -> None:
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

    def _fused(self, inner: Computation, properties: rules.Properties) -> None:
        """Adds FLOPs and bytes read to the results of a fusion."""
        use = self._utilization(inner)
        properties[rules.FLOPS] = math.fsum(
            self._properties(i).get(rules.FLOPS, 0.0) * use.get(i.id, 0.0) for i in inner.instructions
        )
        properties[rules.BYTES] = properties[rules.written()] + self._large_constants(inner, use)
        parts = {
            (i.operand_ids[0], i.tuple_index): i.id
            for i in reversed(inner.instructions)
            if i.opcode == "get-tuple-element" and i.operand_ids
        }
        for i in inner.instructions:
            if i.opcode == "parameter":
                properties |= _parameter(i, parts, use)
                properties[rules.BYTES] += properties[rules.read(i.parameter_number)]

    def _fusion_results(self, instruction: Instruction, root: Instruction) -> rules.Properties:
        """Bytes written of each part of a fusion's result; an update in place writes only the update."""
        made = [self._program.find(i) for i in root.operand_ids] if root.opcode == "tuple" else []
        properties: rules.Properties = {}
        for part, leaf in leaves(instruction.shape):
            source = root if not part else made[part[0]] if len(part) == 1 and part[0] < len(made) else None
            update = self._update(source)
            properties[rules.written(part)] = float(byte_size(leaf if update is None else update))
        return properties | {rules.written(): math.fsum(properties.values())}

    def _update(self, instruction: Instruction | None) -> Shape | None:
        """Shape written by an update in place; None for other instructions."""
        operands = (
            self._operands(instruction)
            if instruction is not None and instruction.opcode == "dynamic-update-slice"
            else []
        )
        return operands[1] if len(operands) > 1 else None

    def _large_constants(self, inner: Computation, use: dict[int, float]) -> float:
        large = (i for i in inner.instructions if i.opcode == "constant" and element_count(i.shape) > self.immediate)
        return math.fsum(byte_size(i.shape) * min(1.0, use.get(i.id, 0.0)) for i in large)

    def _utilization(self, inner: Computation) -> dict[int, float]:
        """How often each value inside a fusion is computed."""
        root = inner.root
        assert root is not None
        # Elements that an update in place overwrites are not computed at all.
        in_place = {root.id, *(root.operand_ids if root.opcode == "tuple" else ())}
        by_id = {i.id: i for i in inner.instructions}

        def share(user: int, position: int) -> float:
            instruction = by_id[user]
            if instruction.opcode == "dynamic-update-slice" and position == 0 and user in in_place:
                return 0.0
            return self._properties(instruction).get(rules.used(position), 1.0)

        values = [
            Value(i.id, i.operand_ids, elements_of(i.shape), _passes_through(i, self._program))
            for i in inner.instructions
        ]
        return dict(utilization(values, root.id, share))


def _passes_through(instruction: Instruction, program: Instructions) -> bool:
    return instruction.opcode in ("tuple", "get-tuple-element") or is_elementwise(instruction, program)


def elements_of(shape: Shape) -> int:
    """Number of elements of all arrays in a shape."""
    return sum(element_count(leaf) for _, leaf in leaves(shape))


def _parameter(
    parameter: Instruction, parts: Mapping[tuple[int, int], int], use: Mapping[int, float]
) -> rules.Properties:
    """Bytes that a fusion reads of a parameter's operand, and how often it uses the operand.

    `parts` holds the id of the instruction that takes a part of a tuple, by the tuple's id and the part's index.
    """
    number = parameter.parameter_number
    properties: rules.Properties = {rules.used(number): use.get(parameter.id, 0.0)}
    for part, leaf in leaves(parameter.shape):
        taken = parameter.id
        for index in part:
            taken = parts.get((taken, index), taken)
        properties[rules.read(number, part)] = float(round(byte_size(leaf) * min(1.0, use.get(taken, 0.0))))
    total = math.fsum(value for key, value in properties.items() if key[0] == "read")
    return properties | {rules.read(number): total}


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


def _scale(instruction: Instruction, operands: Sequence[Shape]) -> float:
    """How much faster operations on these operands are than on 16 bits."""
    if instruction.opcode == "custom-call":
        library = instruction.custom_call_target in rules.CUBLAS_LT
        return _SCALE.get(bits_of(operands[0].element_type), 1.0) if library and operands else 1.0
    return _SCALE.get(max((bits_of(shape.element_type) for shape in operands), default=0), 1.0)


def _whole(value: float) -> float:
    """A figure without fraction; 0 if unknown."""
    return float(int(value)) if np.isfinite(value) and value > 0 else 0.0
