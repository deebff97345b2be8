"""The streaming trace viewer: which processes, threads and events it gives, and how."""

import gzip
import json
from dataclasses import replace

import pytest
from builders.answers import run_of
from builders.timeline import build_trace, events, streaming

from tpu_profile_plugin.analysis.timeline import window
from tpu_profile_plugin.compat.xprof import timeline_json as trace_json
from tpu_profile_plugin.compat.xprof import trace_viewer
from tpu_profile_plugin.errors import NoData, OutOfRange

HOST = """
plane 0 "/host:CPU"
  line 7 "python" @1000ns
    0us +10us outer
    2us +3us inner
"""


def metadata(*texts, **params):
    return [e for e in streaming(*texts, **params)["traceEvents"] if e["ph"] == "M"]


def processes(*texts):
    return [(e["pid"], e["args"]["name"]) for e in metadata(*texts) if e["name"] == "process_name"]


def threads(*texts):
    return [(e["pid"], e["tid"], e["args"]["name"]) for e in metadata(*texts) if e["name"] == "thread_name"]


def line(name="l", event="e"):
    return f'line 1 "{name}"\n0us +1us {event}\n'


def test_processes_are_numbered_by_role():
    planes = 'plane 2 "/device:TPU:0"\n' + line() + 'plane 0 "/host:CPU"\n' + line()
    planes += 'plane 4 "/device:CUSTOM:x"\n' + line() + 'plane 9 "/host:metadata"\n' + line()
    assert processes(planes) == [(1003, "h0 /device:TPU:0"), (1505, "h0 /device:CUSTOM:x"), (1701, "h0 /host:CPU")]


def test_gpu_planes_win_over_tpu_planes():
    planes = 'plane 0 "/device:TPU:0"\n' + line() + 'plane 0 "/device:GPU:0"\n' + line()
    assert processes(planes) == [(1001, "h0 /device:GPU:0")]


def test_several_host_planes_are_numbered_by_name():
    planes = 'plane 0 "/host:CPU [2]"\n' + line() + 'plane 0 "/host:CPU [1]"\n' + line()
    assert processes(planes) == [(1701, "h0 /host:CPU [1]"), (1702, "h0 /host:CPU [2]")]


def test_planes_with_empty_lines_are_listed_and_hosts_are_kept_apart():
    custom = 'plane 1 "/device:CUSTOM:x"\nline 1 "empty"\nplane 5 "/device:CUSTOM:y"\n'
    assert processes(HOST + custom, HOST) == [
        (1502, "h0 /device:CUSTOM:x"),
        (1701, "h0 /host:CPU"),
        (2701, "h1 /host:CPU"),
    ]


@pytest.mark.parametrize(("name", "shown"), [("TPU:0", False), ("GPU:0", False), ("TPU:0 SparseCore 0", True)])
def test_gpus_and_tensor_cores_are_listed_only_with_events(name, shown):
    text = f'plane 1 "/device:{name}"\nline 1 "empty"\n'
    assert processes(text) == ([(1002, f"h0 /device:{name}")] if shown else [])
    assert processes(text + "0us +1us e") == [(1002, f"h0 /device:{name}")]


def test_threads_take_the_shown_id_and_name_and_are_sorted():
    lines = 'plane 1 "/device:TPU:0"\nline 9 "b"\n0us +1us e\nline -2 "c"\n0us +1us e\n'
    lines += 'line 5 "a" display=3 "shown"\n0us +1us e\nline 4 "none"\n'
    assert threads(lines) == [(1002, 3, "shown"), (1002, 9, "b"), (1002, 0xFFFFFFFE, "c")]


def test_metadata_names_and_orders():
    assert metadata(HOST) == [
        {"args": {"name": "h0 /host:CPU"}, "name": "process_name", "ph": "M", "pid": 1701, "thread_count": 1},
        {"args": {"sort_index": 1701}, "name": "process_sort_index", "ph": "M", "pid": 1701},
        {"args": {"name": "python"}, "name": "thread_name", "ph": "M", "pid": 1701, "tid": 7},
        {"args": {"sort_index": 7}, "name": "thread_sort_index", "ph": "M", "pid": 1701, "tid": 7},
    ]


