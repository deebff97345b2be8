"""Our documents with XProf's figures: those of XProf's answer, in the form that pages receive."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders.answers import answer, rows
from builders.planes import SPARSE_CORE, host
from builders.profiles import step_profiles

from tpu_profile_plugin.tools.registry import find

TPU = """
plane 99 "/host:CPU" {hostname="tpuhost", matrix_unit_utilization_percent=40.0}
  line 1 main
    0us +1us x
plane 0 "/device:TPU:0" {device_type_string="TPU v4", core_details=0x1007}
  line 1 Steps
    0us +1000us 0
    2000us +1000us 1
  line 3 "XLA Ops"
    0us +200us infeed.1
    200us +600us fusion.1
    2000us +400us fusion.1
  metadata infeed.1 {hlo_category="infeed", program_id=u7, symbol_id=u1}
  metadata fusion.1 {hlo_category="loop fusion", program_id=u7, symbol_id=u2}
"""
CPU = host("0 1000 train {_r=1, step_num=0}\n0 300 IteratorGetNext\n400 100 work")


def both(tool: str, *profiles: str) -> tuple[Any, Any]:
    """XProf's answer, and our document with its figures."""
    return answer(find(tool), *profiles), answer(find(tool), *profiles, page=True, reading="xprof")


@pytest.mark.parametrize("tool", ["overview_page", "input_pipeline_analyzer"])
@pytest.mark.parametrize("profile", [TPU, TPU + SPARSE_CORE, CPU])
def test_steps_are_those_of_xprofs_table(tool: str, profile: str) -> None:
    tables, page = both(tool, profile)
    found, table = page["steps"]["decomposition"], tables[1]
    ids = [column["id"] for column in table["cols"]]
    times = [id_ for id_ in ids if id_.endswith("TimeMs") and id_ != "stepTimeMs"]
    parts = [[ps / 1e9 for ps in column] for column in found["steps"]["parts_ps"].values()]
    assert [list(row) for row in zip(*parts, strict=True)] == [pytest.approx(row) for row in rows(table, *times)]
    assert [group["id"] for group in found["groups"]] == list(found["steps"]["parts_ps"])
    names = [name for (name,) in rows(table, "stepnum")]
    assert (found["steps"]["name"], found["left_out"]) == (names, 0)
    average = page["xprof"]["step_time_ms"]["average"]
    assert average == pytest.approx(float(table["p"]["steptime_ms_average"]), abs=0.051)
    assert found["step_ps"] == pytest.approx(1e9 * average)
    # The bar of the page has shares of all parts together.
    assert sum(found["average_ps"].values()) == pytest.approx(found["base_ps"])


def test_colours_of_xprofs_categories_are_those_of_ours() -> None:
    cpu, tpu = (both("overview_page", text)[1]["steps"]["decomposition"]["groups"] for text in (CPU, TPU))
    assert [(group["id"], group["name"]) for group in cpu[-3:]] == [
        ("output", "Output"),
        ("compilation", "Compilation"),
        ("other", "All others"),
    ]
    assert [(group["id"], group["name"]) for group in tpu] == [
        ("device_compute", "TensorCore compute"),
        ("sparse_compute", "SparseCoreV0 compute"),
        ("sparse_input", "SparseCoreV0 input"),
        ("input", "TensorCore input"),
        ("output", "TensorCore output"),
        ("idle", "TensorCore idle"),
        ("host_transfer", "Host transfer"),
    ]


def test_statements_tips_and_figures_of_the_overview() -> None:
    tables, page = both("overview_page", CPU)
    xprof = page["xprof"]
    assert xprof["statements"][0] == tables[3]["p"]["statement"]
    assert [tip["heading"] for tip in xprof["tips"]] == [heading for (heading,) in rows(tables[3], "description")]
    guide, address = "Better performance with the tf.data API", "https://www.tensorflow.org/guide/data_performance"
    assert xprof["tips"][-1]["text"] == f"[{guide}]({address})"
    assert rows(tables[3], "link")[-1] == [f'<a href="{address}" target="_blank">{guide}</a>']
    tables, page = both("overview_page", TPU)
    assert page["xprof"]["statements"][0] == tables[1]["p"]["input_conclusion"]
    figures = {figure["property"]: figure["value"] for figure in page["xprof"]["figures"]}
    assert figures == {name: tables[0]["p"][name] for name in figures}
    assert figures["mxu_utilization_percent"] == "40.0%"


