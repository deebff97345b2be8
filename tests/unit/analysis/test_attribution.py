"""Which op an event runs: by its own stats, those of its metadata; and which call of the host launched it."""

from __future__ import annotations

import numpy as np
import pytest
from builders.programs.hlo import metadata_plane, relu_program
from builders.xspace_text import build

from tpu_profile_plugin.analysis.attribution import (
    NO_OP,
    EventOp,
    event_ops,
    hlo_runs,
    named_ops,
    row_ops,
    split_source,
)
from tpu_profile_plugin.analysis.common.planes import device_planes, host_plane
from tpu_profile_plugin.analysis.devices.inventory import devices_of
from tpu_profile_plugin.analysis.devices.launches import KEYS, host_calls
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.analysis.summary.op_summary import cpu_op_table
from tpu_profile_plugin.columns import XSpace, load_lazily

GPU = """
plane 1 "/device:GPU:0"
  line 5 "Stream #5"
    1us +1us k {hlo_op="outer::dot.1", hlo_module="jit_f", program_id=u7, tf_op="f/dot:", correlation_id=3}
    3us +1us k {hlo_op="outer::dot.1", hlo_module="jit_f", program_id=u7, tf_op="f/sum:", correlation_id=4}
    5us +1us copy {correlation_id=9}
    7us +1us k {tf_op="f/dot:"}
plane 7 "/host:CPU"
  line 1 main
    0us +1us other
    0us +1us launch {correlation_id=3}
    2us +1us launch {correlation_id=4}
    2us +2us again {correlation_id=4}
"""
DOT = EventOp(7, "jit_f", "outer::dot.1", "f/dot:")


def profile(text: str) -> XSpace:
    return load_lazily(np.frombuffer(build(text), np.uint8))


def test_events_name_ops_in_their_stats() -> None:
    space = profile(GPU)
    named = named_ops(space, device_planes(space)[0])
    assert [named.at(code) for code in named.op.tolist()] == [
        DOT,
        DOT._replace(framework_op="f/sum:"),
        NO_OP,
        EventOp(framework_op="f/dot:"),
    ]
    assert (DOT.hlo_op, DOT.key) == ("dot.1", (7, "dot.1"))
    hlo, framework = named.hlo(), named.by("framework_op")
    assert (hlo.op.tolist(), [op.key for op in hlo.ops]) == ([0, 0, -1, -1], [(7, "dot.1")])
    assert [framework.at(code).framework_op for code in framework.op.tolist()] == ["f/dot:", "f/sum:", "", "f/dot:"]
    assert framework.op[0] == framework.op[3]


def test_events_without_some_of_the_stats_have_none_of_them() -> None:
    stats = 'hlo_op="a", tf_op="x:"', 'hlo_op="b", tf_op="y:"', 'hlo_op="b"', 'tf_op="x:"'
    events = "\n".join(f"{i}us +1us k {{{one}}}" for i, one in enumerate(stats))
    space = profile(f'plane 1 "/device:GPU:0"\nline 1 a\n{events}')
    named = named_ops(space, space.planes[0])
    found = [named.at(code) for code in named.op.tolist()]
    assert [(op.path, op.framework_op) for op in found] == [("a", "x:"), ("b", "y:"), ("b", ""), ("", "x:")]


def test_ops_are_kept_and_counted_as_long_as_the_plane_is_decoded() -> None:
    space = profile(GPU)
    (plane,) = device_planes(space)
    space.decode([plane])
    assert "hlo_op" in plane.stat_metadata.names  # texts count, too, once they are read
    before, named = plane.nbytes, named_ops(space, plane)
    assert named_ops(space, plane) is named
    assert plane.nbytes == before + named.op.nbytes
    assert any(array is named.op for array in space.arrays())
    plane.unload()
    assert plane.nbytes == 0
    assert named_ops(space, plane) is not named


def test_metadata_describes_ops_of_tpus() -> None:
    space = profile("""
plane 1 "/device:TPU:0"
  metadata "%copy-start.3 = f32[8] copy-start()" {program_id=u7, source="/m.py:12", hlo_category="x"} display="copy"
  metadata "fusion.2" {program_id=-1, flops=5}
  metadata "nothing"
""")
    (plane,) = space.planes
    ops = dict(zip(plane.event_metadata.names, row_ops(space, plane), strict=True))
    assert ops["%copy-start.3 = f32[8] copy-start()"] == EventOp(
        7, path="copy-start.3", source_file="/m.py", source_line=12, category="x"
    )
    assert ops["fusion.2"] == EventOp(2**64 - 1, path="fusion.2", flops=5.0)
    assert ops["nothing"] == NO_OP


