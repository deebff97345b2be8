"""The overview of typed-in profiles: top ops, shares, what it recommends, and its further readings."""

from __future__ import annotations

from typing import Any

import pytest
from builders.answers import answer, rows
from builders.planes import SPARSE_CORE, host

from tpu_profile_plugin.analysis.environment.environment import Environment
from tpu_profile_plugin.tools.summary.overview_page.tool import TOOL, environment_table

MS = 10**9


def more(*profiles: str, **params: str) -> Any:
    return answer(TOOL, *profiles, extended="true", **params)[7]


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
    assert more(GPU)["precision"]["narrow_percent"] == pytest.approx(5)


def test_without_computation_nothing_is_said_about_its_precision() -> None:
    cpu = 'plane 0 "/host:CPU"\nline 1 main\n0us +9us train {_r=1, step_num=0}\n1us +5us work'
    assert answer(TOOL, cpu)[3]["p"]["precision_statement"] == ""
    assert more(cpu)["precision"] is None


def test_gpu_steps_with_the_events_of_the_host_are_a_further_reading() -> None:
    found = more(GPU)
    assert rows(found["steps"], "stepnum", "stepTimeMs") == [["train 0", 1.5]]
    assert found["spans"] == {"hosts": ["h0"], "begin_ps": [0], "end_ps": [1.5 * MS]}
    unlaunched = GPU.replace("correlation_id=1, kernel", "kernel")
    assert (more(unlaunched)["steps"], more(unlaunched)["spans"]) == (None, None)
    cpu = 'plane 0 "/host:CPU"\nline 1 main\n0us +9us train {_r=1, step_num=0}\n1us +5us work'
    assert rows(more(cpu)["steps"], "stepnum", "stepTimeMs") == [["train 0", 0.009]]
    assert more(cpu)["spans"]["end_ps"] == [9 * 10**6]


def test_cpu_steps_without_instants_are_a_further_reading() -> None:
    first, second = (f"{at}us +9us train {{_r=1, step_num={at}}}\n{at + 1}us +0us a\n" for at in (0, 20))
    host = 'plane 0 "/host:CPU"\nline 1 main\n'
    text = f"{host}{first}2us +2us work\n{second}22us +0us b"
    names = ("stepnum", "hostComputeTimeMs")
    assert rows(answer(TOOL, text)[1], *names) == [["train 0", 0.003], ["train 20", 0.001]]
    found = more(text)
    assert rows(found["steps"], *names) == [["train 0", 0.002]]
    assert (found["spans"]["begin_ps"], found["spans"]["end_ps"]) == ([0], [9 * 10**6])
    # A profile of instants alone keeps the steps that XProf sees.
    assert rows(more(f"{host}{first}2us +0us b")["steps"], "stepnum") == [["train 0"]]


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


def test_steps_of_sparse_cores_alone_have_no_span() -> None:
    step = 'line 1 "Sparse Core Steps"\n0us +9us 0 {group_id=0}\nline 3 "Sparse Core Ops"\n1us +2us y {group_id=0}'
    alone = (
        f'plane 5 "/device:TPU:0 SparseCore 0"\n{step}\nmetadata y {{hlo_category="c", program_id=u7, symbol_id=u9}}'
    )
    assert more(alone)["spans"] is None


def test_where_and_when_it_was_recorded() -> None:
    task = (
        'plane 1 "Task Environment" {profile_start_time=u1700000000123456789, profile_stop_time=u1700000002123999999}'
    )
    shown = answer(TOOL, task)[2]["p"]
    assert (shown["start_time_ms"], shown["duration_ms"]) == ("1700000000123", "2000")
    assert not {"start_time_ms", "duration_ms"} & set(answer(TOOL, "")[2]["p"])
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


@pytest.mark.parametrize(("length", "stragglers"), [(1100, []), (1101, ["c"])])
def test_hosts_that_take_more_than_a_tenth_longer_lag_behind(length: int, stragglers: list[str]) -> None:
    found = more(steps_of(1000, 1000), steps_of(1000, 1000, name="b"), steps_of(length, length, name="c"))["hosts"]
    assert (found["stragglers"], found["median_ms"]) == (stragglers, 1.0)
    assert found["slowest_in"] == {"a": 0, "b": 0, "c": 2}


