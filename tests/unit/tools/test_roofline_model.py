"""Roofline of typed-in profiles: program, ops and steps, with and without infeed; peaks as properties."""

import pytest
from builders.asked import ask, rows
from builders.messages import traffic

from tpu_profile_plugin.tools.ops.roofline_model import TOOL

VMEM_READ = traffic(("READ", 3, 3000))
PEAKS = (
    'device_type_string="TPU v9", peak_teraflops_per_second=1d, peak_hbm_bw_gigabytes_per_second=100d, '
    "peak_vmem_rd_bw_gigabytes_per_second=500d, peak_vmem_wr_bw_gigabytes_per_second=250d, has_merged_vmem=1"
)
OPS = f"""
  metadata dot {{program_id=7, symbol_id=1, hlo_category="convolution", flops=100000, bytes_accessed=20000}}
  metadata add {{program_id=7, symbol_id=2, hlo_category="loop fusion", memory_access_breakdown={VMEM_READ}}}
  metadata infeed {{program_id=7, symbol_id=3, hlo_category="infeed", bytes_accessed=1000}}
  metadata while {{program_id=7, symbol_id=4, hlo_category="while", flops=999999}}
  line 5 "XLA Ops"
    0us +2us while
    0us +1us dot
    1us +1us add
    3us +1us infeed
"""
TPU = f'plane 2 "/device:TPU:0" {{{PEAKS}}}{OPS}'
STEPS = """
    10us +1us dot
    12us +2us infeed
  line 6 "Steps"
    0us +5us "7"
    10us +4us "8"
"""


def test_program_and_ops():
    table, diagnostics = ask(TOOL, TPU)
    names = ("step", "rank", "operation", "total_time", "total_self_time_percent", "total_time_in_percentage")
    found = rows(table, *names, "include_infeed_outfeed")
    assert found == [
        ("Total", 0, "Program", 4, 0, 1, True),
        # while contains dot and add, and has no time of its own.
        ("Total", 1, "add", 1, 0.25, 0.25, True),
        ("Total", 2, "dot", 1, 0.25, 0.25, True),
        ("Total", 3, "infeed", 1, 0.25, 0.25, True),
        ("Total", 4, "while", 2, 0, 0.5, True),
        ("Average", 0, "Program", 0, 0, 0, True),
        ("Total", 0, "Program", 3, 0, 1, False),
        ("Total", 1, "add", 1, 1 / 3, 1 / 3, False),
        ("Total", 2, "dot", 1, 1 / 3, 1 / 3, False),
        ("Total", 3, "while", 2, 0, 2 / 3, False),
        ("Average", 0, "Program", 0, 0, 0, False),
    ]
    assert [severity for severity, _ in rows(diagnostics, "severity", "message")] == ["WARNING"]


def test_rates_of_program_and_ops():
    table, _ = ask(TOOL, TPU)
    names = ("operation", "measured_flop_rate", "operational_intensity", "bound_by", "roofline_efficiency")
    found = rows(table, *names, "bottleneck_operational_intensity", "optimal_flop_rate")
    # Ops with others inside do not count for the program: their parts do.
    assert found[0][:2] == ("Program", 25)
    add, dot = found[1], found[2]
    # 100 of 1000 GFLOP/s, 20 of 100 GB/s; the memory binds.
    assert dot[1:4] == (100, 5, "HBM")
    assert dot[4:] == pytest.approx((0.2, 5, 500))
    assert add[1:4] == (0, 0, "VMEM Read")
    assert add[4] == pytest.approx(3e9 / 500e9)


def test_runs_shares_and_stalls():
    table, _ = ask(
        TOOL,
        TPU.replace("1us +1us add", "1us +1us add {dma_stall_duration_ps=250000}\n    2us +0us nop").replace(
            "metadata while", "metadata nop {program_id=7, symbol_id=5}\n  metadata while"
        ),
    )
    names = ("operation", "occurrences", "cumulative_total_self_time_percent", "dma_stall_percent")
    assert rows(table, *names)[:6] == [
        ("Program", 1, 0, 0),
        ("add", 1, 0.25, 0.25),
        ("dot", 1, 0.5, 0),
        ("infeed", 1, 0.75, 0),
        ("nop", 1, 0.75, 0),
        ("while", 1, 0.75, 0),
    ]


