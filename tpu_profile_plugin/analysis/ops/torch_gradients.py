"""Gradients of PyTorch's backward pass that no optimizer reads, by the shapes of gradients and updated parameters."""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.op_names import PYTORCH_SUFFIX
from tpu_profile_plugin.analysis.common.planes import spans_at
from tpu_profile_plugin.analysis.common.spans import Times, join, times_of
from tpu_profile_plugin.analysis.ops.torch_inputs import SHAPES, Operands, Shape, operand_shapes
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64, Bools

_OPTIMIZER = re.compile(r"Optimizer\.step#[^/]*\Z")
_OWN = re.compile(r"Optimizer\.step#(?:A?SGD|Ada(?:delta|factor|grad|m|mW|max)|[NR]Adam|R(?:MS)?prop|Muon)\.")
"""PyTorch's own, which update parameters by its ops; those of others have kernels that are recorded as no op."""
_GRADIENT, _PRODUCT, _UPDATE, _OF_LISTS = (
    re.compile(rf"{pattern}{PYTORCH_SUFFIX}\Z")
    for pattern in (
        r"(?:\A|/)torch::autograd::AccumulateGrad",
        "aten::(?:addmm|mm)",
        r"Optimizer\.step#.*/aten::\w+_",
        r"Optimizer\.step#.*/aten::_(?:foreach|fused)_\w+_",
    )
)
_NODE = re.compile(rf"(?:\A|/)\w+Backward\d*(?:{PYTORCH_SUFFIX})?\Z")
_SHARDED = re.compile(r"reduce_?scatter|fsdp", re.IGNORECASE)
"""Gradients have other shapes than what each rank updates."""


@dataclass(frozen=True, slots=True)
class UnreadGradients:
    """Gradients of a recording.

    Attributes:
      gradients: how many are computed per update; unread: of these, how many have the shape of no updated parameter.
      largest: the largest of these shapes, "96 x 48"; "" without any.
      spans: when the thread of the backward pass computes these alone: after the last gradient that an update reads,
        matrix products with such a result, and all of a module of which only such are computed and whose input needs
        no gradient, as a teacher's.
    """

    gradients: int
    unread: int
    largest: str
    spans: Times


def unread_gradients(space: XSpace, plane: Plane) -> UnreadGradients | None:
    """The unread gradients in the plane of a host's threads; None without recorded shapes of gradients and updates."""
    names = plane.event_metadata.names
    if plane.declared.stat_metadata.row(SHAPES) is None or any(map(_SHARDED.search, names)):
        return None
    if not all(map(_OWN.match, filter(_OPTIMIZER.match, names))):
        return None
    events = _Events(space, plane)
    _, updated_ps = spans_at(plane, events.rows(_OPTIMIZER))
    gradients, updates, products = map(events.rows, (_GRADIENT, _UPDATE, _PRODUCT))
    computed, updated = events.counted(gradients), events.counted(updates)
    unread = computed.keys() - updated.keys()
    if not len(updated_ps) or len(unread) == len(computed) or not events.all_known(events.rows(_OF_LISTS)):
        return None
    which = [events.having(gradients, _first, shapes) for shapes in (computed.keys() - unread, unread)]
    products, read = (products[events.having(products, _result, one)] for one in (unread, computed.keys() - unread))
    modules = _without_readers(events, products, read)
    number, total = (round(sum(computed[one] for one in shapes) / len(updated_ps)) for shapes in (unread, computed))
    largest = " x ".join(map(str, max(unread, key=math.prod, default=())))
    spans = join(
        _after_last(plane, updated_ps, gradients, which),
        times_of(*spans_at(plane, np.concatenate([products, modules]))),
    )
    return UnreadGradients(total, number, largest, spans)


class _Events:
    """Events of the host by name, with the shapes of their operands."""

    def __init__(self, space: XSpace, plane: Plane) -> None:
        self.plane, self.names, self.metadata = plane, plane.event_metadata.names, plane.events.metadata
        self.code, texts = read.strings(space, plane, plane.events.stats, SHAPES)
        self.operands = [*map(operand_shapes, texts), []]

    def rows(self, named: re.Pattern[str]) -> I64:
        """Events with such names, by begin."""
        rows = np.flatnonzero(np.array([bool(named.search(name)) for name in self.names], np.bool_)[self.metadata])
        return rows[np.argsort(self.plane.events.begin_ps[rows], kind="stable")]

    def runs(self, name: str) -> int:
        """How often something ran, though it is recorded twice, as a node of the backward pass and as a call of it."""
        rows = np.flatnonzero(np.array([one == name + PYTORCH_SUFFIX for one in self.names], np.bool_)[self.metadata])
        return len(times_of(*spans_at(self.plane, rows))[0])

    def counted(self, rows: I64) -> dict[Shape, int]:
        """How often each shape occurs among the first operands."""
        found: dict[Shape, int] = {}
        codes, counts = np.unique(self.code[rows], return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            for shape in _first(self.operands[code]):
                found[shape] = found.get(shape, 0) + count
        return found

    def all_known(self, rows: I64) -> bool:
        """Whether each event's first operand has a shape."""
        return all(_first(self.operands[code]) for code in np.unique(self.code[rows]).tolist())

    def having(self, rows: I64, of: Callable[[Operands], Iterable[Shape]], shapes: Set[Shape]) -> Bools:
        """Which events have operands of which one of these shapes is told."""
        matches: Bools = np.array([not shapes.isdisjoint(of(one)) for one in self.operands], np.bool_)[self.code[rows]]
        return matches


def _without_readers(events: _Events, unread: I64, read: I64) -> I64:
    """The backward pass of the module that all layers of unread gradients are in, if no gradient of it is read and the
    first of these layers computes no other product, so that nothing before it gets a gradient.
    """
    names, metadata = events.names, events.metadata
    products, mine, others = (
        np.bincount(metadata[rows], minlength=len(names)) for rows in (events.rows(_PRODUCT), unread, read)
    )
    node = [name.rpartition("/")[0] for name in names]
    layers = [row for row in np.flatnonzero(mine).tolist() if _NODE.search(node[row])]
    module = posixpath.commonpath(["/" + node[row].rpartition("/")[0] for row in layers])[1:] if layers else ""
    within = np.array([bool(module) and name.startswith(f"{module}/") for name in names], np.bool_)
    ends = (row for row in layers if products[row] == mine[row] == events.runs(node[row]))
    if others[within].any() or next(ends, None) is None:
        return np.zeros(0, np.int64)
    return np.flatnonzero((within & [_NODE.search(name) is not None for name in names])[metadata])


def _first(operands: Operands) -> list[Shape]:
    """Shapes of the first, without scalars: an optimizer counts its steps in some."""
    return [shape for shape in (operands or [[]])[0] if shape]


def _result(operands: Operands) -> list[Shape]:
    """The shape of the product of the last two matrices, in either order."""
    matrices = [one[0] for one in operands if len(one) == 1 and len(one[0]) == 2]
    if len(matrices) < 2:
        return []
    rows, columns = matrices[-2][0], matrices[-1][1]
    return [(rows, columns), (columns, rows)]


def _after_last(plane: Plane, updated_ps: I64, gradients: I64, which: list[Bools]) -> Times:
    """Before each update, from the last gradient that it reads to the last that it does not."""
    begin, end = spans_at(plane, gradients)
    update = np.searchsorted(updated_ps, begin)
    last = np.zeros((2, len(updated_ps) + 1), np.int64)
    for row, mine in enumerate(which):
        np.maximum.at(last[row], update[mine], end[mine])
    return times_of(last[0], last[1], (last[0] > 0) & (last[1] > last[0]))
