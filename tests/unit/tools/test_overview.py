"""The overview of typed-in profiles: top ops, shares, what it recommends, and its further readings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders.answers import answer, rows
from builders.planes import SPARSE_CORE, host

from tpu_profile_plugin.analysis.environment.environment import Environment
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.compat.xprof.overview_page import environment_table
from tpu_profile_plugin.tools.summary.overview_page import TOOL, _hlo_categories

MS = 10**9


def more(*profiles: str, **params: str) -> Any:
    return answer(TOOL, *profiles, page=True, **params)


GPU = """
plane 0 "/host:CPU"
line 1 main
0us +1500us train {_r=1, step_num=0}
10us +1us launch {correlation_id=1}
100us +200us "x:Op"
plane 1 "/device:GPU:0" {device_vendor="Nvidia", compute_cap_major=9}
line 10 "Stream #1"
100us +5us h16816gemm_fp16 {correlation_id=1, kernel_details="grid:1", tf_op="m/d/MatMul:MatMul"}
300us +95us add {correlation_id=1, kernel_details="grid:1", tf_op="m/x:Add"}
"""


def test_ops_of_gpus_and_their_precision() -> None:
    tables = answer(TOOL, GPU)
    assert [column["id"] for column in tables[0]["cols"]] == [
        *("selfTimePercent", "cumulativeTimePercent", "category", "operation", "flopRate"),
        *("tcEligibility", "tcUtilization"),
    ]
    assert rows(tables[0]) == [
        [0.95, 0.95, "Add", "m/x", 0, False, False],
        [0.05, 1.0, "MatMul", "m/d/MatMul", 0, True, True],
    ]
    shown = (
        "device_compute_16bit_percent",
        "device_compute_32bit_percent",
        "host_tf_op_percent",
        "device_tf_op_percent",
    )
    assert [tables[0]["p"][name] for name in shown] == ["5.0%", "95.0%", "33.3%", "66.7%"]
    assert tables[3]["p"]["precision_statement"].startswith("Only 5.0% of device computation is 16 bit.")
    assert more(GPU)["precision"] == {"narrow_percent": pytest.approx(5), "wide_percent": pytest.approx(95)}


def test_half_of_the_computation_in_each_precision() -> None:
    found = more(GPU.replace("300us +95us", "300us +5us"))["precision"]
    assert found == {"narrow_percent": 50, "wide_percent": 50}


def test_without_computation_nothing_is_said_about_its_precision() -> None:
    cpu = 'plane 0 "/host:CPU"\nline 1 main\n0us +9us train {_r=1, step_num=0}\n1us +5us work'
    assert answer(TOOL, cpu)[3]["p"]["precision_statement"] == ""
    assert more(cpu)["precision"] is None


def test_steps_of_a_gpu_last_as_long_as_their_markers() -> None:
    found = more(GPU)["steps"]["decomposition"]
    assert (found["steps"]["name"], found["steps"]["duration_ps"]) == (["train 0"], [1.5 * MS])
    assert sum(found["average_ps"].values()) == found["base_ps"] == 1.5 * MS
    # 100 us of kernels in a step of 1500 us.
    assert found["average_ps"]["compute"] == 0.1 * MS


def test_a_host_without_devices_has_steps_of_its_own() -> None:
    cpu = 'plane 0 "/host:CPU"\nline 1 main\n0us +9us train {_r=1, step_num=0}\n1us +5us work'
    found = more(cpu)["steps"]["decomposition"]
    assert (found["steps"]["duration_ps"], [one["kind"] for one in found["devices"]]) == ([9 * 10**6], ["host"])


@pytest.mark.parametrize(
    ("profile", "tool", "where", "core"),
    [
        (GPU, "framework_op_stats", "GPU", "each GPU in"),
        ('plane 1 "/device:TPU:0" {device_type_string="TPU v4"}', "op_profile", "TPU", "each TPU core in"),
        ('plane 1 "/host:CPU"', "framework_op_stats", "CPU_ONLY", "each CPU_ONLY in"),
    ],
)
def test_where_to_go_next(profile: str, tool: str, where: str, core: str) -> None:
    links = [link for kind, link, _ in rows(answer(TOOL, profile)[3]) if kind == "device"]
    assert links[0] == f"{tool} (identify the time-consuming operations executed on the {where})"
    assert core in links[1]


TPU = """
plane 99 "/host:CPU"
line 1 main
0us +30us "a:A"
90us +10us "a:A"
plane 0 "/device:TPU:0" {device_type_string="TPU v4"}
line 1 Steps
0us +1000us 0
2000us +1000us 1
line 3 "XLA Ops"
0us +600us fusion.1
2000us +600us fusion.1
metadata fusion.1 {hlo_category="loop fusion", program_id=u7, symbol_id=u2}
"""


def test_how_busy_hosts_and_devices_were() -> None:
    names = (
        "device_idle_time_percent",
        "host_idle_time_percent",
        "idle_time_high_confidence_ps",
        "sc_steptime_average",
    )
    # Of 3000 us 1200 are ops on the device; of the 100 us of the host's thread 40. The chip was seen for 2600 us.
    shown = answer(TOOL, TPU)[0]["p"]
    assert [shown.get(name) for name in names] == ["60.0%", "60.0%", "1.4e+09", None]
    shown = answer(TOOL, 'plane 0 "/host:CPU"\nline 1 a\n0us +1us "a:A"\n9us +1us "a:A"')[0]["p"]
    assert [shown.get(name) for name in names] == ["0.0%", "0.0%", None, None]


def test_averages_of_sparse_cores() -> None:
    shown = answer(TOOL, TPU + SPARSE_CORE)[0]["p"]
    names = (
        "sc_steptime_average",
        "sc_infeed_time_avg",
        "sc_outfeed_time_avg",
        "sc_idle_time_avg",
        "sc_active_ms_average",
    )
    assert [shown[name] for name in names] == ["1.0", "0.0", "0.0", "0.6", "0.40"]


def test_active_time_is_that_of_any_core_and_of_tensor_cores() -> None:
    waiting = TPU.replace("loop fusion", "host recv-done")
    names = ("active_steptime_ms_average", "tc_active_ms_average", "sc_active_ms_average")
    shown = [answer(TOOL, text)[0]["p"] for text in (TPU, TPU + SPARSE_CORE, waiting + SPARSE_CORE, waiting)]
    assert [[properties.get(name) for name in names] for properties in shown] == [
        ["0.60", "0.60", None],
        ["0.60", "0.60", "0.40"],
        ["0.40", None, "0.40"],
        [None, None, None],
    ]


def test_where_and_when_it_was_recorded() -> None:
    task = (
        'plane 1 "Task Environment" {profile_start_time=u1700000000123456789, profile_stop_time=u1700000002123999999}'
    )
    shown = answer(TOOL, task)[2]["p"]
    begin, never = (more(text)["environment"] for text in (task, ""))
    assert [(one["begin_ms"], one["duration_ms"]) for one in (begin, never)] == [(1700000000123, 2000), (None, None)]
    assert not [name for name in shown if name.startswith("profile_")]  # XProf's page shows those names as they are
    assert environment_table(Environment()).properties["task_count"] == "0"
    assert environment_table(Environment((), 5)).properties["task_count"] == "5"
    assert environment_table(Environment(("a",), 0)).properties["task_count"] == "0"
    assert environment_table(Environment(("a", "b"), 5)).properties["task_count"] == "5 (num tasks per host = 2)"


def steps_of(*lengths: int, begin: int = 0, name: str = "a") -> str:
    """Steps of so many us, the first from `begin` on, with work but for their last 400 us."""
    events = (
        f"{at} {us} train {{_r=1, step_num={i}}}\n{at + 1} {us - 400} work"
        for i, us in enumerate(lengths)
        for at in (begin + 5000 * i,)
    )
    return host("\n".join(events), name=name)


@pytest.mark.parametrize(("length", "stragglers"), [(1100, []), (1101, ["h2"])])
def test_hosts_that_take_more_than_a_tenth_longer_lag_behind(length: int, stragglers: list[str]) -> None:
    found = more(steps_of(1000, 1000), steps_of(1000, 1000, name="b"), steps_of(length, length, name="c"))["steps"][
        "hosts"
    ]
    assert (found["stragglers"], found["median_ms"]) == (stragglers, 1.0)
    assert found["slowest_in"] == {"h0": 0, "h1": 0, "h2": 2}


def test_of_two_hosts_one_is_compared_with_the_other() -> None:
    # Their median lies half way between them, so that a host 18% slower is 8% over it.
    found = more(steps_of(1000, 1000), steps_of(1180, 1180, name="b"))["steps"]["hosts"]
    assert (found["stragglers"], found["over_others"]["h1"]) == (["h1"], pytest.approx(0.18))


def test_steps_are_means_over_hosts_and_open_on_the_slowest() -> None:
    hosts = steps_of(1000, 3000), steps_of(2000, 1000, name="b")
    tables, steps = answer(TOOL, *hosts), more(*hosts)["steps"]
    found = steps["decomposition"]
    assert found["steps"]["duration_ps"] == [1.5 * MS, 2 * MS]
    assert (found["step_ps"], found["source"]) == (1.75 * MS, "host")
    opened = [found["devices"][device]["host"] for device in found["steps"]["slowest"]]
    assert (opened, found["steps"]["begin_ps"], found["steps"]["end_ps"]) == (
        ["h1", "h0"],
        [0, 5 * MS],
        [2 * MS, 8 * MS],
    )
    # XProf's statistics are over the slowest hosts; its rows are the first host's.
    assert tables[1]["p"]["steptime_ms_average"] == "2.5"
    assert rows(tables[1], "stepTimeMs") == [[1.0], [3.0]]
    assert steps["hosts"]["step_ms"] == {"h0": 2.0, "h1": 1.5}


@pytest.mark.parametrize(
    ("waits", "level", "percent"),
    [(30, "POTENTIALLY", 97.0), (50, "MODERATELY", 5.0), (199, "MODERATELY", 19.9), (200, "HIGHLY", 20.0)],
)
def test_input_is_judged_by_its_share_of_the_decomposition(waits: int, level: str, percent: float) -> None:
    step = f"0us +1000us train {{_r=1, step_num=0}}\n0us +{waits}us IteratorGetNext"
    found = more(f'plane 0 "/host:CPU"\nline 1 main\n{step}')["steps"]["input"]
    assert (found["level"], found["percent"]) == (level, pytest.approx(percent))


def test_what_steps_cover_is_that_of_the_shown_steps() -> None:
    # Of seven steps of 1 ms, 4 ms apart, the first and last are left out, and so are not covered.
    found = more(steps_of(*[1000] * 7))["steps"]["recording"]
    assert (found["length_ms"], found["steps_ms"]) == (31.0, 5.0)
    assert (found["before_ms"], found["after_ms"]) == (5.0, 5.0)


def test_top_ops_without_framework_op_have_an_hlo_category() -> None:
    assert rows(answer(TOOL, TPU)[0], "operation", "category") == [["fusion.1", "Unknown"]]
    assert rows(more(TPU)["ops"], "operation", "category") == [["fusion.1", "loop fusion"]]


def test_guessed_steps_count_from_the_first() -> None:
    runs = "\n".join(f"{1000 + 100 * i}us +80us m" for i in range(5))
    ops = "\n".join(f"{1010 + 100 * i}us +60us op" for i in range(5))
    tpu = f'plane 1 "/device:TPU:0"\nline 2 "XLA Modules"\n{runs}\nline 3 "XLA Ops"\n{ops}'
    guess = more(tpu)["inferred"]
    assert rows(guess["table"]) == [
        [str(i), pytest.approx(0.1 * i), pytest.approx(length), pytest.approx(0.06), pytest.approx(length - 0.06)]
        for i, length in enumerate((0.1, 0.1, 0.1, 0.1, 0.08))
    ]
    assert guess["statistics"]["average"] == pytest.approx(0.096)


def test_latency_of_a_session() -> None:
    def request(at: int, length: int, context: int) -> tuple[str, str]:
        host = [
            f'{at}us +{length}us SessionRun {{id={at}, _r=1, model_id="m:1"}}',
            f"{at + 100}us +50us WriteHbm",
            f'{at + 200}us +20us "tpu::System::Execute" {{_pt=9, _p={context}}}',
            f"{at + 250}us +10us DoEnqueueProgram",
            f"{at + 720}us +30us ReadHbm",
        ]
        return "\n".join(host), f'{at + 300}us +400us "jit_f(7)" {{_ct=9, _c={context}}}'

    both = request(1000, 1000, 1), request(5000, 2000, 2)
    device = 'plane 0 "/device:TPU:0" {device_type_string="TPU v4"}\nline 2 "XLA Modules"\n'
    text = 'plane 99 "/host:CPU"\nline 1 main\n' + "\n".join(host for host, _ in both)
    found = more(f"{text}\n{device}" + "\n".join(module for _, module in both))
    requests = found["requests"]
    assert (requests["requests"], requests["percentiles"][0]) == (
        2,
        {
            "label": "Avg",
            "host_ms": pytest.approx(1.02),
            "device_ms": pytest.approx(0.4),
            "communication_ms": pytest.approx(0.08),
            "total_ms": pytest.approx(1.5),
        },
    )
    assert requests["histogram"] == {"edges_ms": pytest.approx([1, 4 / 3, 5 / 3, 2]), "counts": [1, 0, 1]}


def test_hosts_whose_planes_have_large_ids_are_still_named() -> None:
    far = TPU.replace('plane 0 "/device', 'plane 77000 "/device')
    assert len(more(TPU, far)["steps"]["hosts"]["step_ms"]) == 2


CPU = 'plane 0 "/host:CPU"\nline 1 main\n0us +9us train {_r=1, step_num=0}\n1us +5us work'


@pytest.mark.parametrize(
    ("profile", "hardware", "duty", "idle"),
    [(TPU, "TPU", 100 * 1200 / 2600, None), (TPU + SPARSE_CORE, "TPU", 100 * 1200 / 3030, 0.6),
     (GPU, "GPU", None, None), (CPU, "CPU_ONLY", None, None)],
)  # fmt: skip
def test_use_of_the_hardware(profile: str, hardware: str, duty: float | None, idle: float | None) -> None:
    found = more(profile)
    used = found["utilization"]
    assert (found["hardware"], used["duty_cycle_percent"]) == (hardware, None if duty is None else pytest.approx(duty))
    assert (used["sparse_cores"] or {"idle_ms": None})["idle_ms"] == (None if idle is None else pytest.approx(idle))
    assert (used["matrix_units_percent"], used["hbm_percent"]) == (None, None)
    assert found["environment"]["devices_recorded"] is True
    assert found["inferred"] is None


def test_recorded_use_of_the_peaks() -> None:
    facts = "{matrix_unit_utilization_percent=40.0d, hbm_utilization_percent=12.5d}"
    used = more(TPU.replace('"/host:CPU"', f'"/host:CPU" {facts}'))["utilization"]
    assert (used["matrix_units_percent"], used["hbm_percent"]) == (40, 12.5)


def test_devices_without_a_plane_are_not_recorded() -> None:
    found = more('plane 0 "/host:CPU"\nline 1 main\n0us +9us "tpu::System::Execute"')["environment"]
    assert (found["devices_recorded"], found["device_type"]) == (False, "not recorded")


OPS = """
plane 0 "/device:TPU:0" {device_type_string="TPU v4", PEAK}
line 3 "XLA Ops"
0us +100us a.1
100us +200us b.1
300us +90us c.1
400us +50us d.1
metadata a.1 {hlo_category="loop fusion", program_id=u7, symbol_id=u1, flops=500000, tf_op="m/x:Add"}
metadata b.1 {hlo_category="convolution", program_id=u7, symbol_id=u2, flops=4000000, tf_op="y"}
metadata c.1 {hlo_category="copy", program_id=u7, symbol_id=u3}
metadata d.1 {hlo_category="sort", program_id=u7, symbol_id=u4, tf_op="y"}
"""


@pytest.mark.parametrize(
    ("peak", "rates"),
    [
        ("peak_teraflops_per_second=0.02", [16, 5, None]),
        ("peak_teraflops_per_second=0.016", [16, 5, None]),
        ("peak_teraflops_per_second=0.015", [None, 5, None]),  # more than the peak is none
        ("x=1", [16, 5, None]),
    ],
)
def test_rates_of_top_ops(peak: str, rates: list[float | None]) -> None:
    shown = rows(more(OPS.replace("PEAK", peak))["ops"], "operation", "category", "flopRate")
    assert [row[:2] for row in shown] == [["y", "convolution"], ["m/x", "Add"], ["c.1", "copy"]]
    assert [rate for *_, rate in shown] == rates


def test_without_any_costs_there_are_no_rates() -> None:
    columns = [column["id"] for column in more(OPS.replace("PEAK", "x=1").replace("flops", "other"))["ops"]["columns"]]
    assert columns == ["selfTimePercent", "cumulativeTimePercent", "category", "operation"]


def test_a_framework_op_has_the_category_of_its_longest_op() -> None:
    ops = [
        ("a", "copy", "x:Add", 5),
        ("b", "sort", "x:Add", 5),
        ("c", "loop", "y", 0),
        ("d", "dot", "", 3),
        ("e", "map", "y", 1),
    ]
    names, category, provenance, self_ps = zip(*ops, strict=True)
    table = OpTable(name=names, category=category, provenance=provenance, self_ps=np.array(self_ps))
    assert _hlo_categories(table) == {"x": "copy", "y": "map", "d": "dot"}
    nothing = OpTable(name=("c",), category=("loop",), provenance=("",), self_ps=np.zeros(1, np.int64))
    assert _hlo_categories(nothing) == {"c": "loop"}


def test_a_named_event_marks_steps_beside_markers() -> None:
    steps = "\n".join(f"{10 * i}us +9us train {{_r=1, step_num={i}}}\n{10 * i + 1}us +5us work" for i in range(4))
    text = f'plane 0 "/host:CPU"\nline 1 main\n{steps}'
    assert more(text)["inferred"] is None
    named = more(text, step_event="work")["inferred"]
    assert (named["host"], named["statistics"]["count"]) == ("h0", 4)
