"""The pages about steps and ops: literal profiles in, literal rows and properties out."""

from types import SimpleNamespace

import pytest
from builders.answers import answer, rows
from builders.planes import SPARSE_CORE, host, marked

from tpu_profile_plugin.analysis.environment.environment import Peaks
from tpu_profile_plugin.analysis.steps.breakdown import Aspect
from tpu_profile_plugin.compat.xprof import steps as xprof_steps
from tpu_profile_plugin.tools.fleet import pod_viewer
from tpu_profile_plugin.tools.ops import framework_op_stats
from tpu_profile_plugin.tools.registry import find
from tpu_profile_plugin.tools.summary import input_pipeline_analyzer, overview_page


def steps_of(steps=3, wait=0, period=1000):
    """Steps of 1 ms with 500 us of computation and `wait` us of waiting for input."""
    each = f"300 500 MatMul:MatMul\n{f'0 {wait} IteratorGetNext' if wait else ''}"
    return host(marked(each, steps=steps, period=2 * period, length=period), name="vm")


TPU = """
host tpuhost
plane 99 "/host:CPU" {matrix_unit_utilization_percent=40.0d, hbm_utilization_percent=12.5}
  line 1 main
    0us +1us x
plane 0 "/device:TPU:0" {PEAKS, device_type_string="TPU v4", core_details=0x1007}
  line 1 Steps
    0us +1000us 0
    2000us +1000us 1
  line 3 "XLA Ops"
    0us +200us infeed.1
    200us +600us fusion.1
    2000us +400us fusion.1
  metadata infeed.1 {hlo_category="infeed", program_id=u7, symbol_id=u1}
  metadata fusion.1 {hlo_category="loop fusion", program_id=u7, symbol_id=u2, COSTS, tf_op="jit(f)/add:add"}
""".replace("PEAKS", "peak_teraflops_per_second=100.0, peak_hbm_bw_gigabytes_per_second=1000.0").replace(
    "COSTS", "flops=6000000000, bytes_accessed=1000000"
)


def test_the_verdict_of_a_program_that_waits_for_input():
    table = answer(input_pipeline_analyzer.TOOL, steps_of(wait=250))[1]
    assert rows(table, "stepnum", "hostComputeTimeMs", "infeedTimeMs", "otherTimeMs", "stepTimeMs")[0] == [
        "train 0",
        0.5,
        0.25,
        0.25,
        1.0,
    ]
    properties = table["p"]
    assert "HIGHLY input-bound because 25.0%" in properties["input_conclusion"]
    assert (properties["hardware_type"], properties["infeed_time_ms_avg"]) == ("CPU_ONLY", "0.2")
    assert "custom input pipeline" in properties["summary_nextstep"]
    assert properties["all_other_statement"].startswith("25.0 % of the total step time")
    tooltip = rows(table, "tooltip")[0][0].splitlines()
    assert tooltip[:2] == ["Step train 0, duration: 1.00 ms", "-All others: 0.25 ms"]
    assert next(column for column in table["cols"] if column["id"] == "tooltip")["p"] == {"role": "tooltip"}


def test_input_ops_of_the_host():
    read = "500us +200us Iterator::TFRecord\n550us +50us Iterator::TFRecord::Inner"
    found = answer(input_pipeline_analyzer.TOOL, f"{steps_of(1)}\nline 2 reader\n{read}")[2]
    assert rows(found) == [
        ["Iterator::TFRecord", 1, 0.2, 1.0, 0.15, 0.75, "Demanded file read"],
        ["Iterator::TFRecord::Inner", 1, 0.05, 0.25, 0.05, 0.25, "Preprocessing"],
    ]


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [("40.0", "40.0%"), ("-0.04", "unknown"), ("nand", "unknown"), ("infd", "inf%"), ("40", "0.0%")],
)
def test_utilization_that_the_host_recorded(recorded, shown):
    host = f'plane 0 "/host:CPU" {{matrix_unit_utilization_percent={recorded}}}'
    properties = [table.get("p", {}) for table in answer(overview_page.TOOL, host)]
    assert [found["mxu_utilization_percent"] for found in properties if "mxu_utilization_percent" in found] == [shown]


