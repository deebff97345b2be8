"""What steps cover of a recording, what lies outside, and steps that are only dispatch times."""

from __future__ import annotations

from builders.answers import summary

from tpu_profile_plugin.analysis.summary.recording import Dispatch, Recording

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
    one = found(f'plane 0 "/host:CPU"\nline 1 main\n{main}')
    assert (one.length_ps, one.steps_ps, one.before_ps, one.after_ps) == (1000 * US, 200 * US, 500 * US, 250 * US)
    assert one.covered == 0.2
    # Self times, on the thread that marks the steps.
    assert one.outside == (("compile", 400 * US), ("save", 150 * US), ("write", 50 * US))
    assert one.work_outside_ps is None


def test_events_that_enclose_steps_are_not_outside() -> None:
    text = f'plane 0 "/host:CPU"\nline 1 main\n0us +1000us loop\n{steps(2, 100, 50, begin=500)}'
    assert found(text).outside == ()


def test_work_of_the_cpu_outside_the_steps() -> None:
    ops = "\n".join(f'{at}us +{length}us dot {{hlo_op="dot"}}' for at, length in ((0, 100), (500, 50), (690, 30)))
    one = found(f'plane 0 "/host:CPU"\nline 1 main\n{steps(2, 100, 0, begin=500)}\nline 2 ops\n{ops}')
    assert one.work_outside_ps == 120 * US  # 100 before, and 20 of the last 30 after the end at 700


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
    assert (len(summary(text).steps), one.linked) == (0, False)
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
    one = found(text)
    assert (one.length_ps, one.steps_ps, one.before_ps, one.after_ps) == (200 * US, 50 * US, 100 * US, 50 * US)
    assert (one.work_outside_ps, one.dispatch) == (80 * US, None)
