"""Buffers of a program that grow with the batch, and the peak for another batch.

Dimensions are followed from the arguments (`batch_dims`); what that does not tell is assumed from shapes and from names
of arguments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tpu_profile_plugin.analysis.hlo.graph import Links
from tpu_profile_plugin.analysis.hlo.shapes import is_tuple
from tpu_profile_plugin.analysis.hlo.text import HloText
from tpu_profile_plugin.analysis.memory.buffers import CONSTANT, OUTPUT, PARAMETER, MemoryHistory, stacked
from tpu_profile_plugin.columns.arrays import I64, Bools

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
        self._inside_values: dict[tuple[int, tuple[Value, ...]], Value] = {}
        count = max(arguments, default=0) + 1
        if entry is not None:
            self._inside(entry, tuple(arguments.get(number) for number in range(count)), 0)

    def of(self, row: int, path: Iterable[int] = ()) -> Dims:
        """The dimensions of an array; None if they are unknown."""
        value = self._values.get(row)
        for index in path:
            value = value[index] if isinstance(value, tuple) and index < len(value) else None
        return None if isinstance(value, tuple) else value

    def _inside(self, computation: int, arguments: tuple[Value, ...], depth: int) -> Value:
        """The value of a computation for some arguments."""
        key = computation, arguments
        if key in self._inside_values or depth > _DEEPEST:
            return self._inside_values.get(key)
        for row in self._links.rows_of(computation):
            self._values[row] = self._value(row, arguments, depth)
        root = self._links.root(computation)
        self._inside_values[key] = None if root is None else self._values[root]
        return self._inside_values[key]

    def _value(self, row: int, arguments: tuple[Value, ...], depth: int) -> Value:
        opcode, operands = self._opcodes[row], self._links.operands(row)
        values = [self._values.get(operand) for operand in operands]
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
                body = [computation for computation in called if is_tuple(self._root_shape(computation))][:1]
                return _either(values[0], self._inside(body[0], (values[0],), depth + 1)) if body else values[0]
            case "fusion" | "call" | "async-start" if called:
                return self._inside(called[0], tuple(values), depth + 1)
            case "reduce" if is_tuple(self._links.shape(row)):
                dims = self._array(row, opcode, operands, values)
                return (dims,) * len(self._links.shape(row).tuple_shapes)
            case "optimization-barrier" | "opt-barrier" | "copy-start" | "domain":
                return values[0] if values else None
        return None if opcode in _UNKNOWN else self._array(row, opcode, operands, values)

    def _root_shape(self, computation: int) -> Any:
        root = self._links.root(computation)
        return self._links.shape(self._links.rows_of(computation)[0] if root is None else root)

    def _array(self, row: int, opcode: str, operands: Sequence[int], values: Sequence[Value]) -> Dims:
        """The dimensions of an instruction whose result is an array."""
        dims = [None if isinstance(value, tuple) else value for value in values]
        if not operands or min(operands) < 0:
            return None
        message, first = self._links.message(row), dims[0]
        shapes = [self._links.shape(operand) for operand in operands]
        match opcode:
            case "broadcast":
                places = message.dimensions
                moved = None if first is None else frozenset(places[dim] for dim in first if dim < len(places))
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
        pairs = zip(dims, shapes, strict=False)
        alike = [of for of, shape in pairs if of is not None and len(shape.dimensions) == rank]
        # A slice of one row of the batch does not grow.
        return frozenset(i for i in frozenset().union(*alike) if sizes[i] != 1) if alike else None


def _either(first: Value, other: Value) -> Value:
    """The dimensions that either of two values of one shape tells."""
    if isinstance(first, tuple) and isinstance(other, tuple) and len(first) == len(other):
        return tuple(map(_either, first, other))
    if isinstance(first, tuple) or other is None:
        return first
    return other if first is None or isinstance(other, tuple) else first | other


def _regrouped(dims: Dims, before: Sequence[int], after: Sequence[int]) -> Dims:
    """The dimensions of the result that hold the slowest part of each."""
    if dims is None:
        return None
    slowest = set()
    for dim in dims:
        high = 1
        for size in before[dim:]:
            high *= size
        stride = 1
        for place in range(len(after) - 1, -1, -1):
            if stride < high <= stride * after[place]:
                slowest.add(place)
            stride *= after[place]
    return frozenset(slowest)


def _bitcast(dims: Dims, before: Any, after: Any) -> Dims:
    """A reshape of the values as they lie in memory."""
    if dims is None:
        return None
    inner, outer = _in_memory(before), _in_memory(after)
    moved = frozenset(inner.index(dim) for dim in dims if dim in inner)
    regrouped = _regrouped(moved, [before.dimensions[i] for i in inner], [after.dimensions[i] for i in outer])
    return frozenset(outer[place] for place in regrouped or ())


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
    out = {
        i
        for i, (a, b) in enumerate(zip(left_batch, right_batch, strict=False))
        if a in (left or ()) or b in (right or ())
    }
    out |= {len(left_batch) + i for i, of in enumerate(left_free) if of in (left or ())}
    out |= {len(left_batch) + len(left_free) + i for i, of in enumerate(right_free) if of in (right or ())}
    return None if not out and (left is None or right is None) else frozenset(out)


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
    grown = frozenset(out for side, of, out in pairs if of in (side or ()))
    return None if not grown and (left is None or right is None) else grown


def _gather(numbers: Any, dims: Sequence[Dims], shapes: Sequence[Any], result: Any) -> Dims:
    """Dimensions of the indices, and those of the operand that are taken whole."""
    operand, indices = dims[0], dims[1]
    offset, collapsed = list(numbers.offset_dims), {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    taken = [i for i in range(len(shapes[0].dimensions)) if i not in collapsed]
    of_indices = [i for i in range(len(shapes[1].dimensions)) if i != numbers.index_vector_dim]
    places = [i for i in range(len(result.dimensions)) if i not in offset]
    grown = {out for of, out in zip(of_indices, places, strict=False) if of in (indices or ())}
    for of, out in zip(taken, offset, strict=False):
        whole = out < len(result.dimensions) and shapes[0].dimensions[of] == result.dimensions[out]
        grown |= {out} if whole and of in (operand or ()) else set()
    return None if not grown and indices is None else frozenset(grown)


_DIMENSIONS = re.compile(r"^\w+\[([\d,]*)\]")
_STATE = re.compile(
    r"(^|[^a-z])(params?|parameters?|weights?|kernels?|bias(es)?|variables|batch_stats|opt(imizer)?(_state)?|momentum|mu|nu"
    r"|ema|state|cache|embeddings?|table|rng|key|step|count)s?($|[^a-z])",
    re.IGNORECASE,
)
"""Names of arguments that stay as they are when the batch grows."""
_LEAST_MULTIPLE = 8
"""With smaller batches a multiple of the batch is no sign of it: most sizes are."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A buffer: its kind (see `MemoryHistory.categories`), shape, path of an argument, and size in bytes.

    Attributes:
      returned: the storage of an argument also holds a result.
      activation: it holds a result of the forward pass.
      dims: its dimensions that come from the batch, as far as the program tells; None if it does not.
    """

    category: str
    shape: str
    path: str
    size: int
    returned: bool = False
    activation: bool = False
    dims: Dims = None


@dataclass(frozen=True, slots=True)
class Scaling:
    """Assumptions about a program's buffers.

    Attributes:
      batch: the size of the batch that the program was compiled for; 0 if no argument has one.
      scales: per buffer, whether it grows with the batch; why: the reason, a few words.
    """

    batch: int
    scales: tuple[bool, ...]
    why: tuple[str, ...]


def dimensions(shape: str) -> tuple[int, ...]:
    """The dimensions of an array: `f32[2,3]{1,0}` -> (2, 3); of tuples and scalars none."""
    match = _DIMENSIONS.match(shape)
    return tuple(int(size) for size in match[1].split(",") if size) if match else ()


def batch_of(buffers: Sequence[Sized]) -> tuple[int, list[str]]:
    """The size of the batch, 0 if no argument has one; per buffer, why it is a parameter, "" for others.

    Arguments that are neither named as parameters nor returned have the batch as their first dimension.
    """
    shapes = [dimensions(buffer.shape) for buffer in buffers]
    sized = list(zip(buffers, shapes, strict=True))
    results = Counter(shape for buffer, shape in sized if buffer.category == OUTPUT and shape)
    kept = [_kept(buffer, shape, results) for buffer, shape in sized]
    candidates = {
        shape[0]
        for (buffer, shape), why in zip(sized, kept, strict=True)
        if buffer.category == PARAMETER and not why and shape and shape[0] > 1
    }

    def support(size: int) -> int:
        return sum(buffer.size for buffer, shape in sized if size in shape)

    # The first dimension of arguments that most bytes of all buffers have as a dimension.
    return max(sorted(candidates), key=support, default=0), kept


def assumed_scaling(buffers: Sequence[Sized]) -> Scaling:
    """Arguments that have the batch grow, and what the program makes of them.

    Where the program does not tell, buffers grow if one of their dimensions is the batch, unless they are shaped as a
    parameter and not known to be activations.
    """
    batch, kept = batch_of(buffers)
    shapes = [dimensions(buffer.shape) for buffer in buffers]
    state = {tuple(sorted(shape)) for shape, why in zip(shapes, kept, strict=True) if why and len(shape) > 1}
    verdicts = [_verdict(*facts, batch, state) for facts in zip(buffers, shapes, kept, strict=True)]
    return Scaling(batch, tuple(scales for scales, _ in verdicts), tuple(why for _, why in verdicts))


def _kept(buffer: Sized, shape: tuple[int, ...], results: Counter[tuple[int, ...]]) -> str:
    """Why an argument is a parameter; "" for others and for buffers that are no arguments."""
    if buffer.category != PARAMETER:
        return ""
    if _STATE.search(buffer.path):
        return f"named {buffer.path}"
    if buffer.returned:
        return "updated in place"
    if len(shape) > 1 and results[shape]:
        return "a result has its shape"
    return ""


def _verdict(
    buffer: Sized, shape: tuple[int, ...], kept: str, batch: int, state: set[tuple[int, ...]]
) -> tuple[bool, str]:
    if kept or buffer.category == CONSTANT:
        return False, kept or "a constant"
    if not batch:
        return False, "no argument has a batch"
    if buffer.category == PARAMETER:
        first = bool(shape) and shape[0] == batch
        return first, f"first dimension is the batch, {batch}" if first else f"first dimension is not {batch}"
    if buffer.dims is not None and shape:
        grown = " x ".join(str(shape[dim]) for dim in sorted(buffer.dims) if dim < len(shape))
        return bool(grown), f"its dimension {grown} comes from the batch" if grown else "the same for every batch"
    if tuple(sorted(shape)) in state and not buffer.activation:
        return False, "shaped as a parameter"
    if batch in shape:
        return True, f"has the dimension {batch}"
    if batch >= _LEAST_MULTIPLE and any(size % batch == 0 for size in shape):
        return True, f"has a multiple of {batch} as a dimension"
    return False, f"no dimension is {batch}"


@dataclass(frozen=True, slots=True, eq=False)
class Guests:
    """Buffers in the storage of results, which they leave once they have outgrown it.

    Attributes:
      size, room: int64[n], their bytes and those of the storage.
      first, last: int64[n], the instants between which they are in use, both included.
    """

    size: I64
    room: I64
    first: I64
    last: I64


Corner = tuple[int, int, float]
"""(fixed bytes, scaled bytes, least factor): fixed + k * scaled are in use at some instant for factors k above it."""
RECOMPILED = (0.9, 1.2)
"""Memory of programs compiled for twice the batch, as factors of the prediction (`scripts/soak/batch_twice`): the
compiler chooses other fusions for other sizes, and may keep a value that it computed twice before."""
_MOST_THRESHOLDS = 16


def corners(fixed: I64, scaled: I64, guests: Guests) -> tuple[Corner, ...]:
    """The few instants that are the peak for some size of the batch: at k times the batch the largest.

    Args:
      fixed, scaled: bytes at each instant that do not, and do, grow.
      guests: those that grow; their storage does not.
    """
    peaks: list[Corner] = [(*corner, 0.0) for corner in _hull(fixed, scaled)]
    thresholds = np.unique(guests.room / np.maximum(guests.size, 1))
    for threshold in thresholds[:_MOST_THRESHOLDS].tolist():
        gone = guests.room <= threshold * guests.size
        first, last, size = (column[gone] for column in (guests.first, guests.last, guests.size))
        more = _hull(fixed, scaled + stacked(0 * first, 1, first, last, size, len(fixed))[0])
        peaks += [(*corner, threshold) for corner in more if all(corner != other[:2] for other in peaks)]
    return tuple(peaks)


def _hull(fixed: I64, scaled: I64) -> list[tuple[int, int]]:
    """The (fixed, scaled) that are the largest fixed + k * scaled for some k from 0 on."""
    best: dict[int, int] = {}
    for slope, height in zip(scaled.tolist(), fixed.tolist(), strict=True):
        best[slope] = max(best.get(slope, 0), height)
    hull: list[tuple[int, int]] = []

    def below(left: tuple[int, int], middle: tuple[int, int], right: tuple[int, int]) -> bool:
        """Whether the middle one is never the highest line; slopes rise, heights fall."""
        return (left[0] - middle[0]) * (right[1] - left[1]) >= (left[0] - right[0]) * (middle[1] - left[1])

    for slope, height in sorted(best.items()):
        while hull and (hull[-1][0] <= height or (len(hull) > 1 and below(hull[-2], hull[-1], (height, slope)))):
            hull.pop()
        hull.append((height, slope))
    return hull


_ALIASES = frozenset(("bitcast", "tuple", "get-tuple-element", "optimization-barrier", "opt-barrier"))
_FARTHEST = 64
"""Aliases of a value are followed so far."""


def guests_of(history: MemoryHistory, scales: Bools, dims: BatchDims) -> Guests:
    """The temporaries that grow with the batch, in the storage of results that does not; `scales`: by piece."""
    layout, buffers = history.layout, history.layout.buffers
    links = Links(layout.program)
    instant = _instants(history, links)
    guests = []
    for piece in np.flatnonzero(np.array([kind == OUTPUT for kind in history.categories], bool) & ~scales).tolist():
        allocation = int(history.allocation[piece])
        for assigned in buffers.assigned(allocation) if allocation >= 0 else ():
            row = buffers.row_of.get(int(buffers.columns["assigned_buffer"][assigned]))
            position = None if row is None else buffers.position(row)
            if position is None or position.row is None or not dims.of(position.row, position.index):
                continue
            begin, end = _life(links, instant, position.row)
            guests.append((int(buffers.columns["size"][row]), int(history.size[piece]), begin, end))
    return Guests(*np.array(guests, np.int64).reshape(-1, 4).T)


def _instants(history: MemoryHistory, links: Links) -> Mapping[int, int]:
    """The first instant at or after which an instruction of the entry computation has run, by its row."""
    program, names = history.layout.program, history.layout.instruction_names
    event: dict[str, int] = {}
    for place, name in enumerate(names):
        event.setdefault(name, place + 1)
    entry = program.entry
    last = 0
    instants: dict[int, int] = {}
    for row in () if entry is None else HloText(program, full=False, metadata=False).in_order(entry):
        last = max(last, min(event.get(program.names[row], last), history.instants - 1))
        instants[row] = last
    return instants


def _life(links: Links, instant: Mapping[int, int], row: int) -> tuple[int, int]:
    """The instants between which a value is in use: from where it is made to the last that reads it or its aliases."""
    begin = instant.get(row, 0)
    end, seen, waiting = begin, {row}, [row]
    while waiting and len(seen) < _FARTHEST:
        for user in links.users(waiting.pop()):
            end = max(end, instant.get(user, begin))
            if links.program.opcodes[user] in _ALIASES and user not in seen:
                seen.add(user)
                waiting.append(user)
    return begin, end