def test_unexplained_time_is_named_once():
    tables = answer(overview_page.TOOL, steps_of())
    properties = tables[3]["p"]
    assert (properties["bottleneck"], properties["all_other_bottleneck"]) == ("both", "no")
    assert "POTENTIALLY" in properties["statement"]
    assert tables[1]["p"]["all_other_statement"] == ""


def test_without_markers_there_are_no_steps_but_a_warning():
    tables = answer(overview_page.TOOL, 'plane 0 "/host:CPU"\nline 1 main\n0us +5us "a:A"')
    assert tables[1]["rows"] == []
    assert [row[0] for row in rows(tables[6])] == ["WARNING"]
    assert tables[3]["p"]["bottleneck"] == "unknown"


def test_the_overview_of_a_tpu():
    tables = answer(overview_page.TOOL, TPU)
    assert rows(tables[0], "operation", "category", "flopRate") == [
        ["jit(f)/add", "add", pytest.approx(12000.0)],
        ["infeed.1", "Unknown", 0.0],
    ]
    wanted = ("mxu_utilization_percent", "hbm_utilization_percent", "device_duty_cycle_percent", "tc_active_ms_average")
    assert [tables[0]["p"][name] for name in wanted] == ["40.0%", "12.5%", "41.7%", "0.50"]
    assert tables[2]["p"] == {
        "host_count": "1",
        "task_count": "1 (num tasks per host = 1)",
        "device_type": "TPU v4",
        "device_core_count": "1",
        "is_training": "false",
    }
    assert tables[5] == {}
    assert set(tables[3]["p"].values()) == {""}
    more = answer(overview_page.TOOL, TPU, page=True)
    assert more["efficiency"]["goodput_percent"] == pytest.approx(100 * 0.12 / 2)
    assert more["efficiency"]["memory_bw_percent"] == pytest.approx(0.1)
    # 200 us of input in two steps of 1 ms with 1 ms between them.
    assert more["steps"]["input"] == {
        "bottleneck": "both",
        "level": "MODERATELY",
        "percent": pytest.approx(100 * 0.1 / 2),
    }
    steps = more["steps"]["decomposition"]["steps"]
    assert (steps["begin_ps"], steps["end_ps"]) == ([0, 2 * 10**9], [10**9, 3 * 10**9])


def test_the_core_that_waits_longest_is_named():
    table = answer(input_pipeline_analyzer.TOOL, TPU)[0]
    assert rows(table) == [["Step number", "0", "1"], ["Core name", "tpuhost:7", "unknown"]]
    first = answer(input_pipeline_analyzer.TOOL, TPU.replace("core_details=0x1007", "core_details=0x1000"))[0]
    assert rows(first)[1] == ["Core name", "tpuhost:0", "unknown"]


def test_workers_of_the_pod_viewer_are_those_of_the_time_budget():
    hosts = (steps_of(4, wait=100), steps_of(4))
    found, budget = answer(pod_viewer.TOOL, *hosts, page=True), answer(find("time_budget"), *hosts)
    assert "podStatsSequence" not in found
    arrays = found["steps"]
    assert (arrays["names"], arrays["hosts"]) == ([f"train {i}" for i in range(4)], ["h0", "h1"])
    assert arrays["takes_part"] is None
    for at, row in enumerate(budget["time_ps"]):
        for column, parts in enumerate(row):
            assert arrays["total_ns"][at][column] * 1000 == sum(parts)
            of_column = {key: values[at][column] * 1000 for key, values in arrays["parts_ns"].items()}
            assert of_column == {
                key: ps for key, ps in zip(budget["categories"], parts, strict=True) if key in of_column
            }
    assert [group["id"] for group in found["groups"]] == [
        group["id"] for group in budget["decomposition"]["groups"] if group["id"] != "between_steps"
    ]


