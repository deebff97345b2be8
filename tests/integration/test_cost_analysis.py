"""Estimated costs of operations against the cost analysis of XLA itself, where an environment with JAX exists."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from builders.programs.jax_programs import NESTED, PROGRAMS
from builders.servers import frameworks
from builders.xspace_text import build

from tpu_profile_plugin.analysis.hlo.cost import CostModel, CpuCostModel, cycles_per_element
from tpu_profile_plugin.analysis.hlo.instructions import Instructions
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.columns import load

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]

# What XLA says of each function, and the program: before any compiler pass and, if `compiled`, as it runs on a CPU. The
# same of programs that are given as HLO text.
JAX_PROGRAM = """
import json, pathlib
import jax, jax.numpy as jnp
from jax import lax
from jax._src import xla_bridge
from jaxlib import _hlo, _jax

def f32(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)

found = dict()

def add(name, module):
    costs = _jax.hlo_module_cost_analysis(xla_bridge.get_backend("cpu"), module)
    found[name] = dict(costs=costs, module=module.as_serialized_hlo_module_proto().hex())

for name, (text, shapes) in json.loads({functions!r}).items():
    arguments = [f32(*shape[:-1], dtype=shape[-1]) for shape in shapes]
    lowered = jax.jit(eval(text)).lower(*arguments)
    add(name, lowered.compiler_ir("hlo").as_hlo_module())
    if name in json.loads({compiled!r}):
        program = lowered.compile()
        add(name + ", compiled", program.runtime_executable().hlo_modules()[0])
        own = program.cost_analysis()
        for key in ("flops", "bytes accessed"):
            assert found[name + ", compiled"]["costs"].get(key, 0) == own.get(key, 0), (name, key)
for name, text in json.loads({texts!r}).items():
    add(name, _hlo.hlo_module_from_text(text))
