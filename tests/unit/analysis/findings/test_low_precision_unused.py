"""Float64 anywhere, and float32 products on devices with units for 16 bits."""

from __future__ import annotations

import json

import pytest
from builders import planes
from builders.answers import answer
from builders.profiles.findings import cpu, evidence, gpu, told, tpu, window
from builders.programs.hlo import op, program

from tpu_profile_plugin.tools.summary.smart_suggestion import TOOL

A100 = 'device_vendor="Nvidia", compute_cap_major=8, compute_cap_minor=0'
DIMS = {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}
LINE = {"source_file": "/home/me/model.py", "source_line": 7, "op_name": "jit(f)/dot_general"}
PEAKS = ", peak_teraflops_per_second=100d, peak_hbm_bw_gigabytes_per_second=1000d"


def doubles() -> bytes:
    """Products and sums in float64, one of the arguments in float32."""
    of = "f64[64,64]{1,0}"
    entry = [
        op("x", "parameter", of, op_name="x"),
        op("w", "parameter", of, parameter_number=1, op_name="params['w']"),
        op("s", "parameter", "f32[64,64]{1,0}", parameter_number=2, op_name="scale"),
        op("dot.1", "dot", of, "x", "w", dot_dimension_numbers=DIMS, **LINE),
        op("tanh.2", "tanh", "f32[64,64]{1,0}", "s"),
    ]
    return program(entry, module="jit_f")


def test_float64_on_cpus() -> None:
    found = told("low_precision_unused", cpu([("dot.1", 60), ("tanh.2", 20)], proto=doubles()))
    assert found["title"] == "float64 takes 75.0% of the ops' time, most of it in dot.1 (model.py:7)"
    # 70 % of 75 % of the 80 us in which a step computes.
    assert (found["saving_ps_per_step"], found["share"], found["confidence"]) == (42_000_000, 0.42, "high")
    shown = evidence(found)
    assert shown["These ops, of the time of all ops of known work"] == (75.0, "%", "")
    assert shown["Self time of dot.1, all runs on h0"] == (120.0, "us", "hlo_stats")
    assert shown["Arguments of jit_f(5) that are float64"] == ("x, params['w'] (2 of 3)", "", "")
    assert window(found) == {"host": "h0", "window": "0,120000000", "find": "dot.1"}


@pytest.mark.parametrize(
    ("double", "first"), [("f64[64,64]{1,0}", "low_precision_unused"), ("f32[64,64]{1,0}", "data_movement")]
)
def test_float64_comes_before_the_data_that_it_makes_larger(double: str, first: str) -> None:
    entry = [op("x", "parameter", double), op("reverse.1", "reverse", double, "x", **LINE)]
    found = answer(TOOL, cpu([("reverse.1", 80)], proto=program(entry, module="jit_f")), page=True)
    assert found["findings"][0]["id"] == first
    assert "data_movement" in [one["id"] for one in found["findings"]]


@pytest.mark.parametrize(("double", "finds"), [(10, True), (9, False)])
def test_float64_from_a_tenth_of_the_time_on(double: int, finds: bool) -> None:
    found = told("low_precision_unused", cpu([("dot.1", double), ("tanh.2", 100 - double)], proto=doubles()))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"] == "Computation in float64 takes 9.0% of the ops' time."


def test_float64_of_programs_that_hardly_compute() -> None:
    found = told("low_precision_unused", cpu([("dot.1", 7)], proto=doubles()))
    assert "share" not in found


def test_without_programs() -> None:
    assert told("low_precision_unused", cpu([("dot.1", 60)]))["state"] == "unknown"


DOUBLE, FLOAT = (f'{{"Input Dims"="[[8, 8]]", "Input type"="[\\"{name}\\"]"}}' for name in ("double", "float"))


@pytest.mark.parametrize(("double", "finds"), [(120, True), (99, False)])
def test_float64_of_pytorch_on_cpus(double: int, finds: bool) -> None:
    """Half of what it takes; of ops without types nothing is known."""
    main = f"0 {double} Net_0/aten::linear:PyTorch {DOUBLE}\n200 700 aten::relu:PyTorch {FLOAT}"
    main += f"\n900 {300 - double} aten::view:PyTorch"
    found = told("low_precision_unused", planes.host(planes.marked(main, steps=4, period=1200, length=1150)))
    if finds:
        assert found["title"] == "float64 takes 12.0% of the ops' time, most of it in Net_0/aten::linear"
        assert found["saving_ps_per_step"] == 60_000_000
        assert ".float()" in found["advice"]
    else:
        assert found["reason"] == "Computation in float64 takes 9.9% of the ops' time."


