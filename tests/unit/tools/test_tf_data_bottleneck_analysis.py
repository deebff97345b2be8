"""tf.data: pipelines, advice, several hosts, one run in detail, and the three tables of XProf's form."""

from __future__ import annotations

import re
from typing import Any

import pytest
from builders.asked import ask, rows
from builders.profiles.tf_data import PREFETCH, SYNCHRONOUS, one_run

from tpu_profile_plugin.analysis import tf_data as run_module
from tpu_profile_plugin.analysis.tf_data import BottleneckFacts, Stage
from tpu_profile_plugin.errors import BadRequest, CorruptProfile
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.tools.data import tf_data_bottleneck_analysis as tool
from tpu_profile_plugin.tools.data.iterator_advice import advice_for
from tpu_profile_plugin.tools.data.tf_data_bottleneck_analysis import NONE, QUICK, RUN, SLOW, TOOL

GRAPH = ("host", "input_pipeline", "rank", "name", "parent", "type")
SUMMARY = ("host", "input_pipeline", "min", "mean", "max", "num_calls", "num_slow_calls")
PIPELINES = ("host", "input_pipeline", "max_ps", "bottleneck", "bottleneck_ps")


def page(*profiles: Any) -> Any:
    """The document of the page."""
    return ask(TOOL, *profiles, page=True)


def detail_of(*profiles: Any, **params: str) -> Any:
    """One run in detail."""
    return ask(RUN, *profiles, page=True, **params)


def test_asynchronous_example():
    graph, summary, lines = ask(TOOL, PREFETCH)
    assert rows(graph, *GRAPH) == [
        ("vm", "Host:0", 0, "123", "", 1),
        ("vm", "Host:0", 0, "456", "123", 2),
        ("vm", "Host:0", 1, "123", "", 2),
        ("vm", "Host:0", 1, "456", "123", 0),
    ]
    assert [row["c"][3]["f"] for row in graph["rows"][1:3]] == [
        "<div><b>Range</b><br/>Start Time: 0 us<br/>Total Duration: 80 us<br/>Self Duration: 80 us<br/>"
        "# Calls: 1</div>",
        "<div><b>Prefetch</b><br/>Start Time: 200 us<br/>Total Duration: 20 us<br/>Self Duration: 20 us<br/>"
        "# Calls: 1</div>",
    ]
    assert rows(summary, *SUMMARY) == [("vm", "Host:0", 20, 60, 100, 2, 1)]
    found = page(PREFETCH)
    assert rows(found["pipelines"], "kind", "dataset", "request_host") == [("host", "PrefetchDataset:4", "h0")]
    assert rows(found["pipelines"], *PIPELINES) == [("vm", "Host:0", 100_000_000, "Range", 80_000_000)]
    assert [(advice["kind"], advice["pipelines"]) for advice in found["advice"]] == [("slow_source", [0])]
    assert (found["input_bound"], found["message"]) == (True, SLOW)
    assert lines["p"] == {"is_input_bound": "true", "summary_message": SLOW}


def test_shares_of_slow_calls():
    assert rows(page(PREFETCH)["pipelines"], "calls", "slow_calls", "slow_share") == [(2, 1, 0.5)]
    for length, slow, advised in ((50, 0.0, 0), (51, 1.0, 1)):
        found = page(one_run(length))
        assert (rows(found["pipelines"], "slow_share"), len(found["advice"])) == ([(slow,)], advised)


def test_synchronous_example():
    graph, summary, lines = ask(TOOL, SYNCHRONOUS)
    assert rows(graph, *GRAPH) == [
        ("vm", "Host:0", 0, "9001", "", 1),
        ("vm", "Host:0", 0, "9002", "9001", 2),
        ("vm", "Host:0", 0, "9003", "9002", 1),
    ]
    assert rows(summary, *SUMMARY) == [("vm", "Host:0", 500, 500, 500, 1, 1)]
    found = page(SYNCHRONOUS)
    assert rows(found["pipelines"], *PIPELINES) == [("vm", "Host:0", 500_000_000, "Map", 280_000_000)]
    assert [advice["kind"] for advice in found["advice"]] == ["parallel_version"]
    assert rows(lines, "bottleneck") == [
        ("<div>Iterator Type: <b>Map</b><br/>Long Name: Iterator::Batch::Map<br/>Latency: 280 us</div>",)
    ]