pathlib.Path({path!r}).write_text(json.dumps(found))
"""

_IMAGE, _KERNEL = [2, 9, 11, 4, "float32"], [3, 3, 4, 6, "float32"]
_NHWC = "dimension_numbers=('NHWC', 'HWIO', 'NHWC')"
_ONE, _MATRIX = [[3, 64, "float32"]], [32, 48, "float32"]

CONTRACTIONS: dict[str, tuple[str, list[list[Any]]]] = {
    "matrix-vector": ("lambda a, b: a @ b", [_MATRIX, [48, "float32"]]),
    "matrix-matrix": ("lambda a, b: a @ b", [_MATRIX, [48, 5, "float32"]]),
    "bfloat16": ("lambda a, b: a @ b", [[32, 48, "bfloat16"], [48, 5, "bfloat16"]]),
    "integers": ("lambda a, b: a @ b", [[32, 48, "int32"], [48, 5, "int32"]]),
    "batched": ("lambda a, b: jnp.einsum('bij,bjk->bik', a, b)", [[7, 3, 4, "float32"], [7, 4, 5, "float32"]]),
    "two contracted": (
        "lambda a, b: lax.dot_general(a, b, (((0, 2), (1, 0)), ((), ())))",
        [[3, 5, 4, "float32"], [4, 3, 6, "float32"]],
    ),
    "outer product": ("lambda a, b: lax.dot_general(a, b, (((), ()), ((), ())))", [[8, "float32"], [9, "float32"]]),
    "convolution": (f"lambda a, b: lax.conv_general_dilated(a, b, (1, 1), 'VALID', {_NHWC})", [_IMAGE, _KERNEL]),
    "padded": (f"lambda a, b: lax.conv_general_dilated(a, b, (1, 1), 'SAME', {_NHWC})", [_IMAGE, _KERNEL]),
    "strided": (f"lambda a, b: lax.conv_general_dilated(a, b, (2, 3), 'SAME', {_NHWC})", [_IMAGE, _KERNEL]),
    "uneven padding": (
        f"lambda a, b: lax.conv_general_dilated(a, b, (2, 1), ((3, 0), (-1, 2)), {_NHWC})",
        [_IMAGE, _KERNEL],
    ),
    "dilated kernel": (
        f"lambda a, b: lax.conv_general_dilated(a, b, (1, 1), 'SAME', rhs_dilation=(2, 3), {_NHWC})",
        [_IMAGE, _KERNEL],
    ),
    "dilated image": (
        f"lambda a, b: lax.conv_general_dilated(a, b, (1, 1), ((2, 2), (1, 1)), lhs_dilation=(2, 2), {_NHWC})",
        [_IMAGE, _KERNEL],
    ),
    "grouped": (
        f"lambda a, b: lax.conv_general_dilated(a, b, (1, 1), 'SAME', feature_group_count=4, {_NHWC})",
        [_IMAGE, [3, 3, 1, 8, "float32"]],
    ),
    "batch groups": (
        f"lambda a, b: lax.conv_general_dilated(a, b, (1, 1), 'SAME', batch_group_count=2, {_NHWC})",
        [_IMAGE, _KERNEL],
    ),
    "one dimension": (
        "lambda a, b: lax.conv_general_dilated(a, b, (1,), 'SAME')",
        [[2, 3, 50, "float32"], [4, 3, 5, "float32"]],
    ),
    "gradient of the kernel": (
        f"jax.grad(lambda b, a: lax.conv_general_dilated(a, b, (1, 1), 'VALID', {_NHWC})[0, 0, 0, 0], 0)",
        [_KERNEL, _IMAGE],
    ),
}
"""Products of tensors: as many operations as XLA counts."""

ELEMENTWISE: dict[str, tuple[str, list[list[Any]], str, str]] = {
    "add": ("lambda a: lax.add(a, a)", _ONE, "add", "f32"),
    "multiply": ("lambda a: lax.mul(a, a)", _ONE, "multiply", "f32"),
    "divide": ("lambda a: lax.div(a, a)", _ONE, "divide", "f32"),
    "divide integers": ("lambda a: lax.div(a, a)", [[3, 64, "int32"]], "divide", "s32"),
    "maximum": ("lambda a: lax.max(a, a)", _ONE, "maximum", "f32"),
    "compare": ("lambda a: lax.lt(a, a)", _ONE, "compare", "f32"),
    "negate": ("lambda a: lax.neg(a)", _ONE, "negate", "f32"),
    "exponential": ("lambda a: lax.exp(a)", _ONE, "exponential", "f32"),
    "tanh": ("lambda a: lax.tanh(a)", _ONE, "tanh", "f32"),
    "power": ("lambda a: lax.pow(a, a)", _ONE, "power", "f32"),
    "rsqrt": ("lambda a: lax.rsqrt(a)", _ONE, "rsqrt", "f32"),
    "logarithm": ("lambda a: lax.log(a)", _ONE, "log", "f32"),
}
"""Operations on each element: as many as XLA counts, each of the cycles that a GPU takes for one."""

REDUCTIONS: dict[str, tuple[str, list[list[Any]], str, str, int]] = {
    "sum of rows": ("lambda a: lax.reduce(a, 0.0, lax.add, (1,))", _ONE, "add", "f32", 3),
    "sum of columns": ("lambda a: lax.reduce(a, 0.0, lax.add, (0,))", _ONE, "add", "f32", 64),
    "sum of all": ("lambda a: lax.reduce(a, 0.0, lax.add, (0, 1))", _ONE, "add", "f32", 1),
    "product of integers": ("lambda a: lax.reduce(a, 1, lax.mul, (1,))", [[3, 64, "int32"]], "multiply", "s32", 3),
    "greatest": ("lambda a: lax.reduce(a, -jnp.inf, lax.max, (1,))", _ONE, "maximum", "f32", 3),
}
"""As operations on elements, of so many results: on a GPU each of them reads the initial value."""


@pytest.fixture(scope="module")
def analysed(tmp_path_factory) -> dict[str, Any]:
    """What XLA says: name -> costs and program."""
    path = tmp_path_factory.mktemp("costs") / "costs.json"
    functions = {name: one[:2] for name, one in (CONTRACTIONS | ELEMENTWISE | REDUCTIONS | PROGRAMS).items()}
    values = {"functions": functions, "compiled": [*PROGRAMS, *CONTRACTIONS], "texts": NESTED}
    texts = {name: json.dumps(value) for name, value in values.items()}
    frameworks.run_program(frameworks.python_of("jax"), JAX_PROGRAM, path=str(path), **texts)
    return json.loads(path.read_text())


def own_costs(module: bytes, model: type[CostModel] = CostModel) -> tuple[float, float]:
    """FLOPs and bytes accessed of all instructions of the entry computation."""
    proto = b"\x0a" + _varint(len(module)) + module
    text = f'plane 0 "/host:metadata"\nmetadata "m(7)" id=7 {{"Hlo Proto"=0x{proto.hex()}}}'
    program = hlo_programs(load(np.frombuffer(build(text), np.uint8))).program(7)
    instructions = Instructions(program)
    entry = instructions.computation(program.columns["entry_id"])
    costs = [model(instructions).cost(one) for one in entry.instructions]
    return sum(cost.flops for cost in costs), sum(cost.bytes for cost in costs)


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + _varint(value // 128)


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_products_cost_what_xla_says(analysed, name):
    flops, bytes_accessed = own_costs(bytes.fromhex(analysed[name]["module"]))
    costs = analysed[name]["costs"]
    assert flops == costs["flops"] > 0
    assert bytes_accessed == costs["bytes accessed"]


@pytest.mark.parametrize("name", [*ELEMENTWISE, *REDUCTIONS])
def test_operations_on_elements_cost_their_cycles(analysed, name):
    _, _, opcode, type_, *results = (ELEMENTWISE | REDUCTIONS)[name]
    flops, bytes_accessed = own_costs(bytes.fromhex(analysed[name]["module"]))
    costs = analysed[name]["costs"]
    operations = costs.get("flops", 0) + costs.get("transcendentals", 0)
    assert flops == operations * cycles_per_element(opcode, type_) > 0
    assert bytes_accessed == costs["bytes accessed"] + 4 * (sum(results or [1]) - 1)


@pytest.mark.parametrize(
    "name",
    [*NESTED, *PROGRAMS, *CONTRACTIONS, *ELEMENTWISE, *(f"{name}, compiled" for name in (*PROGRAMS, *CONTRACTIONS))],
)
def test_on_a_cpu_everything_costs_what_xla_says(analysed, name):
    flops, bytes_accessed = own_costs(bytes.fromhex(analysed[name]["module"]), CpuCostModel)
    costs = analysed[name]["costs"]
    assert flops == costs.get("flops", 0) + costs.get("transcendentals", 0)
    assert bytes_accessed == costs["bytes accessed"]