def test_frame_of_the_answer():
    answer = streaming(HOST + 'plane 1 "/device:TPU:0"\n')
    del answer["traceEvents"]
    assert answer == {
        "displayTimeUnit": "ns",
        "metadata": {"highres-ticks": True},
        "codeLink": "",
        "useNewBackend": False,
        "details": [{"name": "mpmd_pipeline_view", "value": False}, {"name": "full_dma", "value": False}],
        "returnedEventsSize": 2,
        "filteredByVisibility": True,
        "fullTimespan": [0.001, 0.011],
        "stackFrames": {},
        "showCounterMessage": "",
        "totalCounterEvents": 0,
    }


def test_bulk_events():
    assert events(HOST) == [
        {"pid": 1701, "tid": 7, "name": "outer", "ts": 1, "dur": 10, "ph": "X", "args": {"uid": 0}},
        {"pid": 1701, "tid": 7, "name": "inner", "ts": 3, "dur": 3, "ph": "X", "args": {"uid": 0}},
    ]


def test_events_that_begin_together_are_numbered_longer_first_then_by_process():
    planes = 'plane 0 "/host:CPU"\nline 2 "b"\n0us +1us x\n0us +5us y\nline 1 "a"\n0us +1us z\n'
    planes += 'plane 0 "/device:TPU:0"\nline 8 "c"\n0us +1us w\n'
    assert {e["name"]: (e.get("z"), e["args"]["uid"]) for e in events(planes)} == {
        "y": (None, 0),
        "w": (1, 1),
        "z": (2, 2),
        "x": (3, 3),
    }


def test_internal_events_are_hidden_but_their_thread_stays():
    text = (
        'plane 0 "/host:CPU"\nline 1 "a"\n0us +1us MemoryAllocation\nline 2 "b"\n0us +1us PrefetchProduce\n1us +1us x'
    )
    assert [e["name"] for e in events(text)] == ["x"]
    assert threads(text) == [(1701, 1, "a"), (1701, 2, "b")]


def test_instants_last_at_least_a_picosecond():
    (found,) = events('plane 0 "/host:CPU"\nline 1 "a"\n5ns +0us x')
    assert (found["ts"], found["dur"]) == (0.005, 1e-6)


def test_display_names_are_shown_and_steps_are_named():
    text = 'plane 0 "/host:CPU"\nline 1 "a"\n0us +9us train {_r=1, step_num=4}\n1us +1us long_one\n'
    text += 'metadata long_one display="short"'
    assert [e["name"] for e in events(text)] == ["train 4", "short"]
    assert {e["args"]["group_id"] for e in events(text)} == {0}


@pytest.mark.parametrize("few_events", [0, 1 << 40])
def test_a_window_of_a_long_timeline_is_counted(monkeypatch, few_events):
    monkeypatch.setattr(window, "FEW_EVENTS", few_events)  # nothing is left out of a short timeline
    asked = {"start_time_ms": 0.001, "end_time_ms": 5}
    assert streaming(OPS, **asked)["returnedEventsSize"] == len(events(OPS, **asked)) > 0


def test_names_of_processes_and_threads_are_those_of_the_selected_hosts():
    asked = run_of(HOST, HOST.replace("python", "second"), HOST.replace("python", "third"))
    first, second, third = asked.profiles

    def names(*hosts):
        answer = trace_viewer.TOOL.build(replace(asked, profiles=hosts), trace_viewer.TOOL.query({}))
        listed = json.loads(gzip.decompress(answer.body))["traceEvents"]
        return [e["args"]["name"] for e in listed if e["name"] == "thread_name"]

    assert names(first) == ["python"]
    assert names(first, second) == ["python", "second"]
    assert names(first, third) == ["python", "third"]
    assert names(third) == ["third"]


