"""Float64 anywhere, and float32 products on devices with units for 16 bits."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders import planes
from builders.answers import answer
from builders.profiles.findings import cpu, evidence, gpu, told, tpu, window
from builders.programs.hlo import op, program

from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS, NO_TYPES
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import OpKind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ReadOp, Roof
from tpu_profile_plugin.analysis.findings.model import Evidence, Silence
from tpu_profile_plugin.analysis.findings.rules.device import low_precision_unused as module
from tpu_profile_plugin.analysis.hlo.products import HIGH, HIGHEST, Product
from tpu_profile_plugin.analysis.ops.op_nature import Nature
from tpu_profile_plugin.analysis.ops.torch_inputs import OpInputs
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
    # 65 % of 75 % of the 80 us in which a step computes.
    assert (found["saving_ps_per_step"], found["share"], found["confidence"]) == (39_000_000, 0.39, "high")
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


# Typed-in ops.


def single(precision: int = 0, bits: int = 32, *, algorithm: bool = False, size: int = 4) -> Product:
    return Product(bits, precision, algorithm, (1, size, size, size))


@pytest.mark.parametrize(
    ("products", "limits", "on_tpu", "on_gpu"),
    [
        ([], None, 0.0, 0.0),
        ([single(bits=16)], None, 0.0, 0.0),
        ([single(algorithm=True)], None, 0.0, 0.0),
        ([single(), single(bits=16)], Roof(1, 2), 0.0, 0.0),
        ([single(), single()], None, 0.0, 0.5),
        ([single()], Roof(1, 2), 0.5, 0.5),
        ([single()], Roof(2, 2), 0.0, 0.5),
        ([single()], Roof(2, 1), 0.0, 0.5),
        ([single(HIGH)], Roof(2, 1), 1 - 1 / 3, 0.5),
        ([single(), single(HIGHEST), single(HIGH)], Roof(1, 2), 1 - 1 / 6, 0.5),
    ],
)
def test_what_16_bits_would_save(
    monkeypatch: pytest.MonkeyPatch, products: list[Product], limits: Roof | None, on_tpu: float, on_gpu: float
) -> None:
    flops: list[float] = []
    monkeypatch.setattr(module, "roof", lambda host, op, of: flops.append(of) or limits)
    op: Any = None
    for hardware, gain in ((Hardware.TPU, on_tpu), (Hardware.GPU, on_gpu)):
        host: Any = SimpleNamespace(summary=SimpleNamespace(environment=SimpleNamespace(hardware=hardware)))
        assert module._gain(host, op, products) == pytest.approx(gain)
    assert flops in ([], [128.0 * len(products)])


def an_op(bits: list[int], operands: list[int], at: int = 0, names: list[str] | None = None) -> Any:
    """An op of a program whose rows have floating-point arrays of so many bits; the first ones are its arguments."""
    program = SimpleNamespace(op_names=names or [""] * len(bits), names=[f"p{i}" for i in range(len(bits))])
    rows = SimpleNamespace(
        links=SimpleNamespace(operands=lambda row: operands), float_bits=bits.__getitem__, program=program,
        arguments=lambda: range(len(bits)),
    )  # fmt: skip
    return SimpleNamespace(at=at, rows=rows)


@pytest.mark.parametrize(
    ("bits", "operands", "at", "widest"),
    [
        ([64, 32, 16], [0, 2], 1, 64),
        ([64, 32, 16], [2], 1, 32),
        ([16, 32, 64], [-1, 0], 1, 32),  # of an operand outside of the program nothing is known
        ([16, 32], [], 0, 16),
    ],
)
def test_the_widest_array_around_an_op(bits: list[int], operands: list[int], at: int, widest: int) -> None:
    assert module._bits(an_op(bits, operands, at)) == widest


@pytest.mark.parametrize(
    ("bits", "told_of"),
    [
        ([32, 16, 0], ""),
        ([64, 0, 32], "x (1 of 2)"),
        ([0, 64, 64, 64], "p1, p2, z (3 of 3)"),
        ([64, 64, 64, 64, 32], "x, p1, p2, ... (4 of 5)"),
    ],
)
def test_arguments_in_float64_by_name(bits: list[int], told_of: str) -> None:
    assert module._arguments(an_op(bits, [], names=["x", "", "", "z", ""])) == told_of


def typed(does: str, us: int, nature: Nature = Nature.MATRIX, index: int = 0) -> ReadOp:
    return ReadOp(index, nature, does, us * 10**6)


def of_pytorch(monkeypatch: pytest.MonkeyPatch, *ops: ReadOp, faster: bool = True) -> tuple[Any, Any]:
    """Float64 and float32 products of PyTorch's ops on a GPU."""

    def kind(host: Any, some: Any, gains: Any, advice: Any) -> OpKind:
        label = Evidence("label", len(some))
        evidence = label, Evidence("other", 1), Evidence("run", "", "", "trace_viewer@"), Evidence("more", 2)
        return OpKind(1, sum(one.self_ps for one in some), sum(gains), of_op=evidence if some else ())

    monkeypatch.setattr(module, "_typed_ops", lambda host: ops)
    monkeypatch.setattr(module, "_kind", kind)
    monkeypatch.setattr(module, "_is_faster", lambda host: faster)
    table = SimpleNamespace(provenance=[f"aten::op{i}:PyTorch" for i in range(9)])
    host: Any = SimpleNamespace(on_cpus=False, ops=table, name="h")
    return module._of_pytorch(host)


