"""The matrix units of devices: the sizes that fill them.

Sources: Google Cloud's pages on the TPU versions (systolic arrays of 128 x 128, from v6e on of 256 x 256; 8 sublanes);
NVIDIA's guide to matrix multiplication performance (tensor cores are filled by multiples of 16 bytes); AMD's CDNA
whitepapers (matrix cores).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from tpu_profile_plugin.analysis.common.planes import GPU_PREFIX
from tpu_profile_plugin.analysis.environment.environment import Environment, Hardware, gfx_name, gpu_capabilities
from tpu_profile_plugin.columns import XSpace

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


def matrix_unit(space: XSpace, environment: Environment) -> MatrixUnit | None:
    """The unit of a profile's first device; None for CPUs, GPUs without one, and unknown devices."""
    if environment.hardware is Hardware.TPU:
        model = environment.device_type
        version = model.lower().removeprefix("tpu").strip()
        if not version.startswith(("v2", "v3", "v4", "v5", *_LARGE_TPUS)):
            return None
        return MatrixUnit(model, 256 if version.startswith(_LARGE_TPUS) else 128, _SUBLANES)
    plane = next((one for one in space.planes if one.name.startswith(GPU_PREFIX)), None)
    if plane is None:
        return None
    gpu = gpu_capabilities(space, plane)
    if gpu.vendor == "Nvidia" and gpu.major >= 7:
        return MatrixUnit("tensor cores", 16, 16, in_bytes=True)
    if gpu.vendor == "AMD" and gfx_name(gpu).startswith(("gfx908", "gfx90a", "gfx94", "gfx95")):
        return MatrixUnit("matrix cores", 16, 16)
    return None
