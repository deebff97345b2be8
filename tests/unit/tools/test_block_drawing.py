"""The drawing of memory over time: place and size of every rectangle, and what its tooltip says."""

from __future__ import annotations

import re

import pytest
from builders.answers import payload, run_of
from builders.programs.buffers import allocation, assignment, buffer, instruction_id, profile, trace
from builders.programs.hlo import op, program

from tpu_profile_plugin.analysis.memory.buffers import Block
from tpu_profile_plugin.tools.memory.memory_viewer import TOOL, ShownBlock, drawing

MIB = 1 << 20


def shown(size: int, end: int, begin: int = 0, offset: int = 0) -> ShownBlock:
    return ShownBlock(Block(None, 0, offset, size, begin, end, 0), "#ffffff", "a")


def drawn(*blocks: ShownBlock, title: str = "m") -> str:
    return drawing(title, blocks).body.decode()


def rectangles(*blocks: ShownBlock) -> list[tuple[float, ...]]:
    """(x, y, width, height) of every rectangle, on the page's 1600 x 900."""
    pattern = r'<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"'
    return [tuple(map(float, found)) for found in re.findall(pattern, drawn(*blocks))]


def test_columns_are_events_and_rows_are_bytes() -> None:
    heap = shown(90, 7)
    first, last = shown(30, 2, begin=1, offset=20), shown(40, 7, begin=4, offset=50)
    assert rectangles(heap, first, last) == [(0, 0, 1600, 900), (200, 200, 400, 300), (800, 500, 800, 400)]


def test_the_end_of_the_last_buffer_is_the_bottom() -> None:
    assert rectangles(shown(30, 0, offset=60)) == [(0, 600, 1600, 300)]


def test_buffers_without_bytes_take_no_room() -> None:
    assert rectangles(shown(0, 1)) == [(0, 0, 1600, 0)]


def test_the_tooltip_has_size_place_and_events() -> None:
    page = drawn(shown(3 * MIB // 2, 5, begin=2, offset=64))
    assert "<title>a: 1.500 MiB at 64, events 2 to 5</title>" in page
    assert 'fill="#ffffff"' in page


def test_the_tooltip_of_a_buffer_has_shape_and_framework_op() -> None:
    parts = (buffer(1, MIB, instruction_id(0)), allocation(0, MIB, [(1, 0, MIB)]), trace("alloc 1 a", "free 1 a"))
    module = program([op("a", "add", "f32[8]", op_name="jit(f)/add")]) + assignment(*parts)
    page = payload(TOOL, run_of(profile(jit_f=module)), view_memory_allocation_timeline="true").body.decode()
    assert "<title>a: 1.000 MiB at 0, events 0 to 1\nf32[8]\njit(f)/add</title>" in page


@pytest.mark.parametrize(("blocks", "said"), [([], True), ([shown(1, 1)], False)])
def test_a_program_without_blocks_is_said_to_have_no_trace(blocks: list[ShownBlock], said: bool) -> None:
    page = drawn(*blocks, title="<m>")
    assert ("no heap simulator trace" in page) is said
    assert "<h1>&lt;m&gt;: memory over time</h1>" in page
    assert 'viewBox="0 0 1600 900" width="1600" height="900"' in page
