"""The selection of a timeline in Python: the same events, as rows of `run.events()`."""

from __future__ import annotations

from typing import Any

from builders.logdirs import build

import tpu_profile_plugin as tp

TEXT = """
plane 1 "/device:TPU:0"
  line 1 "XLA Ops"
    0 +100 loop
    10 +20 add
    200 +100 loop
    210 +20 add
plane 2 "/host:CPU"
  line 7 "main"
    0 +300 step
    10 +20 add
"""
OPS = ("host", "/device:TPU:0", "XLA Ops")
MAIN = ("host", "/host:CPU", "main")


def selected(lines: list[Any], events: list[Any], area: Any = None) -> list[tuple[Any, ...]]:
    widget = tp.open(build(TEXT)).run().widget("trace_viewer@")
    widget.selected = {"lines": [list(line) for line in lines], "events": events, "area": area}
    frame = widget.selection
    columns = [frame[name] for name in ("plane", "name", "begin_ps", "duration_ps", "self_ps")]
    return list(zip(*columns, strict=True))


def test_nothing_is_selected_at_first() -> None:
    run = tp.open(build(TEXT)).run()
    frame = run.widget().selection
    assert len(frame) == 0
    assert list(frame.columns) == [column.id for column in run.events().columns]


def test_events_are_found_by_line_name_and_times() -> None:
    found = selected([OPS, MAIN], [[0, "add", 210, 20], [1, "add", 10, 20], [1, "step", 0, 300]])
    assert found == [
        ("/device:TPU:0", "add", 210, 20, 20),
        ("/host:CPU", "step", 0, 300, 280),
        ("/host:CPU", "add", 10, 20, 20),
    ]


def test_what_is_not_in_the_profile_is_left_out() -> None:
    assert selected([OPS, ("host", "/host:GPU", "main")], [[0, "add", 210, 21], [1, "add", 10, 20]]) == []


def test_a_rectangle_has_all_events_of_its_rows_that_overlap_it() -> None:
    area = {"begin": 25, "end": 205, "name": None, "rows": [[0, 0, 0]]}
    assert selected([OPS], [], area) == [("/device:TPU:0", "loop", 0, 100, 80), ("/device:TPU:0", "loop", 200, 100, 80)]
    area = {"begin": 0, "end": 300, "name": "add", "rows": [[0, 0, 1], [1, 0, 0]]}
    assert [row[:3] for row in selected([OPS, MAIN], [], area)] == [
        ("/device:TPU:0", "add", 10),
        ("/device:TPU:0", "add", 210),
    ]
