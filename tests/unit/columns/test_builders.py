"""The text notation for profiles."""

from __future__ import annotations

import pytest
from builders import planes, xspace_text
from builders.messages import XSpace

TEXT = """
host "vm 0"
plane 2 "/device:TPU:0" {device_type_string="TPU v6 Lite", peak=1.5}
  line 5 "XLA Ops" @1000ns display=7 "shown name"   # a comment
    metadata while.2 id=77 {n=1} display="while" bytes=0x0102 children=1,2
    100us +5us fusion.1 {flops=123, run_id=u5, tf_op="a/b:MatMul", ratio=0.5d, ref=&"text", raw=0x0102, z=z"long"}
    x12 +7 while.2
  metadata fusion.1 {hlo_category="loop fusion", neg=-4}
plane "/host:CPU"
"""


def test_every_statement_reaches_the_message() -> None:
    space = XSpace.FromString(xspace_text.build(TEXT))
    assert list(space.hostnames) == ["vm 0"]
    plane = space.planes[0]
    assert (plane.id, plane.name, space.planes[1].name) == (2, "/device:TPU:0", "/host:CPU")
    names = {key: value.name for key, value in plane.stat_metadata.items()}
    assert [(names[s.metadata_id], s.WhichOneof("value")) for s in plane.stats] == [
        ("device_type_string", "str_value"),
        ("peak", "double_value"),
    ]
    line = plane.lines[0]
    assert (line.id, line.timestamp_ns, line.display_id, line.display_name) == (5, 1000, 7, "shown name")
    first, second = line.events
    assert (first.offset_ps, first.duration_ps) == (100_000_000, 5_000_000)
    assert [(names[s.metadata_id], s.WhichOneof("value")) for s in first.stats] == [
        ("flops", "int64_value"),
        ("run_id", "uint64_value"),
        ("tf_op", "str_value"),
        ("ratio", "double_value"),
        ("ref", "ref_value"),
        ("raw", "bytes_value"),
        ("z", "compressed_str_value"),
    ]
    assert names[first.stats[4].ref_value] == "text"
    assert (second.num_occurrences, second.duration_ps, second.metadata_id) == (12, 7, 77)
    metadata = plane.event_metadata[77]
    assert (metadata.name, metadata.display_name, metadata.metadata, list(metadata.child_id)) == (
        "while.2",
        "while",
        b"\x01\x02",
        [1, 2],
    )


@pytest.mark.parametrize("text", ["plane", "line 5 x", "plane p\nline l\n 5 6 name", "plane p {a=}", "plane p junk"])
def test_syntax_errors_name_the_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"^line [123]: "):
        xspace_text.build(text)


def test_planes_of_devices_and_hosts_are_put_together() -> None:
    ops = planes.in_each_step("0 60 fusion.1\n60 20 %copy.2 = f32[8] copy()", 2, 100)
    text = planes.profile(
        planes.tpu(ops, steps=planes.device_steps(2, 100, 90)),
        planes.gpu("5us +3us k"),
        planes.host(
            planes.marked("10 5 $a.py:1 f {n=1}", steps=2, period=100),
            planes.xla_on_cpu("0 9 dot.1\n9 1 add.2 {run_id=7}"),
            name="a",
        ),
    )
    assert text.splitlines() == [
        'plane 0 "/device:TPU:0" {device_type_string="TPU v4"}',
        "line 1 Steps",
        "0us +90us 0 {_ct=9, _c=0}",
        "100us +90us 1 {_ct=9, _c=1}",
        'line 3 "XLA Ops"',
        "0us +60us fusion.1",
        '60us +20us "%copy.2 = f32[8] copy()"',
        "100us +60us fusion.1",
        '160us +20us "%copy.2 = f32[8] copy()"',
        'metadata fusion.1 {program_id=u7, symbol_id=u1, hlo_category="loop fusion"}',
        'metadata "%copy.2 = f32[8] copy()" {program_id=u7, symbol_id=u2, hlo_category="copy"} display=copy.2',
        'plane 1 "/device:GPU:0"',
        'line 1 "Stream #1"',
        "5us +3us k",
        "host a",
        'plane 9 "/host:CPU"',
        "line 1 main",
        "0us +100us train {_r=1, step_num=0}",
        '10us +5us "$a.py:1 f" {n=1}',
        "100us +100us train {_r=1, step_num=1}",
        '110us +5us "$a.py:1 f" {n=1}',
        "line 2 worker",
        '0us +9us dot.1 {hlo_op="dot.1", device_ordinal=0, program_id=7, run_id=1}',
        '9us +1us add.2 {run_id=7, hlo_op="add.2", device_ordinal=0, program_id=7}',
    ]
    with pytest.raises(ValueError, match="not a short event"):
        planes.in_each_step("5us +3us k")