def test_windows_in_milliseconds_are_closed():
    text = 'plane 0 "/host:CPU"\nline 1 "a"\n0ms +1ms a\n2ms +1ms b\n4ms +1ms c\n6ms +1ms d'
    assert [e["name"] for e in events(text, start_time_ms=3, end_time_ms=4)] == ["b", "c"]
    assert [e["name"] for e in events(text, start_time_ms=3.5, end_time_ms=0)] == ["c", "d"]
    assert events(text, start_time_ms=100, end_time_ms=200) == []


FLOWS = """
plane 0 "/host:CPU"
  line 1 "a"
    0us +1us out {_pt=12, _p=77}
    1us +1us generic {_pt=0, _p=5}
  line 2 "b"
    2us +1us in {_ct=12, _c=77}
"""


def test_details_of_an_event_with_a_flow_are_in_the_order_in_which_they_are_listed():
    (found,) = events(FLOWS, event_name="in", start_time_ms=0.002, duration_ms=0.001, unique_id=0)
    assert list(found) == ["pid", "tid", "name", "ts", "dur", "bind_id", "cat", "flow_in", "ph", "args"]


def test_details_of_an_event_of_one_of_several_hosts():
    asked = {"event_name": "own", "start_time_ms": 0.003, "duration_ms": 0.003, "unique_id": 0}
    found = streaming(HOST, HOST.replace("inner", "own {note=5}"), **asked)["traceEvents"]
    assert [e for e in found if e["ph"] != "M"] == [
        {"pid": 2701, "tid": 7, "name": "own", "ts": 3, "dur": 3, "ph": "X", "args": {"note": 5}}
    ]
    assert [e["args"]["name"] for e in found if e["name"] == "process_name"] == ["h0 /host:CPU", "h1 /host:CPU"]


def test_flows_carry_id_category_and_direction():
    found = {e["name"]: e for e in events(FLOWS)}
    assert found["out"]["bind_id"] == found["in"]["bind_id"] != found["generic"]["bind_id"]
    keys = [{k: e.get(k) for k in ("cat", "flow_in", "flow_out")} for e in found.values()]
    assert keys == [
        {"cat": "tpu_launch", "flow_in": None, "flow_out": True},
        {"cat": None, "flow_in": None, "flow_out": True},
        {"cat": "tpu_launch", "flow_in": True, "flow_out": None},
    ]


def test_equal_contexts_of_two_hosts_are_two_flows():
    asked = build_trace('host "a"\n' + FLOWS, 'host "b"\n' + FLOWS)
    listed = json.loads(gzip.decompress(asked.body))["traceEvents"]
    ids = [e["bind_id"] for e in listed if e["name"] in ("out", "in")]
    assert len(ids) == 4
    assert sorted(map(ids.count, ids)) == [2, 2, 2, 2]


COPIES = """
plane 0 "/device:TPU:0"
  line 1 "XLA Modules"
    0us +9us m
  line 2 "XLA Ops"
    1us +1us "%s S(5)"
    5us +1us "%d S(5)"
  metadata "%s S(5)" {hlo_category="c", raw_bytes_accessed=4, shape_with_layout="f32[8]S(5)"} display="copy-start.1"
  metadata "%d S(5)" {hlo_category="d", raw_bytes_accessed=32, shape_with_layout="f32[8]"} display="copy-done.1"
"""


def test_a_host_offload_copy_has_the_shape_of_its_start_and_the_bytes_of_its_end():
    (found,) = events(COPIES, event_name="offload-copy.1", start_time_ms=0.001, duration_ms=0.005, unique_id=0)
    assert found["args"] == {"long_name": "", "raw_bytes_accessed": 32, "shape_with_layout": "f32[8]S(5)"}
    full = json.loads(build_trace(COPIES, tool=trace_viewer.LEGACY).body)["traceEvents"]
    (copy,) = [e for e in full if e.get("name") == "offload-copy.1"]
    assert copy["args"] == {
        "_a": "1",
        "long_name": "",
        "raw_bytes_accessed": "32",
        "shape_with_layout": "f32[8]S(5)",
    }


