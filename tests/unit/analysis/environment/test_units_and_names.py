"""What fills the matrix units of a device, peaks of boards, and what devices are called."""

from __future__ import annotations

import pytest
from builders.shown import profile

from tpu_profile_plugin.analysis.environment.device_names import device_of_allocator, names_of_planes, plane_title
from tpu_profile_plugin.analysis.environment.environment import Peaks, combine_peaks, environment, peaks_by_dtype
from tpu_profile_plugin.analysis.environment.matrix_units import MatrixUnit, matrix_unit

GB = 10**9


@pytest.mark.parametrize(
    ("sizes", "bits", "share"),
    [
        # Contracted 64 of 128; rows 6 of 8 and columns 96 of 128, or 6 of 128 and 96 of 96.
        ((1, 6, 96, 64), 16, 0.5 * 0.75 * 0.75),
        ((1, 96, 6, 64), 16, 0.5 * 0.75 * 0.75),
        ((1, 8, 128, 128), 16, 1.0),
        ((1, 128, 8, 256), 16, 1.0),
        ((1, 9, 128, 128), 16, 9 / 16),
        ((9, 129, 8, 128), 32, 129 / 256),
        ((1, 200, 300, 192), 16, 192 / 256 * 300 / 384),
    ],
)
def test_products_fill_lanes_and_sublanes(sizes: tuple[int, int, int, int], bits: int, share: float) -> None:
    assert MatrixUnit("x", 128, 8).used(sizes, bits) == pytest.approx(share)


@pytest.mark.parametrize(
    ("sizes", "bits", "share"),
    [
        ((1, 8, 8, 8), 16, 1.0),  # 16 bytes
        ((1, 4, 8, 8), 16, 0.5),
        ((1, 8, 4, 8), 16, 0.5),
        ((1, 8, 8, 4), 16, 0.5),
        ((1, 4, 4, 4), 32, 1.0),
        ((1, 16, 16, 8), 8, 0.5),
        ((1, 16, 16, 8), 4, 0.5),
        ((1, 1, 1, 1), 256, 1.0),
        ((1, 12, 6, 8), 16, 12 / 16 * 6 / 8),
    ],
)
def test_products_fill_bytes(sizes: tuple[int, int, int, int], bits: int, share: float) -> None:
    assert MatrixUnit("x", 16, 16, in_bytes=True).used(sizes, bits) == pytest.approx(share)


TENSOR_CORES = MatrixUnit("tensor cores", 16, 16, in_bytes=True)
MATRIX_CORES = MatrixUnit("matrix cores", 16, 16)


@pytest.mark.parametrize(
    ("plane", "unit"),
    [
        ('"/device:TPU:0" {device_type_string="TPU v4"}', MatrixUnit("TPU v4", 128, 8)),
        ('"/device:TPU:0" {device_type_string="TPU v6 Lite"}', MatrixUnit("TPU v6 Lite", 256, 8)),
        ('"/device:TPU:0" {device_type_string="TPU7x"}', MatrixUnit("TPU7x", 256, 8)),
        ('"/device:TPU:0" {device_type_string="TPU v1"}', None),
        ('"/device:TPU:0"', None),
        ('"/device:GPU:0" {device_vendor="Nvidia", compute_cap_major=7}', TENSOR_CORES),
        ('"/device:GPU:0" {device_vendor="Nvidia", compute_cap_major=9}', TENSOR_CORES),
        ('"/device:GPU:0" {device_vendor="Nvidia", compute_cap_major=6}', None),
        ('"/device:GPU:0" {device_vendor="AMD", compute_cap_major=9, gpu_device_name="gfx942"}', MATRIX_CORES),
        ('"/device:GPU:0" {device_vendor="AMD", compute_cap_major=11, gpu_device_name="gfx1100"}', None),
        ('"/device:GPU:0" {device_vendor="Other", compute_cap_major=9, gpu_device_name="gfx942"}', None),
        ('"/device:GPU:0"', None),
        ('"/host:CPU"', None),
    ],
)
def test_units_of_devices(plane: str, unit: MatrixUnit | None) -> None:
    space = profile(f"plane 1 {plane}")
    assert matrix_unit(space, environment(space, False)) == unit


