"""Windows of convolutions: pairs of kernel element and output position, against counting them one by one."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from builders.programs.hlo import shape as shape_of

from tpu_profile_plugin.analysis.hlo.category import category
from tpu_profile_plugin.analysis.hlo.convolution_layout import BATCH, FEATURE, SPATIAL, UNKNOWN, _dimensions
from tpu_profile_plugin.analysis.hlo.cost.rules import _positions
from tpu_profile_plugin.protos import message

LARGEST = 1 << 20


def window(stride: int = 1, dilation: int = 1, base: int = 1, low: int = 0) -> Any:
    return SimpleNamespace(stride=stride, window_dilation=dilation, base_dilation=base, padding_low=low)


def counted(source: int, kernel: int, output: int, stride: int, dilation: int, base: int, low: int) -> int:
    """Pairs that fall on an element of the input, every pair looked at."""
    places = (y * stride + x * dilation - low for x in range(kernel) for y in range(output))
    return sum(place % base == 0 and 0 <= place < base * source for place in places)


@pytest.mark.parametrize("source", [1, 2, 5])
@pytest.mark.parametrize(("kernel", "output"), [(1, 1), (1, 4), (3, 3), (2, 5), (4, 2)])
def test_positions_are_the_pairs_that_fall_on_an_element(source: int, kernel: int, output: int) -> None:
    for stride, dilation, base, low in product((1, 2, 3), (1, 2), (1, 2, 3, 4), (-2, 0, 1, 3)):
        expected = counted(source, kernel, output, stride, dilation, base, low)
        found = _positions(window(stride, dilation, base, low), source, kernel, output)
        assert found == expected, (stride, dilation, base, low)


def test_absent_strides_and_dilations_are_one() -> None:
    assert _positions(window(0, 0, 0), 5, 2, 4) == counted(5, 2, 4, 1, 1, 1, 0) == 8


@pytest.mark.parametrize(("source", "kernel", "output"), [(0, 1, 1), (1, 0, 1), (1, 1, 0), (-1, 1, 1)])
def test_without_elements_there_are_no_positions(source: int, kernel: int, output: int) -> None:
    assert _positions(window(), source, kernel, output) == 0


@pytest.mark.parametrize("damaged", [window(stride=-1), window(dilation=-1), window(base=-1)])
def test_steps_backwards_are_damaged(damaged: Any) -> None:
    assert (_positions(damaged, 3, 2, 3), _positions(damaged, 3, 3, 2)) == (0, 0)


def test_the_shorter_side_may_have_so_many_elements() -> None:
    for kernel, output in ((LARGEST, LARGEST + 1), (LARGEST + 1, LARGEST)):
        assert _positions(window(), 1, kernel, output) == 1
    assert _positions(window(), 1, LARGEST + 1, LARGEST + 1) == 0


def layout(text: str, **fields: Any) -> list[tuple[int, int, str]]:
    """(size, alignment, meaning) of the dimensions of a convolution with this result, most-minor first."""
    one = message("xla.HloInstructionProto")(shape=shape_of(text), **fields)
    return [(found.size, found.alignment, found.semantics) for found in _dimensions(one)]


def test_dimensions_of_a_result_from_the_most_minor_one() -> None:
    numbers = {"output_batch_dimension": 0, "output_feature_dimension": 3, "output_spatial_dimensions": [1]}
    assert layout("f32[2,3,5,7]{3,2,1,0:T(8,128)}", convolution_dimension_numbers=numbers) == [
        (7, 128, FEATURE),
        (5, 8, UNKNOWN),
        (3, 1, SPATIAL),
        (2, 1, BATCH),
    ]
    assert layout("f32[2,3]{1,0:T(8,128)}") == [(3, 128, UNKNOWN), (2, 8, UNKNOWN)]
    assert layout("f32[2,3]{0,1}") == [(2, 1, UNKNOWN), (3, 1, UNKNOWN)]


def test_dimensions_that_the_result_does_not_have_are_left_out() -> None:
    assert layout("f32[2,3]{2,1,0}") == [(3, 1, UNKNOWN), (2, 1, UNKNOWN)]
    negative = message("xla.HloInstructionProto")(shape=shape_of("f32[2,3]"))
    negative.shape.layout.minor_to_major.extend([-1, 1])
    assert [found.size for found in _dimensions(negative)] == [3]


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ([], "convolution"),
        ([{"base_dilation": 1, "window_dilation": 1}], "convolution"),
        ([{"base_dilation": 2, "window_dilation": 1}], "convolution base-dilated"),
        ([{"base_dilation": 1}, {"window_dilation": 2}], "convolution window-dilated"),
        ([{"base_dilation": 2}, {"window_dilation": 2}], "convolution base-dilated window-dilated"),
    ],
)
def test_convolutions_are_dilated_from_two_on(windows: list[dict[str, int]], expected: str) -> None:
    fields = {"opcode": "convolution", "window": {"dimensions": windows}}
    assert category(message("xla.HloInstructionProto")(**fields)) == expected
