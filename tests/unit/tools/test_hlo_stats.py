"""HLO stats of typed-in profiles: rows, shares, rates, words; GPU kernels that no op claims."""

import pytest
from builders.asked import ask, rows
from builders.messages import traffic
from builders.programs import hlo

from tpu_profile_plugin.tools.ops import op_profile
from tpu_profile_plugin.tools.ops.hlo_stats import TOOL

GIB = 1 << 30
HBM_READ = traffic(("READ", 1, 4 * GIB))
PEAKS = 'device_type_string="TPU v9", peak_teraflops_per_second=1d, peak_hbm_bw_gigabytes_per_second=10000d'
TPU = f"""
plane 2 "/device:TPU:0" {{{PEAKS}}}
  metadata "%dot.1.remat = f32[8] dot()" {{program_id=u7, symbol_id=1, hlo_category="convolution fusion",
      flops=9000, model_flops=8000, bytes_accessed=1000, tf_op="jit(f)/dot:", source="f.py:3",
      source_stack="a < b\\n"}} display=dot.1.remat
  metadata "%copy.2 = f32[8] copy()" {{program_id=u7, symbol_id=2, hlo_category="copy", bytes_accessed=8,
      memory_access_breakdown={HBM_READ}}}
  metadata "%send-done.3 = send-done(), is_host_transfer=true" {{program_id=u7, symbol_id=3,
      hlo_category="send-done"}} display=send-done.3
  line 5 "XLA Ops"
    0us +1us "%dot.1.remat = f32[8] dot()" {{dma_stall_duration_ps=250000, vdd_energy_j=0.5d}}
    1us +1us "%dot.1.remat = f32[8] dot()" {{vdd_energy_j=0.25d}}
    2us +1us "%copy.2 = f32[8] copy()" {{dma_stall_duration_ps=u250000, vdd_energy_j=5}}
    9us +1us "%send-done.3 = send-done(), is_host_transfer=true"
""".replace(",\n      ", ", ")  # fmt: skip


def test_rows():
    table = ask(TOOL, TPU)
    assert rows(table, "rank", "program_id", "category", "hlo_op_name", "occurrences", "total_time", "avg_time") == [
        (1, "7", "convolution fusion", "dot.1.remat", 2, 2, 1),
        (2, "7", "copy", "copy.2", 1, 1, 1),
        (3, "7", "send-done", "send-done.3", 1, 1, 1),
    ]
    assert "p" not in table


def test_pages_have_notes_and_shares_and_no_zeros_for_what_was_not_measured():
    document = ask(TOOL, TPU, page=True)
    assert (document["notes"]["on_cpu"], document["notes"]["cores"]) == (False, 1)
    limits = document["notes"]["limits"]
    assert limits["gflops_per_s"] == 1000
    assert limits["hbm_gib_per_s"] == limits["memory_gib_per_s"] == pytest.approx(9313.2257)
    assert sum(share for (share,) in rows(document["ops"], "busy_share")) == pytest.approx(1)
    assert rows(ask(TOOL, TPU), "cmem_read_bw") == [(0,)] * 3
    assert rows(document["ops"], "cmem_read_bw") == [(None,)] * 3
    columns = {column["id"]: column for column in document["ops"]["columns"]}
    assert "autotuned" not in columns
    assert (columns["hlo_op_name"]["label"], columns["busy_share"]["unit"]) == ("Op", "fraction")
    assert columns["total_self_time_percent"]["help"] == "Part of the observed time, idle time included."


COPY = f"""{
    hlo.metadata_plane(
        jit_f=(
            7,
            hlo.program(
                [
                    hlo.op("x", "parameter", "f32[8]{0}"),
                    hlo.op("copy.2", "copy", "f32[8]{0}", "x"),
                    hlo.op("add.1", "add", "f32[8]{0}", "copy.2", "copy.2", source_file="dir/f.py", source_line=3),
                ]
            ),
        )
    )
}
plane 2 "/device:TPU:0" {{{PEAKS}}}
  metadata "%copy.2 = f32[8] copy()" {{program_id=u7, symbol_id=2, hlo_category="copy"}} display=copy.2
  line 5 "XLA Ops"
    0us +1us "%copy.2 = f32[8] copy()"
"""