def test_parts_of_a_worker_add_up_to_its_step():
    # 0.2 ms of input and 1.1 ms of an op that ends after the step of 1 ms.
    text = TPU.replace("200us +600us fusion.1", "200us +1100us fusion.1")
    plain, found = answer(pod_viewer.TOOL, text), answer(pod_viewer.TOOL, text, page=True)
    first = plain["podStatsSequence"]["podStatsMap"][0]["podStatsPerCore"]["0"]
    assert (first["totalDurationUs"], sum(first["stepBreakdownUs"].values())) == (1000, 1300)
    parts = {key: values[0][0] for key, values in found["steps"]["parts_ns"].items() if values[0][0]}
    assert (found["steps"]["total_ns"][0], parts) == ([10**6], {"compute": 800_000, "idle_input": 200_000})


def test_devices_without_work_in_a_step_take_no_part_in_the_pod_viewer():
    second = TPU[TPU.index('plane 0 "/device') :].replace("TPU:0", "TPU:1").replace("plane 0", "plane 1")
    idle = second.replace("2000us +400us fusion.1", "")
    found = answer(pod_viewer.TOOL, TPU + idle, page=True)["steps"]
    assert (found["labels"], found["takes_part"]) == (["TPU 0", "TPU 1"], [[True, True], [True, False]])


def test_arrays_of_a_run_without_steps_are_empty():
    found = answer(pod_viewer.TOOL, 'plane 0 "/host:CPU"\nline 1 a\n', page=True)
    empty = {
        "numbers": [],
        "names": [],
        "hosts": [],
        "labels": [],
        "begin_ps": [],
        "total_ns": [],
        "parts_ns": {},
        "left_out": 0,
    }
    assert found["steps"] == {**empty, "takes_part": None}


def test_workers_side_by_side_in_the_pod_viewer():
    found = answer(pod_viewer.TOOL, steps_of(6, wait=100), steps_of(6))
    steps = found["podStatsSequence"]["podStatsMap"]
    assert [step["stepNum"] for step in steps] == list(range(6))
    first = steps[0]["podStatsPerCore"]
    assert set(first) == {"1", "1001"}
    assert (first["1"]["hostName"], first["1"]["bottleneck"], first["1"]["totalDurationUs"]) == (
        "vm",
        "Host compute",
        1000,
    )
    assert first["1"]["stepBreakdownUs"] == {
        "1": 0,
        "2": 0,
        "3": 0,
        "4": 500,
        "5": 0,
        "6": 100,
        "7": 0,
        "8": 0,
        "9": 400,
    }
    assert found["stepBreakdownEvents"][8] == {"id": 9, "name": "All others"}
    assert found["deviceType"] == "CPU"


def test_equal_parts_of_a_step_the_last_by_name_is_the_bottleneck():
    half = answer(pod_viewer.TOOL, steps_of(1))["podStatsSequence"]["podStatsMap"][0]["podStatsPerCore"]["1"]
    assert (half["stepBreakdownUs"]["4"], half["stepBreakdownUs"]["9"], half["bottleneck"]) == (
        500,
        500,
        "Host compute",
    )


def test_framework_ops_of_devices_then_hosts_with_and_without_idle_time():
    idle, busy = answer(framework_op_stats.TOOL, TPU)
    columns = (
        "rank",
        "host_or_device",
        "operation",
        "occurrences",
        "total_self_time",
        "device_total_self_time_percent",
    )
    assert rows(idle, *columns) == [
        [1, "Device", "IDLE", 0, 1800.0, 0.6],
        [2, "Device", "jit(f)/add", 2, 1000.0, pytest.approx(1 / 3)],
        [3, "Device", "infeed.1", 1, 200.0, pytest.approx(1 / 15)],
        [4, "Host", "IDLE", 0, 0.0, 0.0],
    ]
    assert rows(busy, "rank", "operation", "device_cumulative_total_self_time_percent", "bound_by") == [
        [1, "jit(f)/add", pytest.approx(1000 / 1200), "Compute"],
        [2, "infeed.1", 1.0, "Unknown"],
    ]
    assert idle["p"] == {"architecture_type": "Unknown", "task_type": "Inference"}
    assert find("tensorflow_stats") is framework_op_stats.TOOL


