"""What tools decode of a host: planes that an answer does not depend on stay undecoded, and answers stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builders.answers import answer, answer_and_hosts, answer_of, hosts_of, rows
from builders.xspace_text import build, build_message

from tpu_profile_plugin.analysis.summary.host_summary import need_groups
from tpu_profile_plugin.columns import load_lazily
from tpu_profile_plugin.compat.xprof import FORMS
from tpu_profile_plugin.run.figures.ops import host_framework_ops
from tpu_profile_plugin.run.figures.summary import host_summary
from tpu_profile_plugin.tools.registry import find

HOST = """
plane 7 "/host:CPU"
  line 1 main
    0us +100us train {_r=1, step_num=0}
    10us +50us "MatMul:MatMul"
    20us +10us inner {_ct=12, _c=5, tf_op=&"a/b:Mul"}
    200us +100us train {_r=1, step_num=1}
    210us +50us "MatMul:MatMul"
  line 2 worker
    30us +10us dot.1 {hlo_op=&"dot.1", hlo_module="jit_f", program_id=3, device_ordinal=0}
    50us +30us fusion {hlo_op="fusion", program_id=u3}
"""
EAGER = """
    400us +100us EagerExecute {is_func=0, _r=1}
    410us +50us "Sum:Sum"
"""
GPU = """
plane 1 "/device:GPU:0"
  line 1 "Stream #1"
    0us +10us kernel_a {correlation_id=5, tf_op="x:Dot"}
    20us +10us kernel_a {correlation_id=6, tf_op="x:Dot"}
plane 7 "/host:CPU"
  line 1 main
    0us +100us launch {correlation_id=5}
