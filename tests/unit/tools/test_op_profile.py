"""Op profile of typed-in profiles: levels, sums, own time, duplicates, what is kept, utilisation."""

import pytest
from builders.asked import ask, rows
from builders.messages import traffic
from builders.programs import hlo
from builders.programs.hlo import op, program

from tpu_profile_plugin.analysis.ops.tree import MAX_CHILDREN
from tpu_profile_plugin.tools.ops import framework_op_stats
from tpu_profile_plugin.tools.ops.op_profile import TOOL

TRAFFIC = traffic(("READ", 1, 1000), ("WRITE", 3, 500))
PEAKS = (
    'device_type_string="TPU v9", peak_teraflops_per_second=1d, peak_hbm_bw_gigabytes_per_second=10d, '
    "peak_sram_rd_bw_gigabytes_per_second=20d, peak_sram_wr_bw_gigabytes_per_second=20d"
)
ADD = 'hlo_category="loop fusion", flops=100, tf_op="jit(f)/a/add:", deduplicated_name="add"'
ADD_1 = f'{ADD}, memory_access_breakdown={TRAFFIC}, source="f.py:3", source_stack="f.py:3\\n"'
TPU = f"""
plane 2 "/device:TPU:0" {{{PEAKS}}}
  metadata "%add.1 = f32[8] add()" {{program_id=7, symbol_id=1, {ADD_1}}} display=add.1
  metadata "%add.2 = f32[8] add()" {{program_id=7, symbol_id=2, {ADD}}} display=add.2
  metadata "%while.3 = while()" {{program_id=7, symbol_id=3, hlo_category="while"}} display=while.3
  metadata "%region.4 = call()" {{program_id=7, symbol_id=4, hlo_category="call"}} display=region.4
  line 5 "XLA Ops" @0ns
    0us +10us "%while.3 = while()"
    1us +2us "%add.1 = f32[8] add()"
    4us +1us "%add.2 = f32[8] add()"
    12us +3us "%add.1 = f32[8] add()"
    16us +1us "%region.4 = call()"
    18us +2us "%add.1 = f32[8] add()"
"""
GPU = 'device_vendor="Nvidia", compute_cap_major=9, core_count=100, clock_rate=1000000, memory_bandwidth=1000000000000'


def outline(node, *fields):
    found = (node["name"], *(node["metrics"][field] for field in fields))
    return (*found, [outline(child, *fields) for child in node["children"]]) if node["children"] else found


def test_by_program():
    answer = ask(TOOL, TPU)
    assert answer["deviceType"] == "TPU"
    assert answer["aggDvfsTimeScaleMultiplier"] == 1
    # 20 us in all, 16 us of ops: while 7 us of its own, region 1 us (without a node), adds 8 us.
    assert outline(answer["byProgram"], "rawTime", "occurrences") == (
        "by_program", 20_000_000, 0, [
            ("main", 15_000_000, 0, [
                ("loop fusion", 8_000_000, 4, [
                    ("add.1 and its duplicate(s)", 8_000_000, 4, [
                        ("add.1", 7_000_000, 3),
                        ("add.2", 1_000_000, 1),
                    ]),
                ]),
            ]),
            ("IDLE", 2_000_000 + 2_000_000, 0),
        ],
    )  # fmt: skip
    assert outline(answer["byProgramExcludeIdle"], "rawTime")[1] == 16_000_000
    assert answer["byProgram"]["numChildren"] == 2
    assert "xla" not in answer["byProgram"]["children"][0]


def around(node):
    return [(child["name"], child["time_ps"], child["runs"]) for child in node["children"] if child["contains"]]


def page(*profiles, **params):
    return ask(TOOL, *profiles, page=True, **params)


