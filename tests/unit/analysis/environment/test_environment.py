"""Where a profile was taken, its devices, their peaks, efficiency."""

import time
from dataclasses import replace

import numpy as np
import pytest
from builders.answers import summary
from builders.shown import profile
from builders.xspace_text import build_message

from tpu_profile_plugin.analysis.environment.environment import (
    Environment,
    GpuCapabilities,
    Hardware,
    Peaks,
    combine_environments,
    combine_peaks,
    core_details,
    flops_per_cycle,
    gfx_name,
    model_name,
    peaks,
    shared_bytes_per_cycle,
)
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.analysis.steps.core_steps import efficiency
from tpu_profile_plugin.analysis.steps.step_table import StepTable
from tpu_profile_plugin.analysis.summary.host_summary import may_have_groups, reduce_summaries
from tpu_profile_plugin.columns import load
from tpu_profile_plugin.protos import message

TASK = 'plane 1 "Task Environment" {profile_start_time=u1700000000000000000, profile_stop_time=u1700000002000000000}\n'


@pytest.mark.parametrize(
    ("stat", "expected"),
    [
        ("peak_teraflops_per_second=5.5", (5.5, 1000.0, 25600.0, 25600.0)),
        ("peak_sram_wr_bw_gigabytes_per_second=5.5", (409.6, 1000.0, 25600.0, 5.5)),
        ("peak_hbm_bw_gigabytes_per_second=5.0", (409.6, 1000.0, 25600.0, 25600.0)),
        ("peak_teraflops_per_second=5", (409.6, 1000.0, 25600.0, 25600.0)),
        ("peak_teraflops_per_second=-1.0", (409.6, 1000.0, 25600.0, 25600.0)),
    ],
)
def test_recorded_peaks_of_gpus_are_positive_doubles_and_never_those_of_hbm(stat, expected):
    facts = "compute_cap_major=9, core_count=100, clock_rate=1000000, memory_bandwidth=1000000000000"
    found = peaks(profile(f'plane 1 "/device:GPU:0" {{device_vendor="Nvidia", {facts}, {stat}}}'))
    assert (found.tera_flops, *found.bandwidths) == expected


@pytest.mark.parametrize("value", [np.inf, np.nan, 0.0])
def test_recorded_peaks_that_are_no_rates_do_not_count(value):
    facts = "compute_cap_major=9, core_count=100, clock_rate=1000000, memory_bandwidth=1000000000000"
    stat = "peak_teraflops_per_second"
    made = build_message(f'plane 1 "/device:GPU:0" {{device_vendor="Nvidia", {facts}, {stat}=5.5}}')
    made.planes[0].stats[-1].double_value = value
    assert peaks(load(made.SerializeToString())).tera_flops == 409.6
    tpu = build_message(f'plane 1 "/device:TPU:0" {{{stat}=5.5}}')
    tpu.planes[0].stats[-1].double_value = value
    assert peaks(load(tpu.SerializeToString())).tera_flops == 0


def test_peaks_of_cores_are_doubles_or_integers():
    for text in ("200.0", "200", "u200"):
        assert peaks(profile(f'plane 1 "/device:TPU:0" {{peak_teraflops_per_second={text}}}')).tera_flops == 200


def test_a_machine_without_devices():
    found = summary(TASK + 'plane 0 "/host:CPU"').environment
    assert (found.hostnames, found.device_type, found.device_cores) == (("localhost",), "CPU", 0)
    assert (found.hardware, found.start_ns, found.duration_ns) == (Hardware.CPU_ONLY, 1700000000000000000, 2000000000)