def test_peaks():
    assert ask(TOOL, TPU)[0]["p"] == {
        "device_type": "TPU v9",
        "megacore": "0",
        "has_cmem": "0",
        "has_merged_vmem": "1",
        "time_scale_multiplier": "1",
        "peak_flop_rate": "1000",
        "peak_hbm_bw": "93.1323",
        "peak_cmem_read_bw": "0",
        "peak_cmem_write_bw": "0",
        "peak_vmem_read_bw": "465.661",
        "peak_vmem_write_bw": "232.831",
        "hbm_ridge_point": "10",
        "cmem_read_ridge_point": "0",
        "cmem_write_ridge_point": "0",
        "vmem_read_ridge_point": "2",
        "vmem_write_ridge_point": "4",
    }
    document = ask(TOOL, TPU, page=True)
    assert [(memory["name"], memory["ridge_flops_per_byte"]) for memory in document["memories"]] == [
        ("HBM", pytest.approx(10)),
        ("VMEM read", pytest.approx(2)),
        ("VMEM write", pytest.approx(4)),
    ]
    assert (document["peak_gflops_per_s"], document["device_type"]) == (1000, "TPU v9")
    assert (document["megacore"], document["has_cmem"], document["has_merged_vmem"]) == (False, False, True)
    assert document["notes"]["limits"]["memory_gib_per_s"] == pytest.approx(791.624, rel=1e-5)
    assert {cell for (cell,) in rows(document["rows"], "cmem_read_bw")} == {None}
    columns = {column["id"]: column for column in document["rows"]["columns"]}
    assert (columns["roofline_efficiency"]["unit"], columns["hbm_bw"]["label"]) == ("fraction", "HBM bandwidth")
    assert columns["total_self_time_percent"]["help"].endswith("divided by the observed time, idle time included.")


def test_pages_show_what_the_peaks_allow():
    document = ask(TOOL, TPU.replace("has_merged_vmem=1", "peak_cmem_rd_bw_gigabytes_per_second=700d"), page=True)
    assert document["has_cmem"] is True
    assert [memory["id"] for memory in document["memories"]] == ["hbm", "cmem_read"]
    ops = {name: rest for name, *rest in rows(document["rows"], "operation", "roofline_efficiency", "category")}
    assert ops["add"] == [0, "loop fusion"]
    # Without a peak of computation there are no ridges, and no efficiency is 0.
    document = ask(TOOL, TPU.replace("peak_teraflops_per_second=1d", "other=1"), page=True)
    assert (document["memories"], document["peak_gflops_per_s"]) == ([], None)
    assert 0 not in {value for (value,) in rows(document["rows"], "roofline_efficiency")}
    bare = TPU.replace('hlo_category="loop fusion", ', "")
    categories = dict(rows(ask(TOOL, bare, page=True)["rows"], "operation", "category"))
    assert (categories["add"], categories["dot"]) == ("unknown", "convolution")


def test_steps():
    table, diagnostics = ask(TOOL, TPU + STEPS)
    names = ("step", "total_time", "avg_time", "measured_flop_rate")
    steps = [row for row in rows(table, *names, "include_infeed_outfeed") if row[0] != "Total"]
    assert steps == [
        ("Average", 4.5, 9, pytest.approx(1e5 / 4500), True),
        ("0", 5, 5, 20, True),
        ("1", 4, 4, 25, True),
        ("Average", 3, 6, pytest.approx(1e5 / 3000), False),
        ("0", 4, 4, 25, False),
        ("1", 2, 2, 50, False),
    ]
    assert rows(diagnostics, "severity") == []


def test_steps_of_two_hosts_add_up():
    table, _ = ask(TOOL, TPU + STEPS, TPU + STEPS)
    found = {row[0]: row[1:] for row in rows(table, "step", "total_time", "total_time_per_core") if row[0] in "01"}
    assert found == {"0": (8, 4), "1": (4, 2)}  # the half without infeed comes last


def test_gpus():
    device = 'device_vendor="Nvidia", compute_cap_major=9, core_count=10, clock_rate=1000000'
    profile = f"""
plane 3 "/device:GPU:0" {{{device}, memory_bandwidth=100000000000}}
  line 5 "Stream #1"
    0us +4us kernel {{kernel_details="grid:1,1,1"}}
"""
    table, _ = ask(TOOL, profile)
    labels = {column["id"]: column["label"] for column in table["cols"]}
    assert len(labels) == 30
    only_on_tpus = {"dma_stall_percent", "cmem_read_bw", "vmem_read_operational_intensity"}
    assert not only_on_tpus & labels.keys()
    assert labels["vmem_write_bw"] == "SHM/L1 BW (GiB/s)"
    assert rows(table, "step", "operation") == [("Total", "Program")] * 2
    assert table["p"] == {
        "device_type": "Nvidia GPU (Hopper)",
        "peak_flop_rate": "40960",
        "peak_hbm_bw": "93.1323",
        "peak_vmem_write_bw": "2384.19",
        "hbm_ridge_point": "409.6",
        "vmem_write_ridge_point": "16",
    }
    document = ask(TOOL, profile, page=True)
    assert [memory["name"] for memory in document["memories"]] == ["HBM", "Shared memory / L1"]
    shown = {column["id"] for column in document["rows"]["columns"]}
    assert not only_on_tpus & shown
    assert only_on_tpus <= {column["id"] for column in ask(TOOL, TPU, page=True)["rows"]["columns"]}
    assert (document["megacore"], document["has_cmem"], document["has_merged_vmem"]) == (None, None, None)


def test_nothing_to_show():
    table, diagnostics = ask(TOOL, 'plane 1 "/host:CPU"')
    assert rows(table, "step") == rows(diagnostics, "severity") == []
    assert len(table["cols"]) == 37
    assert table["p"]["device_type"] == ""
