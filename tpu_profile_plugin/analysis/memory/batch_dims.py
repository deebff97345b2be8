"""Which dimensions of a program's values come from the batch: followed from the arguments through its instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tpu_profile_plugin.analysis.hlo.graph import Links
from tpu_profile_plugin.analysis.hlo.shapes import is_tuple

Dims: TypeAlias = "frozenset[int] | None"
"""Dimensions of an array that grow with the batch; None if that is unknown."""
Value: TypeAlias = "Dims | tuple[Value, ...]"
"""Of a tuple, those of its parts."""

NONE: frozenset[int] = frozenset()
_DEEPEST = 32
"""Computations nest less in real programs; damaged ones may call themselves."""
_UNKNOWN = frozenset(("iota", "custom-call", "rng", "rng-bit-generator", "conditional", "infeed", "recv", "fft"))
_FIRST = frozenset(("scatter", "reduce-window", "select-and-scatter", "slice", "pad", "reverse", "dynamic-slice"))
"""The result has the dimensions of the first operand."""


class BatchDims:
    """The dimensions of all values of a program; `of` has those of a row at a path of tuple indices."""

    def __init__(self, links: Links, entry: int | None, arguments: Mapping[int, frozenset[int]]) -> None:
        """`arguments`: by number of the entry computation's parameters, those that are known."""
        self._links, self._opcodes = links, links.program.opcodes
        self._values: dict[int, Value] = {}
        self._known: dict[tuple[int, tuple[Value, ...]], Value] = {}
        count = max(arguments, default=-1) + 1
        if entry is not None:
            self._inside(entry, tuple(arguments.get(number) for number in range(count)), 0)

    def of(self, row: int, path: Iterable[int] = ()) -> Dims:
        """The dimensions of an array; None if they are unknown."""
        value = self._values.get(row)
        for index in path:
            value = value[index] if isinstance(value, tuple) and index < len(value) else None
        return None if isinstance(value, tuple) else value

    def _inside(self, computation: int, arguments: tuple[Value, ...], depth: int) -> Value:
        """The value of a computation for these arguments."""
        key = computation, arguments
        if key in self._known or depth > _DEEPEST:
            return self._known.get(key)
        for row in self._links.rows_of(computation):
            self._values[row] = self._value(row, arguments, depth)
        root = self._links.root(computation)
        self._known[key] = None if root is None else self._values[root]
        return self._known[key]

    def _value(self, row: int, arguments: tuple[Value, ...], depth: int) -> Value:
        opcode, operands = self._opcodes[row], self._links.operands(row)
        values = [self._values.get(one) for one in operands]
        called = self._links.called(row)
        match opcode:
            case "parameter":
                number = int(self._links.message(row).parameter_number)
                return arguments[number] if 0 <= number < len(arguments) else None
            case "constant":
                return NONE
            case "tuple":
                return tuple(values)
            case "get-tuple-element":
                of, index = values[0] if values else None, int(self._links.message(row).tuple_index)
                return of[index] if isinstance(of, tuple) and 0 <= index < len(of) else None
            case "while" if values:
                body = [one for one in called if is_tuple(self._root_shape(one))][:1]
                return _either(values[0], self._inside(body[0], (values[0],), depth + 1)) if body else values[0]
            case "fusion" | "call" | "async-start" if called:
                return self._inside(called[0], tuple(values), depth + 1)
            case "reduce" if is_tuple(self._links.shape(row)):
                one = self._array(row, opcode, operands, values)
                return (one,) * len(self._links.shape(row).tuple_shapes)
            case "optimization-barrier" | "opt-barrier" | "copy-start" | "domain":
                return values[0] if values else None
        return None if opcode in _UNKNOWN else self._array(row, opcode, operands, values)

    def _root_shape(self, computation: int) -> Any:
        root = self._links.root(computation)
        return self._links.shape(self._links.rows_of(computation)[0] if root is None else root)

    def _array(self, row: int, opcode: str, operands: Sequence[int], values: Sequence[Value]) -> Dims:
        """The dimensions of an instruction whose result is an array."""
        dims = [None if isinstance(one, tuple) else one for one in values]
        if not operands or min(operands) < 0:
            return None
        message, first = self._links.message(row), dims[0]
        shapes = [self._links.shape(one) for one in operands]
        match opcode:
            case "broadcast":
                moved = _mapped(first, message.dimensions)
                return moved if moved or len(message.dimensions) == len(self._links.shape(row).dimensions) else None
            case "transpose":
                return None if first is None else frozenset(i for i, of in enumerate(message.dimensions) if of in first)
            case "reshape":
                return _regrouped(first, shapes[0].dimensions, self._links.shape(row).dimensions)
            case "bitcast":
                return _bitcast(first, shapes[0], self._links.shape(row))
            case "reduce":
                left = [i for i in range(len(shapes[0].dimensions)) if i not in message.dimensions]
                return None if first is None else frozenset(i for i, of in enumerate(left) if of in first)
            case "dot" if len(dims) > 1:
                return _dot(message.dot_dimension_numbers, dims, shapes)
            case "convolution" if len(dims) > 1:
                return _convolution(message.convolution_dimension_numbers, dims)
            case "gather" if len(dims) > 1:
                return _gather(message.gather_dimension_numbers, dims, shapes, self._links.shape(row))
        return self._alike(row, dims[:1] if opcode in _FIRST else dims, shapes)

    def _alike(self, row: int, dims: Sequence[Dims], shapes: Sequence[Any]) -> Dims:
        """The dimensions of operands with as many as the result has; each that is known tells them."""
        sizes = self._links.shape(row).dimensions
        rank = len(sizes)
        known = [
            one for one, shape in zip(dims, shapes, strict=False) if one is not None and len(shape.dimensions) == rank
        ]
        # A slice of one row of the batch does not grow.
        return frozenset(i for i in frozenset().union(*known) if sizes[i] != 1) if known else None