def test_columns_are_those_that_other_clients_know():
    graph, summary, lines = ask(TOOL, "")
    assert [column["id"] for column in graph["cols"]] == list(GRAPH)
    assert [column["id"] for column in summary["cols"]] == list(SUMMARY)
    known = [("host", "string"), ("input_pipeline", "string"), ("max_latency", "number"), ("bottleneck", "string"),
             ("suggestion", "string")]  # fmt: skip
    assert [(column["id"], column["type"]) for column in lines["cols"]] == known
    assert [column["label"] for column in summary["cols"]][2:7] == [
        "Min (us)", "Avg (us)", "Max (us)", "# calls", "# slow calls"]  # fmt: skip


def test_no_activity():
    for text in ("", 'plane "/host:CPU"\nline 1 a\n0us +9us work', SYNCHRONOUS.replace("id=9001}", "x=1}")):
        tables = ask(TOOL, text)
        assert [table["rows"] for table in tables] == [[], [], []]
        assert tables[2]["p"] == {"is_input_bound": "false", "summary_message": NONE}


@pytest.mark.parametrize(
    ("duration", "bound", "message"), [(50, "false", QUICK), (51, "true", SLOW), (0, "false", QUICK)]
)
def test_the_verdict_depends_on_the_slowest_call(duration: int, bound: str, message: str):
    assert ask(TOOL, one_run(duration))[2]["p"] == {"is_input_bound": bound, "summary_message": message}


def test_a_device_pipeline_is_listed_but_not_blamed():
    text = one_run(90, '10us +60us "Iterator::Prefetch::Generator" {id=3, parent_id=1}', name="Prefetch")
    graph, summary, lines = ask(TOOL, text)
    assert len(graph["rows"]) == 2
    assert rows(summary, "input_pipeline", "max") == [("Device:0", 90)]
    found = page(text)
    assert rows(found["pipelines"], "input_pipeline", "kind", "bottleneck") == [("Device:0", "device", None)]
    assert found["advice"] == []
    assert lines["rows"] == []
    assert lines["p"]["summary_message"] == NONE


def test_the_slowest_pipeline_of_all_hosts_comes_first():
    _, summary, lines = ask(TOOL, one_run(70, host="a"), one_run(900, host="b"), one_run(80, host="c"))
    assert rows(summary, "host", "input_pipeline", "max") == [
        ("a", "Host:0", 70),
        ("b", "Host:0", 900),
        ("c", "Host:0", 80),
    ]
    assert rows(lines, "host", "max_latency") == [("b", 900), ("c", 80), ("a", 70)]


def test_advice_is_given_once_for_all_slow_pipelines_that_share_it_slowest_first():
    source = '0us +80us "Iterator::Root::Range" {id=2, parent_id=1}'
    found = page(one_run(95, host="a"), one_run(900, host="b"), one_run(90, source, host="c"), one_run(40, host="d"))
    told = [(advice["kind"], advice["pipelines"]) for advice in found["advice"]]
    assert told == [("other", [1, 0]), ("slow_source", [2])]


def test_hosts_that_call_themselves_the_same_are_told_apart():
    found = page(one_run(70, host="x"), one_run(90, host="x"), one_run(80).replace("host vm", ""))
    assert rows(found["pipelines"], "host", "request_host") == [("h0", "h0"), ("h1", "h1"), ("h2", "h2")]


def test_times_are_cut_off_not_rounded_and_latencies_are_grouped():
    text = one_run(2_000_000, '0us +1234567999999ps "Iterator::Root::Map" {id=2, parent_id=1}')
    _, summary, lines = ask(TOOL, text)
    assert (rows(summary, "max"), rows(lines, "max_latency")) == ([(2_000_000,)], [(2_000_000,)])
    assert rows(page(text)["pipelines"], "max_ps", "bottleneck_ps") == [(2_000_000_000_000, 1_234_567_999_999)]
    assert "<br/>Latency: 1,234,567 us</div>" in rows(lines, "bottleneck")[0][0]