DMA = """
plane 0 "/device:TPU:0"
  line 1 "XLA Modules"
    0us +9us m {run_id=1}
  line 4 "Async XLA Ops"
    1us +2us copy {_a=1, flow=u31}
    2us +2us quiet {_a=1}
"""


def test_asynchronous_transfers_are_pairs_and_only_when_asked():
    assert [e["name"] for e in events(DMA)] == ["m", "quiet"]
    assert streaming(DMA, full_dma="true")["details"][1] == {"name": "full_dma", "value": True}
    pairs = [e for e in events(DMA, full_dma="true") if e["name"] == "copy"]
    assert [(e["ph"], e["ts"], e["id"], e["cat"], "tid" in e) for e in pairs] == [
        ("b", 1, 7, "", False),
        ("e", 3, 7, "", False),
    ]
    assert ["uid" in e["args"] for e in pairs] == [True, False]


OPS = """
plane 0 "/device:TPU:0"
  line 1 "XLA Ops"
    1us +2us op {flops=5, _c=4, big=9007199254740993, ratio=0.5d, text="a", raw=0x0102, group_id=3, other=&"ref"}
  metadata op {hlo_category="fusion", symbol_id=7} display="shown op"
"""


def test_details_of_one_event():
    (found,) = events(OPS, event_name="shown op", start_time_ms=0.001, duration_ms=0.002, unique_id=0)
    assert found == {
        "pid": 1001,
        "tid": 1,
        "name": "shown op",
        "ts": 1,
        "dur": 2,
        "ph": "X",
        "args": {
            "group_id": 3,
            "long_name": "op",
            "hlo_category": "fusion",
            "big": "9007199254740993",
            "ratio": 0.5,
            "text": "a",
            "other": "ref",
        },
    }
    # The order in which XProf's new viewer lists them.
    assert list(found) == ["pid", "tid", "name", "ts", "dur", "ph", "args"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"event_name": "x"},
        {"start_time_ms": 1},
        {"duration_ms": 1},
        {"duration_ms": 4.6e9},
        {"unique_id": 1},
        {"unique_id": 999},
    ],
)
def test_details_need_the_exact_event(wrong):
    right = {"event_name": "shown op", "start_time_ms": 0.001, "duration_ms": 0.002, "unique_id": 0}
    with pytest.raises(NoData):
        streaming(OPS, **{**right, **wrong})


@pytest.mark.parametrize("form", ["json", "columns"])
@pytest.mark.parametrize("name", ["start_time_ms", "end_time_ms"])
@pytest.mark.parametrize("value", [1.7e308, -1e308, 1e20, -1e20, 4.7e9, -4.7e9])
def test_times_beyond_any_profile_are_refused(form, name, value):
    with pytest.raises(OutOfRange) as error:
        build_trace(OPS, format=form, **{name: value})
    assert (error.value.status, error.value.details["parameter"]) == (422, name)
    build_trace(OPS, format=form, **{name: 4.6e9 if value > 0 else -4.6e9})


def test_durations_beyond_any_profile_are_refused():
    with pytest.raises(OutOfRange, match="duration_ms"):
        streaming(OPS, event_name="shown op", start_time_ms=0.001, duration_ms=1e300)


def test_instants_are_numbered_behind_the_samples_that_last_longer():
    lines = """
    plane 2 "/device:TPU:0"
      line 8 "Tensor Core"
        5us +0us bundle.1
      line 9 "_counters_"
        5us +1us MXU {"% util"=12.5d}
        5us +0us VPU {"% util"=3d}
        5us +1us nothing {text="x"}
    """
    (found,) = (e for e in events(lines) if e["ph"] == "X")
    assert (found["z"], found["args"]["uid"], found["dur"]) == (2, 2, 1e-6)
    place = {"event_name": "bundle.1", "start_time_ms": 0.005, "unique_id": 2}
    for duration in ({}, {"duration_ms": 0}, {"duration_ms": 1e-9}):
        assert [e["name"] for e in events(lines, **place, **duration)] == ["bundle.1"]
    with pytest.raises(NoData):
        events(lines, **{**place, "unique_id": 0})