def test_xprofs_message_about_steps_is_in_its_reading_only() -> None:
    text = 'plane 0 "/host:CPU"\nline 1 a\n0us +1us x'
    for tool in ("overview_page", "input_pipeline_analyzer"):
        (message,) = both(tool, text)[1]["messages"]
        assert (message["severity"], message["text"][:14]) == ("warning", "No step marker")
        assert answer(find(tool), text, page=True)["messages"] == []


def test_ops_of_xprofs_overview_have_its_categories() -> None:
    tables, page = both("overview_page", TPU)
    assert rows(page["ops"], "operation", "category") == rows(tables[0], "operation", "category")


def test_cores_that_wait_for_input() -> None:
    tables, page = both("input_pipeline_analyzer", TPU)
    waiting = page["xprof"]["waiting"]
    assert ["Core name", *waiting["cores"]] == rows(tables[0])[1]
    shares = zip(waiting["average"], waiting["minimum"], waiting["maximum"], strict=True)
    names = ("infeedPercentAverage", "infeedPercentMin", "infeedPercentMax")
    assert list(map(list, shares)) == rows(tables[1], *names)
    assert waiting["longest"]["average"] == pytest.approx(10.0)
    assert both("input_pipeline_analyzer", CPU)[1]["xprof"]["waiting"] is None


def test_what_to_do_about_the_input() -> None:
    tables, page = both("input_pipeline_analyzer", CPU.replace("IteratorGetNext", "GetNext"))
    assert page["next"] == tables[1]["p"]["summary_nextstep"].replace(
        '<a href="https://www.tensorflow.org/guide/data" target="_blank">the tf.data API</a>',
        "[the tf.data API](https://www.tensorflow.org/guide/data)",
    )
    assert "](https" in page["next"]
    tips = [kind["tip"] for kind in reversed(page["processing"])]
    assert [tip.partition(":")[0] for tip in tips] == [text.partition(":")[0] for (text,) in rows(tables[3])]
    assert "<a" not in json.dumps(page)


@pytest.mark.parametrize("profile", [TPU, CPU])
def test_workers_of_the_pod_viewer(profile: str) -> None:
    xprof, page = both("pod_viewer", profile)
    steps, listed = page["steps"], xprof["podStatsSequence"]["podStatsMap"]
    assert (steps["numbers"], steps["begin_ps"], steps["left_out"]) == ([step["stepNum"] for step in listed], None, 0)
    for at, step in enumerate(listed):
        (core,) = step["podStatsPerCore"].values()
        assert (steps["hosts"], steps["total_ns"][at]) == ([core["hostName"]], [1000 * core["totalDurationUs"]])
        parts = [column[at] for column in steps["parts_ns"].values()]
        assert parts == [[1000 * us] for us in core["stepBreakdownUs"].values()]
    assert [group["name"] for group in page["groups"]] == [event["name"] for event in xprof["stepBreakdownEvents"]]
    assert steps["labels"] == ([f"{core['hostName']}:0"] if profile is TPU else [core["hostName"]])


def test_workers_are_in_the_order_of_hosts() -> None:
    second = TPU[TPU.index('plane 0 "/device') :].replace("TPU:0", "TPU:1").replace("plane 0", "plane 1")
    steps = both("pod_viewer", TPU + second.replace("0x1007", "0x1008"))[1]["steps"]
    assert [label.partition(":")[2] for label in steps["labels"]] == ["0", "1"]
    hosts = both("pod_viewer", *map(step_profiles.worker, "ba"))[1]["steps"]["hosts"]
    assert (len(hosts), hosts) == (2, sorted(hosts))


def test_a_pod_without_steps_says_why() -> None:
    page = both("pod_viewer", 'plane 0 "/host:CPU"\nline 1 a\n')[1]
    assert (page["steps"]["numbers"], [note[:14] for note in page["notes"]]) == ([], ["No step marker"])
