"""Which op an event runs: by its own stats, those of its metadata; and which call of the host launched it."""

from __future__ import annotations

import numpy as np
import pytest
from builders.xspace_text import build

from tpu_profile_plugin.analysis.attribution import NO_OP, EventOp, hlo_runs, named_ops, row_ops, split_source
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
