"""The answer of the time budget: steps, parts, average and causes; several hosts; what it is not available for."""

from __future__ import annotations

import pytest
from builders.asked import ask, rows

from tpu_profile_plugin.run.facts import PlaneFact, RunFacts
from tpu_profile_plugin.tools.fleet.pod_viewer import TOOL as POD
from tpu_profile_plugin.tools.summary.time_budget import TOOL

US = 10**6
PROFILE = """
plane 1 "/device:TPU:0"
line 1 Steps
0us +100us 1 {_ct=9, _c=1}
200us +100us 2 {_ct=9, _c=2}
line 2 "XLA Ops"
0us +60us fusion.1
60us +10us all-reduce.1
200us +40us fusion.1
290us +10us fusion.1
metadata fusion.1 {hlo_category="loop fusion", program_id=u7, symbol_id=u1}
metadata all-reduce.1 {hlo_category="all-reduce", program_id=u7, symbol_id=u2}
plane 2 "/host:CPU"
line 1 main
0us +90us train {_r=1, step_num=0}
200us +90us train {_r=1, step_num=1}
240us +45us "$train.py:9 load_batch"
242us +40us "$random.py:3 shuffle"
"""


def test_steps_parts_and_their_average():
    found = ask(TOOL, PROFILE)
    assert found["devices"] == [{"label": "TPU 0", "name": "TPU 0", "host": "h0", "kind": "tpu"}]
    assert found["steps"]["begin_ps"] == [[0], [200 * US]]
    assert found["steps"]["duration_ps"] == [[100 * US]] * 2
    assert found["categories"] == [
        "compute", "data_movement", "move_wait", "exposed_communication", "peer_transfer", "exposed_copy", "idle_input",
        "input_copy", "idle_compile", "idle_host", "idle_transfer", "output_copy", "idle_launch", "idle_peer",
        "idle_gap", "idle_other", "not_recorded",
    ]  # fmt: skip
    parts = [part["id"] for group in found["decomposition"]["groups"] for part in group["parts"]]
    assert sorted(parts) == sorted(found["categories"])
    named = (
        {key: ps // US for key, ps in zip(found["categories"], step[0], strict=True) if ps} for step in found["time_ps"]
    )
    assert list(named) == [
        {"compute": 60, "exposed_communication": 10, "idle_other": 30},
        {"compute": 50, "idle_host": 50},
    ]
    # Two steps of 100 us and as much between them: 200 us from step to step.
    average = [row for row in rows(found["average"], "device", "category", "time_ps", "percent") if row[2]]
    assert average[: len(average) // 2] == [
        ("TPU 0", "compute", 55 * US, 27.5),
        ("TPU 0", "exposed_communication", 5 * US, 2.5),
        ("TPU 0", "idle_host", 25 * US, 12.5),
        ("TPU 0", "idle_other", 15 * US, 7.5),
        ("TPU 0", "between_steps", 100 * US, 50.0),
    ]
    assert [("TPU 0", *row[1:]) for row in average[len(average) // 2 :]] == average[: len(average) // 2]
    assert found["between"]["duration_ps"] == [100 * US]
    assert (found["decomposition"]["source"], found["largest"]["category"]) == ("device", "between_steps")
    assert found["causes"] == [
        {
            "name": "$train.py:9 load_batch",
            "inner": "$random.py:3 shuffle",
            "host": "h0",
            "time_ps": 25 * US,
            "percent": 12.5,
        }
    ]
    assert found["notes"] == []


def test_several_hosts_are_named_with_their_devices():
    later = PROFILE.replace("line 1 Steps", "line 1 Steps @50us").replace('line 2 "XLA Ops"', 'line 2 "XLA Ops" @50us')
    found = ask(TOOL, PROFILE, later)
    assert found["steps"]["begin_ps"] == [[0, 50 * US], [200 * US, 250 * US]]
    assert [device["host"] for device in found["devices"]] == ["h0", "h1"]
    assert [device["label"] for device in found["devices"]] == ["h0: TPU 0", "h1: TPU 0"]
    assert {row[0] for row in rows(found["average"], "device")} == {"h0: TPU 0", "h1: TPU 0", "all"}
    assert found["steps"]["duration_ps"] == [[100 * US, 100 * US]] * 2


def test_a_profile_without_steps_or_without_devices():
    found = ask(TOOL, 'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n0us +10us gemm\n40us +10us gemm2')
    assert (found["decomposition"]["source"], len(found["steps"]["name"])) == ("recording", 1)
    assert found["time_ps"][0][0][0] == 20 * US
    assert found["notes"][0].startswith("The profile has no steps")
    empty = ask(TOOL, 'plane 1 "/host:CPU"\nline 1 python\n0us +5us train')
    assert (empty["steps"]["name"], empty["devices"], empty["largest"]) == ([], [], None)
    assert empty["decomposition"]["source"] == ""
    assert rows(empty["average"], "device") == []


def test_idle_time_without_python_functions_is_noted():
    profile = PROFILE.replace('240us +45us "$train.py:9 load_batch"', "").replace(
        '242us +40us "$random.py:3 shuffle"', ""
    )
    assert ask(TOOL, profile)["notes"] == [
        "No Python functions were recorded, so that idle time cannot be traced to host code. "
        "`tpu-profile capture --python-tracer 1` records them, or `with_stack=True` of PyTorch."
    ]


def test_steps_that_are_dispatch_times_or_inferred_are_noted():
    dispatch = """
plane 1 "/host:CPU"
line 1 python
0us +2us train {_r=1, step_num=0}
3us +2us train {_r=1, step_num=1}
plane 2 "/device:GPU:0"
line 1 "Stream #1"
0us +100us kernel
"""
    found = ask(TOOL, dispatch)
    assert (found["decomposition"]["source"], found["steps"]["duration_ps"]) == ("dispatch", [[50 * US]] * 2)
    assert found["notes"][0].startswith("Work goes on after the last step ended")
    kernels = "\n".join(f"{100 * i}us +60us step_kernel" for i in range(5))
    found = ask(TOOL, f'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n{kernels}')
    assert (
        found["notes"][0]
        == "The profile has no step markers. Steps are inferred from step_kernel, which repeats 5 times."
    )


def test_what_it_needs():
    assert TOOL.available(RunFacts(device_ops=True)) is None
    assert TOOL.available(RunFacts(modules=(("jit_f(1)", 1),))) is None
    assert TOOL.available(RunFacts(tf_executor=True)) is None
    assert "neither" in TOOL.available(RunFacts(planes=(PlaneFact("h", "/host:CPU", 1, 1),)))


def test_the_pod_viewer_of_our_page_has_the_devices_of_the_cpu_backend():
    lines = ['plane 1 "/host:CPU"', "line 1 python"]
    lines += [f"{100 * i}us +90us train {{_r=1, step_num={i}}}" for i in range(2)]
    for number, work in enumerate((80, 20)):
        lines.append(f"line {number + 2} worker")
        stats = f'hlo_op="dot.1", device_ordinal={number}, program_id=3'
        lines += [f"{100 * i}us +{work}us dot.1 {{{stats}, run_id={i}}}" for i in range(2)]
    profile = "\n".join(lines)
    found = ask(POD, profile, page=True)
    assert [group["id"] for group in found["groups"]][:2] == ["device_compute", "device_to_device"]
    assert (found["steps"]["labels"], found["steps"]["hosts"]) == (["CPU device 0", "CPU device 1"], ["h0", "h0"])
    assert found["steps"]["total_ns"] == [[90_000, 90_000]] * 2
    assert found["steps"]["parts_ns"]["compute"] == [[80_000, 20_000]] * 2
    # Other clients see hosts.
    assert "podStatsSequence" in ask(POD, profile)


@pytest.mark.parametrize(("wait", "largest"), [(5, {"category": "exposed_communication", "percent": 5.0}), (4, None)])
def test_the_largest_part_has_a_twentieth_of_the_step(wait, largest):
    text = PROFILE[: PROFILE.index("plane 2")].replace("60us +10us all", f"60us +{2 * wait}us all")
    assert (
        ask(TOOL, text.replace("200us +100us 2", "100us +100us 2").replace("200us +40us", "100us +90us"))["largest"]
        == largest
    )


def test_devices_of_several_hosts_are_called_by_them():
    assert ask(POD, PROFILE, page=True)["steps"]["labels"] == ["TPU 0"]
    assert ask(POD, PROFILE, PROFILE, page=True)["steps"]["labels"] == ["h0: TPU 0", "h1: TPU 0"]