def test_ops_of_pytorch_by_their_types(monkeypatch: pytest.MonkeyPatch) -> None:
    ops = [
        typed("fp64", 30, Nature.OTHER, 3), typed("fp64", 20), typed("fp32", 50), typed("fp32", 5, Nature.OTHER),
        typed("fp16", 7),
    ]  # fmt: skip
    double, wide = of_pytorch(monkeypatch, *ops)
    assert (double.ops_ps, double.saving_ps, double.counted_ps) == (50 * 10**6, 1.0, 112 * 10**6)
    assert (wide.ops_ps, wide.saving_ps, wide.counted_ps) == (50 * 10**6, 0.5, 112 * 10**6)
    assert [one.value for one in double.of_op] == ["aten::op3", 30.0, ""]
    assert [one.label for one in double.of_op][::2] == ["label", "run"]
    assert [one.value for one in wide.of_op] == ["aten::op0", 50.0, ""]
    double, wide = of_pytorch(monkeypatch, *ops[:3], faster=False)
    assert (double.ops_ps, wide.ops_ps, wide.of_op) == (50 * 10**6, 0, ())


@pytest.mark.parametrize(
    ("largest", "label", "most"),
    [
        (40, "The op with the largest part", "; the op aten::add has the largest part, 40%"),
        (50, "The op with the largest part", "; the op aten::add has the largest part, 50%"),
        (52, "Most of it in", ", most of it in aten::add"),
    ],
)
def test_the_op_with_most_float64(monkeypatch: pytest.MonkeyPatch, largest: int, label: str, most: str) -> None:
    """Ops of 100 us in float64, of 100 us in float32 and of 50 us of unknown type."""
    rest = (100 - largest) // 2
    names = ["aten::sub", "aten::add", "aten::mul", "aten::div", "aten::view"]
    types = {name: OpInputs(types='["double"]') for name in names[:3]} | {"aten::div": OpInputs(types='["float"]')}
    monkeypatch.setattr(module, "op_inputs", lambda space, planes: types)
    blame = SimpleNamespace(
        op=np.array([1, 0, 2, -1, 3, 4]), ps=np.array([largest, rest, rest, 999, 100, 50]) * 10**6,
        ops=[SimpleNamespace(name=f"{name}:PyTorch") for name in names],
    )  # fmt: skip
    host: Any = SimpleNamespace(blame=blame, space=None, plane=None)
    found = module._on_cpus(host)
    assert (found.counted_ps, found.ops_ps, found.saving_ps, found.of_ops) == (2 * 10**8, 10**8, 5 * 10**7, 0.4)
    assert (found.of_op[0].label, found.most) == (label, most)


@pytest.mark.parametrize(
    ("frameworks", "parts", "missing"),
    [
        (["PyTorch", "JAX"], [None], NO_TYPES.code),
        (["JAX", "PyTorch"], [None], NO_PROGRAMS.code),
        ([], [(OpKind(0), OpKind(9))], NO_PROGRAMS.code),
        ([], [], NO_PROGRAMS.code),
    ],
)
def test_without_types_nothing_is_known(frameworks: list[str], parts: list[Any], missing: str) -> None:
    run: Any = SimpleNamespace(frameworks=frameworks)
    found = module.judge(run, parts)
    assert isinstance(found, Silence)
    assert found.missing is not None
    assert (found.looked, found.missing.code) == (False, missing)


@pytest.mark.parametrize(
    ("plane", "recorded", "in_programs", "looked"),
    [(True, True, [], True), (True, False, [], False), (False, True, [], False)],
)
def test_without_programs_the_types_of_pytorch_tell(
    monkeypatch: pytest.MonkeyPatch, plane: bool, recorded: bool, in_programs: list[Any], looked: bool
) -> None:
    monkeypatch.setattr(module, "work_of", lambda host: SimpleNamespace(in_programs=in_programs))
    monkeypatch.setattr(module, "host_plane", lambda space: "plane" if plane else None)
    monkeypatch.setattr(module, "records_inputs", lambda plane: recorded)
    monkeypatch.setattr(module, "_of_pytorch", lambda host: (OpKind(1), OpKind(2)))
    host: Any = SimpleNamespace(space=None)
    assert (module.gather(host) is not None) is looked
