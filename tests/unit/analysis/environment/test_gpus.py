"""Names and peak rates of GPUs."""

import pytest

from tpu_profile_plugin.analysis.environment.gpus import (
    GpuCapabilities,
    flops_per_cycle,
    gfx_name,
    model_name,
    shared_bytes_per_cycle,
)


@pytest.mark.parametrize(
    ("vendor", "name", "capability", "shown"),
    [
        ("Nvidia", "", (9, 0), "Nvidia GPU (Hopper)"),
        ("Nvidia", "", (8, 9), "Nvidia GPU (Ada Lovelace)"),
        ("Nvidia", "", (8, 6), "Nvidia GPU (Ampere)"),
        ("Nvidia", "", (7, 5), "Nvidia GPU (Turing)"),
        ("Nvidia", "", (7, 2), "Nvidia GPU (Volta)"),
        ("Nvidia", "", (12, 0), "Nvidia GPU"),
        ("AMD", "", (9, 4), "AMD GPU - gfx942"),
        ("AMD", "gfx90a", (9, 0), "AMD GPU - gfx90a"),
        ("AMD", "gfx90A", (9, 4), "AMD GPU - gfx90A"),
        ("AMD", "gfx1030:sramecc+", (9, 4), "AMD GPU - gfx942"),
        ("AMD", "gfx90a:sramecc+", (9, 0), "AMD GPU - gfx-9XX series"),
        ("AMD", "", (10, 3), "AMD GPU - gfx-10XX series"),
        ("AMD", "", (6, 0), "AMD GPU"),
        ("other", "", (9, 0), ""),
    ],
)
def test_model_name(vendor, name, capability, shown):
    assert model_name(GpuCapabilities(vendor, name, *capability)) == shown


def test_rates_take_the_nearest_lower_capability():
    assert flops_per_cycle(GpuCapabilities("Nvidia", "", 9, 0)) == 4096
    assert flops_per_cycle(GpuCapabilities("Nvidia", "", 8, 7)) == 1024
    assert flops_per_cycle(GpuCapabilities("Nvidia", "", 1, 0)) == 64
    assert flops_per_cycle(GpuCapabilities("AMD", "", 9, 5)) == 4096
    assert flops_per_cycle(GpuCapabilities("x")) == 0
    assert shared_bytes_per_cycle(GpuCapabilities("Nvidia", "", 2, 1)) == 64
    assert shared_bytes_per_cycle(GpuCapabilities("Nvidia", "", 8, 0)) == 256
    mi300 = GpuCapabilities("AMD", "", 9, 4)
    assert (gfx_name(mi300), shared_bytes_per_cycle(mi300)) == ("gfx942", 128)


def test_unknown_hardware_has_no_shared_memory_rate():
    assert shared_bytes_per_cycle(GpuCapabilities("", "", 9, 0)) == 0
    assert shared_bytes_per_cycle(GpuCapabilities("AMD", "gfx1100", 11, 0)) == 0
