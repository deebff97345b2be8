"""What steps cover of a recording, what lies outside, and steps that are only dispatch times."""

from __future__ import annotations

import numpy as np
from builders.answers import run_of, summary
from builders.shown import profile

from tpu_profile_plugin.analysis.steps.step_table import SPARSE_CORE_IDS, StepTable
from tpu_profile_plugin.analysis.summary.recording import Coverage, Dispatch, Recording, coverage, recording
from tpu_profile_plugin.run.figures.budget import run_decomposition

US = 10**6


def found(text: str) -> Recording:
    one = summary(text).recording
    assert one is not None
    return one


def steps(count: int, length: int, pause: int = 0, begin: int = 0) -> str:
    lines = []
    for i in range(count):
        at = begin + i * (length + pause)
        lines += [f"{at}us +{length}us train {{_r=1, step_num={i}}}", f'{at}us +1us "PjitFunction(f)"']
    return "\n".join(lines)


def test_without_steps_there_is_nothing_to_cover() -> None:
    assert summary('plane 0 "/host:CPU"\nline 1 a\n0us +1us x').recording is None


def test_steps_and_what_lies_before_between_and_after_them() -> None:
    main = f"0us +400us compile\n{steps(2, 100, 50, begin=500)}\n800us +200us save\n810us +50us write"
    text = f'plane 0 "/host:CPU"\nline 1 main\n{main}'
    assert found(text) == Recording(0, 1000 * US)
    covered = coverage(run_decomposition(run_of(text)), [found(text)])
    assert covered == Coverage(0, length_ps=1000 * US, steps_ps=200 * US, before_ps=500 * US, after_ps=250 * US)
    assert covered.share == 0.2


def test_a_recording_that_begins_later() -> None:
    main = f"100us +350us compile\n{steps(2, 100, 50, begin=500)}\n800us +200us save"
    text = f'plane 0 "/host:CPU"\nline 1 main\n{main}'
    assert found(text) == Recording(100 * US, 1000 * US)
    covered = coverage(run_decomposition(run_of(text)), [found(text)])
    assert covered == Coverage(0, length_ps=900 * US, steps_ps=200 * US, before_ps=400 * US, after_ps=250 * US)
    assert coverage(run_decomposition(run_of(text)), [None]) is None


def test_steps_of_sparse_cores_alone_are_none() -> None:
    space = profile('plane 0 "/host:CPU"\nline 1 a\n0us +1us x')
    times = np.array([[0], [10]])
    table = StepTable(
        number=np.arange(2), names=("", ""), cores=(SPARSE_CORE_IDS + 1,), begin_ps=times, duration_ps=times + 5
    )
    assert recording(space, table, []) is None


def test_the_host_whose_steps_cover_least_counts() -> None:
    texts = [f'plane 0 "/host:CPU"\nline 1 main\n{steps(2, 100)}\n0us +{length}us idle' for length in (400, 800, 200)]
    covered = coverage(run_decomposition(run_of(*texts)), [found(text) for text in texts])
    assert covered is not None
    assert (covered.host, covered.share, covered.after_ps) == (1, 0.25, 600 * US)


def asynchronous(tail: int, module: str = "jit_f", name: str = "dot") -> str:
    """Five steps of 10 us that start work, which runs from 60 us on."""
    op = f'60us +{tail}us {name} {{hlo_op="{name}", hlo_module="{module}"}}'
    return f'plane 0 "/host:CPU"\nline 1 main\n{steps(5, 10)}\nline 2 ops\n{op}'


def test_work_that_goes_on_after_the_steps_that_called_it_makes_them_dispatch_times() -> None:
    assert found(asynchronous(400)).dispatch == Dispatch(5, 50 * US, 460 * US)
    # An evaluation after the steps is another program.
    assert found(asynchronous(400, module="jit_evaluate")).dispatch is None


def test_programs_called_outside_the_steps_alone_are_not_theirs() -> None:
    text = asynchronous(400, module="jit_g")
    called = 'line 1 main\n0us +1us "PjitFunction(g)"'
    assert found(text).dispatch is None
    assert found(text.replace("line 1 main", called.replace("0us", "4us"), 1)).dispatch == Dispatch(
        5, 50 * US, 460 * US
    )
    late = text.replace("line 2", '500us +1us "PjitFunction(g)"\nline 2', 1)
    assert found(late).dispatch is None