def test_asynchronous_events_are_numbered_behind_threads_among_samples_by_name():
    text = """
    plane 2 "/device:TPU:0"
      line 1 "XLA Ops"
        1us +2us op
      line 9 "Async XLA Ops"
        1us +2us copy {flow=31, _a=1}
      line 3 "_counters_"
        1us +2us before {n=1}
        1us +2us later {n=1}
    plane 3 "/device:TPU:1"
      line 1 "XLA Ops"
        1us +2us next
    """
    found = {e["name"]: e.get("z", 0) for e in events(text, full_dma="true") if e["ph"] in "bX"}
    assert found == {"op": 0, "copy": 2, "next": 4}


def test_long_texts_of_stats_become_stack_frames_too():
    line = """
    plane 0 "/device:TPU:0"
      line 1 "Tensor Core"
        1us +1us a {long_name=&"[134217728]  0x1ee: bundle"}
        2us +1us b {long_name="[134217729]  0x1ef: bundle", other="a text longer than sixteen"}
        3us +1us c {hlo_text="c = f32[] add(a, b)"}
        4us +1us d {long_name="short"}
        5us +1us e {long_name="its own, which is long"}
        6us +1us f
      metadata e {long_name="that of its metadata"}
      metadata f {long_name="that of its metadata"}
    """
    answer = streaming(line, full_args="1")
    frames = {number: frame["name"] for number, frame in answer["stackFrames"].items()}
    found = {e["name"]: (frames.get(str(e.get("sf"))), e["args"]) for e in answer["traceEvents"] if e["ph"] == "X"}
    assert found == {
        "a": ("[134217728]  0x1ee: bundle", {}),
        "b": ("[134217729]  0x1ef: bundle", {"other": "a text longer than sixteen"}),
        "c": ("c = f32[] add(a, b)", {}),
        "d": (None, {"long_name": "short"}),
        "e": ("its own, which is long", {}),
        "f": ("that of its metadata", {}),
    }


def test_long_full_names_become_stack_frames():
    text = OPS.replace(" op ", " a_name_of_more_than_sixteen ")
    answer = streaming(text, event_name="shown op", start_time_ms=0.001, duration_ms=0.002)
    (found,) = (e for e in answer["traceEvents"] if e["ph"] == "X")
    assert answer["stackFrames"][str(found["sf"])] == {"name": "a_name_of_more_than_sixteen"}
    assert "long_name" not in found["args"]


def test_details_of_an_event_have_only_its_stack_frames():
    # XProf's page shows frame 1, whatever the event refers to.
    line = """
    plane 1 "/device:TPU:0"
      line 1 "XLA Ops" @0us
        1us +1us a {long_name="the name of a, which is long"}
        2us +1us b {long_name="the name of b, which is long"}
        3us +1us c
    """
    seen = []
    for at, name in ((0.001, "a"), (0.002, "b"), (0.003, "c")):
        answer = streaming(line, event_name=name, start_time_ms=at, duration_ms=0.001)
        (found,) = (e for e in answer["traceEvents"] if e["ph"] == "X")
        seen.append((found["name"], found.get("sf"), answer["stackFrames"]))
    assert seen == [
        ("a", 1, {"1": {"name": "the name of a, which is long"}}),
        ("b", 1, {"1": {"name": "the name of b, which is long"}}),
        ("c", None, {}),
    ]


def test_search_by_prefix():
    text = 'plane 0 "/host:CPU"\nline 1 "a"\n0us +1us copy.1 {n=3}\n2us +1us other\n4us +1us copy.2'
    assert [e["name"] for e in events(text, search_prefix="copy")] == ["copy.1", "copy.2"]
    assert ["n" in e["args"] for e in events(text, search_prefix="copy")] == [False, False]
    assert ["n" in e["args"] for e in events(text, search_metadata="true")] == [False, False, False]
    with_args = events(text, search_prefix="copy", search_metadata="true")
    assert [e["args"] for e in with_args] == [{"n": 3}, {}]
    assert [e["args"] for e in events(text, full_args="1")] == [{"n": 3}, {}, {}]