def test_pages_of_framework_ops_name_bases_and_leave_out_what_has_no_meaning() -> None:
    document = answer(framework_op_stats.TOOL, TPU, page=True)
    idle, busy = document["with_idle"], document["without_idle"]
    assert rows(idle, "host_or_device", "device_total_self_time_percent", "host_total_self_time_percent") == [
        ["Device", 0.6, None],
        ["Device", pytest.approx(1 / 3), None],
        ["Device", pytest.approx(1 / 15), None],
        ["Host", None, 0.0],
    ]
    assert rows(busy, "operation", "measured_flop_rate")[1] == ["infeed.1", None]
    about = [{column["id"]: column for column in table["columns"]} for table in (idle, busy)]
    assert [columns["device_total_self_time_percent"]["label"] for columns in about] == [
        "All device share",
        "Busy device share",
    ]
    base = "Total self time divided by the observed time of the device, idle time included."
    assert about[0]["device_total_self_time_percent"]["help"] == base
    assert (document["task"], document["inputs_note"]) == ("Inference", "")
    assert document["notes"]["limits"]["gflops_per_s"] == 100000


def test_framework_ops_of_several_cores_say_so() -> None:
    second = TPU[TPU.index("plane 0") :].replace("plane 0", "plane 1").replace("TPU:0", "TPU:1")
    columns = answer(framework_op_stats.TOOL, TPU + second, page=True)["without_idle"]["columns"]
    about = {column["id"]: column["help"] for column in columns}
    assert about["device_total_self_time_percent"].endswith(" on the device over 2 cores.")
    assert about["host_total_self_time_percent"].endswith(" on the host.")
    assert about["device_cumulative_total_self_time_percent"].startswith("Self time of this row and those above it")
    labels = {column["id"]: column["label"] for column in columns}
    assert labels["device_cumulative_total_self_time_percent"] == "Busy device share, cumulative"


def test_ops_of_the_host_use_no_tensor_cores() -> None:
    host_op = 'plane 0 "/host:CPU"\nline 1 a\n0us +9us "m/d:MatMul"\n'
    kernel = '0us +5us h16816gemm {tf_op="m/d:MatMul", kernel_details="grid:1"}'
    text = f'{host_op}plane 1 "/device:GPU:0" {{device_vendor="Nvidia"}}\nline 1 "Stream #1"\n{kernel}'
    found = rows(answer(framework_op_stats.TOOL, text)[1], "host_or_device", "operation", "gpu_tensorcore_utilization")
    assert found == [["Device", "m/d", 1.0], ["Host", "m/d", 0.0]]


def test_times_and_rates_of_framework_ops():
    columns = ("operation", "total_time", "avg_time", "avg_self_time", "measured_flop_rate", "measured_memory_bw")
    add = rows(answer(framework_op_stats.TOOL, TPU)[1], *columns, "operational_intensity")[0]
    # 6 GFLOP and 1 MB in each of two runs of 600 and 400 us.
    assert add == ["jit(f)/add", 1000, 500, 500, pytest.approx(12000), pytest.approx(2 / 2**30 * 1e9), 6000]


