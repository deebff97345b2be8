"""Figures of a run as columns: steps, ops, kernels, programs, memory, findings; what a profile lacks raises NoData."""

from __future__ import annotations

import pickle

import pytest
from builders.answers import run_of
from builders.planes import host, tpu

from tpu_profile_plugin.analysis.blame.host_blame import host_blame
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.figures.summary import host_summary
from tpu_profile_plugin.run.host import derived, per_host
from tpu_profile_plugin.units import PS_PER_US

US = PS_PER_US
TPU = """
plane 1 "/device:TPU:0" {device_type_string="TPU v5 lite", core_details="x"}
  metadata dot {hlo_category="convolution fusion", program_id=u7, symbol_id=u1, flops=100, bytes_accessed=10}
  metadata add {hlo_category="loop fusion", program_id=u7, symbol_id=u2, tf_op="jit/add:Add", flops=4, bytes_accessed=6}
  line 1 "XLA Modules"
    0us +40us jit_step(7)
    100us +40us jit_step(7)
  line 2 "XLA Ops"
    0us +10us add
    10us +30us dot
    100us +10us add
    110us +30us dot
  line 3 Steps
    0us +50us "0" {group_id=0}
    100us +60us "1" {group_id=1}
"""


def test_ops_most_self_time_first_with_their_share() -> None:
    ops = run_of(TPU).ops()
    assert ops.name == ("dot", "add")
    assert ops.self_ps.tolist() == ops.time_ps.tolist() == [60 * US, 20 * US]
    assert ops.occurrences.tolist() == [2, 2]
    assert ops.category == ("convolution fusion", "loop fusion")
    assert ops.framework_op == ("", "jit/add:Add")
    assert ops.flops.tolist() == [200.0, 8.0]
    assert ops.share.tolist() == [60 * US / ops.total_ps, 20 * US / ops.total_ps]
    assert 80 * US <= ops.total_ps <= 160 * US
    assert [row["share"] for row in ops.table] == pytest.approx((100 * ops.share).tolist())
    assert dict(zip(ops.table.ids, ops.table.units, strict=True))["self_ps"] == "ps"


def test_steps_last_what_the_budget_and_the_findings_take_for_the_step() -> None:
    run = run_of(TPU)
    steps, budget = run.steps(), run.budget()
    assert steps.name == ("0", "1")
    assert steps.duration_ps.tolist() == [50 * US, 60 * US]
    assert steps.average_ps == budget.duration_ps.mean() == 55 * US
    assert [row["begin_ps"] for row in steps.table] == [0, 100 * US]
    assert steps.source == "device"


def test_steps_of_hosts_without_devices() -> None:
    steps = run_of('plane 0 "/host:CPU"\nline 1 main\n0us +30us train {_r=1, step_num=4}\n1us +5us work').steps()
    assert (steps.name, steps.duration_ps.tolist(), steps.source) == (("train 4",), [30 * US], "host")


def test_kernels_of_gpus() -> None:
    facts = '{kernel_details="regs:8 grid:1,1,1 block:32,1,1"}'
    events = f"0us +3us k1 {facts}\n5us +1us k1 {facts}\n9us +2us k2 {facts}"
    kernels = run_of(f'plane 1 "/device:GPU:0"\nline 7 "Stream #7"\n{events}').kernels()
    assert kernels.name == ("k1", "k2")
    assert kernels.runs.tolist() == [2, 1]
    assert kernels.total_ps.tolist() == [4 * US, 2 * US]
    assert (kernels.min_ps.tolist(), kernels.max_ps.tolist()) == ([1 * US, 2 * US], [3 * US, 2 * US])


def test_memory_has_the_peak_of_each_allocator() -> None:
    events = "\n".join(
        f'{at}us +0us {name} {{allocator_name="0", bytes_reserved=0, bytes_allocated={used}, bytes_available={free}}}'
        for at, name, used, free in (
            (1, "MemoryAllocation", 60, 40),
            (2, "MemoryAllocation", 90, 10),
            (3, "MemoryDeallocation", 20, 80),
        )
    )
    memory = run_of(f'{TPU}\nplane 9 "/host:CPU"\nline 5 pool\n{events}').memory()
    ((place, peak),) = memory.allocators.items()
    assert place == ("h0", "0")
    assert (peak.in_use_bytes, peak.managed_bytes) == (90, 100)


def test_findings_have_id_title_and_share() -> None:
    findings = run_of(TPU).findings()
    assert len(findings) == len(list(findings))
    assert all(finding.id and finding.title and 0 <= finding.share <= 1 for finding in findings)
    assert findings.headline.title


def test_two_runs_compared() -> None:
    slower = TPU.replace("10us +30us dot", "10us +45us dot").replace("0us +50us", "0us +65us")
    found = run_of(slower).compare(run_of(TPU))
    assert (found.base.step.mean, found.run.step.mean) == (55 * US, 62.5 * US)


def test_findings_and_comparisons_share_where_the_steps_go(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    monkeypatch.setattr(
        "tpu_profile_plugin.run.figures.blame.host_blame",
        lambda *args, **rest: passes.append(args) or host_blame(*args, **rest),
    )
    first, second = run_of(TPU), run_of(TPU)
    first.findings()
    first.compare(second)
    second.findings()
    assert len(passes) == 2  # one per run


@pytest.mark.parametrize("figure", ["steps", "ops", "kernels", "budget", "communication", "programs", "memory"])
def test_what_a_profile_lacks_raises_no_data(figure: str) -> None:
    run = run_of('plane 0 "/other"\nline 1 a\n0us +1us x')
    with pytest.raises(NoData) as caught:
        getattr(run, figure)()
    assert len(caught.value.message) > 20


def test_figures_of_several_hosts_are_merged() -> None:
    run = run_of(f"host a\n{TPU}", f"host b\n{TPU}")
    assert run.ops().self_ps.tolist() == [120 * US, 40 * US]
    assert len(run.budget().devices) == 2
    assert run.hosts == ["h0", "h1"]


def test_a_step_travels_by_its_name() -> None:
    given = host_summary.given()
    assert pickle.loads(pickle.dumps(given)) == given
    assert given.name == "tpu_profile_plugin.run.figures.summary:host_summary" or given.name.endswith(":host_summary")


def test_derived_values_are_computed_once_and_dropped_with_the_columns() -> None:
    calls = []

    @derived()
    def names(profile, suffix="!"):
        calls.append(suffix)
        return [plane.name + suffix for plane in profile.lazy.planes]

    (profile,) = run_of(TPU).profiles
    assert names(profile, "!") is names(profile) is names(profile, suffix="!")
    assert names(profile, "?") == ["/device:TPU:0?"]
    assert calls == ["!", "?"]
    profile.release(names, least=1)
    assert names(profile, "!") == ["/device:TPU:0!"]
    assert calls == ["!", "?", "!"]


def test_a_result_per_host_is_kept_though_the_columns_are_dropped() -> None:
    calls = []

    @per_host()
    def count(profile):
        calls.append(profile.name)
        return len(profile.lazy.planes)

    (profile,) = run_of(f"{tpu('0 1 x')}\n{host('0 1 y')}").profiles
    assert (count(profile), count(profile), calls) == (2, 2, ["h0"])
    profile.release(least=1)
    assert (count(profile), calls) == (2, ["h0"])
