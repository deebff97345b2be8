"""Output and the wait for SparseCores in the steps of TPUs: at, below and above the limits."""

from __future__ import annotations

import pytest
from builders.profiles.findings import evidence, told


def tpu(category: str, length: int) -> str:
    """Two steps of 1000 us, 2000 us from step to step, whose ops end with one of a category."""
    lines = ['plane 1 "/device:TPU:0"', "line 1 Steps"]
    lines += [f"{2000 * step}us +1000us {step} {{_ct=9, _c={step}}}" for step in range(2)]
    lines.append('line 3 "XLA Ops"')
    for begin in (0, 2000):
        lines += [f"{begin}us +{1000 - length}us a", f"{begin + 1000 - length}us +{length}us b"]
    lines.append('metadata a {hlo_category="loop fusion", program_id=u7, symbol_id=u1}')
    lines.append(f'metadata b {{hlo_category="{category}", program_id=u7, symbol_id=u2}}')
    return "\n".join(lines)


SPARSE = "sparsecorev0 infeed wait"


@pytest.mark.parametrize(
    ("rule", "category", "length", "fires"),
    [
        ("output_bound", "outfeed", 99, False),
        ("output_bound", "outfeed", 100, True),
        ("output_bound", "outfeed", 101, True),
        ("sparse_core_wait", SPARSE, 99, False),
        ("sparse_core_wait", SPARSE, 100, True),
        ("sparse_core_wait", SPARSE, 101, True),
    ],
)
def test_parts_of_tpu_steps(rule: str, category: str, length: int, fires: bool) -> None:
    found = told(rule, tpu(category, length))
    assert ("title" in found) is fires
    if fires:
        assert found["saving_ps_per_step"] == length * 10**6
        assert found["share"] == pytest.approx(length / 2000)
        assert f"{length / 2000:.1%} of the time from step to step" in found["title"]


def test_evidence_is_the_time_budget_s() -> None:
    assert evidence(told("output_bound", tpu("outfeed", 100))) == {
        "Output, of the time from step to step": (pytest.approx(5.0), "%", "time_budget"),
        "Output per step": (0.1, "ms", "time_budget"),
    }
    assert evidence(told("sparse_core_wait", tpu(SPARSE, 100))) == {
        "Waiting for SparseCores, of the time from step to step": (pytest.approx(5.0), "%", ""),
        "Waiting for SparseCores per step": (0.1, "ms", ""),
        "Waiting for SparseCores, of the step": (pytest.approx(10.0), "%", ""),
    }
    assert "share" not in told("input_bound", tpu(SPARSE, 500))


@pytest.mark.parametrize("rule", ["output_bound", "sparse_core_wait"])
def test_without_a_device(rule: str) -> None:
    cpu = 'plane 0 "/host:CPU"\nline 1 main\n0us +9us train {_r=1, step_num=0}\n1us +5us work'
    assert told(rule, cpu)["state"] == "unknown"


def test_sparse_cores_are_unknown_without_steps() -> None:
    assert told("sparse_core_wait", 'plane 1 "/device:TPU:0"\nline 3 "XLA Ops"\n0us +9us a')["state"] == "unknown"