def test_ops_of_gpus_have_one_column_more():
    gpu = 'plane 1 "/device:GPU:0"\nline 1 a\n0us +1us k {tf_op="m/x:Add", kernel_details="grid:1"}'
    plain, device = (answer(framework_op_stats.TOOL, text)[1]["cols"] for text in (TPU, gpu))
    names = [column["id"] for column in device]
    assert names[-4:] == ["operational_intensity", "gpu_tensorcore_utilization", "bound_by", "eager"]
    assert [column["id"] for column in plain] == [name for name in names if name != "gpu_tensorcore_utilization"]


def test_ops_of_the_cpu_itself_only_where_they_are_asked_for():
    cpu_op = 'plane 0 "/host:CPU"\nline 1 a\n0us +5us f {hlo_op="f", program_id=1}'
    found = {
        backend: rows(answer(framework_op_stats.TOOL, cpu_op, backend=backend)[1], "host_or_device", "operation")
        for backend in ("", "cpu", "auto")
    }
    assert found == {"": [], "cpu": [["Device", "f"]], "auto": [["Device", "f"]]}
    # Devices come first.
    ops = [rows(answer(framework_op_stats.TOOL, TPU, backend=one)[1], "operation") for one in ("", "auto")]
    assert ops[0] == ops[1] == [["jit(f)/add"], ["infeed.1"]]


@pytest.mark.parametrize(
    ("giga_flops", "bytes_per_second", "bound"),
    [(1000, 5e10, "Compute"), (1000, 2e11, "HBM"), (1000, 1e11, "Compute"), (0, 0, "Unknown"), (0, 1, "HBM")],
)
def test_what_binds_a_framework_op(giga_flops, bytes_per_second, bound):
    assert framework_op_stats.bound_by(giga_flops, bytes_per_second, Peaks(10.0, (1000.0,))) == bound


@pytest.mark.parametrize(
    ("hbm", "shared", "bound"), [(1000.0, 2000.0, "HBM"), (1000.0, 500.0, "Shm/L1"), (0.0, 500.0, "Shm/L1")]
)
def test_shared_memory_bounds_ops_of_gpus_where_it_is_the_slower_one(hbm: float, shared: float, bound: str) -> None:
    peaks = Peaks(10.0, (hbm, shared, shared))
    assert framework_op_stats.bound_by(1.0, 2e11, peaks, gpu=True) == bound
    assert framework_op_stats.bound_by(1.0, 2e11, peaks) == ("HBM" if hbm else "Compute")


def test_the_form_of_the_table_is_that_of_the_machine_also_without_steps():
    forms = {}
    for text in (TPU, TPU.replace("Steps", "other"), steps_of(), 'plane 0 "/host:CPU"\nline 1 a\n0us +1us x'):
        table = answer(overview_page.TOOL, text)[1]
        forms[table["p"]["hardware_type"], table["cols"][1]["id"], len(table["rows"])] = text
    assert list(forms) == [
        ("TPU", "tcComputeTimeMs", 2),
        ("TPU", "tcComputeTimeMs", 0),
        ("CPU_ONLY", "deviceComputeTimeMs", 3),
        ("CPU_ONLY", "deviceComputeTimeMs", 0),
    ]


def test_steps_of_tpus_with_and_without_sparse_cores():
    plain, sparse = (answer(overview_page.TOOL, text)[1] for text in (TPU, TPU + SPARSE_CORE))
    columns = ["stepnum", "tcComputeTimeMs", "scv0ComputeTimeMs", "scv0InfeedTimeMs"]
    rest = ["tcInfeedTimeMs", "tcOutfeedTimeMs", "tcIdleTimeMs", "hostTransferTimeMs", "tooltip"]
    assert plain["p"]["step_time_graph_column_ids"] == ",".join(columns + rest)
    assert sparse["p"]["step_time_graph_column_ids"] == ",".join(columns[:2] + rest)
    assert rows(plain, "tooltip") == [
        ["step 0:\nTime waiting for input data = 0.200 ms, Step time = 1.000 ms"],
        ["step 1:\nTime waiting for input data = 0.000 ms, Step time = 1.000 ms"],
    ]
    assert [plain["p"].get(f"{name}_ms_average") for name in ("scv0_compute", "sc_compute")] == ["0.00", None]
    names = ("sc_step_time", "sc_compute", "sc_active", "sc_infeed", "sc_outfeed", "sc_idle", "scv0_compute")
    # In ms, of steps of 1 ms: 0.5 and 0.3 of computation, the rest is idle.
    assert [sparse["p"].get(f"{name}_ms_average") for name in names] == [
        *("1.0", "0.40", "0.40", "0.00", "0.00", "0.60", None),
    ]


