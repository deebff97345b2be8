"""The drawing of memory over time: place and size of every rectangle, and what its tooltip says."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tpu_profile_plugin.tools.memory.memory_viewer.tool import drawing

MIB = 1 << 20


def rectangles(*blocks: dict[str, Any]) -> list[tuple[float, ...]]:
    """(x, y, width, height) of every rectangle, on the page's 1600 x 900."""
    page = drawing("m", [{"color": "#fff", **block} for block in blocks]).decode()
    pattern = r'<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"'
    return [tuple(map(float, found)) for found in re.findall(pattern, page)]


def test_columns_are_events_and_rows_are_bytes() -> None:
    heap = {"size": 90, "endStep": 7}
    first = {"size": 30, "startStep": 1, "endStep": 2, "offset": 20}
    last = {"size": 40, "startStep": 4, "endStep": 7, "offset": 50}
    assert rectangles(heap, first, last) == [(0, 0, 1600, 900), (200, 200, 400, 300), (800, 500, 800, 400)]


def test_the_end_of_the_last_buffer_is_the_bottom() -> None:
    assert rectangles({"size": 30, "endStep": 0, "offset": 60}) == [(0, 600, 1600, 300)]


def test_buffers_without_bytes_take_no_room() -> None:
    assert rectangles({"endStep": 1, "size": 0}) == [(0, 0, 1600, 0)]


def test_the_tooltip_has_size_place_and_events() -> None:
    block = {"name": "a", "size": 3 * MIB // 2, "offset": 64, "startStep": 2, "endStep": 5, "color": "#ffffff"}
    one = drawing("m", [block]).decode()
    assert "<title>a: 1.500 MiB at 64, events 2 to 5</title>" in one
    assert 'fill="#ffffff"' in one
    more = drawing("m", [{**block, "shapeString": "f32[8]", "tfOpName": "jit(f)/add"}]).decode()
    assert "<title>a: 1.500 MiB at 64, events 2 to 5\nf32[8]\njit(f)/add</title>" in more


@pytest.mark.parametrize(("blocks", "said"), [([], True), ([{"color": "#fff", "size": 1, "endStep": 1}], False)])
def test_a_program_without_blocks_is_said_to_have_no_trace(blocks: list[dict[str, Any]], said: bool) -> None:
    page = drawing("<m>", blocks).decode()
    assert ("no heap simulator trace" in page) is said
    assert "<h1>&lt;m&gt;: memory over time</h1>" in page
    assert 'viewBox="0 0 1600 900" width="1600" height="900"' in page
