"""Sizes that do not fill matrix units, where that costs time."""

from __future__ import annotations

import pytest
from builders.profiles.findings import cpu, evidence, told, tpu, window
from builders.programs.hlo import op, program

from tpu_profile_plugin.analysis.environment.matrix_units import MatrixUnit

DIMS = {"lhs_contracting_dimensions": [1], "rhs_contracting_dimensions": [0]}
LINE = {"source_file": "/home/me/model.py", "source_line": 7, "op_name": "jit(f)/dot_general"}
PEAKS = ", peak_teraflops_per_second={}d, peak_hbm_bw_gigabytes_per_second=1000d"


def dot(rows: int, depth: int, columns: int, kind: str = "bf16") -> bytes:
    entry = [
        op("x", "parameter", f"{kind}[{rows},{depth}]{{1,0}}"),
        op("w", "parameter", f"{kind}[{depth},{columns}]{{1,0}}", parameter_number=1),
        op("dot.1", "dot", f"{kind}[{rows},{columns}]{{1,0}}", "x", "w", dot_dimension_numbers=DIMS, **LINE),
    ]
    return program(entry)


def ask(proto: bytes, us: int = 50, accessed: int = 0, peak: float = 1.0, model: str = "TPU v5p") -> dict[str, object]:
    profile = tpu([("%dot.1 = bf16[8] dot()", "convolution", us)], proto=proto, facts=PEAKS.format(peak),
                  costs=f", bytes_accessed={accessed}")  # fmt: skip
    return told("padding", profile.replace("TPU v5p", model))


def test_a_size_just_above_a_multiple() -> None:
    # 1024 x 130 times 130 x 128: 34.1 us at 1 TFLOP/s, padded to a depth of 256 it is 67.1 us, of which 50 are seen.
    found = ask(dot(1024, 130, 128))
    assert found["title"] == (
        "Padding takes up to 15.9% of the step, most of it in dot.1 (model.py:7): 1024 x 130 times 130 x 128, "
        "49% of the units' work is padding"
    )
    flops = 2 * 1024 * 130 * 128
    assert found["saving_ps_per_step"] == 50_000_000 - flops
    shown = evidence(found)
    assert shown["Padding, of the matrix units' work on this op"] == (pytest.approx(100 * 126 / 256), "%", "")
    assert shown["Self time of dot.1, all runs on h0"] == (100.0, "us", "hlo_stats")
    assert window(found) == {"host": "h0", "window": "0,100000000", "find": "dot.1"}
    assert "multiples of 128 fill this device's matrix units" in str(found["advice"])


def test_the_padded_product_takes_less_than_the_op_did() -> None:
    # Padded it takes 33.6 us at 2 TFLOP/s, without padding 17.0 us.
    assert ask(dot(1024, 130, 128), peak=2.0)["share"] == pytest.approx(0.16515, abs=1e-4)


@pytest.mark.parametrize(
    ("proto", "accessed", "peak"),
    [
        (dot(1024, 128, 128), 0, 1.0),  # fills the unit
        (dot(1024, 110, 128), 0, 1.0),  # 14 % of the work is padding
        (dot(1024, 130, 128), 48_000_000, 1.0),  # bound by memory: 48 us for its bytes
        (dot(1024, 130, 128), 0, 10.0),  # the unit is not what takes the time: 6.7 us with padding
    ],
    ids=["full", "little padding", "bound by memory", "quick"],
)
def test_sizes_that_cost_little(proto: bytes, accessed: int, peak: float) -> None:
    reason = ask(proto, accessed=accessed, peak=peak)["reason"]
    assert str(reason).startswith("Padding in matrix units takes at most ")


def test_later_units_are_larger() -> None:
    # With 256 lanes a depth of 128 uses half the unit, on an older one all of it.
    assert "share" not in ask(dot(256, 128, 256), us=40)
    assert ask(dot(512, 128, 256), us=60, model="TPU v6 Lite")["share"] == pytest.approx((60 - 33.554432) / 100)


def test_a_convolution_is_a_product_of_places_and_features() -> None:
    dims = {
        "input_batch_dimension": 0, "input_spatial_dimensions": [1], "input_feature_dimension": 2,
        "kernel_spatial_dimensions": [0], "kernel_input_feature_dimension": 1, "kernel_output_feature_dimension": 2,
        "output_batch_dimension": 0, "output_spatial_dimensions": [1], "output_feature_dimension": 2,
    }  # fmt: skip
    entry = [
        op("x", "parameter", "bf16[8,128,32]{2,1,0}"),
        op("w", "parameter", "bf16[1,32,128]{2,1,0}", parameter_number=1),
        op("dot.1", "convolution", "bf16[8,128,128]{2,1,0}", "x", "w", convolution_dimension_numbers=dims, **LINE),
    ]
    found = ask(program(entry), us=40)
    assert "1024 x 32 times 32 x 128, 75% of the units' work is padding" in str(found["title"])


def test_what_is_not_known() -> None:
    found = told("padding", cpu([("dot.1", 50)], proto=dot(1024, 130, 128)))
    assert (found["reason"], found["state"]) == (
        "The size of this device's matrix units is unknown.",
        "unknown",
    )
    found = ask(dot(1024, 130, 128), peak=0.0)
    assert (found["reason"], found["state"]) == (
        "No matrix products of known size and cost recorded.",
        "unknown",
    )


def test_used_shares() -> None:
    tpu, cores = MatrixUnit("TPU v5p", 128, 8), MatrixUnit("tensor cores", 16, 16, in_bytes=True)
    assert tpu.used((1, 128, 128, 128), 16) == 1
    # The operand with fewer rows fills sublanes, whichever side it is on.
    assert (tpu.used((1, 4, 128, 128), 16), tpu.used((1, 128, 4, 128), 16)) == (0.5, 0.5)
    assert (cores.used((1, 8, 8, 8), 16), cores.used((1, 8, 8, 4), 16), cores.used((1, 8, 8, 4), 32)) == (1, 0.5, 1)