def test_ops_that_contain_others_are_listed_with_their_self_time():
    answer = page(TPU)
    assert (answer["total_ps"], [(node["name"], node["time_ps"]) for node in answer["idle"]]) == (
        20_000_000,
        [("IDLE", 4_000_000)],
    )
    tree = answer["ops"]
    main = tree["children"][0]
    assert around(main) == [("while.3", 7_000_000, 1)]
    assert around(tree) == [("region.4", 1_000_000, 1)]
    # With them every node adds up.
    for node in (tree, main):
        assert sum(child["time_ps"] for child in node["children"]) == node["time_ps"]
        assert node["count"] == len(node["children"])
    loop = main["children"][-1]
    assert (loop["children"], loop["category"], loop["expression"]) == ([], "while", "%while.3 = while()")
    assert (loop["flops_use"], loop["flops"], loop["bytes"]) == (None, 0, [0, 0, 0])
    tree = page(TPU, group_by="category")["ops"]
    assert around(tree) == [("while.3", 7_000_000, 1), ("region.4", 1_000_000, 1)]
    assert around(tree["children"][0]) == []


def test_nodes_of_the_page():
    found, queue = [], [page(TPU)["ops"]]
    while queue:
        node = queue.pop(0)
        found.append((node["kind"], node["name"], node["runs"], node["program_id"]))
        queue += node["children"]
    assert found == [
        ("root", "by_program", 0, ""),
        ("group", "main", 0, ""),
        ("op", "region.4", 1, "7"),
        ("group", "loop fusion", 4, ""),
        ("op", "while.3", 1, "7"),
        ("duplicates", "add.1", 4, "7"),
        ("op", "add.1", 3, "7"),
        ("op", "add.2", 1, "7"),
    ]


def test_use_of_the_peaks_is_not_capped_nor_invented():
    def use(profile):
        node = page(profile)["ops"]
        while node["kind"] != "op":
            node = node["children"][0]
        return node["flops_use"], node["memory_use"]

    # 300 FLOPs in 7 us against 1 TFLOP/s; 3000 bytes against 10 GB/s, 1500 against 20 GB/s.
    assert use(TPU) == (pytest.approx(300 / 7000 / 1000), pytest.approx([3000 / 7e-6 / 10e9, 0, 1500 / 7e-6 / 20e9]))
    slow = TPU.replace("peak_hbm_bw_gigabytes_per_second=10d", "peak_hbm_bw_gigabytes_per_second=0.1d")
    assert use(slow)[1][0] == pytest.approx(3000 / 7e-6 / 0.1e9)
    assert use(TPU.replace(f", {PEAKS.partition(', ')[2]}", "")) == (None, [None, None, None])
    without = ADD.replace("flops=100, ", "")
    assert use(TPU.replace(ADD, without).replace(f", memory_access_breakdown={TRAFFIC}", "")) == (None, [None] * 3)
    assert [node["memory_use"] for node in page(TPU)["idle"]] == [[None, None, None]]


def test_the_while_counts_its_own_time_only_but_all_of_it_normalized():
    assert ask(TOOL, TPU)["byProgram"]["metrics"]["normalizedTimePs"] == 10_000_000 + 8_000_000


def test_metrics_of_an_op():
    op = ask(TOOL, TPU)["byProgram"]["children"][0]["children"][0]["children"][0]["children"][0]
    # 300 FLOPs in 7 us against 1 TFLOP/s, weighted with 7 of 20 us; 3000 bytes against 10 GB/s.
    assert op["metrics"]["flops"] == pytest.approx(300 / 7000 / 1000 * 7 / 20)
    assert op["metrics"]["bandwidthUtils"] == pytest.approx([3000 / 7e-6 / 10e9, 0, 1500 / 7e-6 / 20e9])
    assert op["metrics"]["rawBytesAccessedArray"] == [3000, 0, 1500]
    assert op["metrics"]["avgTimePs"] == pytest.approx(7e6 / 3)
    assert op["xla"] == {
        "op": "", "expression": "%add.1 = f32[8] add()", "provenance": "jit(f)/a/add:", "category": "loop fusion",
        "computationPrimitiveSize": 0, "fingerprint": "0", "programId": "7", "xprofKernelMetadata": "",
        "sourceInfo": {"fileName": "f.py", "lineNumber": 3, "stackFrame": "f.py:3\n"},
    }  # fmt: skip