def test_ops_that_run_in_the_steps_and_go_on_after_them() -> None:
    def of(last: int) -> Dispatch | None:
        spans = [(10 * i, 10) for i in range(5)] + [(50, last)]
        ops = "\n".join(f'{at}us +{length}us dot {{hlo_op="dot"}}' for at, length in spans)
        return found(f'plane 0 "/host:CPU"\nline 1 main\n{steps(5, 10)}\nline 2 ops\n{ops}').dispatch

    assert of(40) == Dispatch(5, 50 * US, 90 * US)
    # One step ahead is a pipeline that keeps up: the steps are as long as their work.
    assert of(10) is None


def test_markers_on_the_host_of_a_gpu_that_no_kernel_is_linked_to() -> None:
    kernels = "\n".join(f"{10 + 60 * i}us +60us k" for i in range(5))
    text = f"""
    plane 0 "/host:CPU"
    line 1 main
    {steps(5, 10)}
    plane 1 "/device:GPU:0"
    line 10 "Stream #1"
    {kernels}
    """
    one = found(text)
    assert len(summary(text).steps) == 0
    assert one.dispatch == Dispatch(5, 50 * US, 310 * US)
    assert found(text.replace("10us +60us k", "60us +10us k", 1)).dispatch is None


def test_tpu_steps_within_the_recording_of_the_device() -> None:
    text = """
    plane 0 "/device:TPU:0" {device_type_string="TPU v4"}
    line 1 Steps
    100us +50us 0
    line 3 "XLA Ops"
    0us +40us fusion.1
    100us +50us fusion.1
    160us +40us fusion.1
    metadata fusion.1 {hlo_category="loop fusion", program_id=u7, symbol_id=u2}
    """
    assert found(text) == Recording(0, 200 * US)
    covered = coverage(run_decomposition(run_of(text)), [found(text)])
    assert covered == Coverage(0, length_ps=200 * US, steps_ps=50 * US, before_ps=100 * US, after_ps=50 * US)


def late(*ops: str, calls: str = "") -> Dispatch | None:
    """Five steps of 10 us from 100 us on, and ops of the CPU: `BEGIN LENGTH NAME`; `calls` of programs by time."""
    lines = []
    for op in ops:
        at, length, name = op.split()
        lines.append(f'{at}us +{length}us {name} {{hlo_op="{name}", hlo_module="jit_{name}"}}')
    called = "\n".join(
        f'{at}us +1us "PjitFunction({name})"' for name, at in (call.split("@") for call in calls.split())
    )
    main = "\n".join(
        f"{100 + 10 * i}us +10us train {{_r=1, step_num={i}}}\n{100 + 10 * i}us +1us work" for i in range(5)
    )
    ops_line = "line 2 ops\n" + "\n".join(lines)
    return found(f'plane 0 "/host:CPU"\nline 1 main\n{main}\n{called}\n{ops_line}').dispatch


def test_work_goes_on_for_a_fifth_of_the_steps() -> None:
    assert late("100 10 dot", "150 10 dot") == Dispatch(5, 50 * US, 60 * US)
    assert late("100 9 dot", "150 9 dot") is None
    # And for one and a half of the average step's work: 15 us of 50 us.
    assert late("100 35 dot", "150 15 dot") == Dispatch(5, 50 * US, 65 * US)
    assert late("100 36 dot", "150 15 dot") is None


def test_work_of_the_steps_begins_in_them() -> None:
    assert late("100 1 dot", "150 30 dot") == Dispatch(5, 50 * US, 80 * US)
    assert late("149 1 dot", "150 30 dot") == Dispatch(5, 50 * US, 80 * US)
    assert late("99 1 dot", "150 30 dot") is None
    assert late("90 60 dot", "150 30 dot") is None
    # What ran before the steps does not count as their work.
    assert late("0 90 dot", "100 1 dot", "150 30 dot") == Dispatch(5, 50 * US, 80 * US)


def test_programs_are_called_in_the_steps() -> None:
    assert late("150 30 dot", calls="dot@100") == Dispatch(5, 50 * US, 80 * US)
    assert late("150 30 dot", calls="dot@149") == Dispatch(5, 50 * US, 80 * US)
    assert late("150 30 dot", calls="dot@150") is None
    assert late("150 30 dot", calls="dot@99") is None
    assert late("100 1 add", "150 30 dot", "160 30 add", calls="dot@120") == Dispatch(5, 50 * US, 90 * US)


def test_tpus_keep_time_so_that_their_steps_are_no_dispatch_times() -> None:
    text = """
    plane 0 "/device:TPU:0" {device_type_string="TPU v4"}
    line 1 Steps
    100us +50us 0
    150us +50us 1
    line 3 "XLA Ops"
    100us +50us fusion.1
    150us +50us fusion.1
    200us +400us fusion.1
    metadata fusion.1 {hlo_category="loop fusion", program_id=u7, symbol_id=u2}
    """
    assert found(text) == Recording(100 * US, 600 * US)
