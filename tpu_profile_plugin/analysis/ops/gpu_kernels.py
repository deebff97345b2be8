"""GPU kernels: one row per kernel and launch configuration, with its op, its times and whether it uses matrix units."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tpu_profile_plugin.analysis.attribution import EventOp, named_ops
from tpu_profile_plugin.analysis.common.op_names import parse_op
from tpu_profile_plugin.analysis.common.planes import on_recorded_line
from tpu_profile_plugin.analysis.common.rows import row_codes, sums_by
from tpu_profile_plugin.analysis.environment.environment import plane_text
from tpu_profile_plugin.analysis.hlo.instructions import provenance
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.columns import Plane, XSpace
from tpu_profile_plugin.columns import stats as read
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.units import PS_PER_NS

_NVIDIA_KERNELS = (
    "16816", "c1688", "conv1x1", "conv2d_c1_k1", "dgrad_1x1_stride_2x2", "direct_group", "first_layer_wgrad_kernel",
    "h1688", "h884", "hmma", "i16832", "i8816", "s884", "s1688", "xmma_gemm", "xmma_implicit_gemm", "xmma_sparse_conv",
    "xmma_sparse_gemm", "xmma_warp_specialized_implicit_gemm",
)  # fmt: skip
# Later libraries than those XProf knows: cuBLAS 12.8 and later (nvjet), CUTLASS, cuDNN and FlashAttention. Kernels
# before and after the products of attention (dot_do_o, convert, combine) use none.
_LATER_NVIDIA = (
    r"\bnvjet_", r"_(?:wmma_)?tensorop_", r"_tensor\d+x\d+x\d+", "wgmma", r"\bflash_fwd_(?:splitkv_)?kernel\b",
    "flash_bwd_dq_dk_dv", r"\bFlashAttn(?:Fwd|Bwd)Sm\d", r"\bfmha_cutlass[FB]_b?f16_",
)  # fmt: skip
_AMD_KERNELS = (
    "gemm_fusion", "Custom_Cijk_", "_xdl", "gtcx", "miopenSp3AsmConvRage", "moe_gemm", "moe_mxgemm", "wmma", "aiter",
    "FMHA_FWD", "attn_fwd", "bwd_kernel_", "mfma", "TileFmhaShape<", "TileFmhaBwdShape<",
)  # fmt: skip
# hipBLASLt writes the shape of the matrix instruction into the names of kernels that have one.
_AMD_INSTRUCTION = r"_MI\d+x\d+x\d+"
_MATRIX_KERNELS = {
    "Nvidia": re.compile("|".join((*map(re.escape, _NVIDIA_KERNELS), *_LATER_NVIDIA)), re.ASCII),
    "AMD": re.compile("|".join((*map(re.escape, _AMD_KERNELS), _AMD_INSTRUCTION)), re.ASCII),
}
_ELIGIBLE_ENDS = (
    "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv3D", "DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNativeBackpropInput", "/MatMul", "FusedMatMul",
    "/CudnnRNN", "XlaDot", "XlaDotV2",
)  # fmt: skip
_ELIGIBLE_PARTS = (
    "BatchMatMul", "CudnnRNNV", "CudnnRNNForward", "CudnnRNNBackprop", "dot_general", "conv_general_dilated",
)  # fmt: skip
# Ops of PyTorch: products, convolutions, attention, and their derivatives.
_ELIGIBLE_TORCH = re.compile(
    r"aten::(?:_scaled_|_int_)?(?:linear|matmul|b?mm|addb?mm|baddbmm|mv|addmv)|aten::_addmm_activation"
    r"|aten::\w*conv(?:olution|_transpose|_depthwise|\d)\w*|\w+::\w*attention(?!_math)\w*|flash_attn\w*::\w+",
    re.ASCII,
)


def uses_tensor_core(kernel: str, vendor: str) -> bool:
    """True when the kernel's name contains a pattern that the vendor's libraries use for matrix unit kernels.

    Args:
      kernel: name of the kernel.
      vendor: `device_vendor` of its plane; without a known one no kernel is recognised.
    """
    pattern = _MATRIX_KERNELS.get(vendor)
    return pattern is not None and pattern.search(kernel) is not None


def is_eligible(op: str) -> bool:
    """True when the framework op could run on matrix units."""
    if op.endswith(_ELIGIBLE_ENDS) or any(part in op for part in _ELIGIBLE_PARTS):
        return True
    return _ELIGIBLE_TORCH.fullmatch(op.rpartition("/")[2]) is not None


MAX_KERNELS = 1000


Sizes: TypeAlias = tuple[int, int, int]
"""Sizes in x, y and z."""


class Launch(NamedTuple):
    """Launch configuration: registers per thread, bytes of shared memory, block and grid, occupancy in percent."""

    registers: int = 0
    static_shared: int = 0
    dynamic_shared: int = 0
    block: Sizes = (1, 1, 1)
    grid: Sizes = (1, 1, 1)
    occupancy: float = 0.0


class Kernel(NamedTuple):
    """Identity of a row."""

    name: str
    grid: Sizes
    block: Sizes
    registers: int
    static_shared: int
    dynamic_shared: int
    uses_tensor_core: bool
    eligible: bool
    op: str


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel with the durations of its runs, in whole ns."""

    kernel: Kernel
    occupancy: float
    runs: int
    total_ns: int
    min_ns: int
    max_ns: int


