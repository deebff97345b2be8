"""Costs of instructions on a CPU: one operation per element, whatever the operation; what is fused counts once."""

from __future__ import annotations

import pytest
from builders.programs.hlo import Op, metadata_plane, op, program
from builders.shown import profile

from tpu_profile_plugin.analysis.hlo.ops import HloOps

OF, HALF, WIDE = "f32[64]{0}", "f32[32]{0}", "f32[16,64]{1,0}"


def cost(ops: list[Op], **computations: list[Op]) -> tuple[float, float]:
    """FLOPs and bytes of the last instruction."""
    hlo = HloOps(profile(metadata_plane(jit_f=(7, program(ops, **computations)))))
    one = hlo.find(7, ops[-1].name)
    assert one is not None
    found = hlo.cost(7, one, on_cpu=True)
    assert found.flops == found.model_flops
    return found.flops, found.bytes


def x(opcode: str, of: str, *operands: str, **facts: object) -> list[Op]:
    return [op("p", "parameter", OF), op("i", "parameter", "s8[64]{0}"), op("x", opcode, of, *operands, **facts)]


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        (x("add", OF, "p", "p"), (64, 3 * 256)),
        (x("tanh", OF, "p"), (64, 2 * 256)),
        (x("bitcast-convert", OF, "p"), (64, 2 * 256)),
        (x("add", "s8[64]{0}", "i", "i"), (64, 3 * 64)),
        (x("copy", OF, "p"), (0, 2 * 256)),
        (x("rng", OF), (64, 256)),
        (x("concatenate", "f32[128]{0}", "p", "p", dimensions=[0]), (0, 2 * 512)),
        (x("all-reduce", OF, "p"), (64, 2 * 256)),
    ],
)
def test_single_instructions(ops: list[Op], expected: tuple[float, float]) -> None:
    assert cost(ops) == expected


def test_reductions_read_their_initial_value_once() -> None:
    add = [op("a", "parameter", "f32[]"), op("b", "parameter", "f32[]"), op("c", "add", "f32[]", "a", "b")]
    ops = [
        op("p", "parameter", WIDE),
        op("z", "constant", "f32[]"),
        op("x", "reduce", "f32[16]{0}", "p", "z", called=["add"]),
    ]
    assert cost(ops, add=add) == (16 * 64 - 16, 4096 + 4 + 64)


def fusion(*inner: Op, of: str, **computations: list[Op]) -> tuple[float, float]:
    return cost(
        [op("p", "parameter", OF), op("x", "fusion", of, "p", called=["inner"])], inner=list(inner), **computations
    )


Q = op("q", "parameter", OF)
EXP = op("e", "exponential", OF, "q")
SLICES = [op(f"s{i}", "slice", HALF, "e", slice_dimensions=[{"start": i, "limit": i + 32}]) for i in range(3)]
SUM = [op("a", "add", HALF, "s0", "s1"), op("b", "add", HALF, "a", "s2")]


def test_fused_values_count_once_however_often_they_are_used() -> None:
    assert fusion(Q, EXP, *SLICES, *SUM, of=HALF) == (64 + 2 * 32, 256 + 128)


def test_values_of_nested_fusions_count_once() -> None:
    inside = [op("r", "parameter", OF), op("f", "exponential", OF, "r")]
    nested = op("e", "fusion", OF, "q", called=["deep"])
    assert fusion(Q, nested, *SLICES, *SUM, of=HALF, deep=inside) == (64 + 2 * 32, 256 + 128)
    # Read whole by the nested fusion, and again by an instruction beside it.
    beside = op("n", "add", OF, "e", "q")
    assert fusion(Q, nested, beside, of=OF, deep=inside) == (128, 3 * 256)


def test_operands_are_read_in_the_parts_that_are_used() -> None:
    direct = [op(f"s{i}", "slice", HALF, "q", slice_dimensions=[{"start": i, "limit": i + 32}]) for i in range(2)]
    assert fusion(Q, *direct, SUM[0], of=HALF) == (32, 2 * 128 + 128)
    spread = [op("w", "broadcast", WIDE, "q"), op("v", "broadcast", WIDE, "q"), op("m", "multiply", WIDE, "w", "v")]
    assert fusion(Q, *spread, of=WIDE) == (1024, 2 * 256 + 4096)


def test_updates_in_place_write_the_update() -> None:
    inner = [
        op("q", "parameter", WIDE),
        op("u", "parameter", "f32[1,64]{1,0}", parameter_number=1),
        op("i", "parameter", "s32[]", parameter_number=2),
        op("d", "dynamic-update-slice", WIDE, "q", "u", "i", "i"),
    ]
    outer = [*inner[:3], op("x", "fusion", WIDE, "q", "u", "i", called=["inner"])]
    assert cost([op(f"o.{one.name}", one.opcode, one.shape, *(f"o.{i}" for i in one.operands), called=one.called)
                 for one in outer], inner=inner) == (0, 256 + 256 + 4)  # fmt: skip


def test_constants_of_several_elements_are_read() -> None:
    of = {kind: op("c", "constant", kind) for kind in ("f32[]", "f32[2]{0}")}
    assert fusion(Q, of["f32[]"], EXP, of=OF) == (64, 512)
    assert fusion(Q, of["f32[2]{0}"], EXP, of=OF) == (64, 512 + 8)


def test_parts_of_a_tuple_are_read_as_what_takes_them_is_used() -> None:
    """Of the first part 8 elements, of the second, which is not in main memory, all."""
    pair = [OF, "f32[64]{0:S(1)}"]
    inner = [
        op("q", "parameter", pair),
        op("first", "get-tuple-element", pair[0], "q", tuple_index=0),
        op("second", "get-tuple-element", pair[1], "q", tuple_index=1),
        op("part", "slice", "f32[8]{0}", "first"),
        op("whole", "negate", OF, "second"),
        op("both", "concatenate", "f32[72]{0}", "part", "whole", dimensions=[0]),
    ]
    outer = [op("t", "parameter", pair), op("x", "fusion", "f32[72]{0}", "t", called=["inner"])]
    hlo = HloOps(profile(metadata_plane(jit_f=(7, program(outer, inner=inner)))))
    one = hlo.find(7, "x")
    assert one is not None
    found = hlo.cost(7, one, on_cpu=True)
    assert (found.read, found.written, found.bytes) == (32, 288, 32 + 256 + 288)
