"""The whole trace in the older form."""

import pytest
from builders.timeline import build_trace, legacy

from tpu_profile_plugin.compat.xprof import trace_viewer

OPS = """
plane 2 "/device:TPU:0"
  line 3 "XLA Ops"
    1us +2us op {flops=5, ratio=0.25d, u=u7, raw=0x01, flow=u6, z=z"packed"}
    9us +0us mark
  line 4 "Async XLA Ops"
    2us +1us copy {_a=1, flow=u31}
  metadata op {hlo_category="fusion"} display="shown"
"""


def test_every_argument_is_a_string_and_keys_ascend():
    body = build_trace(OPS, tool=trace_viewer.LEGACY).body.decode()
    assert body == (
        '{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},\n"traceEvents":[\n'
        '{"args": {"name": "/device:TPU:0"}, "name": "process_name", "ph": "M", "pid": 3},\n'
        '{"args": {"sort_index": 3}, "name": "process_sort_index", "ph": "M", "pid": 3},\n'
        '{"args": {"name": "XLA Ops"}, "name": "thread_name", "ph": "M", "pid": 3, "tid": 3},\n'
        '{"args": {"sort_index": 3}, "name": "thread_sort_index", "ph": "M", "pid": 3, "tid": 3},\n'
        '{"args": {"name": "Async XLA Ops"}, "name": "thread_name", "ph": "M", "pid": 3, "tid": 4},\n'
        '{"args": {"sort_index": 4}, "name": "thread_sort_index", "ph": "M", "pid": 3, "tid": 4},\n'
        '{"args": {"flow": "6", "hlo_category": "fusion", "long_name": "op", "ratio": "0.25", "raw": "<opaque bytes>", '
        '"u": "7", "z": ""}, '
        '"dur": 2, "name": "shown", "ph": "X", "pid": 3, "tid": 3, "ts": 1},\n'
        '{"name": "mark", "ph": "i", "pid": 3, "s": "t", "tid": 3, "ts": 9},\n'
        "{}]}\n"
    )


def test_groups_steps_and_long_names():
    text = 'plane 0 "/host:CPU"\nline 1 "a"\n0us +9us train {_r=1, step_num=4}\n1us +1us long_one\n'
    long_name = "x" * 10_001
    text += f'metadata long_one display="short"\nline 2 "b"\n0us +1us {long_name}\nmetadata {long_name} display="d"'
    found = {e["name"]: e.get("args") for e in legacy(text)["traceEvents"] if e.get("ph") == "X"}
    assert found["train 4"] == {"group_id": "0", "step_name": "train 4", "step_num": "4"}
    assert found["short"] == {"group_id": "0", "long_name": "long_one"}
    assert found["d"]["long_name"] == "x" * 10_000 + "...<truncated>"


def test_counters_are_events_like_others():
    text = 'plane 0 "/device:TPU:0"\nline 2 "_counters_"\n1us +1ns power {watts=7}\n2us +0us power {watts=8}'
    named, _, thread, _, *found, _ = legacy(text)["traceEvents"]
    assert (named["args"]["name"], thread["args"]["name"], thread["tid"]) == ("/device:TPU:0", "_counters_", 2)
    assert found == [
        {"args": {"watts": "7"}, "dur": 0.001, "name": "power", "ph": "X", "pid": 1, "tid": 2, "ts": 1},
        {"args": {"watts": "8"}, "name": "power", "ph": "i", "pid": 1, "s": "t", "tid": 2, "ts": 2},
    ]


def test_samples_have_no_group():
    text = """
    plane 2 "/device:TPU:0"
      line 1 Steps
        0us +9us 1
      line 2 "_counters_"
        1us +1us MXU {"% util"=12.5d}
      line 3 "Tensor Core"
        1us +0us bundle.1
    plane 0 "/host:CPU"
      line 1 main
        0us +1us x
    """
    found = {e["name"]: e.get("args") for e in legacy(text)["traceEvents"] if e.get("tid") in (2, 3) and "ts" in e}
    assert found == {"MXU": {"% util": "12.5"}, "bundle.1": {"group_id": "0"}}


