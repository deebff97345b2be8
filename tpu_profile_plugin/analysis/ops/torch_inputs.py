"""Operands of PyTorch's ops: shapes and types, calls of Python that led to them, and rates by type."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.attribution import named_ops
from tpu_profile_plugin.analysis.common.op_names import PYTORCH, PYTORCH_SUFFIX, parse_op
from tpu_profile_plugin.analysis.common.rows import row_codes
from tpu_profile_plugin.analysis.environment.environment import gpu_capabilities, peaks_by_dtype, plane_int
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import F64, I64

SHAPES, TYPES, _STACK = "Input Dims", "Input type", "source_stack"
_QUOTED = re.compile(r'"([^"]*)"')
_NOT_TENSORS = frozenset(("", "Scalar", "ScalarList", "TensorList", "GenericList", "bool"))
_DTYPES = {
    "double": "fp64", "float": "fp32", "c10::half": "fp16", "half": "fp16", "c10::bfloat16": "bf16", "bfloat16": "bf16",
    "signed char": "int8", "unsigned char": "int8",
}  # fmt: skip
_TF32_KERNEL = re.compile(r"tf32|(?:tensorop|_)s1688(?!.*(?:bf16|f16))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OpInputs:
    """Operands of an op's runs.

    Attributes:
      shapes, types: of most runs, as JSON; "" if not recorded.
      stack: calls, innermost first, a line each; "" if not recorded.
      variants: number of different shapes and types.
    """

    shapes: str = ""
    types: str = ""
    stack: str = ""
    variants: int = 0


def records_inputs(host: Plane) -> bool:
    """Whether the plane of the host's threads declares ops of PyTorch."""
    return any(name.endswith(PYTORCH_SUFFIX) for name in host.declared.event_metadata.names)


def op_inputs(space: XSpace, planes: Iterable[Plane]) -> dict[str, OpInputs]:
    """By op name, as `parse_op` gives it; from the first plane that recorded an op."""
    by_name: dict[str, OpInputs] = {}
    for plane in planes:
        if any(plane.stat_metadata.row(name) is not None for name in (SHAPES, _STACK)):
            for name, inputs in _of_plane(space, plane).items():
                by_name.setdefault(name, inputs)
    return by_name


def _of_plane(space: XSpace, plane: Plane) -> dict[str, OpInputs]:
    """Work of devices names its op, an op of the host is named by its event."""
    stats = plane.events.stats
    named = named_ops(space, plane).by("framework_op")
    recorded = [read.strings(space, plane, stats, name) for name in (SHAPES, TYPES, _STACK)]
    names = [parse_op(name) for name in plane.event_metadata.names]
    is_op = np.array([name.category == PYTORCH for name in names], np.bool_)[plane.events.metadata]
    events = np.flatnonzero((named.op >= 0) | is_op)
    if not len(events):
        return {}
    op = named.op[events].astype(np.int64)
    own = np.where(op >= 0, op, -1 - plane.events.metadata[events].astype(np.int64))
    code, first = row_codes(own, *(column[events].astype(np.int64) for column, _ in recorded))
    runs = np.bincount(code, minlength=len(first))
    by_name: dict[str, list[tuple[int, str, str, str]]] = {}
    for row, count in zip(first.tolist(), runs.tolist(), strict=True):
        key = int(own[row])
        name = parse_op(named.ops[key].framework_op).name if key >= 0 else names[-1 - key].name
        shapes, types, stack = (
            texts[column[events[row]]] if column[events[row]] >= 0 else "" for column, texts in recorded
        )
        by_name.setdefault(name, []).append((count, shapes, types, stack))
    return {name: _most(runs_of_name) for name, runs_of_name in by_name.items()}


def _most(counted: list[tuple[int, str, str, str]]) -> OpInputs:
    """The operands of most runs, and the stack of most runs that have one, of (runs, shapes, types, stack)."""
    runs: dict[tuple[str, str], int] = {}
    for count, shapes, types, _ in counted:
        runs[shapes, types] = runs.get((shapes, types), 0) + count
    recorded = {key: count for key, count in runs.items() if key[0]}
    shapes, types = max(recorded, key=lambda key: (recorded[key], key), default=("", ""))
    stack = next((stack for *_, stack in sorted(counted, key=lambda entry: -entry[0]) if stack), "")
    return OpInputs(shapes, types, stack, len(recorded))


Shape = tuple[int, ...]
Operands = list[list[Shape]]
"""The shapes of each: one of a tensor, several of a list of tensors, none of what is neither."""


_WORD = re.compile(r"[\[\]]|[^\s,\[\]]+")
_OPERAND, _LISTED = 2, 3
"""How many lists are open in the sizes of an operand, and of a tensor in a list."""
_MOST_DIGITS = 18


def operand_shapes(text: str) -> Operands:
    """The shapes of operands as recorded, "[[8, 64], [[2], [3, 4]], []]"; empty if they cannot be read."""
    found: Operands = []
    depth, sizes, is_list = 0, list[str](), False
    for word in _WORD.findall(text):
        if word == "[":
            depth, sizes, is_list = depth + 1, [], depth + 1 == _LISTED
            if depth == _OPERAND:
                found.append([])
        elif word == "]":
            is_shape = depth == _LISTED or (depth == _OPERAND and not is_list)
            if is_shape and all(size.isdecimal() and len(size) <= _MOST_DIGITS for size in sizes):
                found[-1].append(tuple(map(int, sizes)))
            depth, is_list = depth - 1, depth >= _LISTED
        elif depth >= _OPERAND:
            sizes.append(word)
        else:
            found.append([])
        if not 0 <= depth <= _LISTED:
            return []
    return [] if depth or not text.startswith("[") else found


def dtype_of(types: str, kernel: str = "") -> str:
    """Type of the first tensor, "tf32" where the kernel rounds its operands to that; "" if not known."""
    for name in _QUOTED.findall(types):
        lower = name.lower()
        if name in _NOT_TENSORS or lower.startswith(("long", "int", "short")):
            continue
        dtype = "fp8" if "float8" in lower else "fp4" if "float4" in lower else _DTYPES.get(lower, "")
        return "tf32" if dtype == "fp32" and _TF32_KERNEL.search(kernel) else dtype
    return ""


_HALF = "fp16"


def half_equivalents(space: XSpace, plane: Plane, events: I64) -> F64:
    """How many operations in half precision the device could do in the time of one, per event; 1 where unknown.

    By this the share of the peak (which is that of half precision) is the share of what the op's data type allows.
    """
    name, memory = gpu_capabilities(space, plane).name, plane_int(space, plane, "memory_size")
    peaks = peaks_by_dtype(name, memory)
    if _HALF not in peaks or plane.stat_metadata.row(TYPES) is None:
        return np.ones(len(events))
    types, texts = read.strings(space, plane, plane.events.stats, TYPES)
    columns = types[events].astype(np.int64), plane.events.metadata[events].astype(np.int64)
    code, first = row_codes(*columns)
    names = plane.event_metadata.names
    pairs = zip(*(column[first].tolist() for column in columns), strict=True)
    dtypes = (dtype_of(texts[text], names[row]) if text >= 0 else "" for text, row in pairs)
    weights = np.array([peaks[_HALF] / peaks.get(dtype, peaks[_HALF]) for dtype in dtypes])
    return weights[code] if len(weights) else np.ones(0)
