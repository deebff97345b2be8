"""Devices that are busy far below the peaks of their matrix units and of their memory; around each limit."""

from __future__ import annotations

import pytest
from builders.profiles.findings import cpu, evidence, gpu, told, tpu
from builders.programs.hlo import op, program

PEAKS = ", peak_teraflops_per_second=1d, peak_hbm_bw_gigabytes_per_second=100d"
"""In 100 us: 1e8 FLOPs and 1e7 bytes."""
PRODUCT = "%convolution.1 = f32[8] convolution()"
SUM = "%fusion.2 = f32[8] fusion()"
UNKNOWN = "The peak rates of the devices, or the costs of their ops, are unknown."
CUSTOM = "%custom-call.3 = f32[8] custom-call()"


def costs(flops: int, accessed: int) -> str:
    return f", flops={flops}, model_flops={flops}, bytes_accessed={accessed}"


def product(length: int, flops: int, accessed: int) -> str:
    return tpu([(PRODUCT, "convolution", length)], facts=PEAKS, costs=costs(flops, accessed))


def test_products_at_a_tenth_of_the_peak() -> None:
    found = told("low_utilization", product(90, 9_000_000, 1_800_000))
    assert found["title"] == (
        "Devices compute far below their speed, which costs up to 45.0% of the step: matrix units are used to 10.0% of "
        "their peak, memory bandwidth to 20.0%"
    )
    # At 20% of the one or 40% of the other peak the 90 us would take 45 us.
    assert (found["saving_ps_per_step"], found["share"], found["confidence"]) == (45_000_000, 0.45, "medium")
    assert [part["id"] for part in found["segments"]] == ["compute"]
    shown = evidence(found)
    assert shown["Matrix units while computing, of the peak, estimated from the costs of ops"] == (
        pytest.approx(10.0),
        "%",
        "",
    )
    assert shown["Memory bandwidth while computing, of the peak, estimated from the costs of ops"] == (
        pytest.approx(20.0),
        "%",
        "",
    )
    assert shown["Mean length of an op"] == (90.0, "us", "")
    assert shown["Most of it in"] == ("convolution.1", "", "hlo_stats")
    assert "too small, or too narrow" in found["advice"]


@pytest.mark.parametrize(
    ("flops", "accessed", "share"),
    [
        (19_000_000, 0, 0.05),
        (19_020_000, 0, None),
        (25_000_000, 0, None),
        (1_000_000, 3_800_000, 0.05),
        (1_000_000, 3_804_000, None),
        (1_000_000, 5_000_000, None),
    ],
)
def test_saving_of_a_twentieth_at_the_limits(flops: int, accessed: int, share: float | None) -> None:
    found = told("low_utilization", product(100, flops, accessed))
    assert found.get("share") == (None if share is None else pytest.approx(share))
    if share is None:
        assert found["state"] == "passed"


@pytest.mark.parametrize(("length", "finds"), [(50, True), (49, False)])
def test_busy_for_half_of_the_step(length: int, finds: bool) -> None:
    found = told("low_utilization", product(length, 100_000, 10_000))
    assert ("share" in found) is finds
    if not finds:
        assert found["reason"] == (
            "Devices compute 49.0% of the step; meanwhile matrix units are used to 0.2% of their peak, memory "
            "bandwidth to 0.2%."
        )


@pytest.mark.parametrize(("flops", "finds"), [(300_000, True), (400_000, False)])
def test_other_arithmetic_is_not_measured_by_the_matrix_units(flops: int, finds: bool) -> None:
    # At a fifth of a fiftieth of the peak, 300'000 FLOPs take 75 us, 400'000 all of the 100 us.
    found = told("low_utilization", tpu([(SUM, "loop fusion", 100)], facts=PEAKS, costs=costs(flops, 1000)))
    assert found.get("share") == (pytest.approx(0.25) if finds else None)
    if finds:
        assert "ops other than matrix products" in found["advice"]


@pytest.mark.parametrize(("length", "tiny"), [(4, True), (5, False)])
def test_ops_of_a_few_microseconds(length: int, tiny: bool) -> None:
    ops = [(f"%convolution.{i} = f32[8] convolution()", "convolution", length) for i in range(20)]
    found = told("low_utilization", tpu(ops, facts=PEAKS, costs=costs(1000, 100)))
    assert ("begin and end for as long" in found["advice"]) is tiny


@pytest.mark.parametrize(
    ("other", "told_of"), [(40, "too small, or too narrow"), (60, "ops other than matrix products")]
)
def test_the_ops_with_most_time_beyond_the_limits_decide_the_advice(other: int, told_of: str) -> None:
    ops = [(PRODUCT, "convolution", 90 - other), (SUM, "loop fusion", other)]
    assert told_of in told("low_utilization", tpu(ops, facts=PEAKS, costs=costs(1000, 1000)))["advice"]


@pytest.mark.parametrize(("custom", "looked"), [(20, True), (21, False)])
def test_custom_kernels_of_unknown_cost(custom: int, looked: bool) -> None:
    ops = [(PRODUCT, "convolution", 100 - custom), (CUSTOM, "custom-call", custom)]
    profile = tpu(ops, facts=PEAKS, costs=costs(1_000_000, 100_000))
    lines = [
        line.replace("flops=1000000", "flops=0") if line.startswith(f'metadata "{CUSTOM}"') else line
        for line in profile.splitlines()
    ]
    found = told("low_utilization", "\n".join(lines))
    assert ("share" in found) is looked
    if not looked:
        assert (found["reason"], found["state"]) == (UNKNOWN, "unknown")


@pytest.mark.parametrize(("matrix", "hbm", "share"), [(5, 20, 0.5), (15, 38, 0.05), (15, 38.1, None), (19.1, 5, None)])
def test_counters_are_preferred(matrix: float, hbm: float, share: float | None) -> None:
    host = f'plane 9 "/host:CPU" {{matrix_unit_utilization_percent={matrix}d, hbm_utilization_percent={hbm}d}}'
    found = told("low_utilization", f"{product(100, 90_000_000, 9_000_000)}\n{host}")
    assert found.get("share") == (None if share is None else pytest.approx(share))


def test_another_cause_explains_it() -> None:
    moving = tpu([("%transpose.1 = f32[8] transpose()", "transpose", 90)], facts=PEAKS, costs=costs(0, 1000))
    assert told("data_movement", moving)["share"] == 0.9
    assert told("low_utilization", moving)["reason"] == "It follows from another finding (data_movement)."


def test_unknown_peaks_and_costs() -> None:
    profiles = (
        cpu([("dot.1", 90)]),
        tpu([(PRODUCT, "convolution", 90)], costs=costs(1000, 1000)),
        tpu([(PRODUCT, "convolution", 90)], facts=PEAKS),
        gpu([("kernel", "dot.1", 90)], proto=program([op("dot.1", "constant", "f32[]")]), facts='device_vendor="AMD"'),
    )
    for profile in profiles:
        found = told("low_utilization", profile)
        assert (found["reason"], found["state"]) == (UNKNOWN, "unknown")
