"""Shares of framework ops are of their side's time, the host's or the device's."""

from __future__ import annotations

from builders.asked import ask, rows

from tpu_profile_plugin.tools.ops import framework_op_stats

TEXT = """
plane 0 "/host:CPU"
line 1 main
0us +30us "h:Add"
30us +10us "i:Mul"
plane 1 "/device:TPU:0"
metadata a {program_id=7, symbol_id=1, hlo_category="c", tf_op="d:Add"}
metadata b {program_id=7, symbol_id=2, hlo_category="c", tf_op="e:Mul"}
line 5 "XLA Ops"
0us +1us a
1us +4us b
"""


def test_an_op_has_a_share_of_the_time_of_its_side_alone() -> None:
    names = ("host_or_device", "operation", "device_total_self_time_percent", "host_total_self_time_percent")
    found = {row[:2]: row[2:] for row in rows(ask(framework_op_stats.TOOL, TEXT)[1], *names)}
    assert found == {
        ("Host", "h"): (0, 0.75),
        ("Host", "i"): (0, 0.25),
        ("Device", "d"): (0.2, 0),
        ("Device", "e"): (0.8, 0),
    }