def test_of_two_hosts_one_is_compared_with_the_other() -> None:
    # Their median lies half way between them, so that a host 18% slower is 8% over it.
    found = more(steps_of(1000, 1000), steps_of(1180, 1180, name="b"))["hosts"]
    assert (found["stragglers"], found["over_others"]["b"]) == (["b"], pytest.approx(0.18))


def test_each_step_is_shown_on_its_slowest_host() -> None:
    tables = answer(TOOL, steps_of(1000, 3000), steps_of(2000, 1000, name="b"), extended="true")
    found = tables[7]
    shown = ("stepTimeMs", "hostComputeTimeMs", "otherTimeMs", "host")
    assert rows(found["steps"], *shown) == [[2.0, 1.6, 0.4, "b"], [3.0, 2.6, 0.4, "a"]]
    # XProf's statistics are over the same steps; its rows are the first host's.
    assert tables[1]["p"]["steptime_ms_average"] == "2.5"
    assert rows(tables[1], "stepTimeMs") == [[1.0], [3.0]]
    assert found["hosts"]["step_ms"] == {"a": 2.0, "b": 1.5}
    assert found["spans"] == {"hosts": ["h1", "h0"], "begin_ps": [0, 5 * MS], "end_ps": [2 * MS, 8 * MS]}


def test_without_common_steps_hosts_are_compared_by_their_own() -> None:
    found = more(steps_of(1000, 1000), 'host b\nplane 0 "/host:CPU"\nline 1 main\n0us +1us x')
    assert (found["steps"], found["hosts"]["step_ms"]) == (None, {"a": 1.0})


@pytest.mark.parametrize(
    ("event", "level"),
    [("x", "UNSEEN"), ("IteratorGetNext", "NOT"), ('"Iterator::Root::Map"', "NOT")],
)
def test_input_is_judged_only_where_input_events_exist(event: str, level: str) -> None:
    step = "0us +1000us train {_r=1, step_num=0}\n0us +999us work"
    found = more(f'plane 0 "/host:CPU"\nline 1 main\n{step}\nline 2 other\n500us +1us {event}')
    assert found["verdict"]["input"]["level"] == level


def test_spans_of_steps_of_hosts_that_took_part() -> None:
    found = more(steps_of(1000, 1000, begin=7), steps_of(1000, 1000, begin=3, name="b"))["spans"]
    assert found["begin_ps"] == [7 * 10**6, 5007 * 10**6]
    coordinator = 'plane 0 "/host:CPU"\nline 1 main\n0us +1us x'
    assert more(coordinator, TPU)["spans"] == {"hosts": ["h1", "h1"], "begin_ps": [0, 2 * MS], "end_ps": [MS, 3 * MS]}


def test_top_ops_without_framework_op_have_an_hlo_category() -> None:
    tables = answer(TOOL, TPU, extended="true")
    assert rows(tables[0], "operation", "category") == [["fusion.1", "Unknown"]]
    assert tables[7]["op_categories"] == ["loop fusion"]


def test_guessed_steps_count_from_the_first() -> None:
    runs = "\n".join(f"{1000 + 100 * i}us +80us m" for i in range(5))
    ops = "\n".join(f"{1010 + 100 * i}us +60us op" for i in range(5))
    tpu = f'plane 1 "/device:TPU:0"\nline 2 "XLA Modules"\n{runs}\nline 3 "XLA Ops"\n{ops}'
    guess = more(tpu)["inferred_steps"]
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
    session = found["session"]
    assert session == {
        "requests": 2,
        "average_ms": pytest.approx(1.5),
        "host_ms": pytest.approx(1.02),
        "device_ms": pytest.approx(0.4),
        "communication_ms": pytest.approx(0.08),
        "histogram": {"edges_ms": pytest.approx([1, 4 / 3, 5 / 3, 2]), "counts": [1, 0, 1]},
    }


def test_hosts_whose_planes_have_large_ids_are_still_named() -> None:
    far = TPU.replace('plane 0 "/device', 'plane 77000 "/device')
    assert len(more(TPU, far)["hosts"]["step_ms"]) == 2
