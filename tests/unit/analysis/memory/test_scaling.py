"""Buffers that grow with the batch, by dimensions and by names, and the peak for another batch."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders.programs.buffers import profile
from builders.programs.hlo import Op, op, program
from builders.shown import profile as columns

from tpu_profile_plugin.analysis.hlo.graph import Links
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.analysis.memory.scaling import (
    BatchDims,
    Guests,
    Sized,
    _bitcast,
    _convolution,
    _dot,
    _either,
    _gather,
    _hull,
    _life,
    _regrouped,
    assumed_scaling,
    corners,
    dimensions,
)

TRAINING = [
    Sized("parameter", "f32[64,1024]{1,0}", "params['w']", 262144),
    Sized("parameter", "f32[32,64]{1,0}", "images", 8192),
    Sized("parameter", "s32[32]{0}", "labels", 128),
    Sized("temporary", "f32[32,1024]{1,0}", "jit(f)/dot", 131072),
    Sized("temporary", "f32[1024,64]{1,0}", "jit(f)/transpose", 262144),
    Sized("temporary", "f32[96,10]{1,0}", "jit(f)/reshape", 3840),
    Sized("output", "f32[64,1024]{1,0}", "", 262144),
    Sized("constant", "f32[32]{0}", "", 128),
]


def test_arguments_and_activations_grow_parameters_and_their_gradients_do_not() -> None:
    found = assumed_scaling(TRAINING)
    assert found.batch == 32
    assert list(zip(found.scales, found.why, strict=True)) == [
        (False, "named params['w']"),
        (True, "first dimension is the batch, 32"),
        (True, "first dimension is the batch, 32"),
        (True, "has the dimension 32"),
        (False, "shaped as a parameter"),
        (True, "has a multiple of 32 as a dimension"),
        (False, "shaped as a parameter"),
        (False, "a constant"),
    ]


def test_parameters_are_known_by_their_results_or_storage() -> None:
    nameless = [
        Sized("parameter", "f32[64,8]", "a", 2048),
        Sized("parameter", "f32[100,8]", "b", 3200, returned=True),
        Sized("parameter", "f32[16,8]", "x", 512),
        Sized("output", "f32[64,8]", "", 2048),
    ]
    found = assumed_scaling(nameless)
    assert (found.batch, found.why[:2]) == (16, ("a result has its shape", "updated in place"))


def test_activations_grow_even_if_they_are_shaped_as_a_parameter() -> None:
    both = [
        Sized("parameter", "f32[32,64]", "params", 8192),
        Sized("parameter", "f32[32,8]", "x", 1024),
        Sized("temporary", "f32[32,64]", "", 8192, activation=True),
        Sized("temporary", "f32[32,64]", "", 8192),
    ]
    assert assumed_scaling(both).scales == (False, True, True, False)


def test_the_batch_is_the_first_dimension_that_most_bytes_have() -> None:
    two = [
        Sized("parameter", "f32[7,4]", "mask", 112),
        Sized("parameter", "f32[16,4]", "x", 256),
        Sized("temporary", "f32[16,400]", "", 25600),
    ]
    assert assumed_scaling(two).batch == 16


def test_with_a_small_batch_multiples_are_no_sign() -> None:
    small = [Sized("parameter", "f32[4,3]", "x", 48), Sized("temporary", "f32[100,3]", "", 1200)]
    assert assumed_scaling(small).scales == (True, False)


def sized(*rows: tuple[Any, ...]) -> tuple[int, list[tuple[bool, str]]]:
    """The batch, and the last word of each reason."""
    found = assumed_scaling([Sized(kind, shape, path, size, **more) for kind, shape, path, size, more in rows])
    return found.batch, [(scales, why.split()[-1]) for scales, why in zip(found.scales, found.why, strict=True)]


def test_what_grows_by_dimensions_names_and_storage() -> None:
    assert sized(
        ("parameter", "f32[64,3]", "images", 29, {}),
        ("parameter", "f32[1,8]", "x", 98, {"returned": True}),
        ("output", "f32[16,32]", "", 53, {}),
        ("parameter", "f32[8]", "x", 52, {}),
        ("temporary", "f32[1,8]", "labels", 70, {"activation": True}),
    ) == (8, [(False, "8"), (False, "place"), (True, "dimension"), (True, "8"), (True, "8")])
    assert sized(
        ("output", "f32[1,8]", "labels", 62, {"dims": frozenset((2, 0))}),
        ("output", "f32[]", "x", 81, {}),
        ("parameter", "f32[16,32]", "labels", 45, {}),
        ("temporary", "f32[8,16]", "", 45, {"dims": NONE}),
    ) == (16, [(True, "batch"), (False, "16"), (True, "16"), (False, "batch")])
    assert sized(
        ("parameter", "f32[1,8]", "params", 24, {"dims": frozenset((1, 0))}),
        ("parameter", "f32[8]", "images", 87, {}),
        ("constant", "f32[32]", "", 80, {}),
        ("temporary", "f32[1,8]", "params", 90, {}),
        ("output", "f32[8]", "labels", 23, {"returned": True}),
    ) == (8, [(False, "params"), (True, "8"), (False, "constant"), (False, "parameter"), (True, "8")])
    # A first dimension of 1 is no batch; all that is as long as a vector of parameters is not shaped as one.
    assert sized(
        ("parameter", "f32[1,8]", "images", 40, {}),
        ("parameter", "f32[16,32]", "images", 18, {}),
        ("parameter", "f32[]", "images", 4, {}),
        ("temporary", "f32[1,9]", "", 1000, {}),
        ("parameter", "f32[16]", "params", 27, {}),
        ("output", "f32[16]", "", 27, {}),
    ) == (16, [(False, "16"), (True, "16"), (False, "16"), (False, "16"), (False, "params"), (True, "16")])
    assert sized(
        ("parameter", "f32[8]", "labels", 27, {}),
        ("parameter", "f32[32]", "params", 72, {}),
        ("output", "f32[64,3]", "labels", 85, {}),
        ("output", "f32[32]", "labels", 20, {}),
        ("output", "f32[8]", "", 20, {}),
    ) == (8, [(True, "8"), (False, "params"), (True, "dimension"), (True, "dimension"), (True, "8")])
    assert sized(
        ("output", "f32[8,8]", "x", 64, {}), ("output", "f32[]", "labels", 42, {}),
        ("parameter", "f32[8,8]", "", 15, {}), ("temporary", "f32[1,8]", "params", 3, {"dims": NONE}),
    ) == (0, [(False, "batch"), (False, "batch"), (False, "shape"), (False, "batch")])  # fmt: skip


@pytest.mark.parametrize("path", ["params['w']", "opt_state[0].mu", "state.step", "kv_cache", "W/kernel", "key"])
def test_names_of_what_stays(path: str) -> None:
    assert assumed_scaling([Sized("parameter", "f32[8,8]", path, 256)]).scales == (False,)


@pytest.mark.parametrize("path", ["images", "tokens", "x", "batch['inputs']", "keyframes"])
def test_names_of_what_grows(path: str) -> None:
    assert assumed_scaling([Sized("parameter", "f32[8,8]", path, 256)]).scales == (True,)


def test_without_arguments_nothing_grows() -> None:
    found = assumed_scaling([Sized("temporary", "f32[8]", "", 32), Sized("parameter", "f32[]", "x", 4)])
    assert (found.batch, found.scales, found.why[0]) == (0, (False, False), "no argument has a batch")


def test_dimensions() -> None:
    shapes = ("f32[2,3]{1,0:T(8,128)}", "f32[]", "(f32[2], s32[])", "", "bf16[7]")
    assert [dimensions(shape) for shape in shapes] == [(2, 3), (), (), (), (7,)]


BATCH, NONE = frozenset((0,)), frozenset[int]()


def of(entry: list[Op], **computations: list[Op]) -> dict[str, Any]:
    """The dimensions of each instruction; parameter 0 has the batch first, parameter 1 is the same for every batch."""
    found = hlo_programs(columns(profile(jit_f=program(entry, **computations)))).program(1)
    assert found is not None
    dims = BatchDims(Links(found), found.entry, {0: BATCH, 1: NONE})
    return {name: dims.of(row) for row, name in enumerate(found.names)}


def arguments(x: str, w: str) -> list[Op]:
    return [op("x", "parameter", x, parameter_number=0), op("w", "parameter", w, parameter_number=1)]


def dot(name: str, shape: str, left: str, right: str, contracted: tuple[int, int]) -> Op:
    numbers = {"lhs_contracting_dimensions": contracted[:1], "rhs_contracting_dimensions": contracted[1:]}
    return op(name, "dot", shape, left, right, dot_dimension_numbers=numbers)


def test_activations_have_the_batch_and_gradients_of_parameters_do_not_whatever_their_shapes() -> None:
    found = of(
        [
            *arguments("f32[8,8]", "f32[8,8]"),
            dot("forward", "f32[8,8]", "x", "w", (1, 0)),
            op("relu", "maximum", "f32[8,8]", "forward", "forward"),
            dot("gradient", "f32[8,8]", "x", "relu", (0, 0)),
            dot("backward", "f32[8,8]", "relu", "w", (1, 1)),
            op("update", "subtract", "f32[8,8]", "w", "gradient"),
        ]
    )
    grown = {name for name, dims in found.items() if dims}
    assert grown == {"x", "forward", "relu", "backward"}
    assert found["gradient"] == found["update"] == NONE


def test_a_product_with_something_unknown_is_unknown_unless_the_other_side_has_the_batch() -> None:
    found = of(
        [
            *arguments("f32[8,8]", "f32[8,8]"),
            op("unknown", "custom-call", "f32[8,8]", "w"),
            dot("left", "f32[8,8]", "unknown", "w", (1, 0)),
            dot("right", "f32[8,8]", "w", "unknown", (1, 0)),
            dot("batch", "f32[8,8]", "x", "unknown", (1, 0)),
            dot("neither", "f32[8,8]", "w", "w", (1, 0)),
        ]
    )
    assert [found[name] for name in ("left", "right", "batch", "neither")] == [None, None, BATCH, NONE]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (op("y", "transpose", "f32[4,8]", "x", dimensions=[1, 0]), {1}),
        (op("y", "broadcast", "f32[3,8,4]", "x", dimensions=[1, 2]), {1}),
        (op("y", "reshape", "f32[32]", "x"), {0}),
        (op("y", "reshape", "f32[2,4,4]", "x"), {0}),
        (op("y", "bitcast", "f32[4,8]{0,1}", "x"), {1}),
        (op("y", "reduce", "f32[8]", "x", "x", dimensions=[1]), {0}),
        (op("y", "reduce", "f32[4]", "x", "x", dimensions=[0]), set()),
        (op("y", "slice", "f32[1,4]", "x"), set()),
        (op("y", "slice", "f32[8,2]", "x"), {0}),
        (op("y", "concatenate", "f32[8,8]", "x", "x"), {0}),
        (op("y", "custom-call", "f32[8,4]", "x"), None),
        (op("y", "iota", "f32[8,4]"), None),
    ],
)
def test_single_instructions(made: Op, expected: set[int] | None) -> None:
    assert of([*arguments("f32[8,4]", "f32[4]"), made])["y"] == (None if expected is None else frozenset(expected))


def test_a_broadcast_may_add_the_batch_and_what_it_is_added_to_tells() -> None:
    bias = op("bias", "broadcast", "f32[8,4]", "w", dimensions=[1])
    found = of([*arguments("f32[8,4]", "f32[4]"), bias, op("sum", "add", "f32[8,4]", "x", "bias")])
    assert (found["bias"], found["sum"]) == (None, BATCH)


def test_convolutions_keep_the_batch_and_gradients_of_their_filters_sum_over_it() -> None:
    forward = {"input_batch_dimension": 0, "output_batch_dimension": 0, "kernel_output_feature_dimension": 1}
    numbers = {**forward, "input_feature_dimension": 1, "output_feature_dimension": 1}
    swapped = {**numbers, "input_batch_dimension": 1, "input_feature_dimension": 0}
    found = of(
        [
            *arguments("f32[8,4]", "f32[4,4]"),
            op("y", "convolution", "f32[8,4]", "x", "w", convolution_dimension_numbers=numbers),
            op("g", "convolution", "f32[4,4]", "x", "y", convolution_dimension_numbers=swapped),
        ]
    )
    assert (found["y"], found["g"]) == (BATCH, NONE)


def test_fusions_and_loops_are_followed_inside() -> None:
    inside = [
        op("p", "parameter", "f32[8,4]", parameter_number=0),
        op("t", "transpose", "f32[4,8]", "p", dimensions=[1, 0]),
    ]
    state = ["f32[8,4]", "f32[4,8]"]
    body = [
        op("s", "parameter", state, parameter_number=0),
        op("a", "get-tuple-element", "f32[8,4]", "s", tuple_index=0),
        op("f", "fusion", "f32[4,8]", "a", called=["inside"]),
        op("next", "tuple", state, "a", "f"),
    ]
    condition = [
        op("c", "parameter", state, parameter_number=0),
        op("go", "constant", "pred[]", literal={"preds": [True]}),
    ]
    found = of(
        [
            *arguments("f32[8,4]", "f32[4,8]"),
            op("start", "tuple", state, "x", "w"),
            op("loop", "while", state, "start", called=["body", "condition"]),
            op("y", "get-tuple-element", "f32[4,8]", "loop", tuple_index=1),
        ],
        inside=inside,
        body=body,
        condition=condition,
    )
    assert (found["f"], found["y"]) == (frozenset((1,)), frozenset((1,)))


def test_rows_that_are_looked_up_have_the_batch_of_their_indices() -> None:
    numbers = {"offset_dims": [2], "collapsed_slice_dims": [0], "start_index_map": [0], "index_vector_dim": 2}
    found = of(
        [
            *arguments("s32[8,5]", "f32[100,16]"),
            op("y", "gather", "f32[8,5,16]", "w", "x", gather_dimension_numbers=numbers),
        ]
    )
    assert found["y"] == BATCH


def test_a_damaged_program_that_calls_itself_ends() -> None:
    ring = [op("p", "parameter", "f32[8]", parameter_number=0), op("again", "call", "f32[8]", "p", called=["ring"])]
    found = of([*arguments("f32[8]", "f32[8]"), op("y", "call", "f32[8]", "x", called=["ring"])], ring=ring)
    assert found["y"] is None


def test_paths_in_tuples_that_do_not_exist_are_unknown() -> None:
    entry = [
        *arguments("f32[8,4]", "f32[4]"),
        op("beyond", "parameter", "f32[8,4]", parameter_number=2),
        op("pair", "tuple", ["f32[8,4]", "f32[4]"], "x", "w"),
        op("second", "get-tuple-element", "f32[4]", "pair", tuple_index=1),
        op("third", "get-tuple-element", "f32[4]", "pair", tuple_index=2),
        op("of_array", "get-tuple-element", "f32[4]", "x", tuple_index=0),
    ]
    found = hlo_programs(columns(profile(jit_f=program(entry)))).program(1)
    assert found is not None
    dims = BatchDims(Links(found), found.entry, {0: BATCH, 1: NONE})
    assert [dims.of(row) for row in range(7)] == [BATCH, NONE, None, None, NONE, None, None]
    assert [dims.of(*place) for place in ((3, (0,)), (3, (1,)), (3, (2,)), (0, (0,)), (3, (0, 0)))] == [
        *(BATCH, NONE, None, None, None),
    ]
    assert BatchDims(Links(found), found.entry, {}).of(0) is None
    assert BatchDims(Links(found), None, {0: BATCH}).of(0) is None


@pytest.mark.parametrize(("nested", "expected"), [(32, BATCH), (33, None)])
def test_calls_are_followed_so_deep(nested: int, expected: frozenset[int] | None) -> None:
    computations = {
        f"c{depth}": [
            op(f"p{depth}", "parameter", "f32[8]", parameter_number=0),
            op(f"y{depth}", "call", "f32[8]", f"p{depth}", called=[f"c{depth + 1}"])
            if depth < nested
            else op(f"y{depth}", "negate", "f32[8]", f"p{depth}"),
        ]
        for depth in range(1, nested + 1)
    }
    found = of([*arguments("f32[8]", "f32[8]"), op("y", "call", "f32[8]", "x", called=["c1"])], **computations)
    assert found["y"] == expected


def test_a_loop_is_followed_in_its_body_even_if_it_calls_itself() -> None:
    state = ["f32[8,4]", "f32[4,8]"]
    condition = [
        op("c", "parameter", state, parameter_number=0),
        op("go", "constant", "pred[]", literal={"preds": [1]}),
    ]
    body = [
        op("s", "parameter", state, parameter_number=0),
        op("a", "get-tuple-element", "f32[8,4]", "s", tuple_index=0),
        op("t", "transpose", "f32[4,8]", "a", dimensions=[1, 0]),
        op("again", "while", state, "s", called=["condition", "body"]),
        op("next", "tuple", state, "a", "t"),
    ]
    entry = [
        *arguments("f32[8,4]", "f32[4,8]"),
        op("start", "tuple", state, "x", "w"),
        op("loop", "while", state, "start", called=["condition", "body"]),
        op("y", "get-tuple-element", "f32[4,8]", "loop", tuple_index=1),
    ]
    assert of(entry, condition=condition, body=body)["y"] == frozenset((1,))


def test_instructions_with_unexpected_operands() -> None:
    found = of(
        [
            *arguments("f32[8,4]", "f32[8,4]"),
            op("none", "add", "f32[8,4]"),
            op("one", "dot", "f32[8,4]", "x"),
            op("filter", "convolution", "f32[8,4]", "x"),
            op("indices", "gather", "f32[8,4]", "x"),
            op("scalar", "broadcast", "f32[8,4]", "x", dimensions=[]),
            op("pad", "pad", "f32[8,4]", "w", "x"),
            op("sums", "reduce", ["f32[8]", "f32[8]"], "x", "x", dimensions=[1]),
            op("sum", "get-tuple-element", "f32[8]", "sums", tuple_index=1),
        ]
    )
    names = ("none", "one", "filter", "indices", "scalar", "pad", "sum")
    assert [found[name] for name in names] == [None, BATCH, BATCH, BATCH, None, NONE, BATCH]


def grown(*dims: int) -> frozenset[int]:
    return frozenset(dims)


def arrays(*sizes: list[int]) -> list[Any]:
    return [SimpleNamespace(dimensions=one) for one in sizes]


def test_products_have_batch_dimensions_then_those_of_left_and_right() -> None:
    table = [
        (([1], [], [2], []), None, grown(0, 1, 2), grown(0, 4, 5)),
        (([1], [], [2], []), None, grown(), None),
        (([2], [], [0], []), grown(3), grown(1), grown(3, 4)),
        (([], [], [], []), grown(), grown(), grown()),
        (([0], [2], [1], [0]), grown(0), None, grown(0)),
    ]
    fields = (
        "lhs_batch_dimensions",
        "lhs_contracting_dimensions",
        "rhs_batch_dimensions",
        "rhs_contracting_dimensions",
    )
    for numbers, left, right, expected in table:
        of_sides = SimpleNamespace(**dict(zip(fields, numbers, strict=True)))
        assert _dot(of_sides, [left, right], arrays([2] * 4, [2] * 3)) == expected


def test_convolutions_have_batch_spatial_and_feature_dimensions() -> None:
    def numbers(batch: tuple[int, int], features: tuple[int, int], spatial: tuple[list[int], list[int]]) -> Any:
        return SimpleNamespace(
            input_batch_dimension=batch[0], output_batch_dimension=batch[1],
            kernel_output_feature_dimension=features[0], output_feature_dimension=features[1],
            input_spatial_dimensions=spatial[0], output_spatial_dimensions=spatial[1],
        )  # fmt: skip

    usual = numbers((0, 1), (1, 0), ([2, 3], [3, 2]))
    table = [
        (grown(0, 1), None, grown(1)), (grown(2), grown(), grown(3)), (grown(), grown(1), grown(0)),
        (grown(1), None, None), (None, grown(), None), (grown(), grown(), grown()), (None, grown(1), grown(0)),
    ]  # fmt: skip
    assert [_convolution(usual, [left, right]) for left, right, _ in table] == [expected for *_, expected in table]


def test_gathers_have_dimensions_of_indices_and_what_is_taken_whole() -> None:
    def gathered(
        operand: Any, indices: Any, offset: list[int], collapsed: tuple[list[int], list[int]], vector: int, *sizes: Any
    ) -> Any:
        numbers = SimpleNamespace(
            offset_dims=offset, collapsed_slice_dims=collapsed[0], operand_batching_dims=collapsed[1],
            index_vector_dim=vector,
        )  # fmt: skip
        return _gather(numbers, [operand, indices], arrays(*sizes[:2]), *arrays(sizes[2]))

    assert gathered(grown(1, 2), None, [0, 2], ([0], []), 0, [4, 4, 4], [4, 5], [4, 5]) == grown(0)
    assert gathered(grown(), grown(1), [3], ([0], [2]), 0, [4, 5, 5], [4, 5], [5, 5, 4, 4]) == grown(0)
    assert gathered(grown(2), grown(1), [0], ([0], [1]), 1, [4, 5, 5], [4, 4], [4, 5]) == grown()
    assert gathered(grown(), None, [0], ([0], [1]), 1, [4, 5, 5], [4, 4], [4, 5]) is None


def test_dimensions_of_a_reshape_and_a_bitcast() -> None:
    table = [(grown(0), [2, 3], [3, 1, 2], grown(0)), (grown(1), [1, 1], [1], grown()),
             (grown(0), [1, 4], [4], grown(0)), (grown(1), [2, 8], [4, 4], grown(0)),
             (None, [2], [2], None)]  # fmt: skip
    assert [_regrouped(*row[:3]) for row in table] == [row[3] for row in table]

    def shape(sizes: list[int], order: list[int]) -> Any:
        return SimpleNamespace(dimensions=sizes, layout=SimpleNamespace(minor_to_major=order))

    assert _bitcast(grown(1), shape([2, 1, 2], [2, 0, 1]), shape([2, 1, 2], [2, 0, 1])) == grown(0)
    assert _bitcast(grown(0), shape([4, 3], [0, 1]), shape([3, 4], [1, 0])) == grown(1)
    assert _bitcast(None, shape([2], [0]), shape([2], [0])) is None


def test_what_either_of_two_values_tells() -> None:
    first, second = (grown(0), None), (grown(1), grown(0))
    table = [
        (first, second, (grown(0, 1), grown(0))), (grown(), None, grown()), (None, grown(1), grown(1)),
        (grown(0), grown(1), grown(0, 1)), (first, (grown(0),), first), (first, grown(0), first),
        (grown(0), first, first),
        (None, first, first), (None, None, None),
    ]  # fmt: skip
    assert [_either(one, other) for one, other, _ in table] == [expected for *_, expected in table]


def test_the_instants_that_are_the_peak_for_some_batch() -> None:
    table = [
        ([2, 4, 12, 1, 12, 5], [5, 6, 2, 3, 1, 5], [(12, 2), (4, 6)]),
        ([9, 6, 2, 6], [3, 2, 9, 6], [(9, 3), (6, 6), (2, 9)]),
        ([15, 17, 5, 9, 5, 9], [0, 4, 7, 2, 1, 6], [(17, 4), (5, 7)]),
        ([10, 6, 2], [0, 2, 4], [(10, 0), (2, 4)]),
        ([55, 55, 54, 47, 43, 34, 5], [11, 12, 18, 22, 24, 33, 39], [(55, 12), (54, 18), (34, 33), (5, 39)]),
    ]
    for fixed, scaled, hull in table:
        assert _hull(np.array(fixed), np.array(scaled)) == hull
    guests = Guests(*np.array([(0, 8, 1, 2), (2, 10, 0, 2), (5, 5, 1, 2)]).T)
    assert corners(np.array([26, 14, 26]), np.array([0, 5, 7]), guests) == ((26, 7, 0.0), (26, 12, 1.0), (26, 14, 5.0))


def test_a_value_lives_from_where_it_is_made_to_the_last_use_of_its_aliases() -> None:
    """Users of users count only behind a bitcast or a tuple."""
    entry = [
        *arguments("f32[8]", "f32[8]"),
        op("a", "add", "f32[8]", "x", "w"),
        op("b", "bitcast", "f32[2,4]", "a"),
        op("c", "negate", "f32[8]", "a"),
        op("d", "tuple", ["f32[2,4]", "f32[2,4]"], "b", "b"),
        op("e", "get-tuple-element", "f32[2,4]", "d", tuple_index=0),
        op("f", "negate", "f32[2,4]", "e"),
        op("g", "negate", "f32[8]", "c"),
    ]
    found = hlo_programs(columns(profile(jit_f=program(entry)))).program(1)
    assert found is not None
    instant = {row: 10 + row for row in range(9)}
    assert [_life(Links(found), instant, row) for row in (0, 2, 4, 8)] == [(10, 12), (12, 17), (14, 18), (18, 18)]
    assert _life(Links(found), {2: 5, 7: 6}, 2) == (5, 6)
    assert _life(Links(found), {}, 2) == (0, 0)


@pytest.mark.parametrize(("aliases", "end"), [(62, 63), (63, 63), (70, 63)])
def test_so_many_aliases_are_followed(aliases: int, end: int) -> None:
    names = ["x", *(f"b{number}" for number in range(aliases))]
    entry = [
        op("x", "parameter", "f32[8]", parameter_number=0),
        *(op(name, "bitcast", "f32[8]", of) for of, name in pairwise(names)),
        op("y", "negate", "f32[8]", names[-1]),
    ]
    found = hlo_programs(columns(profile(jit_f=program(entry)))).program(1)
    assert found is not None
    assert _life(Links(found), {row: row for row in range(len(entry))}, 0) == (0, end)