def test_devices_name_themselves():
    tpu = 'plane 1 "/device:TPU:0" {device_type_string="TPU v9"}\nplane 2 "/device:TPU:0 SparseCore 1"'
    found = summary(tpu).environment
    assert (found.device_type, found.device_cores, found.hardware) == ("TPU v9", 1, Hardware.TPU)
    gpu = 'plane 1 "/device:GPU:0" {device_vendor="Nvidia", compute_cap_major=9}\nplane 2 "/device:GPU:1"'
    found = summary(gpu).environment
    assert (found.device_type, found.device_cores, found.hardware) == ("Nvidia GPU (Hopper)", 2, Hardware.GPU)
    assert summary('plane 1 "/device:GPU:0"').environment.device_type == "GPU"
    unnamed = 'plane 1 "/device:TPU:0"'
    assert (summary(unnamed).environment.hardware, summary(unnamed).environment.device_type) == (Hardware.TPU, "")
    both = summary(f"{unnamed}\n{gpu.replace('plane 1', 'plane 3')}").environment
    assert (both.hardware, both.device_type, both.device_cores) == (Hardware.GPU, "Nvidia GPU (Hopper)", 2)


def test_peaks_as_recorded_or_from_the_model():
    tpu = peaks(
        profile('plane 1 "/device:TPU:0" {peak_teraflops_per_second=200.0, peak_hbm_bw_gigabytes_per_second=800.0}')
    )
    assert (tpu.tera_flops, tpu.bandwidths) == (200.0, (800.0, 0, 0, 0, 0, 0, 0))
    facts = "clock_rate=1000000, core_count=100, memory_bandwidth=u2000000000000, compute_cap_major=8"
    gpu = peaks(profile(f'plane 1 "/device:GPU:0" {{device_vendor="Nvidia", {facts}}}'))
    assert (gpu.tera_flops, gpu.bandwidths) == (pytest.approx(204.8), pytest.approx((2000.0, 25600.0, 25600.0)))
    assert peaks(profile('plane 0 "/host:CPU"')) == Peaks()


def test_hosts_together():
    parts = [
        Environment(("b",), 1, "TPU v4", Hardware.TPU, 4, is_training=True, start_ns=5, duration_ns=9),
        Environment(("a",), 1, "TPU v5", Hardware.TPU, 4, start_ns=3, duration_ns=2),
        Environment(("a",), 1, "CPU", Hardware.CPU_ONLY, 0),
    ]
    found = combine_environments(parts)
    assert (found.hostnames, found.tasks, found.device_type, found.device_cores) == (("a", "b"), 3, "TPU v5", 8)
    assert found.hardware is Hardware.TPU
    assert (found.is_training, found.start_ns, found.duration_ns) == (False, 3, 9)
    # The last profile decides, whatever its device.
    assert not combine_environments([*parts, parts[1]]).is_training
    assert combine_environments([parts[1], parts[2], parts[0]]).is_training
    assert combine_peaks([Peaks(1.0, (2.0,)), Peaks(3.0, (4.0,)), Peaks()]) == Peaks(3.0, (2.0,))


