"""Which buffers are assumed to grow with the batch, and why."""

from __future__ import annotations

import pytest

from tpu_profile_plugin.analysis.memory.scaling import Sized, assumed_scaling, dimensions

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