def test_events_that_complete_an_op_of_the_cpu_are_no_runs_of_it() -> None:
    space = profile("""
plane 1 "/host:CPU"
  line 1 "tf_XLAEigen/1"
    0us +5us "end: dot.1" {hlo_op="dot.1", program_id=u7}
    6us +3us dot.1 {hlo_op="dot.1", program_id=u7}
    10us +1us "end: dot.1" {_c=3}
    12us +1us add.2 {hlo_op="add.2", program_id=u7}
    14us +1us "end: mul.3" {hlo_op="mul.3", program_id=u7}
""")
    (plane,) = space.planes
    named, runs = hlo_runs(space, plane)
    assert [named.at(named.op[run]).path for run in runs.tolist()] == ["dot.1", "add.2"]
    table, _ = cpu_op_table(space, HloOps(space))
    assert (table.name, (table.time_ps // 1_000_000).tolist()) == (("dot.1", "add.2"), [3, 1])
    assert table.total_ps == 7_000_000


def test_an_op_is_completed_by_what_another_knows() -> None:
    assert EventOp(path="a", flops=0.0).filled_from(EventOp(3, path="b", category="c", flops=2.0)) == EventOp(
        3, path="a", category="c", flops=0.0
    )


def test_the_call_that_launched_a_kernel() -> None:
    space = profile(GPU)
    (device,) = devices_of(space, hlo_programs(space))
    host = host_plane(space)
    assert host is not None
    space.decode([host])
    calls = host_calls(space, (KEYS["gpu"],), host)
    launched_by = calls.launching(device.launch_key)
    assert launched_by.tolist() == [0, 1, -1, -1]
    names = [host.event_metadata.names[row] for row in host.events.metadata[calls.event].tolist()]
    assert names == ["launch", "launch"]
    assert (calls.begin_ps // 1_000_000).tolist() == [0, 2]
    assert len(host_calls(space, ("run_id",), host)) == 0


@pytest.mark.parametrize(
    ("source", "split"),
    [
        ("/m.py:12", ("/m.py", 12)),
        ("m.py:1000", ("m.py", 1000)),
        ("m.py: -1000 ", ("m.py", -1000)),
        ("m.py:2147483647", ("m.py", 2147483647)),
        ("m.py:2147483648", ("", 0)),
        ("m.py:-2147483648", ("m.py", -2147483648)),
        ("m.py:-2147483649", ("", 0)),
        (f"m.py:{12:031}", ("m.py", 12)),
        (f"m.py:{12:032}", ("", 0)),
        ("m.py:", ("", 0)),
        ("m.py", ("", 0)),
        ("12", ("", 0)),
        ("C:m.py:12", ("", 0)),
        ("", ("", 0)),
    ],
)
def test_file_and_line_of_a_source(source: str, split: tuple[str, int]) -> None:
    assert split_source(source) == split


def described(text: str, plane: int = 0) -> list[EventOp]:
    """The op of each event of a plane."""
    space = profile(text)
    found = event_ops(space, space.planes[plane], HloOps(space))
    return [found.ops[code] for code in found.op.tolist()]


def test_events_have_the_ops_that_their_stats_name() -> None:
    dot = DOT._replace(hlo_module="jit_f(7)")
    assert described(GPU) == [dot, dot._replace(framework_op="f/sum:"), NO_OP, EventOp(framework_op="f/dot:")]
    assert described(GPU, 1) == [NO_OP] * 4


def test_what_an_event_does_not_tell_its_metadata_does() -> None:
    text = """
plane 1 "/device:TPU:0"
  line 1 "XLA Ops"
    0us +1us a
    1us +1us a {tf_op="own/mul:Mul"}
    2us +1us a {program_id=u9, hlo_op="other"}
    3us +1us b {tf_op="own/mul:Mul"}
    4us +1us c
    5us +1us d
  metadata a {program_id=u7, symbol_id=u1, tf_op="f/add:Add", hlo_category="x", flops=5}
  metadata c {tf_op="XlaModule:", program_id=u8}
  metadata d {program_id=u8, symbol_id=u2, hlo_category="y"}
  line 2 "XLA Modules"
    0us +3us "jit_f(7)"
    3us +3us "jit_g(8)"
"""
    a = EventOp(7, "jit_f(7)", "a", "f/add:Add", category="x", flops=5.0)
    assert described(text) == [
        *(a, a._replace(framework_op="own/mul:Mul"), a._replace(program=9, hlo_module="", path="other")),
        *(EventOp(framework_op="own/mul:Mul"), EventOp(8, "jit_g(8)", "c"), EventOp(8, "jit_g(8)", "d", category="y")),
        *(EventOp(hlo_module="jit_f(7)"), EventOp(hlo_module="jit_g(8)")),
    ]


def test_names_of_framework_ops_are_ops_on_the_host_alone() -> None:
    events = 'line 1 a\n0us +1us "m/x:Add"\n1us +1us train\n2us +1us "jit(f):f"\n3us +1us "a::b"'
    assert described(f'plane 1 "/host:CPU"\n{events}') == [EventOp(framework_op="m/x:Add"), *[NO_OP] * 3]
    assert described(f'plane 1 "/device:GPU:0"\n{events}') == [NO_OP] * 4


def test_the_program_of_an_op_tells_what_it_is() -> None:
    ops = "\n".join(
        f'{i}us +1us k {{hlo_op="{name}", program_id=u7, tf_op="x"}}' for i, name in enumerate(("fusion.1", "gone"))
    )
    text = f'plane 1 "/device:GPU:0"\nline 1 a\n{ops}\n{metadata_plane(jit_f=(7, relu_program()))}'
    fusion, gone = described(text)
    assert (fusion.hlo_module, fusion.framework_op, fusion.category) == ("jit_f(7)", "jit(f)/max:", "loop fusion")
    # 1024 numbers are read and written.
    assert (fusion.bytes, fusion.source) == (2 * 4096, "")
    assert fusion.flops
    assert gone == EventOp(7, "jit_f(7)", "gone", "x")
    # What a profiler of TPUs tells counts.
    tpu = 'plane 1 "/device:TPU:0"\nline 1 "XLA Ops"\n0us +1us fusion.1\n'
    tpu += 'metadata fusion.1 {program_id=u7, hlo_category="own"}'
    assert described(f"{tpu}\n{metadata_plane(jit_f=(7, relu_program()))}") == [
        EventOp(7, "jit_f(7)", "fusion.1", category="own")
    ]