def test_statements_about_launches_and_precision():
    launch = xprof_steps.kernel_launch_statement(Aspect("high", 20.0), False)
    assert launch == "20.0 % of the total step time sampled is spent on 'Kernel Launch'."
    advised = xprof_steps.kernel_launch_statement(Aspect("high", 20.0), True)
    assert advised.startswith(f"{launch} It could be due to CPU contention with tf.data.")
    assert xprof_steps.kernel_launch_statement(Aspect("no", 1.0), True) == ""
    assert xprof_steps.precision_statement(9.9, True).startswith("Only 9.9% of device computation is 16 bit.")
    assert [xprof_steps.precision_statement(*facts) for facts in ((10.0, True), (9.9, False))] == ["", ""]


def test_training_is_told_from_tensorflows_gradient_scopes():
    text = 'plane 0 "/host:CPU"\nline 1 a\n0us +5us "gradient_tape/x/MatMul:MatMul"'
    assert answer(framework_op_stats.TOOL, text)[0]["p"]["task_type"] == "Training"


def _framework_ops(*names):
    """A TPU with an op of each framework name."""
    known = [
        f'metadata "%{i}" {{program_id=7, symbol_id={i + 1}, hlo_category="loop fusion", tf_op="{name}"}} display=op{i}'
        for i, name in enumerate(names)
    ]
    ran = [f'{10 * i}us +10us "%{i}"' for i in range(len(names))]
    head = ['plane 0 "/device:TPU:0" {device_type_string="TPU v4"}', 'line 2 "XLA Ops"']
    return answer(framework_op_stats.TOOL, "\n".join([*head, *known, *ran]))


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("jit(f)/transpose(jvp(g))/mul:", "Training"),
        ("jit(f)/transpose(jvp(g))/foo:mul", "Inference"),
        ("a/gradients/b:", "Inference"),
        ("a/gradients/b:MatMul", "Training"),
        ("gradients:MatMul", "Inference"),
    ],
)
def test_training_is_told_from_the_ops_that_the_table_shows(name, task):
    tables = _framework_ops("a/b:Add", name)
    assert [table["p"]["task_type"] for table in tables] == [task, task]


def test_the_type_of_framework_ops_that_do_not_tell_it_is_unknown():
    _, busy = _framework_ops("foo", "a:b:c", ":Add", "XLA_Args", "a/b:Add", "a/c:")
    assert sorted(rows(busy, "operation", "type")) == [
        [":Add", "Unknown"],
        ["XLA_Args", "Unknown"],
        ["a/b", "Add"],
        ["a/c", "c"],
        ["a:b:c", "Unknown"],
        ["foo", "Unknown"],
    ]


def test_at_most_five_hundred_ops_per_side():
    lines = "\n".join(f'{i}us +1us "op{i}:Op"' for i in range(600))
    idle, busy = answer(framework_op_stats.TOOL, f'plane 0 "/host:CPU"\nline 1 a\n{lines}\n9000us +1us "z:Z"')
    assert (len(idle["rows"]), len(busy["rows"])) == (500, 499)


def test_hosts_that_lag_behind_are_named():
    quick, slow = steps_of(3), steps_of(3, period=1500)
    found = answer(
        overview_page.TOOL,
        quick,
        quick.replace("host vm", "host b"),
        slow.replace("host vm", "host c"),
        page=True,
    )
    assert found["steps"]["hosts"]["stragglers"] == ["h2"]
    assert found["steps"]["hosts"]["step_ms"] == {"h0": 1.0, "h1": 1.0, "h2": 1.5}