def _either(one: Value, other: Value) -> Value:
    """What either of two values of one shape tells."""
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(map(_either, one, other))
    if isinstance(one, tuple) or other is None:
        return one
    return other if one is None or isinstance(other, tuple) else one | other


def _mapped(dims: Dims, places: Sequence[int]) -> Dims:
    """The dimensions at their places in the result."""
    return None if dims is None else frozenset(places[one] for one in dims if one < len(places))


def _regrouped(dims: Dims, before: Sequence[int], after: Sequence[int]) -> Dims:
    """The dimensions of the result that hold the slowest part of each."""
    if dims is None:
        return None
    found = set()
    for one in dims:
        high = 1
        for size in before[one:]:
            high *= size
        stride = 1
        for place in range(len(after) - 1, -1, -1):
            if stride < high <= stride * after[place]:
                found.add(place)
            stride *= after[place]
    return frozenset(found)


def _bitcast(dims: Dims, before: Any, after: Any) -> Dims:
    """A reshape of the values as they lie in memory."""
    if dims is None:
        return None
    inner, outer = _in_memory(before), _in_memory(after)
    moved = frozenset(inner.index(one) for one in dims if one in inner)
    regrouped = _regrouped(moved, [before.dimensions[i] for i in inner], [after.dimensions[i] for i in outer])
    return frozenset(outer[one] for one in regrouped or ())


def _in_memory(shape: Any) -> list[int]:
    """The dimensions, the slowest first."""
    order = list(shape.layout.minor_to_major)
    rank = len(shape.dimensions)
    return order[::-1] if sorted(order) == list(range(rank)) else list(range(rank))


def _dot(numbers: Any, dims: Sequence[Dims], shapes: Sequence[Any]) -> Dims:
    """Batch dimensions of the product, then what is left of each factor."""
    sides = []
    for dim, shape, batch, contracted in (
        (dims[0], shapes[0], numbers.lhs_batch_dimensions, numbers.lhs_contracting_dimensions),
        (dims[1], shapes[1], numbers.rhs_batch_dimensions, numbers.rhs_contracting_dimensions),
    ):
        free = [i for i in range(len(shape.dimensions)) if i not in batch and i not in contracted]
        sides.append((dim, list(batch), free))
    (left, left_batch, left_free), (right, right_batch, right_free) = sides
    found = {
        i
        for i, (a, b) in enumerate(zip(left_batch, right_batch, strict=False))
        if a in (left or ()) or b in (right or ())
    }
    found |= {len(left_batch) + i for i, of in enumerate(left_free) if of in (left or ())}
    found |= {len(left_batch) + len(left_free) + i for i, of in enumerate(right_free) if of in (right or ())}
    return None if not found and (left is None or right is None) else frozenset(found)


def _convolution(numbers: Any, dims: Sequence[Dims]) -> Dims:
    left, right = dims[0], dims[1]
    pairs = [
        (left, numbers.input_batch_dimension, numbers.output_batch_dimension),
        (right, numbers.kernel_output_feature_dimension, numbers.output_feature_dimension),
        *(
            (left, *pair)
            for pair in zip(numbers.input_spatial_dimensions, numbers.output_spatial_dimensions, strict=False)
        ),
    ]
    found = frozenset(out for known, of, out in pairs if of in (known or ()))
    return None if not found and (left is None or right is None) else found


def _gather(numbers: Any, dims: Sequence[Dims], shapes: Sequence[Any], result: Any) -> Dims:
    """Dimensions of the indices, and those of the operand that are taken whole."""
    operand, indices = dims[0], dims[1]
    offset, collapsed = list(numbers.offset_dims), {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    taken = [i for i in range(len(shapes[0].dimensions)) if i not in collapsed]
    of_indices = [i for i in range(len(shapes[1].dimensions)) if i != numbers.index_vector_dim]
    places = [i for i in range(len(result.dimensions)) if i not in offset]
    found = {out for of, out in zip(of_indices, places, strict=False) if of in (indices or ())}
    for of, out in zip(taken, offset, strict=False):
        whole = out < len(result.dimensions) and shapes[0].dimensions[of] == result.dimensions[out]
        found |= {out} if whole and of in (operand or ()) else set()
    return None if not found and indices is None else frozenset(found)