def test_cores_of_one_chip_work_together():
    core = 'plane {0} "/device:TPU:{0}" {{core_details=0x2001}}\nline 3 "XLA Ops"\n{1}us +10us op\n90us +10us infeed\n'
    core += 'metadata op {{hlo_category="fusion"}}\nmetadata infeed {{hlo_category="infeed"}}\n'
    duty = summary(core.format(0, 0) + core.format(1, 5)).duty
    assert (duty.busy_ps // 10**6, duty.recorded_ps // 10**6) == (15, 100)
    apart = (core.format(0, 0) + core.format(1, 5)).replace("core_details=0x2001", "x=1")
    assert summary(apart).duty.busy_ps // 10**6 == 20


@pytest.mark.parametrize(
    ("first", "second", "busy_us"),
    [
        ("0x20ac02", "0x20ac02", 15),  # both on chip 300
        ("0x20ac02", "0x202c", 20),  # chips 300 and 44
        ("5", "5", 20),  # no message
        ('" \\u0001"', '" \\u0001"', 20),  # the bytes of one, but written as a text
    ],
)
def test_chips_are_known_by_number(first, second, busy_us):
    core = 'plane {0} "/device:TPU:{0}" {{core_details={1}}}\nline 3 "XLA Ops"\n{2}us +10us op\n90us +10us infeed\n'
    core += 'metadata op {{hlo_category="fusion"}}\nmetadata infeed {{hlo_category="infeed"}}\n'
    assert summary(core.format(0, first, 0) + core.format(1, second, 5)).duty.busy_ps // 10**6 == busy_us


def details_in(data):
    found = profile(f'plane 1 "/device:TPU:0" {{core_details=0x{data.hex()}}}')
    return core_details(found, found.planes[0])


def test_core_details():
    kind = message("tensorflow.profiler.CoreDetails")
    made = kind(hostname="h", device_ordinal=2, core_num=1, local_chip_id=3)
    assert details_in(made.SerializeToString()) == made
    assert details_in(b"") == kind()
    assert details_in(b"\x10") is None
    assert details_in(b"\x4d\x00\x00\x00\x00\x10\x05").device_ordinal == 5


@pytest.mark.parametrize("data", [b"\x10" + b"\xff" * (1 << 20), b"\x10" + b"\xff" * (1 << 20) + b"\x01", b"\xff" * 9])
def test_core_details_that_never_end_are_refused_at_once(data):
    begun = time.perf_counter()
    assert details_in(data) is None
    assert time.perf_counter() - begun < 2


def test_efficiency_against_the_roof():
    table = OpTable(
        module=(1, 1), name=("a", "w"), category=("fusion", "while"), provenance=("", ""), eager=np.zeros(2, np.bool_),
        occurrences=np.ones(2, np.int64), time_ps=np.ones(2, np.int64), self_ps=np.array([10**12, 0]),
        min_ps=np.zeros(2, np.int64), cores=np.ones(2, np.int64), flops=np.array([2e12, 9e12]),
        model_flops=np.array([2e12, 9e12]), bytes=np.array([1e12, 9e12]), total_ps=2 * 10**12,
    )  # fmt: skip
    found = efficiency(StepTable(), table, Peaks(10.0, (1000.0,)))
    assert (found.flop_rate_percent, found.memory_bw_percent) == pytest.approx((50.0, 50.0))
    assert (found.goodput_percent, found.over) == (pytest.approx(50.0), "profile")
    assert efficiency(StepTable(), table, Peaks()).goodput_percent is None
    # Bytes alone say something, too; steps without costs say nothing.
    moved = efficiency(StepTable(), replace(table, flops=np.zeros(2)), Peaks(10.0, (1000.0,)))
    assert (moved.flop_rate_percent, moved.memory_bw_percent) == (0, pytest.approx(50.0))
    steps = StepTable(number=np.zeros(1, np.int64), costs=np.zeros((1, 3)))
    assert efficiency(steps, table, Peaks(10.0, (1000.0,))).over == "profile"


def test_utilisation_is_averaged_over_hosts():
    host = 'plane 0 "/host:CPU" {{matrix_unit_utilization_percent={0}.0, hbm_utilization_percent=10.0}}'
    run = reduce_summaries([summary(host.format(20)), summary(host.format(40))])
    assert (run.mxu_percent, run.hbm_percent) == (30.0, 10.0)


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ('plane 1 "/device:TPU:0"\nline 1 Steps\n0us +1us 0', True),
        ('plane 1 "/device:TPU:0"\nline 1 Steps\nplane 0 "/host:CPU"\nline 1 a\n0us +1us train {_r=1}', False),
        ('plane 1 "/device:TPU:0"\nline 1 "XLA Ops"\n0us +1us x\nline 2 Steps\n0us +1us 0', True),
        ('plane 1 "/device:TPU:0"\nline 1 "XLA Ops"\n0us +1us x\nline 2 Steps', False),
        ('plane 1 "/device:TPU:0"\nline 1 Steps\nline 2 "XLA Ops"\n0us +1us x', False),
        ('plane 1 "/device:TPU:0"\nplane 2 "/device:TPU:0 SparseCore 0"\nline 1 "Sparse Core Steps"\n0us +1us 0', True),
        ('plane 0 "/host:CPU"\nline 1 a\n0us +1us train {_r=1}', True),
        ('plane 0 "/host:CPU"\nline 1 a\n0us +1us x {is_eager=1}', True),
        ('plane 0 "/host:CPU"\nline 1 a\n0us +1us FunctionRun', True),
        ('plane 0 "/host:CPU"\nline 1 a\n0us +1us x', False),
    ],
)
def test_when_grouping_is_worth_it(text, may):
    assert may_have_groups(profile(text)) == may


# Names and peak rates of GPUs.


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