def test_a_copy_has_the_source_of_what_uses_it_on_request():
    assert rows(ask(TOOL, COPY), "source_info") == [("",)]
    ((cell,),) = rows(ask(TOOL, COPY, near_sources="true"), "source_info")
    assert cell == "<div class='source-info-cell' title=''>dir/f.py:3 (of add.1)</div>"
    (program,) = ask(op_profile.TOOL, COPY, page=True, near_sources="true")["ops"]["children"]
    op = program["children"][0]["children"][0]
    assert (op["source_file"], op["source_line"], op["source_of"]) == ("dir/f.py", 3, "add.1")


def test_shares_are_of_all_time():
    found = rows(ask(TOOL, TPU), "total_self_time_percent", "cumulative_total_self_time_percent")
    assert found == [(20, 20), (10, 30), (10, 40)]


def test_rates():
    names = (
        "normalized_flop_rate",
        "model_flop_rate",
        "measured_memory_bw",
        "hbm_bw",
        "operational_intensity",
        "bound_by",
    )
    found = rows(ask(TOOL, TPU), *names)
    assert found[0] == (9, 8, pytest.approx(1e9 / GIB), pytest.approx(1e9 / GIB), 9, "Compute")
    # What is known by memory counts for HBM, even where it is more than the bytes accessed.
    assert found[1][2:] == (pytest.approx(8e6 / GIB), pytest.approx(4e6), 0, "HBM")
    assert found[2][5] == "Unknown"


def test_words():
    names = (
        "tf_op_name",
        "hlo_rematerialization",
        "outside_compilation",
        "dma_stall_percent",
        "vdd_energy",
        "core_type",
    )
    assert rows(ask(TOOL, TPU), *names) == [
        ("jit(f)/dot:", "Yes", "No", 0.125, 0.75, "TensorCore"),
        ("", "No", "No", 0, 0, "TensorCore"),
        ("", "No", "Yes", 0, 0, "TensorCore"),
    ]
    assert rows(ask(TOOL, TPU), "source_info")[0] == ("<div class='source-info-cell' title='a &lt; b\n'>f.py:3</div>",)


def test_costs_of_events_do_not_count():
    profile = """
plane 2 "/device:TPU:0"
  metadata call {program_id=7, symbol_id=1, hlo_category="custom-call", flops=1000}
  line 5 "XLA Ops"
    0us +1us call {flops=500}
    1us +1us call
"""
    assert rows(ask(TOOL, profile), "normalized_flop_rate") == [(1.0,)]


def test_events_without_a_symbol_are_no_ops_but_contain_some():
    profile = """
plane 2 "/device:TPU:0"
  metadata a {program_id=7, symbol_id=1, hlo_category="c"}
  metadata outer {program_id=7, hlo_category="c"}
  line 5 "XLA Ops"
    0us +9us outer
    1us +1us a
    20us +1us a
"""
    assert rows(ask(TOOL, profile), "hlo_op_name", "occurrences", "total_self_time_percent") == [
        ("a", 2, pytest.approx(200 / 21)),
    ]


GPU = f"""{hlo.metadata_plane(jit_f=(7, hlo.relu_program()))}
plane 1 "/host:CPU"
  line 1 main
    0us +1us cuGraphLaunch {{correlation_id=u5, hlo_op="fusion.1", hlo_module="jit_f", program_id=7}}
plane 3 "/device:GPU:0" {{device_vendor="Nvidia", compute_cap_major=9, core_count=1, clock_rate=1000000}}
  line 5 "Stream #1"
    0us +4us fusion_1 {{correlation_id=u1, hlo_op="fusion.1", program_id=7, kernel_details="grid:1,1,1"}}
    10us +2us helper {{correlation_id=u1, kernel_details="grid:1,1,1"}}
    20us +1us inside_graph {{correlation_id=u5, kernel_details="grid:1,1,1"}}
    30us +3us fusion_1 {{correlation_id=u9, kernel_details="grid:1,1,1"}}
    40us +5us mystery {{correlation_id=u8, kernel_details="grid:1,1,1"}}
    50us +6us MemcpyH2D {{correlation_id=u7, memcpy_details="size:8"}}
    60us +7us MEMCPYDtoH {{correlation_id=u6, memcpy_details="size:8"}}
"""


