"""Which of a program's buffers grow with the batch, and the peak for another batch.

Dimensions are followed from the arguments (`batch_dims`); what that does not tell is assumed from shapes and from names
of arguments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.memory.batch_dims import Dims
from tpu_profile_plugin.analysis.memory.history import CONSTANT, OUTPUT, PARAMETER
from tpu_profile_plugin.columns.arrays import I64

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
    """What is assumed.

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
    shapes = [dimensions(one.shape) for one in buffers]
    results = Counter(shape for one, shape in zip(buffers, shapes, strict=True) if one.category == OUTPUT and shape)
    kept = [_kept(one, shape, results) for one, shape in zip(buffers, shapes, strict=True)]
    return _batch(buffers, shapes, kept), kept


def assumed_scaling(buffers: Sequence[Sized]) -> Scaling:
    """Arguments that have the batch grow, and what the program makes of them.

    Where the program does not tell, buffers grow if one of their dimensions is the batch, unless they are shaped as a
    parameter and not known to be activations.
    """
    batch, kept = batch_of(buffers)
    shapes = [dimensions(one.shape) for one in buffers]
    state = {tuple(sorted(shape)) for shape, why in zip(shapes, kept, strict=True) if why and len(shape) > 1}
    verdicts = [_verdict(one, shape, why, batch, state) for one, shape, why in zip(buffers, shapes, kept, strict=True)]
    return Scaling(batch, tuple(scales for scales, _ in verdicts), tuple(why for _, why in verdicts))


def _kept(one: Sized, shape: tuple[int, ...], results: Counter[tuple[int, ...]]) -> str:
    """Why an argument is a parameter; "" for others and for what is no argument."""
    if one.category != PARAMETER:
        return ""
    if _STATE.search(one.path):
        return f"named {one.path}"
    if one.returned:
        return "updated in place"
    if len(shape) > 1 and results[shape]:
        return "a result has its shape"
    return ""


def _batch(buffers: Sequence[Sized], shapes: Sequence[tuple[int, ...]], kept: Sequence[str]) -> int:
    """The first dimension of arguments that most bytes of all buffers have as a dimension."""
    candidates = {
        shape[0]
        for one, shape, why in zip(buffers, shapes, kept, strict=True)
        if one.category == PARAMETER and not why and shape and shape[0] > 1
    }

    def support(size: int) -> int:
        return sum(one.size for one, shape in zip(buffers, shapes, strict=True) if size in shape)

    return max(sorted(candidates), key=support, default=0)


def _verdict(
    one: Sized, shape: tuple[int, ...], kept: str, batch: int, state: set[tuple[int, ...]]
) -> tuple[bool, str]:
    if kept or one.category == CONSTANT:
        return False, kept or "a constant"
    if not batch:
        return False, "no argument has a batch"
    if one.category == PARAMETER:
        first = bool(shape) and shape[0] == batch
        return first, f"first dimension is the batch, {batch}" if first else f"first dimension is not {batch}"
    if one.dims is not None and shape:
        grown = " x ".join(str(shape[at]) for at in sorted(one.dims) if at < len(shape))
        return bool(grown), f"its dimension {grown} comes from the batch" if grown else "the same for every batch"
    if tuple(sorted(shape)) in state and not one.activation:
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
"""What programs compiled for twice the batch needed, as factors of the prediction (`scripts/soak/batch_twice`): the
compiler chooses other fusions for other sizes, and may keep a value that it computed twice before."""
_MOST_THRESHOLDS = 16


def corners(fixed: I64, scaled: I64, guests: Guests) -> tuple[Corner, ...]:
    """What gives the peak for some size of the batch, few of all instants: at k times the batch it is the largest.

    Args:
      fixed, scaled: bytes at each instant that do not, and do, grow.
      guests: those that grow; their storage does not.
    """
    found: list[Corner] = [(*one, 0.0) for one in _hull(fixed, scaled)]
    thresholds = np.unique(guests.room / np.maximum(guests.size, 1))
    for threshold in thresholds[:_MOST_THRESHOLDS].tolist():
        change = np.zeros(len(fixed) + 1, np.int64)
        gone = guests.room <= threshold * guests.size
        np.add.at(change, guests.first[gone], guests.size[gone])
        np.subtract.at(change, guests.last[gone] + 1, guests.size[gone])
        more = _hull(fixed, scaled + np.cumsum(change)[:-1])
        found += [(*one, threshold) for one in more if all(one != other[:2] for other in found)]
    return tuple(found)


def _hull(fixed: I64, scaled: I64) -> list[tuple[int, int]]:
    """The (fixed, scaled) that are the largest fixed + k * scaled for some k from 0 on."""
    best: dict[int, int] = {}
    for slope, height in zip(scaled.tolist(), fixed.tolist(), strict=True):
        best[slope] = max(best.get(slope, 0), height)
    hull: list[tuple[int, int]] = []
    for slope, height in sorted(best.items()):
        while hull and (hull[-1][0] <= height or (len(hull) > 1 and _below(hull[-2], hull[-1], (height, slope)))):
            hull.pop()
        hull.append((height, slope))
    return hull


def _below(left: tuple[int, int], middle: tuple[int, int], right: tuple[int, int]) -> bool:
    """Whether the middle one is never the highest line; slopes rise, heights fall."""
    return (left[0] - middle[0]) * (right[1] - left[1]) >= (left[0] - right[0]) * (middle[1] - left[1])