def test_names_from_the_profile_are_no_html():
    text = one_run(100, '0us +80us "Iterator::Root::<img src=x>" {id=2, parent_id=1}')
    graph, _, lines = ask(TOOL, text)
    assert "<div><b>&lt;img src=x&gt;</b>" in graph["rows"][1]["c"][3]["f"]
    assert "<img" not in rows(lines, "bottleneck")[0][0]
    assert rows(page(text)["pipelines"], "bottleneck") == [("<img src=x>",)]


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (
            "TFRecord TFRecordV2 FixedLengthRecordV2 FixedLengthRecord TensorSlice Generator LMDB TextLine Range",
            "slow_source",
        ),
        ("DataService DataServiceV4", "data_service"),
        ("ReverbDataset Courier", "remote_source"),
        ("Map Interleave MapV2 FlatMap", "parallel_version"),
        (
            "ParallelMap ParallelMapV2 MapAndBatch ParallelInterleaveV4 ParallelBatch",
            "parallel",
        ),
        ("Batch BatchV2 Filter Unbatch PaddedBatchV2 GroupByWindow", "sequential"),
        ("Shuffle ShuffleV3 ShuffleAndRepeatV2", "shuffle"),
        ("Prefetch", "prefetch"),
        ("MemoryCache MemoryCacheImpl FileCache", "cache"),
        ("Root V2 MapV map Zip", "other"),
    ],
)
def test_versions_of_a_transformation_get_the_same_advice(names: str, kind: str):
    found = [advice_for(BottleneckFacts(Stage(name))).kind for name in names.split()]
    assert found == [kind] * len(names.split())


def test_advice_says_what_to_do_and_where_to_read_on():
    _, _, lines = ask(TOOL, SYNCHRONOUS)
    html = rows(lines, "suggestion")[0][0]
    (advice,) = page(SYNCHRONOUS)["advice"]
    assert rows(page(SYNCHRONOUS)["pipelines"], "suggestion") == [("\n".join(advice["steps"]),)]
    assert html.startswith("<ol><li><code>map()</code> computes one element at a time. Write <code>.map(f, num_")
    assert html.count("<li>") == len(advice["steps"]) == 5
    assert advice["steps"][0] == (
        "`map()` computes one element at a time. Write `.map(f, num_parallel_calls=tf.data.AUTOTUNE)`."
    )
    for link in advice["links"]:
        title, address = link["title"], link["address"]
        assert address.startswith("https://www.tensorflow.org/")
        assert f'<a href="{address}" target="_blank">{title}</a>' in html
    assert set(re.findall(r"</?(\w+)", html)) == {"ol", "li", "a", "code"}


RECORDED = (
    one_run(
        1000,
        '0us +900us "Iterator::Root::ParallelMapV2" {id=2, parent_id=1, parallelism=1, autotune=&"false", x=-1}',
        '10us +10us "Iterator::Root::ParallelMapV2::Range" {id=3, parent_id=2, parallelism="unavailable"}',
    ).replace("{id=1}", "{id=1, cpu_budget=8}")
    + """
    2000us +10us "Iterator::Root" {id=1, cpu_budget=8}
    2000us +9us "Iterator::Root::ParallelMapV2" {id=2, parent_id=1, parallelism=7, autotune=&"true"}
"""
)


def test_settings_are_those_of_the_call_that_is_shown():
    pipelines = page(RECORDED)["pipelines"]
    columns = ("bottleneck", "parallelism", "autotune", "settings")
    assert rows(pipelines, *columns) == [("ParallelMapV2", 1, "off", "autotune=false, parallelism=1, cpu_budget=8")]
    assert rows(pipelines, "suggestion")[0][0].startswith("It works on one element at a time, fixed by the program")
    for rank, wanted in (("0", {"autotune": False, "parallelism": 1}), ("1", {"autotune": True, "parallelism": 7})):
        found = {one["name"]: one["settings"] for one in detail_of(RECORDED, rank=rank)["iterators"]}
        assert found["ParallelMapV2"] == wanted
        assert found["Root"] == {"cpu_budget": 8}
        assert found.get("Range", {}) == {}


def test_settings_of_iterators_that_begin_at_once_are_told_apart():
    text = """
    plane 1 "/host:CPU"
      line 1 "a"
        0us +100us "Iterator::Root" {id=1}
        0us +90us "Iterator::Root::ParallelMapV2" {id=2, parent_id=1, parallelism=2, autotune=&"false"}
      line 2 "b"
        0us +80us "Iterator::Root" {id=11}
        0us +70us "Iterator::Root::ParallelMapV2" {id=12, parent_id=11, parallelism=3, autotune=&"true"}
    """
    pipelines = page(text)["pipelines"]
    assert rows(pipelines, "input_pipeline", "parallelism", "autotune") == [("Host:0", 2, "off"), ("Host:1", 3, "on")]