def test_gpu_events_without_an_op_are_left_out_as_the_reference_does():
    assert rows(ask(TOOL, GPU), "hlo_op_name", "occurrences", "total_time") == [("fusion.1", 1, 4)]


def test_gpu_events_without_an_op_are_attributed_on_request():
    table = ask(TOOL, GPU, unattributed="true")
    assert rows(table, "hlo_op_name", "category", "program_id", "occurrences", "total_time") == [
        # Its own kernel, one of the same launch, one of the graph that it launched, and one that has its name.
        ("fusion.1", "loop fusion", "7", 4, 10),
        ("MEMCPYDtoH", "memcpy DToH", "0", 1, 7),
        ("MemcpyH2D", "memcpy HToD", "0", 1, 6),
        ("mystery", "unattributed", "0", 1, 5),
    ]
    notes = ask(TOOL, GPU, page=True, unattributed="true")["notes"]
    assert (notes["cores"], notes["unattributed_share"]) == (1, 18 / 28)
    assert (notes["limits"]["gflops_per_s"], notes["limits"]["hbm_gib_per_s"]) == (4096, None)


def test_the_cpu_backend():
    profile = f"""{hlo.metadata_plane(jit_f=(7, hlo.relu_program()))}
plane 1 "/host:CPU"
  line 1 "worker/1"
    0us +10us fusion.1 {{hlo_op="fusion.1", hlo_module="jit_f", program_id=7, device_ordinal=0}}
"""
    assert rows(ask(TOOL, profile), "rank") == []
    table = ask(TOOL, profile, backend="auto")
    notes = ask(TOOL, profile, backend="auto", page=True)["notes"]
    # Rates that no CPU reaches on one thread.
    limits = {"gflops_per_s": 5000, "hbm_gib_per_s": 1024, "memory_gib_per_s": 1024}
    assert (notes["on_cpu"], notes["cores"]) == (True, 1)
    assert notes["limits"] == {**limits, "what": "what 1 threads of a CPU can do"}
    assert rows(table, "hlo_op_name", "category", "core_type", "normalized_flop_rate", "tf_op_name") == [
        ("fusion.1", "loop fusion", "CPU", 0.2048, "jit(f)/max:"),
    ]


OFFLOAD = """
plane 2 "/device:TPU:0" {device_type_string="TPU v9"}
  metadata "%call.1 = call()" {program_id=7, symbol_id=1, hlo_category="custom-call"} display=call.1
  line 5 "XLA Ops"
    0us +4us "%call.1 = call()" {offload_core_id=u3, tc_offload_start_id=11}
    9us +1us "%call.1 = call()" {offload_core_id=u3, tc_offload_start_id=12}
plane 3 "/device:TPU:0 SparseCore 0"
  metadata gather {program_id=8, symbol_id=1, hlo_category="gather", flops=1000}
  line 1 "Sparse Core Modules"
    0us +3us module {offload_core_id=u3, tc_offload_start_id=u11}
    9us +1us module {offload_core_id=u3, tc_offload_start_id=u12}
    20us +9us module {offload_core_id=u4, tc_offload_start_id=u13}
  line 2 "Sparse Core Ops"
    0us +2us gather
    9us +1us gather
    21us +1us gather
"""


def test_ops_of_sparse_cores_follow_the_op_that_they_ran_for():
    names = (
        "rank",
        "hlo_op_name",
        "core_type",
        "parent_op_name",
        "occurrences",
        "total_time",
        "total_self_time_percent",
    )
    assert rows(ask(TOOL, OFFLOAD), *names) == [
        (1, "call.1", "TensorCore", "", 2, 5, 50),
        (0, "gather", "SparseCore", "call.1", 2, 3, 0),
    ]
    assert [row[4] for row in rows(ask(TOOL, OFFLOAD, OFFLOAD), *names)] == [4, 4]
    tree = ask(op_profile.TOOL, OFFLOAD)["byProgram"]
    node = tree["children"][0]["children"][0]["children"][0]
    assert (node["name"], node["numChildren"]) == ("call.1", 1)
    assert node["children"][0]["name"] == "gather"
    assert node["children"][0]["metrics"]["rawTime"] == 3_000_000