@dataclass(frozen=True, slots=True)
class KernelTimes:
    """Kernel time per framework op in ns, in total and on matrix units; and the ops eligible for matrix units."""

    total_ns: Counter[str] = field(default_factory=Counter)
    matrix_ns: Counter[str] = field(default_factory=Counter)
    eligible: frozenset[str] = frozenset()

    def matrix_share(self, op: str) -> float:
        """Share of an op's kernel time on matrix units, 0 to 1."""
        total = self.total_ns[op]
        return self.matrix_ns[op] / total if total else 0.0


def kernel_times(rows: Iterable[KernelRow]) -> KernelTimes:
    """Kernel times per framework op; an op is eligible if one of its kernels is."""
    total: Counter[str] = Counter()
    matrix: Counter[str] = Counter()
    eligible: set[str] = set()
    for row in rows:
        total[row.kernel.op] += row.total_ns
        matrix[row.kernel.op] += row.total_ns if row.kernel.uses_tensor_core else 0
        eligible |= {row.kernel.op} if row.kernel.eligible else set()
    return KernelTimes(total, matrix, frozenset(eligible))


def combine_kernel_times(parts: Iterable[KernelTimes]) -> KernelTimes:
    parts = list(parts)
    return KernelTimes(
        sum((part.total_ns for part in parts), Counter()),
        sum((part.matrix_ns for part in parts), Counter()),
        frozenset().union(*(part.eligible for part in parts)),
    )


def parse_launch(details: str) -> Launch:
    """Parses `regs:32 static_shared:0 grid:16,1,1 ...`; a missing or malformed value keeps its default."""
    values: dict[str, Any] = {}
    for token in re.split("[ \n]", details):
        key, *texts = token.split(":")
        # AMD tracers use other names for the memory sizes; XProf does not read them.
        if len(texts) != 1 or key not in _LAUNCH_VALUES:
            continue
        name, parse = _LAUNCH_VALUES[key]
        if (value := parse(texts[0])) is not None:
            values[name] = value
    return Launch(**values)


def _integer(text: str) -> int | None:
    match = _UNSIGNED.fullmatch(text)
    value = int(match[1]) if match else 1 << 32
    return value if value < 1 << 32 else None


def _sizes(text: str) -> Sizes | None:
    x, y, z = (*map(_integer, text.split(",")), None, None, None)[:3]
    if text.count(",") != 2 or x is None or y is None or z is None:
        return None
    return x, y, z


def _real(text: str) -> float | None:
    """A number, which may be infinite or none."""
    try:
        return float.fromhex(text) if _HEXADECIMAL.match(text) else float(text.replace("_", "?"))
    except OverflowError:
        return math.inf
    except ValueError:
        return None


_UNSIGNED = re.compile(r"[\t\v\f\r]*\+?0*([0-9]{1,10})[\t\v\f\r]*")
_HEXADECIMAL = re.compile(r"\s*[+-]?0[xX]")
_LAUNCH_VALUES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "regs": ("registers", _integer),
    "static_shared": ("static_shared", _integer),
    "dynamic_shared": ("dynamic_shared", _integer),
    "block": ("block", _sizes),
    "grid": ("grid", _sizes),
    "occ_pct": ("occupancy", _real),
}