def test_types_of_pytorch_that_were_not_recorded() -> None:
    found = told("low_precision_unused", planes.host(planes.marked("0 900 aten::linear:PyTorch")))
    assert found["state"] == "unknown"


def products(kind: str, **config: object) -> bytes:
    """A product in a fusion, another one by itself, and a sum; operands of `kind`."""
    of = f"{kind}[512,512]{{1,0}}"
    inside = [
        op("a", "parameter", of),
        op("b", "parameter", of, parameter_number=1),
        op("inner", "dot", of, "a", "b", dot_dimension_numbers=DIMS, **config),
    ]
    entry = [
        op("x", "parameter", of),
        op("y", "parameter", of, parameter_number=1),
        op("fusion.1", "fusion", of, "x", "y", called=["inside"], fusion_kind="kOutput", **LINE),
        op("add.2", "add", of, "x", "y"),
    ]
    return program(entry, inside=inside)


def on_gpu(product: int, other: int, kind: str = "f32", facts: str = A100, **config: object) -> str:
    ops = [("gemm", "fusion.1", product), ("add", "add.2", other)]
    return gpu(ops, proto=products(kind, **config), facts=facts)


def test_float32_products_beside_tensor_cores() -> None:
    found = told("low_precision_unused", on_gpu(50, 50))
    assert (
        found["title"] == "Matrix products in float32 take 50.0% of the ops' time, most of it in fusion.1 (model.py:7)"
    )
    assert (found["share"], found["confidence"]) == (0.25, "medium")
    assert found["advice"].startswith("Cast the operands of the products to jnp.bfloat16")


@pytest.mark.parametrize(
    "profile",
    [
        on_gpu(19, 81),  # a fifth of the ops' time
        on_gpu(50, 50, "bf16"),
        on_gpu(50, 50, facts='device_vendor="Nvidia", compute_cap_major=6, compute_cap_minor=1'),  # no tensor cores
        on_gpu(50, 50, precision_config={"algorithm": "ALG_DOT_BF16_BF16_F32_X3"}),
    ],
    ids=["little time", "16 bits", "no tensor cores", "prescribed algorithm"],
)
def test_products_that_stay(profile: str) -> None:
    assert "float32 that could be faster in 16 bits" in told("low_precision_unused", profile)["reason"]


def test_calls_of_libraries() -> None:
    def call(kind: str, algorithm: str) -> bytes:
        config = {
            "gemm_backend_config": {"precision_config": {"operand_precision": ["DEFAULT"], "algorithm": algorithm}}
        }
        of = f"{kind}[64,64]{{1,0}}"
        operands = [op("x", "parameter", of), op("y", "parameter", of, parameter_number=1)]
        target = {"custom_call_target": "__cublas$gemm", "backend_config": json.dumps(config).encode()}
        return program([*operands, op("custom-call.1", "custom-call", [of, "s8[64]{0}"], "x", "y", **target)])

    def share(kind: str, algorithm: str = "ALG_UNSET") -> float | None:
        ops = [("sgemm", "custom-call.1", 50)]
        return told("low_precision_unused", gpu(ops, proto=call(kind, algorithm), facts=A100)).get("share")

    assert (share("f32"), share("bf16"), share("f32", "ALG_DOT_BF16_BF16_F32_X6")) == (0.5, None, None)


@pytest.mark.parametrize(
    ("precision", "accessed", "share"),
    [
        (["HIGHEST", "DEFAULT"], 0, 0.6 * 5 / 6),  # six passes through the unit become one
        (["HIGH", "HIGH"], 0, 0.6 * 2 / 3),
        # One pass already: what remains is reading. 2 * 512**3 FLOPs take 2.7 us at the peak, 10 MB take 10 us.
        ([], 10_000_000, 0.6 / 2),
        ([], 1_000_000, None),
    ],
)
def test_tpus_by_the_precision_that_is_asked_for(precision: list[str], accessed: int, share: float | None) -> None:
    ops = [("fusion.1", "convolution fusion", 60), ("add.2", "add", 40)]
    typed = [(f"%{name} = f32[512,512] op()", category, length) for name, category, length in ops]
    proto = products("f32", precision_config={"operand_precision": precision})
    found = told("low_precision_unused", tpu(typed, proto=proto, facts=PEAKS, costs=f", bytes_accessed={accessed}"))
    assert found.get("share") == (None if share is None else pytest.approx(share))