def test_the_tool_is_offered_where_iterators_were_seen():
    assert TOOL.available(RunFacts(tf_data=True)) is None
    assert TOOL.available(RunFacts()) == "The profile contains no tf.data activity."


def test_one_run_in_detail():
    detail = detail_of(PREFETCH, rank="1")
    spans, iterators = detail.pop("spans"), detail.pop("iterators")
    assert detail == {
        "host": "h0",
        "pipeline": "Host:0",
        "kind": "host",
        "rank": 1,
        "runs": 2,
        "begin_ps": 200_000_000,
        "duration_ps": 20_000_000,
        "window_ps": [100_000_000, 220_000_000],
        "bottleneck": "123",
        "threads": [
            {"pid": 701, "tid": 1, "name": "main"},
            {"pid": 701, "tid": 77, "name": "tf_data_prefetch"},
        ],
        "iterators_left_out": 0,
        "executions": 2,
        "resolution": 2000,
        "truncated": False,
        "problems": [],
        "left_out": [],
    }
    assert spans == {
        "iterator": [0, 1],
        "thread": [0, 1],
        "begin_ps": [200_000_000, 100_000_000],
        "duration_ps": [20_000_000, 80_000_000],
        "blocking": [True, False],
        "count": [1, 1],
    }
    assert iterators[1] == {
        "id": "456",
        "parent": "123",
        "name": "Range",
        "long_name": "Iterator::Prefetch::Range",
        "dataset": "",
        "begin_ps": 100_000_000,
        "duration_ps": 80_000_000,
        "self_ps": 80_000_000,
        "calls": 1,
        "role": 0,
        "settings": {},
    }


def test_of_very_many_iterators_the_longest_are_told():
    inner = [f'{i}us +{1 + i % 7}us "Iterator::Root::X" {{id={i + 2}, parent_id=1}}' for i in range(0, 21_007, 7)]
    text = one_run(21_100, *inner)
    graph, _, _ = ask(TOOL, text)
    assert len(graph["rows"]) == 2000
    assert rows(page(text)["pipelines"], "bottleneck", "bottleneck_ps") == [("Root", 18_099_000_000)]
    detail = detail_of(text)
    assert (len(detail["iterators"]), detail["iterators_left_out"], detail["executions"]) == (2000, 1002, 2000)


def test_of_very_many_pipelines_the_slowest_are_told():
    calls = [f'{100 * i}us +{i}us "Iterator::Root" {{id={i + 2}}}' for i in range(2010)]
    text = 'plane "/host:CPU"\nline 1 a\n' + "\n".join(calls)
    _, summary, lines = ask(TOOL, text)
    assert page(text)["pipelines_left_out"] == 10
    assert rows(summary, "input_pipeline", "max")[::1999] == [("Host:10", 10), ("Host:2009", 2009)]
    assert rows(lines, "input_pipeline", "max_latency")[0] == ("Host:2009", 2009)
    assert [advice["pipelines"][0] for advice in page(text)["advice"]] == [1999]


def test_one_run_of_the_host_that_has_the_pipeline():
    second = one_run(70).replace("{id=1}", '{id=1}\n    90us +5us "Iterator::Root" {id=2}')
    detail = detail_of(PREFETCH, second, pipeline="Host:1")
    assert (detail["host"], detail["duration_ps"]) == ("h1", 5_000_000)


TWO = one_run(70).replace("{id=1}", "{id=1}" + "".join(
    f'\n    {begin}us +{length}us "Iterator::Root" {{id=2}}' for begin, length in ((90, 5), (100, 9))
))  # fmt: skip


def test_runs_of_a_later_pipeline_are_numbered_from_0():
    found = [detail_of(TWO, pipeline="Host:1", rank=rank) for rank in ("0", "1")]
    assert [(one["begin_ps"], one["duration_ps"], one["rank"], one["runs"]) for one in found] == [
        (100_000_000, 9_000_000, 0, 2),
        (90_000_000, 5_000_000, 1, 2),
    ]
    with pytest.raises(BadRequest, match="Pipeline Host:1 was called 2 times; ranks go from 0 to 1"):
        detail_of(TWO, pipeline="Host:1", rank="2")