def test_by_category_and_by_provenance():
    category = ask(TOOL, TPU, group_by="category")["byCategory"]
    assert [child["name"] for child in category["children"]] == ["loop fusion", "IDLE"]
    names = []
    node = ask(TOOL, TPU, group_by="provenance")["byProvenance"]
    while node["children"] and not node["name"].endswith("duplicate(s)"):
        node = node["children"][0]
        names.append(node["name"])
    assert names == ["main", "jit(f)", "a", "add", "loop fusion", "add.1 and its duplicate(s)"]


def many_ops(count):
    ops = [
        f'metadata "op{i}" {{program_id=7, symbol_id={i + 1}, hlo_category="c{i % 2}"}}' for i in range(count)
    ]  # fmt: skip
    events = [f'{i * 1000}ns +{i + 1}ns "op{i}"' for i in range(count)]
    return "\n".join(['plane 2 "/device:TPU:0"', *ops, 'line 5 "XLA Ops"', *events])


def test_only_the_longest_are_kept_below_categories():
    for group_by, key in (("program", "byProgram"), ("category", "byCategory"), ("provenance", "byProvenance")):
        root = ask(TOOL, many_ops(250), group_by=group_by)[key]
        category = next(child for child in (root if group_by == "category" else root["children"][1])["children"]
                        if child["name"] == "c1")  # fmt: skip
        assert category["numChildren"] == 125
        assert len(category["children"]) == (125 if group_by == "provenance" else MAX_CHILDREN)
        assert category["children"][0]["name"] == "op249"


FUSED = hlo.metadata_plane(jit_f=(7, hlo.relu_program()))


def test_fusions_open_on_tpus():
    profile = f"""{FUSED}
plane 2 "/device:TPU:0" {{device_type_string="TPU v9"}}
  metadata "%fusion.1 = f32[8]" {{program_id=7, symbol_id=1, hlo_category="loop fusion"}} display=fusion.1
  line 5 "XLA Ops"
    0us +10us "%fusion.1 = f32[8]"
"""
    program = ask(TOOL, profile)["byProgram"]["children"][0]
    fusion = program["children"][0]["children"][0]
    assert program["name"] == "jit_f(7)"
    assert [child["name"] for child in fusion["children"]] == ["zero", "add.1", "max.1"]
    assert fusion["numChildren"] == 3
    assert fusion["children"][1]["metrics"]["occurrences"] == 1
    assert fusion["children"][1]["metrics"]["rawTime"] == 0
    assert fusion["children"][1]["xla"]["provenance"] == "jit(f)/add:"


def test_fusions_that_wait_for_a_sparse_core_open_into_its_ops():
    profile = f"""{FUSED}
plane 2 "/device:TPU:0" {{device_type_string="TPU v9"}}
  metadata "%fusion.1 = f32[8]" {{program_id=7, symbol_id=1, hlo_category="loop fusion"}} display=fusion.1
  line 5 "XLA Ops"
    0us +10us "%fusion.1 = f32[8]" {{offload_core_id=u3, tc_offload_start_id=11}}
plane 9 "/device:TPU:0 SparseCore 0"
  metadata gather {{program_id=8, symbol_id=1, hlo_category="gather"}}
  line 1 "Sparse Core Modules"
    0us +4us module {{offload_core_id=u3, tc_offload_start_id=u11}}
  line 2 "Sparse Core Ops"
    0us +2us gather
"""
    fusion = ask(TOOL, profile)["byProgram"]["children"][0]["children"][0]["children"][0]
    assert (fusion["name"], [child["name"] for child in fusion["children"]]) == ("fusion.1", ["gather"])


