"""Profile contents: literal profile in, literal rows out."""

from builders.answers import run_of
from builders.logdirs import SMALL

from tpu_profile_plugin.tools.summary.profile_contents import TOOL


def rows(*texts):
    table = TOOL.build(run_of(*texts), TOOL.query({}))
    return [tuple(row.values()) for row in table]


def test_a_row_per_line_with_times_since_the_first_event():
    us = 1_000_000
    assert rows(SMALL) == [
        ("h0", "/host:CPU", "python", 3, 2, 1, 0, 10 * us, 10 * us, 100.0),
        ("h0", "/device:TPU:0", "XLA Ops", 1, 1, 1, 2 * us, 7 * us, 5 * us, 100.0),
    ]


def test_every_host_counts_from_its_own_first_event():
    found = rows(SMALL, 'plane 1 "p"\nline 1 "l" @1000000us\n1us +2us a\n5us +2us b')
    assert found[2] == ("h1", "p", "l", 2, 2, 0, 0, 6_000_000, 4_000_000, 100 * 4 / 6)


def test_planes_and_lines_without_events():
    assert rows('plane 1 "empty"\nplane 2 "p"\nline 1 "l" @5ns "shown"') == [
        ("h0", "empty", "", 0, 0, 0, None, None, 0, None),
        ("h0", "p", "shown", 0, 0, 0, None, None, 0, None),
    ]


def test_instants_have_no_share():
    assert rows('plane 1 "p"\nline 1 "l" @0ns\n1us +0us a')[0][-3:] == (0, 0, None)


def test_an_empty_file_has_no_rows():
    assert rows("") == []