def listed(text):
    """Processes and threads: (pid, name) and (pid, tid, name or None)."""
    names, threads = [], {}
    for event in legacy(text)["traceEvents"]:
        if event.get("name") == "process_name":
            names.append((event["pid"], event["args"]["name"]))
        if event.get("name") in ("thread_name", "thread_sort_index"):
            threads.setdefault((event["pid"], event["tid"]), event["args"].get("name"))
    return names, [(*place, name) for place, name in threads.items()]


def test_threads_without_a_name_get_none():
    assert listed('plane 0 "/host:CPU"\nline 3 ""\n0us +1us e')[1] == [(701, 3, None)]


def test_empty_lines_are_threads_but_on_gpus_and_tensor_cores():
    lines = 'line 1 "empty"\nline 2 "full"\n0us +1us e\n'
    assert listed(f'plane 0 "/host:CPU"\n{lines}')[1] == [(701, 1, "empty"), (701, 2, "full")]
    assert listed(f'plane 0 "/device:TPU:0 SparseCore 0"\n{lines}')[1] == [(1, 1, "empty"), (1, 2, "full")]
    assert listed(f'plane 0 "/device:TPU:0"\n{lines}')[1] == [(1, 2, "full")]
    assert listed('plane 0 "/device:TPU:0"\nline 1 "empty"\n') == ([(1, "/device:TPU:0")], [])


def test_custom_planes_are_devices_where_there_are_no_others():
    custom = 'plane 3 "/device:CUSTOM:x"\nline 1 "a"\n0us +1us e\n'
    assert listed(custom) == ([(4, "/device:CUSTOM:x")], [(4, 1, "a")])
    assert listed(custom + 'plane 5 "/device:GPU:0"')[0] == [(6, "/device:GPU:0")]


def test_the_first_plane_of_the_host_is_shown_and_no_other():
    planes = [f'plane 0 "/host:CPU{more}"\nline 1 "a"\n0us +1us {name}\n' for more, name in ((" [1]", "e"), ("", "f"))]
    assert listed("".join([*planes, planes[1]]))[0] == [(701, "/host:CPU")]
    assert [e["name"] for e in legacy("".join(planes))["traceEvents"] if e.get("ph") == "X"] == ["f"]


def test_events_on_lines_of_asynchronous_transfers_are_left_out_and_no_others():
    text = 'plane 0 "/device:TPU:0"\nline 1 "Async XLA Ops"\n0us +1us e\n1us +1us e {_a=1, flow=u7}\n'
    text += 'line 2 "XLA Ops"\n0us +1us f\n1us +1us g {_a=1, flow=u7}\n'
    assert listed(text)[1] == [(1, 1, "Async XLA Ops"), (1, 2, "XLA Ops")]
    assert [e["name"] for e in legacy(text)["traceEvents"] if e.get("ph") == "X"] == ["f", "g"]


def test_device_planes_are_listed_even_without_lines():
    found = legacy('plane 1 "/device:TPU:0"')["traceEvents"]
    assert [e["args"]["name"] for e in found if e.get("name") == "process_name"] == ["/device:TPU:0"]


def test_several_hosts_keep_apart():
    host = 'plane 0 "/host:CPU"\nline 1 "a"\n0us +1us e'
    found = legacy(host, host)["traceEvents"]
    assert [(e["pid"], e["args"]["name"]) for e in found if e.get("name") == "process_name"] == [
        (1701, "h0 /host:CPU"),
        (2701, "h1 /host:CPU"),
    ]
    assert [e["pid"] for e in found if e.get("ph") == "X"] == [1701, 2701]
    assert found[-1] == {}


@pytest.mark.parametrize(("hosts", "shown"), [(1, ["a", "b", "c", "d"]), (2, ["a", "b", "a", "b"]), (3, ["a"] * 3)])
def test_several_hosts_share_the_largest_number_of_events(monkeypatch, hosts, shown):
    monkeypatch.setattr(trace_viewer, "LEGACY_CAP", 4)
    host = 'plane 0 "/host:CPU"\nline 1 "l"\n0us +1us a\n2us +1us b\n4us +1us c\n6us +1us d\n8us +1us e'
    assert [e["name"] for e in legacy(*[host] * hosts)["traceEvents"] if e.get("ph") == "X"] == shown