@pytest.mark.parametrize(
    ("name", "memory", "fp16"),
    [
        ("NVIDIA A100-SXM4-80GB", 80 * GB, 312),
        ("NVIDIA A100-SXM4-40GB", 40 * GB, 312),
        ("NVIDIA V100-PCIe-16GB", 0, 112),
        ("Tesla V100-SXM2", 0, 125),
        ("Unknown", 80 * GB, None),
        ("NVIDIA PCIe", 0, None),
    ],
)
def test_peaks_of_boards(name: str, memory: int, fp16: float | None) -> None:
    assert peaks_by_dtype(name, memory).get("fp16") == fp16


def test_rates_that_a_board_lacks_have_no_peak() -> None:
    assert peaks_by_dtype("Tesla T4", 0) == {"fp32": 8.1, "fp16": 65, "int8": 130}
    assert peaks_by_dtype("NVIDIA A10G", 0) == {}


def test_peaks_in_the_units_of_tables() -> None:
    found = Peaks(2.5, (1073.741824, 5.0))
    assert (found.hbm, found.gflops_per_s, found.hbm_gib_per_s) == (1073.741824, 2500, 1000)
    assert (Peaks().hbm, Peaks().gflops_per_s, Peaks().hbm_gib_per_s) == (0, None, None)


def test_of_several_hosts_the_last_known_rate_and_the_first_known_bandwidths_count() -> None:
    parts = [Peaks(), Peaks(1.0, (5.0,)), Peaks(2.0, (6.0,)), Peaks(3.0), Peaks()]
    assert combine_peaks(parts) == Peaks(3.0, (5.0,))
    assert combine_peaks([Peaks()]) == Peaks()


def core(index: int, name: str, chip: int | None = None, on_chip: int = 0) -> str:
    facts = "" if chip is None else f' {{device_type_string="TPU v4", core_details=0x18{on_chip:02x}28{chip:02x}}}'
    return f'plane {index} "/device:{name}"{facts}'


@pytest.mark.parametrize(
    ("planes", "names"),
    [
        ([core(1, "TPU:0"), core(2, "TPU:1")], ["TPU 0", "TPU 1"]),
        ([core(1, "TPU:0", 7), core(2, "TPU:1", 7, 1)], ["Chip 7, TPU core 0", "Chip 7, TPU core 1"]),
        ([core(1, "TPU:0", 7), core(2, "TPU:1", 8)], ["Chip 7, TPU core 0", "Chip 8, TPU core 0"]),
        # Not known of all, or not told apart.
        ([core(1, "TPU:0", 7), core(2, "TPU:1")], ["TPU 0", "TPU 1"]),
        ([core(1, "TPU:0", 7), core(2, "TPU:1", 7)], ["TPU 0", "TPU 1"]),
        ([core(1, "TPU:0", 7), core(2, "TPU:0 SparseCore 2", 7)], ["Chip 7, TPU core 0", "Chip 7, SparseCore 2"]),
        ([core(1, "TPU:0"), core(2, "TPU:0 SparseCore 2")], ["TPU 0", "TPU 0, SparseCore 2"]),
        ([core(1, "GPU:0"), core(2, "GPU:12"), core(3, "GPU:x")], ["GPU 0", "GPU 12", "/device:GPU:x"]),
        # Two planes of one number.
        ([core(1, "TPU:"), core(2, "TPU:0")], ["/device:TPU:", "/device:TPU:0"]),
    ],
)
def test_devices_are_called_by_their_chips_or_by_their_planes(planes: list[str], names: list[str]) -> None:
    space = profile("\n".join([*planes, 'plane 90 "/host:CPU"']))
    assert list(names_of_planes(space).values()) == names
    assert plane_title(space, space.planes[1].name) == names[1]
    assert plane_title(space, "/host:CPU") == "/host:CPU"
    assert plane_title(space, "gone") == "gone"


def test_memory_of_a_core_is_called_by_it() -> None:
    space = profile("\n".join([core(1, "TPU:0", 7), core(2, "TPU:1", 8)]))
    assert [device_of_allocator(space, name) for name in ("1", "0", "3", "GPU_0_bfc")] == [
        "Chip 8, TPU core 0",
        "Chip 7, TPU core 0",
        "",
        "",
    ]