def test_eight_hosts_as_one_and_any_of_them_alone():
    hosts = [TPU.replace("tpuhost", f"host{i}") for i in range(8)]
    everything = answer(overview_page.TOOL, *hosts)
    assert everything[2]["p"]["device_core_count"] == "8"
    assert everything[2]["p"]["task_count"] == "8 (num tasks per host = 1)"
    assert [row[0] for row in rows(everything[1], "stepnum")] == ["0", "1"]
    one = answer(overview_page.TOOL, hosts[3])
    assert (one[2]["p"]["device_core_count"], rows(one[1])) == ("1", rows(everything[1]))


def test_cores_without_details_are_left_out_of_xprofs_pod_viewer():
    text = TPU.replace(", core_details=0x1007", "")
    steps = answer(pod_viewer.TOOL, text)["podStatsSequence"]["podStatsMap"]
    assert [step["podStatsPerCore"] for step in steps] == [{}, {}]
    assert answer(pod_viewer.TOOL, text, page=True)["steps"]["labels"] == ["TPU 0"]
    assert rows(answer(input_pipeline_analyzer.TOOL, text)[0])[1] == ["Core name", "unknown", "unknown"]
    assert rows(answer(input_pipeline_analyzer.TOOL, TPU)[0])[1] == ["Core name", "tpuhost:7", "unknown"]


def test_a_step_without_duration_has_no_cores_and_no_number():
    text = TPU.replace("0us +1000us 0", "0us +0us 0")
    steps = answer(pod_viewer.TOOL, text)["podStatsSequence"]["podStatsMap"]
    assert [(step["stepNum"], list(step["podStatsPerCore"])) for step in steps] == [(0, []), (1, ["0"])]
    table = answer(input_pipeline_analyzer.TOOL, text)[1]
    assert rows(table, "stepnum", "tcComputeTimeMs", "tcIdleTimeMs") == [["-1", 0.0, 0.0], ["1", 0.4, 0.6]]


def test_computation_longer_than_the_step_is_cut_in_the_decomposition():
    text = TPU.replace("200us +600us fusion.1", "200us +1100us fusion.1")
    assert rows(answer(overview_page.TOOL, text)[1], "tcComputeTimeMs", "tcInfeedTimeMs", "tcIdleTimeMs")[0] == [
        0.0,
        0.2,
        0.8,
    ]
    for profile, parts in ((text, [800, 200, 0]), (TPU, [600, 200, 200])):
        found = answer(overview_page.TOOL, profile, page=True)["steps"]["decomposition"]["steps"]["parts_ps"]
        first = [found.get(key, [0])[0] / 10**6 for key in ("compute", "idle_input", "idle_other")]
        assert first == parts


@pytest.mark.parametrize(
    ("level", "frameworks", "ops", "words"),
    [
        ("HIGHLY", ("PyTorch", "TensorFlow"), ("op",), "Section 3 shows"),
        ("MODERATELY", ("Jax", "PyTorch"), (), "num_workers"),
        ("MODERATELY", ("TensorFlow",), (), "section 3 is empty"),
        ("HIGHLY", ("Jax",), (), "the trace viewer"),
    ],
)
def test_what_to_do_about_input(level: str, frameworks: tuple[str, ...], ops: tuple[str, ...], words: str) -> None:
    summary, source = SimpleNamespace(frameworks=frameworks), SimpleNamespace(ops=ops)
    assert words in input_pipeline_analyzer.next_step(level, summary, source)
    assert input_pipeline_analyzer.next_step("NOT", summary, source) == ""
    assert ("DataLoader" in input_pipeline_analyzer.no_input_ops(summary)) is ("PyTorch" in frameworks)
