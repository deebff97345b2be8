"""Which of a program's buffers grow with the batch: assumed from their shapes, and from the names of arguments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.memory.history import CONSTANT, OUTPUT, PARAMETER

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

    `returned`: the storage of an argument also holds a result. `activation`: it holds a result of the forward pass.
    """

    category: str
    shape: str
    path: str
    size: int
    returned: bool = False
    activation: bool = False


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


def assumed_scaling(buffers: Sequence[Sized]) -> Scaling:
    """Arguments that are neither named as parameters nor returned have the batch as their first dimension.

    Other buffers grow if one of their dimensions is the batch, unless they are shaped as a parameter
    and not known to be activations.
    """
    shapes = [dimensions(one.shape) for one in buffers]
    results = Counter(shape for one, shape in zip(buffers, shapes, strict=True) if one.category == OUTPUT and shape)
    kept = [_kept(one, shape, results) for one, shape in zip(buffers, shapes, strict=True)]
    batch = _batch(buffers, shapes, kept)
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
    if tuple(sorted(shape)) in state and not one.activation:
        return False, "shaped as a parameter"
    if batch in shape:
        return True, f"has the dimension {batch}"
    if batch >= _LEAST_MULTIPLE and any(size % batch == 0 for size in shape):
        return True, f"has a multiple of {batch} as a dimension"
    return False, f"no dimension is {batch}"
