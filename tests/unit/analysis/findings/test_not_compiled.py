"""Steps of many tiny programs or eager ops: all conditions, at, below and above their thresholds."""

from __future__ import annotations

import re

import pytest
from builders.profiles.planted import cpu, evidence, finding, findings, reason, tf_loop

STEPS = 3


def tiny(count=100, kinds=8, op=10, period=30, frame='"$train.py:5 update"', device="cpu"):
    """Programs of one op each, `period` us apart, launched from a function."""
    length = count * period
    lines = ['plane 9 "/host:CPU"', "line 1 main"]
    for step in range(STEPS):
        lines.append(f"{length * step}us +{length}us train {{_r=1, step_num={step}}}")
        if frame:
            lines.append(f"{length * step}us +{length - 1}us {frame}")
        lines += [f"{length * step + period * i}us +{period - op - 1}us PjitFunction(add)" for i in range(count)]
    if device == "cpu":
        lines.append("line 2 worker")
    else:
        lines += ['plane 1 "/device:TPU:0"', "line 1 Steps"]
        lines += [f"{length * step}us +{length}us {step} {{_ct=9, _c={step}}}" for step in range(STEPS)]
        lines.append('line 2 "XLA Modules"')
    modules, ops = [], []
    for run in range(STEPS * count):
        at, kind = length * (run // count) + period * (run % count) + period - op, run % kinds
        if device == "cpu":
            ops.append(
                f'{at}us +{op}us f{kind} {{hlo_op="f{kind}", device_ordinal=0, program_id={kind}, run_id={run}}}'
            )
        else:
            modules.append(f'{at}us +{op}us "jit_f{kind}({kind + 1})" {{run_id={run}}}')
            ops.append(f'{at}us +{op}us "%fusion.{kind}"')
    lines += modules
    if device != "cpu":
        lines += ['line 3 "XLA Ops"', *ops]
        lines += [f'metadata "%fusion.{i}" {{program_id=u{i + 1}, symbol_id=u{i + 1}}}' for i in range(kinds)]
    else:
        lines += ops
    return "\n".join(lines)


def test_counts_programs_and_names_the_function_that_runs_them():
    found = finding("not_compiled", tiny())
    title = "100 programs per step are launched one by one by train.py:5 update, not compiled as a whole"
    assert found["title"] == title
    # Of 30 us between two begins, 20 are idle.
    assert (found["saving_ps_per_step"], found["share"]) == (2000 * 10**6, pytest.approx(2 / 3, abs=0.001))
    assert evidence(found) == {
        "Programs per step and device": 100.0,
        "Function that runs them": "train.py:5 update",
        "Kinds of programs": 8,
        "Median duration of an op": 10.0,
        "Device compute, of the step": pytest.approx(33.333, abs=0.001),
        "Devices idle between programs, of the step": pytest.approx(66.667, abs=0.001),
    }
    assert found["evidence"][1]["tool"] == "trace_viewer@"
    assert "jax.jit" in found["advice"]


def test_devices_that_compute_for_most_of_the_step_wait_for_launches():
    busy = tiny(op=18)
    assert finding("not_compiled", busy) is None
    found = finding("launch_bound", busy)
    assert found["title"].endswith("to launch work: 100 programs per step, one by one by train.py:5 update")
    assert found["advice"].startswith("Put the whole step")


@pytest.mark.parametrize(
    ("facts", "fires"),
    [
        ({"count": 29}, False),
        ({"count": 30}, True),
        ({"kinds": 7}, False),
        ({"op": 20, "period": 60}, False),
        ({"op": 19, "period": 60}, True),
        ({"op": 16, "period": 30}, False),  # busy for more than half of the step
        ({"op": 14, "period": 30}, True),
        ({"op": 10, "period": 2010}, True),  # one gap of 2 ms is little of a step of 201 ms
        ({"frame": ""}, True),
        ({"device": "tpu"}, True),
    ],
)
def test_every_condition_must_hold(facts, fires):
    profile = tiny(**facts)
    assert (finding("not_compiled", profile) is not None) == fires
    if not fires:
        assert reason("not_compiled", profile)


def eager(count, kinds=8):
    main = []
    for i in range(count):
        at = 20 * i
        main += [
            f"{at} 12 EagerExecute",
            f"{at} 12 EagerLocalExecute: Op{i % kinds}",
            f"{at + 2} 10 EagerKernelExecute",
        ]
        main.append(f"{at + 5} 7 KernelAndDeviceFunc::Run")
    return tf_loop("\n".join(main), length=20 * count)


def test_eager_ops_of_tensorflow():
    found = finding("not_compiled", eager(50))
    assert found["title"] == "50 eager ops (Op1, Op0, Op7) per step are launched one by one, not compiled as a whole"
    assert found["saving_ps_per_step"] == 50 * 13 * 10**6
    assert evidence(found)["Median duration of an op"] == 7.0
    assert "tf.function" in found["advice"]


def test_eager_ops_that_make_an_iterator():
    """Such as those of `predict` in each step."""
    found = finding("not_compiled", eager(50).replace("Op1", "MakeIterator"))
    assert found["title"].startswith("50 eager ops (MakeIterator, Op0, Op7) per step")
    assert found["advice"].startswith("Call iter(dataset) once")


def test_eager_ops_that_write_summaries():
    found = finding("not_compiled", eager(50).replace("Op1", "WriteHistogramSummary"))
    assert found["title"] == (
        "50 eager ops (WriteHistogramSummary, Op0, Op7) per step are launched one by one, for 7 summaries"
    )
    assert "summaries every N-th step" in found["advice"]


@pytest.mark.parametrize(("count", "kinds", "fires"), [(49, 8, False), (50, 8, True), (50, 7, False)])
def test_conditions_of_eager_ops(count, kinds, fires):
    assert (finding("not_compiled", eager(count, kinds)) is not None) == fires


def test_launches_are_not_reported_twice():
    assert "follows from another finding (not_compiled)" in reason("launch_bound", tiny())


def test_python_between_two_operations_is_not_slow_code_as_well():
    frames = '"$train.py:5 update"\n0us +1us other'
    slow = tiny(op=10, period=600, frame=frames)
    assert [one["id"] for one in findings(slow)["findings"] if one["share"]] == ["not_compiled"]
    assert "Code on the host takes 0.0%" in reason("slow_host_code", slow)


def slow_between(main, every):
    """A step of 60 ms: 30 ops, the last of them after code of 30 ms; `every`: distance of the others."""
    ops = [f"{every * i} 10 f{i % 8}" for i in range(29)] + ["50000 10 f7"]
    calls = "\n".join(f"{every * i} 5 PjitFunction(add)" for i in range(29))
    text = cpu(f"{main}\n{calls}\n49990 5 PjitFunction(add)", "\n".join(ops), length=60_000)
    return re.sub(r'(hlo_op="f(\d)", device_ordinal=0, program_id=)7', r"\g<1>\g<2>", text)


def test_slow_code_of_another_function_is_its_own_finding():
    profile = slow_between("0 59000 $train.py:5 update\n20000 29900 $train.py:9 load", 600)
    by_id = {one["id"]: one["saving_ps_per_step"] for one in findings(profile)["findings"]}
    # Idle until 16.8 ms: between the first 29 ops, 590 us each.
    assert by_id["slow_host_code"] == pytest.approx(33_000 * 10**6, rel=0.02)
    assert "train.py:9 load" in finding("slow_host_code", profile)["title"]


def test_what_the_function_does_that_launches_the_ops_is_the_price_of_launching_them():
    profile = slow_between("0 59000 $train.py:5 update", 600)
    assert [one["id"] for one in findings(profile)["findings"] if one["share"]] == ["not_compiled"]


@pytest.mark.parametrize(("count", "fires"), [(299, False), (300, True)])
def test_a_recording_without_steps_has_as_many_as_ten_steps(count, fires):
    # A single call, so that no event repeats from which steps could be inferred.
    lines = ['plane 9 "/host:CPU"', "line 1 main", "line 2 worker"]
    for i in range(count):
        stats = f'hlo_op="f{i % 8}", device_ordinal=0, program_id={i % 8}, run_id={i}'
        lines.append(f"{30 * i + i * i // 30}us +10us f{i % 8} {{{stats}}}")
    assert findings("\n".join(lines))["base"] == "recording"
    assert (finding("not_compiled", "\n".join(lines)) is not None) == fires
