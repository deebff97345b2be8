"""Waiting for launches: thresholds, what GPUs record, and when something else is the cause."""

from __future__ import annotations

import pytest
from builders.planes import gpu, host, in_each_step, marked, profile
from builders.profiles.planted import cpu, evidence, finding, reason, tf_loop


def launching(us):
    """A step in which one program is launched for `us`."""
    return cpu(f"0 {us} PjitFunction(f)", f"{us} {1000 - us} dot.1")


@pytest.mark.parametrize(("us", "fires"), [(149, False), (150, True), (160, True)])
def test_the_threshold(us, fires):
    # The first step begins with its launch, too; markers are 999 us long.
    found = finding("launch_bound", launching(us))
    assert (found is not None) == fires
    if found:
        assert found["saving_ps_per_step"] == us * 10**6
        assert found["confidence"] == "medium"
    else:
        assert "for launches" in reason("launch_bound", launching(us))


def test_the_numbers_and_their_pages():
    found = finding("launch_bound", launching(300))
    title = "Devices wait 30.0% of the step for the host to launch work, most of it in PjitFunction(f)"
    assert found["title"] == title
    assert evidence(found) == {
        "Time lost to launches, of the step": 30.0,
        "Time lost to launches per step": 0.3,
        "Most of it in": "PjitFunction(f)",
        "Length of the step that loses most": 1.0,
    }
    tools = ["time_budget", "time_budget", "trace_viewer@", "trace_viewer@"]
    assert [one["tool"] for one in found["evidence"]] == tools
    assert "jax.lax.scan" in found["advice"]


def test_graphs_of_tensorflow():
    found = finding("launch_bound", tf_loop("0 999 EagerExecute", "300 700 dense/MatMul:MatMul"))
    assert found["saving_ps_per_step"] == 300 * 10**6
    assert "jit_compile=True" in found["advice"]
    assert "Keras" not in found["advice"]
    own = tf_loop('0 999 EagerExecute\n0 999 one_step_on_data {tf_function_call="xla"}', "300 700 dense/MatMul:MatMul")
    assert "steps_per_execution" in finding("launch_bound", own)["advice"]


@pytest.mark.parametrize(("us", "fires"), [(299, True), (300, True), (301, False)])
def test_calls_of_tensorflow_that_last_longer_than_launching_takes(us, fires):
    # Ops of the graph wait for a core: nothing could be called less often.
    loop = tf_loop("0 999 EagerExecute", f"{us} {1000 - us} dense/MatMul:MatMul")
    assert (finding("launch_bound", loop) is not None) == fires
    if not fires:
        assert "0.301 ms in each" in reason("launch_bound", loop)
    assert finding("launch_bound", launching(us)) is not None  # here a program's run tells when it begins


def test_several_calls_of_tensorflow_in_a_step():
    calls = "0 400 EagerExecute\n500 400 EagerExecute"
    ops = "250 250 dense/MatMul:MatMul\n{} {} dense/MatMul:MatMul"
    assert finding("launch_bound", tf_loop(calls, ops.format(850, 150)))["saving_ps_per_step"] == 600 * 10**6
    assert finding("launch_bound", tf_loop(calls, ops.format(851, 149))) is None


def launching_kernels(kernel, others=()):
    """Kernels of `kernel` us every 40 us, ten in a step, unless `others`; each begins when its launch of 20 us ends."""
    lengths = (*others, *(kernel,) * 10)
    launches = "\n".join(f"{40 * i} 20 cuLaunchKernel {{correlation_id={i + 1}$N}}" for i in range(10))
    kernels = "\n".join(f"{40 * i + 20} {lengths[i]} kernel {{correlation_id={i + 1}$N}}" for i in range(10))
    return profile(gpu(in_each_step(kernels, period=400)), host(marked(launches, period=400)))


def test_tiny_kernels_of_a_gpu():
    found = finding("launch_bound", launching_kernels(9))
    assert found["title"].endswith("for the host to launch work; most kernels are shorter than 10 us")
    assert found["confidence"] == "high"
    shown = evidence(found)
    assert shown["Launches per step"] == 10.0
    assert shown["Kernels shorter than 10 us, of the launches"] == 100.0
    assert shown["Median duration of a launch on the host"] == 20.0
    pages = {one["label"]: one["tool"] for one in found["evidence"]}
    assert pages["GPU with nothing launched, of the steps"] == "communication"
    for longer, told in ((5, True), (6, False)):
        title = finding("launch_bound", launching_kernels(9, (10,) * longer))["title"]
        assert title.endswith("most kernels are shorter than 10 us") == told
    assert not finding("launch_bound", launching_kernels(10))["title"].endswith("10 us")


def test_launches_that_wait_for_results_are_not_the_cause():
    main = "0 200 PjitFunction(f)\n{} PjitFunction(f)\n{}"
    ops = "190 5 dot.1\n490 505 dot.2"
    waits = main.format("200 10 $array.py:298 __float__\n210 290", "500 490 $array.py:298 __float__")
    assert "the host waits for results first" in reason("launch_bound", cpu(waits, ops))
    assert finding("launch_bound", cpu(main.format("200 300", "500 490 other"), ops)) is not None


@pytest.mark.parametrize(("us", "fires"), [(900, False), (1100, True)])
def test_calls_that_launch_for_more_than_a_millisecond_are_the_cause_whatever_is_waited_for(us, fires):
    """A step of 4 ms, whose only launch has so many arguments, and whose result is waited for."""
    main = f"0 {us} PjitFunction(f)\n{us} {3999 - us} $array.py:298 __float__"
    profile = cpu(main, f"{us} {3999 - us} dot.1", length=4000)
    found = finding("launch_bound", profile)
    assert (found is not None) == fires
    if found:
        assert found["title"].endswith("to launch work, most of it in PjitFunction(f)")
        assert "Thousands of arrays in one call" in found["advice"]


@pytest.mark.parametrize(("code", "fires"), [(11, False), (13, True)])
def test_short_code_between_two_launches_counts(code, fires):
    """Ten launches of 3 us in a step of 1000 us, with code of the loop before each: 150 us in all are needed."""
    main = "\n".join(["0 999 $train.py:10 main", *(f"{100 * i + code} 3 PjitFunction(f)" for i in range(10))])
    ops = "\n".join(f"{100 * i + code + 3} {100 - code - 3} dot.{i + 1}" for i in range(10))
    found = finding("launch_bound", cpu(main, ops))
    assert (found is not None) == fires
    if found:
        assert found["saving_ps_per_step"] == pytest.approx(10 * (code + 3) * 10**6, rel=0.01)
        assert {part["id"] for part in found["segments"]} == {"idle_launch", "idle_host"}
