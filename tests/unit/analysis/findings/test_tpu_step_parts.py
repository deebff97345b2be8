"""Output and the wait for SparseCores in the steps of TPUs: at, below and above the limits."""

from __future__ import annotations

import pytest
from builders.profiles.findings import evidence, told


def tpu(category: str, length: int) -> str:
    """Two steps of 1000 us whose ops end with one of a category."""
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
        ("output_bound", "outfeed", 49, False),
        ("output_bound", "outfeed", 50, True),
        ("output_bound", "outfeed", 51, True),
        ("sparse_core_wait", SPARSE, 99, False),
        ("sparse_core_wait", SPARSE, 100, True),
        ("sparse_core_wait", SPARSE, 101, True),
    ],
)
def test_parts_of_tpu_steps(rule: str, category: str, length: int, fires: bool) -> None:
    found = told(rule, tpu(category, length))
    assert ("title" in found) is fires
    assert f"{length / 10:.1f}% of the step" in found.get("title", found.get("reason", ""))
    if fires:
        assert found["saving_ps_per_step"] == length * 10**6
        (first,) = evidence(found).values()
        assert first == (pytest.approx(length / 10), "%", "overview_page")


@pytest.mark.parametrize("rule", ["output_bound", "sparse_core_wait"])
def test_only_steps_of_tpus_tell(rule: str) -> None:
    cpu = 'plane 0 "/host:CPU"\nline 1 main\n0us +9us train {_r=1, step_num=0}\n1us +5us work'
    assert told(rule, cpu)["state"] == "passed"
    assert told(rule, 'plane 1 "/device:TPU:0"\nline 3 "XLA Ops"\n0us +9us a')["state"] == "unknown"