COUNTERS = """
plane 0 "/device:TPU:0"
  line 1 "XLA Ops"
    0us +9us op
  line 2 "_counters_"
    1us +0us "hbm (util %)" {value=12.346d}
    3us +0us "hbm (util %)" {value=50d}
    2us +0us power {watts=7, volts=2}
    4us +8us power
  line 3 "counters_more"
    0us +1us seen
"""


def test_counters_are_one_event_with_all_samples():
    answer = streaming(COUNTERS)
    found = [e for e in answer["traceEvents"] if e["ph"] == "C"]
    assert found == [
        {"pid": 1001, "name": "hbm (util %)", "ph": "C", "event_stats": "value", "entries": [[1, 12.35], [3, 50]]},
        # Of several values the first.
        {"pid": 1001, "name": "power", "ph": "C", "event_stats": "watts", "entries": [[2, 7]]},
    ]
    assert answer["totalCounterEvents"] == 4
    assert answer["fullTimespan"] == [0, 0.012]
    assert threads(COUNTERS) == [(1001, 1, "XLA Ops"), (1001, 3, "counters_more")]


def shown_samples(**params):
    answer = streaming(COUNTERS, **params)
    found = {e["name"]: [entry[0] for entry in e["entries"]] for e in answer["traceEvents"] if e["ph"] == "C"}
    return found, answer["totalCounterEvents"], answer["returnedEventsSize"]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, ({"hbm (util %)": [1, 3], "power": [2]}, 4, 6)),
        # The sample without a number counts; windows are closed.
        ({"start_time_ms": 0.002, "end_time_ms": 0.003}, ({"hbm (util %)": [3], "power": [2]}, 2, 3)),
        ({"start_time_ms": 0.0031, "end_time_ms": 0.012}, ({}, 1, 2)),
        ({"search_prefix": "hbm"}, ({"hbm (util %)": [1, 3]}, 2, 2)),
        ({"search_prefix": "p", "search_metadata": "true"}, ({"power": [2]}, 1, 1)),
        ({"search_prefix": "op"}, ({}, 0, 1)),
        ({"event_name": "power", "start_time_ms": 0.002, "unique_id": 9}, ({"power": [2]}, 1, 1)),
    ],
)
def test_samples_are_selected_as_events_are(params, expected):
    assert shown_samples(**params) == expected


def test_details_of_a_sample_need_its_time():
    with pytest.raises(NoData):
        streaming(COUNTERS, event_name="power", start_time_ms=0.0021)
    with pytest.raises(NoData):
        streaming(COUNTERS, event_name="power", start_time_ms=0.002, duration_ms=1)


def test_samples_of_long_timelines_are_thinned_out(monkeypatch):
    monkeypatch.setattr(window, "FEW_EVENTS", 1)
    text = 'plane 0 "/device:TPU:0"\nline 2 "_counters_"\n' + "".join(f"{n}ns +0ns c {{v={n}}}\n" for n in range(101))
    (counter,) = events(text, resolution=4)
    assert [entry[1] for entry in counter["entries"]] == [0, 30, 60, 90]
    (counter,) = events(text, resolution=20)
    assert [entry[1] for entry in counter["entries"]] == list(range(0, 101, 5))


@pytest.mark.parametrize(("most", "shown"), [(4, True), (3, False)])
def test_too_many_samples_are_not_shown(monkeypatch, most, shown):
    monkeypatch.setattr(trace_json, "MOST_SAMPLES", most)
    answer = streaming(COUNTERS)
    assert any(e["ph"] == "C" for e in answer["traceEvents"]) == shown
    assert (answer["totalCounterEvents"], answer["showCounterMessage"] == "") == (4, shown)


def test_an_empty_profile_is_an_empty_timeline():
    assert streaming("")["traceEvents"] == []
    assert streaming("")["fullTimespan"] == [0, 0]