def kernel_rows(space: XSpace, planes: Sequence[Plane], ops: HloOps) -> list[KernelRow]:
    """The kernels of one host's GPUs with most time, at most MAX_KERNELS."""
    return _longest(_merged(row for plane in planes for row in _plane_rows(space, plane, ops)))


def combine_kernel_rows(parts: Iterable[Sequence[KernelRow]]) -> list[KernelRow]:
    """The kernels of several hosts with most time; a kernel that ran on two hosts has two rows."""
    return _longest([row for part in parts for row in part])


def _longest(rows: list[KernelRow]) -> list[KernelRow]:
    return sorted(rows, key=lambda row: (-row.total_ns, row.kernel))[:MAX_KERNELS]


def _merged(rows: Iterable[KernelRow]) -> list[KernelRow]:
    merged: dict[Kernel, KernelRow] = {}
    for row in rows:
        old = merged.get(row.kernel)
        merged[row.kernel] = row if old is None else KernelRow(
            row.kernel,
            old.occupancy,
            old.runs + row.runs,
            old.total_ns + row.total_ns,
            min(old.min_ns, row.min_ns),
            max(old.max_ns, row.max_ns),
        )  # fmt: skip
    return list(merged.values())


def _plane_rows(space: XSpace, plane: Plane, ops: HloOps) -> list[KernelRow]:
    """Kernels of one GPU, grouped by (metadata row, details, op, equation)."""
    stats, names = plane.events.stats, plane.event_metadata.names
    details, detail_texts = read.strings(space, plane, stats, "kernel_details")
    vendor = plane_text(space, plane, "device_vendor")
    filled = np.array([*(bool(text) for text in detail_texts), False], np.bool_)[details]
    events = np.flatnonzero(filled & (plane.events.duration_ps > 0) & on_recorded_line(plane))
    if not len(events):
        return []
    named = named_ops(space, plane)
    equation, equation_texts = read.strings(space, plane, stats, "equation")
    codes = [column[events].astype(np.int64) for column in (plane.events.metadata, details, named.op, equation)]
    where, first = row_codes(*codes)
    keys = zip(*(code[first].tolist() for code in codes), strict=True)
    sums = _times(plane.events.duration_ps[events] // PS_PER_NS, where, len(first))
    rows = []
    for key, runs, total, minimum, maximum in zip(keys, *(column.tolist() for column in sums), strict=True):
        name, launch = names[key[0]], parse_launch(detail_texts[key[1]])
        uses = uses_tensor_core(name, vendor)
        op, eligible = _op(ops, named.at(key[2]), equation_texts[key[3]] if key[3] >= 0 else "", uses=uses)
        shape = (launch.grid, launch.block, launch.registers, launch.static_shared, launch.dynamic_shared)
        kernel = Kernel(name, *shape, uses, eligible, op)
        rows.append(KernelRow(kernel, launch.occupancy, runs, total, minimum, maximum))
    return rows


def _times(duration_ns: I64, key: I64, keys: int) -> tuple[I64, I64, I64, I64]:
    """Per key: number of runs, total, minimum and maximum."""
    minimum, maximum = np.full(keys, np.iinfo(np.int64).max), np.zeros(keys, np.int64)
    np.minimum.at(minimum, key, duration_ns)
    np.maximum.at(maximum, key, duration_ns)
    return np.bincount(key, minlength=keys), sums_by(key, duration_ns, keys), minimum, maximum


def _op(ops: HloOps, op: EventOp, equation: str, *, uses: bool) -> tuple[str, bool]:
    """Framework op of a kernel, and whether it could run on matrix units.

    The op is that of the HLO instruction if it is in a program, else the one named by the event. A kernel that uses
    matrix units shows that the op named by its event could.
    """
    name, eligible = "", False
    if op.framework_op:
        name = parse_op(op.framework_op).name
        eligible = is_matrix_equation(equation) or is_eligible(name) or uses
    instruction = ops.find(*op.key) if op.path else None
    if instruction is not None:
        name = parse_op(provenance(instruction)).name
        eligible |= is_eligible(name)
    return name, eligible


def is_matrix_equation(equation: str) -> bool:
    """True for an einsum of two operands, i.e. a matrix product."""
    sides = equation.split("->")
    return len(sides) == 2 and sides[0].count(",") == 1