def test_more_than_a_hundred_fused_instructions_are_listed_by_scope_only():
    of = "f32[8]"
    inside = [op("p", "parameter", of), *(op(f"n{i}", "negate", of, "p") for i in range(103))]
    outside = [op("x", "parameter", of), op("fusion.1", "fusion", of, "x", called=["fused"], fusion_kind="kLoop")]
    profile = f"""{hlo.metadata_plane(jit_f=(7, program(outside, fused=inside)))}
plane 2 "/device:TPU:0" {{device_type_string="TPU v9"}}
  metadata "%fusion.1 = f32[8]" {{program_id=7, symbol_id=1, hlo_category="loop fusion"}} display=fusion.1
  line 5 "XLA Ops"
    0us +10us "%fusion.1 = f32[8]"
"""

    def listed(group_by: str) -> tuple[int, int]:
        node = next(iter(ask(TOOL, profile, group_by=group_by).values()))
        while node["name"] != "fusion.1":
            (node,) = [child for child in node["children"] if child["name"] != "IDLE"]
        return len(node["children"]), node["numChildren"]

    assert {by: listed(by) for by in ("program", "category", "provenance")} == {
        "program": (100, 103),
        "category": (100, 103),
        "provenance": (103, 103),
    }


def test_bytes_of_an_op_without_time_are_not_shown():
    profile = """
plane 2 "/device:TPU:0" {device_type_string="TPU v9"}
  metadata "%a = f32[8]" {program_id=7, symbol_id=1, memory_access_breakdown=0x0a06080110011864} display=a
  line 5 "XLA Ops"
    0us +DURATION "%a = f32[8]"
"""
    found = [
        ask(TOOL, profile.replace("DURATION", time))["byProgramExcludeIdle"]["metrics"]["rawBytesAccessedArray"]
        for time in ("10us", "0us")
    ]
    assert found == [[100.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_what_is_a_fusion_is_decided_by_the_program():
    profile = f"""{FUSED}
plane 2 "/device:TPU:0" {{device_type_string="TPU v9"}}
  metadata "%fusion.1 = f32[8]" {{program_id=7, symbol_id=1, hlo_category="host send"}} display=fusion.1
  metadata "%n1 = f32[8]" {{program_id=7, symbol_id=2, hlo_category="loop fusion"}} display=n1
  line 5 "XLA Ops"
    0us +10us "%fusion.1 = f32[8]"
    10us +5us "%n1 = f32[8]"
"""
    categories = ask(TOOL, profile)["byProgram"]["children"][0]["children"]
    ops = {category["name"]: category["children"][0] for category in categories}
    assert [child["name"] for child in ops["host send"]["children"]] == ["zero", "add.1", "max.1"]
    assert ops["loop fusion"]["children"] == []


@pytest.mark.parametrize("factor", ["nan", "inf", "-inf"])
def test_times_that_are_no_numbers_are_null(factor):
    profile = f"""
plane 2 "/device:TPU:0" {{device_type_string="TPU v9"}}
  metadata "%a = f32[8]" {{program_id=7, symbol_id=1, hlo_category="loop fusion"}} display=a
  line 5 "XLA Ops"
    0us +10us "%a = f32[8]" {{"Time Scale Multiplier"={factor}}}
"""
    answer = ask(TOOL, profile)
    assert (answer["aggDvfsTimeScaleMultiplier"], answer["byProgram"]["metrics"]["normalizedTimePs"]) == (None, None)
    assert answer["byProgram"]["metrics"]["rawTime"] == 10_000_000


def test_fusions_open_on_gpus_for_the_page_only():
    profile = f"""{FUSED}
plane 3 "/device:GPU:0" {{{GPU}}}
  line 5 "Stream #1"
    0us +10us fusion_1 {{hlo_op="fusion.1", hlo_module="jit_f", program_id=7, kernel_details="grid:1,1,1 block:1,1,1"}}
"""
    fusion = ask(TOOL, profile)["byProgram"]["children"][0]["children"][0]["children"][0]
    assert (fusion["children"], fusion["numChildren"]) == ([], 0)
    assert fusion["metrics"]["rawFlops"] == 6144.0
    assert fusion["metrics"]["rawBytesAccessedArray"] == [2 * 4 * 8 * 128, 0, 0]
    fusion = page(profile)["ops"]["children"][0]["children"][0]["children"][0]
    # The most expensive first; costs come from the program.
    assert [(part["kind"], part["name"], part["model_flops"]) for part in fusion["children"]] == [
        ("part", "add.1", 3072.0), ("part", "max.1", 3072.0), ("part", "zero", 0.0),
    ]  # fmt: skip
    assert fusion["count"] == 3


def test_layout_of_a_convolution():
    dims = {"output_batch_dimension": 0, "output_feature_dimension": 2, "output_spatial_dimensions": [1]}
    one = op("conv.1", "convolution", "f32[6,4,128]{2,0,1:T(8,128)}", convolution_dimension_numbers=dims)
    profile = f"""{hlo.metadata_plane(m=(7, program([one])))}
plane 2 "/device:TPU:0" {{device_type_string="TPU v9"}}
  metadata conv.1 {{program_id=7, symbol_id=1, hlo_category="convolution"}}
  line 5 "XLA Ops"
    0us +10us conv.1
"""
    found = ask(TOOL, profile)["byProgram"]["children"][0]["children"][0]["children"][0]
    dimensions = [
        {"size": 128, "alignment": 128, "semantics": "feature"},
        {"size": 6, "alignment": 8, "semantics": "batch"},
        {"size": 4, "alignment": 1, "semantics": "spatial"},
    ]
    assert found["xla"]["layout"] == {"dimensions": dimensions}
    found = page(profile)["ops"]["children"][0]["children"][0]["children"][0]
    assert (found["layout"], found["layout_use"]) == (dimensions, 0.75)


def test_several_hosts_add_up_and_the_first_text_stays():
    other = TPU.replace(ADD, 'hlo_category="x", deduplicated_name="add"')
    answer = ask(TOOL, TPU, other)["byProgram"]
    assert answer["metrics"]["rawTime"] == 40_000_000
    first = answer["children"][0]["children"][0]
    assert (first["name"], first["metrics"]["occurrences"]) == ("loop fusion", 8)


def test_a_scaled_clock():
    profile = """
plane 2 "/device:TPU:0" {device_type_string="TPU v9", peak_teraflops_per_second=1d}
  metadata a {program_id=7, symbol_id=1, hlo_category="c", flops=1000}
  line 5 "XLA Ops"
    0us +10us a {"Time Scale Multiplier"=0.5d}
    20us +10us a
"""
    answer = ask(TOOL, profile)
    op = answer["byProgramExcludeIdle"]["children"][0]["children"][0]["children"][0]
    assert op["metrics"]["normalizedTimePs"] == 15_000_000
    assert op["metrics"]["uncappedFlops"] == pytest.approx(2000 / 15000 / 1000)
    assert answer["aggDvfsTimeScaleMultiplier"] == 0.75


def test_nothing_recorded():
    for profile, name in (('plane 1 "/host:CPU"', "by_program"), ('plane 1 "/device:TPU:0"', "IDLE")):
        answer = ask(TOOL, profile)
        assert (answer["byProgram"]["name"], answer["byProgram"]["children"]) == (name, [])
        assert answer["byProgramExcludeIdle"]["name"] == "by_program"
    assert ask(TOOL, "")["deviceType"] == "CPU_ONLY"


CPU = f"""{FUSED}
plane 1 "/host:CPU"
  line 1 "worker/1"
    0us +10us fusion.1 {{hlo_op="fusion.1", hlo_module="jit_f", program_id=7, device_ordinal=0}}
    1us +4us call.9 {{hlo_op="call.9", hlo_module="jit_f", program_id=7, device_ordinal=0}}
    20us +5us "end: fusion.1"
  line 2 "worker/2"
    30us +10us fusion.1 {{hlo_op="fusion.1", hlo_module="jit_f", program_id=7, device_ordinal=0}}
"""


def test_the_cpu_backend_is_offered_beside():
    assert ask(TOOL, CPU)["byProgram"]["children"] == []
    answer = ask(TOOL, CPU, backend="auto")
    assert answer["deviceType"] == "CPU_ONLY"
    # 40 us from first to last; 20 us busy, of which the first fusion has 6 us without the op inside it.
    assert outline(answer["byProgram"], "rawTime", "occurrences") == (
        "by_program", 40_000_000, 0, [
            ("jit_f(7)", 20_000_000, 0, [("unknown", 4_000_000, 1, [("call.9", 4_000_000, 1)])]),
            ("IDLE", 20_000_000, 0),
        ],
    )  # fmt: skip
    assert ask(TOOL, CPU, backend="cpu")["byProgram"] == answer["byProgram"]
    shown = page(CPU, backend="auto")
    assert around(shown["ops"]["children"][0]) == [("fusion.1", 16_000_000, 2)]
    limits = {"gflops_per_s": 10000, "hbm_gib_per_s": 2048, "memory_gib_per_s": 2048}
    notes = {"on_cpu": True, "cores": 1, "unattributed_share": None, "graphs": ""}
    assert shown["notes"] == {**notes, "limits": {**limits, "what": "what 2 threads of a CPU can do"}}
    notes = page(TPU, backend="auto")["notes"]
    peaks = {"gflops_per_s": 1000, "hbm_gib_per_s": 9.31323, "memory_gib_per_s": 46.5661}
    assert (notes["on_cpu"], notes["cores"]) == (False, 1)
    assert {name: notes["limits"][name] for name in peaks} == pytest.approx(peaks, rel=1e-5)


def test_framework_ops_of_the_cpu_backend():
    with_idle, _ = ask(framework_op_stats.TOOL, CPU)
    assert rows(with_idle, "host_or_device") == [("Host",)]
    with_idle, _ = ask(framework_op_stats.TOOL, CPU, backend="auto")
    assert rows(with_idle, "host_or_device", "type", "operation", "total_self_time")[:3] == [
        ("Device", "IDLE", "IDLE", 20),
        ("Device", "max", "jit(f)/max", 16),
        ("Device", "Unknown", "call.9", 4),
    ]


def test_deep_scopes_and_fusions_that_contain_themselves_end():
    deep = f"""
plane 2 "/device:TPU:0"
  metadata a {{program_id=7, symbol_id=1, hlo_category="c", tf_op="{"x/" * 5000}add:"}}
  line 5 "XLA Ops"
    0us +1us a
"""
    assert ask(TOOL, deep, group_by="provenance")["byProvenance"]["metrics"]["rawTime"] == 1_000_000
    again = [op(name, "fusion", "f32[8]", called=["entry"], fusion_kind="kLoop") for name in "fg"]
    profile = f"""{hlo.metadata_plane(m=(7, program(again)))}
plane 2 "/device:TPU:0"
  metadata f {{program_id=7, symbol_id=1, hlo_category="loop fusion"}}
  line 5 "XLA Ops"
    0us +1us f
"""
    assert ask(TOOL, profile)["byProgram"]["children"]


@pytest.mark.parametrize(
    ("provenance", "scopes"),
    [
        ("a/b:", ["a", "b"]),
        ("a//b:c:d", ["a", "b"]),
        ("a:b/c:", ["a:b", "c"]),
        ("a/b:T/U:V", ["a", "b:T", "U"]),
        ("jit(f)/x[a=b:c]/y", ["jit(f)", "x[a=b:c]", "y"]),
        (":Type", [""]),
        ("", []),
    ],
)
def test_scopes_of_the_provenance(provenance, scopes):
    stat = f', tf_op="{provenance}"' if provenance else ""
    text = f"""
plane 1 "/device:TPU:0" {{device_type_string="TPU v4"}}
line 1 "XLA Ops"
0us +1us op
metadata op {{hlo_category="fusion", program_id=u7, symbol_id=u1{stat}}}
"""
    node, found = ask(TOOL, text, group_by="provenance")["byProvenance"], []
    while node["children"]:
        node = node["children"][0]
        found.append(node["name"])
    assert found == ["main", *scopes, "fusion", "op"]
