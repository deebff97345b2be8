"""Buffers that grow with the batch, by dimensions and by names, and the peak for another batch."""

from __future__ import annotations

from typing import Any

import pytest
from builders.programs.buffers import profile
from builders.programs.hlo import Op, op, program
from builders.shown import profile as columns

from tpu_profile_plugin.analysis.hlo.graph import Links
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.analysis.memory.scaling import BatchDims, Sized, assumed_scaling, dimensions

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