"""


def decoded(tool: str, text: str, **params: str) -> list[str]:
    _, (host,) = answer_and_hosts(FORMS.get(tool) or find(tool), text, **params)
    return [plane.name for plane in host.lazy.planes if plane.decoded]


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("op_profile", {}),
        ("op_profile", {"backend": "cpu"}),
        ("hlo_stats", {}),
        ("hlo_stats", {"backend": "auto"}),
        ("roofline_model", {}),
        ("memory_profile", {}),
        ("kernel_stats", {}),
        ("inference_profile", {}),
        ("smart_suggestion", {}),
        ("tf_data_bottleneck_analysis", {}),
        ("framework_op_stats", {}),
        ("framework_op_stats", {"backend": "cpu"}),
    ],
)
def test_a_host_without_devices_is_not_decoded_whole(tool: str, params: dict[str, str]) -> None:
    assert decoded(tool, HOST, **params) == []


def test_memory_events_in_steps_need_the_groups() -> None:
    event = "30us +0us MemoryAllocation {index_on_host=0, bytes_allocated=5, allocation_bytes=5}"
    text = HOST.replace("  line 2 worker", f"    {event}\n  line 2 worker")
    assert decoded("memory_profile", text) == ["/host:CPU"]
    found = answer(find("memory_profile"), text)["memoryProfilePerAllocator"]["0"]
    assert [one["activityMetadata"]["stepId"] for one in found["memoryProfileSnapshots"]] == ["0"]


def test_only_gpus_are_decoded_for_their_ops() -> None:
    assert decoded("op_profile", GPU) == ["/device:GPU:0"]
    assert decoded("framework_op_stats", GPU) == ["/device:GPU:0"]
    assert decoded("op_profile", GPU, unattributed="true") == ["/device:GPU:0"]


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        (HOST, False),
        (GPU, False),
        (HOST + EAGER, True),
        (HOST + EAGER.replace("{is_func=0, _r=1}", "{_r=1}"), False),
        (HOST + EAGER.replace("EagerExecute", "EagerExecuted"), False),
        (HOST + '0us +1us "Add:Add" {is_eager=1}', True),
        (GPU + HOST.replace("plane 7", "plane 8").replace("/host:CPU", "Host CPUs"), True),
        (HOST + '\nplane 9 "/device:GPU:0"\nline 1 x', False),
    ],
)
def test_when_framework_ops_need_groups(text: str, needed: bool) -> None:
    space = load_lazily(np.frombuffer(build(text), np.uint8))
    assert need_groups(space) is needed
    assert [plane.name for plane in space.planes if plane.decoded] == [
        plane.name for plane in space.planes if plane.name == "/device:GPU:0"
    ]


@pytest.mark.parametrize(
    "text",
    [HOST, GPU, HOST + EAGER, HOST + '0us +1us "Add:Add" {is_eager=1}', GPU.replace("launch {", "launch {_r=1, "), ""],
)
def test_framework_ops_are_those_of_the_summary(text: str) -> None:
    tool, overview = find("framework_op_stats"), find("overview_page")
    alone, (host,) = answer_and_hosts(tool, text)
    assert not host.has(host_summary)
    _, hosts = answer_and_hosts(overview, text)
    assert hosts[0].has(host_summary)
    assert answer_of(tool, hosts) == alone
    assert not hosts[0].has(host_framework_ops)


def test_ops_of_several_hosts_are_added_up() -> None:
    table = answer(find("framework_op_stats"), HOST, HOST + EAGER)[0]
    assert rows(table, "type", "operation", "occurrences", "total_self_time", "eager") == [
        ["IDLE", "IDLE", 0, 300, "Function"],
        ["MatMul", "MatMul", 4, 180, "Function"],
        ["Sum", "Sum", 1, 50, "Eager"],
        ["Mul", "a/b", 2, 20, "Function"],
    ]


def odd() -> Any:
    """A host with events of metadata id 0, of ids without metadata, of ids beyond 2^16 and below 0; and a second plane
    of the same name, which is not read.
    """
    message = build_message(HOST + '500us +5us "Add:Add"\nplane 8 "/host:CPU"\nline 1 x\n0us +1us "Add:Add"')
    plane = message.planes[0]
    plane.event_metadata[0].name = "Zero:Zero"
    plane.event_metadata[1 << 20].name = "Large:Large"
    plane.event_metadata[-3].name = "Negative:Negative"
    first, second = plane.lines
    second.events[2].metadata_id = 999
    for event, number in zip([*first.events[3:], second.events[0]], [0, 1 << 20, -3], strict=True):
        event.metadata_id = number
    return message


def maps_first(message: Any) -> bytes:
    """The bytes with the metadata of each plane before its lines, as other writers have it."""
    out = b""
    for plane in message.planes:
        lines = type(plane)(lines=plane.lines).SerializeToString()
        rest = type(plane).FromString(plane.SerializeToString())
        del rest.lines[:]
        body = rest.SerializeToString(deterministic=True) + lines
        assert len(body) < 1 << 14
        out += b"\x0a" + bytes([len(body) & 0x7F | 0x80, len(body) >> 7]) + body
    return out


@pytest.mark.parametrize("data", [odd().SerializeToString(), maps_first(odd())], ids=["maps last", "maps first"])
@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("framework_op_stats", {}),
        ("framework_op_stats", {"backend": "cpu"}),
        ("op_profile", {"backend": "cpu"}),
        ("hlo_stats", {"backend": "cpu"}),
        ("memory_profile", {}),
    ],
)
def test_answers_do_not_depend_on_what_was_decoded_before(tool: str, params: dict[str, str], data: bytes) -> None:
    alone, (host,) = answer_and_hosts(find(tool), data, **params)
    assert not any(plane.decoded for plane in host.lazy.planes)
    host.forget("hlo_ops")
    whole = hosts_of(data)
    whole[0].lazy.decode()
    assert answer_of(find(tool), whole, **params) == alone


def test_ops_with_odd_ids() -> None:
    table = answer(find("framework_op_stats"), odd().SerializeToString())[0]
    assert rows(table, "type", "operation", "occurrences", "total_self_time") == [
        ["IDLE", "IDLE", 0, 140],
        ["Large", "Large", 1, 50],
        ["Zero", "Zero", 1, 50],
        ["MatMul", "MatMul", 1, 40],
        ["Negative", "Negative", 1, 10],
        ["Mul", "a/b", 1, 10],
    ]


def test_threads_are_those_with_any_event() -> None:
    """Of XLA ops on the CPU only some threads have any."""
    text = HOST + "\nline 3 other\n0us +1us x\nline 4 empty"
    alone = answer(find("hlo_stats"), text, backend="cpu")
    notes = answer(find("hlo_stats"), text, page=True, backend="cpu")["notes"]
    assert notes["limits"]["what"] == "what 3 threads of a CPU can do"
    assert rows(alone, "hlo_op_name", "total_self_time") == [["fusion", 30], ["dot.1", 10]]
