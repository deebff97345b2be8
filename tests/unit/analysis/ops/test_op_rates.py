"""Rates and what binds an op."""

import numpy as np
import pytest

from tpu_profile_plugin.analysis.environment.environment import Hardware, Peaks
from tpu_profile_plugin.analysis.ops.op_tables import HBM, READ, VMEM, WRITE, no_traffic
from tpu_profile_plugin.analysis.ops.rates import Resource, rates

PEAKS = Peaks(1.0, (100.0, 200.0, 200.0, 0.0, 0.0, 400.0, 400.0))
GIB = 2**30 / 1e9


def one(flops=0.0, accessed=0.0, traffic=None, hardware=Hardware.TPU, peaks=PEAKS):
    moved = no_traffic(1)
    for where, count in (traffic or {}).items():
        moved[(0, *where)] = count
    return rates(*(np.array([x]) for x in (1e6, flops, flops, accessed)), moved, peaks, hardware)  # 1 us


def test_units():
    found = one(2e5, 1e4, {(HBM, READ): 3e3, (HBM, WRITE): 1e3, (VMEM, READ): 8e3})
    assert found.flops[0] == 200.0  # GFLOP/s
    assert found.bandwidth[0] == pytest.approx(10 / GIB)
    assert found.memory[Resource.HBM][0] == pytest.approx(4 / GIB)
    assert found.memory[Resource.VMEM_READ][0] == pytest.approx(8 / GIB)
    assert found.intensity[0] == 20.0
    assert found.memory_intensity[Resource.HBM][0] == 50.0
    assert found.compute_share[0] == pytest.approx(0.2)
    assert found.memory_share[Resource.HBM][0] == pytest.approx(0.04)
    assert (found.bound, found.bound_intensity[0]) == ((Resource.COMPUTE,), 20.0)
    assert found.efficiency[0] == pytest.approx(0.2)
    assert found.optimal_flops[0] == pytest.approx(1000.0)


def test_without_a_breakdown_all_bytes_are_of_hbm():
    found = one(accessed=5e4)
    assert found.memory[Resource.HBM][0] == pytest.approx(50 / GIB)
    assert found.bound == (Resource.HBM,)


def test_equal_shares_go_to_the_first():
    assert one(1e5, traffic={(HBM, READ): 1e4}).bound == (Resource.COMPUTE,)


def test_nothing_known():
    found = one(1e5, 1e5, peaks=Peaks())
    assert (found.bound, found.efficiency[0], found.optimal_flops[0]) == ((Resource.UNKNOWN,), 0.0, 0.0)


def test_gpus_have_shared_memory():
    # Traffic is only known of HBM, which may all go through shared memory.
    found = one(1e3, traffic={(HBM, READ): 1e5}, hardware=Hardware.GPU, peaks=Peaks(1.0, (100.0, 50.0, 50.0)))
    assert (found.bound, found.bound_intensity.tolist()) == ((Resource.SHARED,), [0.01])
    assert found.best_memory_share.tolist() == pytest.approx([1e5 / 1e3 / 100.0])
    found = one(traffic={(HBM, READ): 1e5}, hardware=Hardware.GPU, peaks=Peaks(1.0, (100.0, 200.0, 200.0)))
    assert found.bound == (Resource.HBM,)
    assert found.memory_share.keys() == {Resource.HBM, Resource.VMEM_WRITE}
