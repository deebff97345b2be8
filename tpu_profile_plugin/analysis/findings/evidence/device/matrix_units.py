"""The matrix units of a device: the sizes that fill them, and the rates at which they could have done an op's work.

Sources: Google Cloud's pages on the TPU versions (systolic arrays of 128 x 128, from v6e on of 256 x 256; 8 sublanes);
NVIDIA's guide to matrix multiplication performance (tensor cores are filled by multiples of 16 bytes); AMD's CDNA
whitepapers (matrix cores).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from tpu_profile_plugin.analysis.blame.op_nature import MATRICES
from tpu_profile_plugin.analysis.common.planes import GPU_PREFIX
from tpu_profile_plugin.analysis.environment.environment import Hardware, gfx_name, gpu_capabilities
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ReadOp, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.hlo.instructions import Instruction
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import Shape, bits_of, type_name

HIGH, HIGHEST = 1, 2
"""Precisions of operands, `xla.PrecisionConfig.Precision`."""
_ALGORITHM = re.compile(rb'"algorithm"\s*:\s*"(ALG_(?!UNSET)\w+)"')
_PRECISION = re.compile(rb'"operand_precision"\s*:\s*\[([^][]*)\]')


@dataclass(frozen=True, slots=True)
class Product:
    """One dot or convolution, or the call of a library that computes one.

    Attributes:
      bits: width of the wider operand's elements; 0 unless both are floating-point arrays.
      precision: the higher of the operands' (0: the default).
      algorithm: the program prescribes an algorithm, so its precision is a choice.
      sizes: (batches, rows and columns of the result, contracted size); None if unknown.
    """

    bits: int
    precision: int
    algorithm: bool
    sizes: tuple[int, int, int, int] | None

    @property
    def flops(self) -> float:
        """FLOPs without padding; 0 if the sizes are unknown."""
        return 2.0 * math.prod(map(float, self.sizes)) if self.sizes else 0.0


def products_of(rows: ProgramRows, row: int) -> list[Product]:
    """The products inside an op of the nature MATRIX."""
    matrices = [one for one in rows.inside(row) if rows.opcodes[one] in MATRICES]
    calls = [one for one in rows.inside(row) if rows.opcodes[one] == "custom-call"]
    return [_product(rows, one) for one in matrices or calls]


def _product(rows: ProgramRows, row: int) -> Product:
    instruction = rows.instruction(row)
    shapes = [rows.shape(operand) for operand in rows.links.operands(row)[:2] if operand >= 0]
    bits = [_bits(shape) for shape in shapes]
    width = max(bits) if len(bits) == 2 and all(bits) else 0
    if rows.opcodes[row] == "custom-call":
        precise = _PRECISION.search(instruction.backend_config)
        named = precise[1] if precise else b""
        level = HIGHEST if b'"HIGHEST"' in named else HIGH if b'"HIGH"' in named else 0
        return Product(width, level, bool(_ALGORITHM.search(instruction.backend_config)), None)
    config = instruction.precision_config
    level = max((level for level in config.operand_precision if level in (HIGH, HIGHEST)), default=0)
    sizes = _sizes(instruction, shapes, rows.shape(row)) if len(shapes) == 2 else None
    return Product(width, level, bool(config.algorithm), sizes)


def _bits(shape: Shape) -> int:
    name = type_name(shape.element_type)
    return bits_of(shape.element_type) // (2 if name.startswith("c") else 1) if name[0] in "fbc" else 0


def _sizes(instruction: Instruction, shapes: Sequence[Shape], result: Shape) -> tuple[int, int, int, int] | None:
    left, right = (list(shape.dimensions) for shape in shapes)
    try:
        if instruction.opcode == "dot":
            dims = instruction.dot_dimension_numbers
            batch = math.prod(left[i] for i in dims.lhs_batch_dimensions)
            depth = math.prod(left[i] for i in dims.lhs_contracting_dimensions)
            if not batch * depth:
                return None
            return batch, math.prod(left) // (batch * depth), math.prod(right) // (batch * depth), depth
        if instruction.opcode == "convolution" and instruction.HasField("convolution_dimension_numbers"):
            return _of_convolution(instruction, right, list(result.dimensions))
    except IndexError:
        pass
    return None


def _of_convolution(instruction: Instruction, kernel: list[int], output: list[int]) -> tuple[int, int, int, int] | None:
    """A convolution as a product: output places times window and input features, times output features."""
    dims = instruction.convolution_dimension_numbers
    groups = max(1, instruction.feature_group_count, instruction.batch_group_count)
    columns = output[dims.output_feature_dimension] // groups
    taps = math.prod(kernel[i] for i in dims.kernel_spatial_dimensions)
    depth = kernel[dims.kernel_input_feature_dimension] * taps
    rows = math.prod(output) // max(1, columns * groups)
    return (groups, rows, columns, depth) if rows * columns * depth else None


_LARGE_TPUS = ("v6", "7x", "v7")
_SUBLANES = 8


@dataclass(frozen=True, slots=True)
class MatrixUnit:
    """What fills a unit: multiples of `lanes` elements in the contracted dimension and one of the result's, and of
    `sublanes` in the other; of `lanes` bytes if `in_bytes`.
    """

    name: str
    lanes: int
    sublanes: int
    in_bytes: bool = False

    def used(self, sizes: tuple[int, int, int, int], bits: int) -> float:
        """Share of the unit's work that is not padding, in the better of the two ways to lay out a product."""
        _, rows, columns, depth = sizes
        lanes = max(1, self.lanes * 8 // max(bits, 8)) if self.in_bytes else self.lanes
        lower = lanes if self.in_bytes else self.sublanes
        ways = (_share(columns, lanes) * _share(rows, lower), _share(rows, lanes) * _share(columns, lower))
        return _share(depth, lanes) * max(ways)


def _share(size: int, multiple: int) -> float:
    return size / (ceil(size / multiple) * multiple)


def matrix_unit(host: HostView) -> MatrixUnit | None:
    """The unit of the host's first device; None for CPUs, GPUs without one, and unknown devices."""
    if host.summary.environment.hardware is Hardware.TPU:
        model = host.summary.environment.device_type
        version = model.lower().removeprefix("tpu").strip()
        if not version.startswith(("v2", "v3", "v4", "v5", *_LARGE_TPUS)):
            return None
        return MatrixUnit(model, 256 if version.startswith(_LARGE_TPUS) else 128, _SUBLANES)
    plane = next((one for one in host.space.planes if one.name.startswith(GPU_PREFIX)), None)
    if plane is None:
        return None
    gpu = gpu_capabilities(host.space, plane)
    if gpu.vendor == "Nvidia" and gpu.major >= 7:
        return MatrixUnit("tensor cores", 16, 16, in_bytes=True)
    if gpu.vendor == "AMD" and gfx_name(gpu).startswith(("gfx908", "gfx90a", "gfx94", "gfx95")):
        return MatrixUnit("matrix cores", 16, 16)
    return None


@dataclass(frozen=True, slots=True)
class Roof:
    """Time that an op's work takes at the device's peak rates, in ps."""

    compute_ps: float
    memory_ps: float


def roof(host: HostView, op: ReadOp, flops: float) -> Roof | None:
    """The roofline of all runs of an op, which does `flops` in one run; None if its cost or a peak is unknown."""
    peaks, table = host.summary.peaks, work_of(host).table
    if not peaks.tera_flops or not peaks.hbm or not flops:
        return None
    runs = int(table.occurrences[op.index])
    return Roof(flops * runs / peaks.tera_flops, float(table.bytes[op.index]) / peaks.hbm * 1e3)