def test_a_damaged_file_is_passed_over_where_there_are_others():
    damaged = b"\xff" * 100
    assert detail_of(damaged, PREFETCH)["host"] == "h1"
    with pytest.raises(CorruptProfile):
        detail_of(damaged)


def test_the_pipelines_that_there_are_are_named_once():
    with pytest.raises(BadRequest, match="on these hosts") as caught:
        detail_of(PREFETCH, TWO, pipeline="Host:7")
    assert caught.value.details["pipelines"] == ["Host:0", "Host:1"]


def test_hosts_share_the_rows_of_the_answer(monkeypatch: pytest.MonkeyPatch):
    columns = ("host", "input_pipeline", "rank")
    every = [("h0", "Host:0", 0), ("h0", "Host:0", 0), ("h0", "Host:0", 1), ("h0", "Host:0", 1)]
    every += [("h1", "Host:0", 0), ("h1", "Host:1", 0), ("h1", "Host:1", 1)]
    whole, _, _ = ask(TOOL, PREFETCH, TWO)
    assert rows(whole, *columns) == every
    # The longest run of each pipeline is shown however few rows there may be.
    monkeypatch.setattr(tool, "MAX_ROWS", 2)
    few, _, _ = ask(TOOL, PREFETCH, TWO)
    assert rows(few, *columns) == [row for row in every if row[2] == 0]


def test_the_axis_of_a_run_that_was_merged_is_coarser(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_module, "MAX_BOXES", 3)
    each = [f'{500 + 100 * i}us +10us "Iterator::Root::Range" {{id=2, parent_id=1}}' for i in range(10)]
    text = one_run(1000, *each).replace("0us +1000us", "500us +1000us")
    # Units of 800 us in a window of 1000 us.
    assert detail_of(text, resolution="10")["resolution"] == 2


@pytest.mark.parametrize(("begin", "shown"), [(-1500, -1), (1500, 1), (-500, 0), (0, 0)])
def test_times_in_a_node_are_cut_off_towards_0(begin: int, shown: int):
    graph, _, _ = ask(TOOL, one_run(100).replace("0us +100us", f"{begin}ns +100us"))
    assert f"Start Time: {shown} us<br/>" in graph["rows"][0]["c"][3]["f"]


@pytest.mark.parametrize(
    ("params", "parameter", "message"),
    [
        ({"pipeline": "Host:1"}, "pipeline", "There is no pipeline 'Host:1' on this host."),
        ({"pipeline": "Device:0"}, "pipeline", "There is no pipeline 'Device:0' on this host."),
        ({"rank": "2"}, "rank", "Pipeline Host:0 was called 2 times; ranks go from 0 to 1."),
        ({"rank": "-1"}, "rank", "Parameter 'rank' must be at least 0, not '-1'."),
    ],
)
def test_runs_that_are_not_there_are_refused(params: dict[str, str], parameter: str, message: str):
    with pytest.raises(BadRequest, match=re.escape(message)) as caught:
        detail_of(PREFETCH, **params)
    assert caught.value.details["parameter"] == parameter


def test_a_profile_that_links_calls_in_too_many_ways_says_so():
    """Two calls on each of 60 levels consume the element that the next level makes: 2^60 ways."""
    lines = []
    for level in range(60):
        name = "Iterator::Root" + "::Map" * (level > 0)
        lines += [
            f"line {level + 1} t{level}",
            f"0us +100us PrefetchProduce {{element_id={level}}}",
            f'0us +100us "{name}" {{id={2 * level + 1}, parent_id={2 * level}}}',
        ]
        for begin in (10, 50):
            lines += [
                f'{begin}us +40us "Iterator::Root::Zip" {{id={2 * level + 2}, parent_id={2 * level + 1}}}',
                f"{begin + 10}us +30us PrefetchConsume {{element_id={level + 1}}}",
            ]
    text = 'plane "/host:CPU"\n' + "\n".join(lines)
    found = page(text)
    assert rows(found["pipelines"], "max_ps", "calls") == [(100_000_000, 1)]
    assert found["problems"][0].startswith("1 run reaches the same iterator calls in very many ways")
    assert len(detail_of(text)["problems"]) == 1
