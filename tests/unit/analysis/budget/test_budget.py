"""The parts of a step on typed-in profiles, to the picosecond, and the average step."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import planes
from builders.answers import run_of
from builders.computed import budget
from builders.planes import host

from tpu_profile_plugin.analysis.budget.categories import (
    BETWEEN,
    CATEGORIES,
    GROUPS,
    LABELS,
    PARTS,
    UNKNOWN,
    label_of,
    members,
)
from tpu_profile_plugin.analysis.budget.run_budget import RunBudget, merge_budgets
from tpu_profile_plugin.analysis.steps.inferred import KERAS, Evidence
from tpu_profile_plugin.run.figures.budget import run_budget, run_decomposition

US = 10**6


def parts(found, step=0, device=0):
    """The parts of a step in us that are not 0; they add up to the step."""
    values = found.time_ps.stacked(PARTS)[step, device].tolist()
    assert sum(values) == int((found.steps.end_ps - found.steps.begin_ps)[step, device])
    return {name: value / US for name, value in zip(CATEGORIES, values, strict=True) if value}


def one_step(ops, core=0, modules="", length=100):
    """A TensorCore with one step and ops `BEGIN LENGTH CATEGORY NAME` in us."""
    split = [line.split(maxsplit=3) for line in ops.strip().splitlines()]
    return (
        "\n"
        + planes.tpu(
            "\n".join(f"{begin} {size} {name}" for begin, size, _, name in split),
            core=core,
            steps=f"0 {length} 1 {{_ct=9, _c=1}}",
            modules=modules,
            category={name: category.replace("_", " ") for _, _, category, name in split},
        )
        + "\n"
    )


def test_computation_hides_communication_and_communication_hides_copies():
    found = budget(one_step("""
        0 20 loop_fusion fusion.1
        20 1 async-start all-gather-start.1
        21 1 copy-start copy-start.1
        25 15 loop_fusion fusion.2
        50 10 async-done all-gather-done.1
        65 5 copy-done copy-done.1
        80 10 all-reduce all-reduce.1
    """))  # fmt: skip
    # The all-gather lasts from 20 to 60 us, and 25 to 40 are hidden; the copy from 21 to 70, and 60 to 70 show.
    assert parts(found) == {"compute": 35, "exposed_communication": 25 + 10, "exposed_copy": 10, "idle_other": 20}


def test_loops_are_computation_but_hide_nothing():
    found = budget(one_step("""
        0 60 while while.1
        10 20 loop_fusion fusion.1
        30 20 all-reduce all-reduce.1
    """))  # fmt: skip
    assert parts(found) == {"compute": 10 + 20 + 10, "exposed_communication": 20, "idle_other": 40}


def test_infeed_is_waiting_for_input_and_outfeed_waiting_for_the_host():
    found = budget(one_step("""
        0 30 infeed infeed.1
        30 40 loop_fusion fusion.1
        70 5 outfeed outfeed.1
        75 5 host_send send.1
    """))  # fmt: skip
    assert parts(found) == {
        "compute": 40, "exposed_copy": 5, "idle_input": 30, "idle_transfer": 5, "idle_other": 20,
    }  # fmt: skip


def test_a_copy_under_way_does_not_hide_that_the_core_waits_for_the_host():
    found = budget(one_step("""
        0 1 copy-start copy-start.1
        1 30 infeed infeed.1
        31 20 outfeed outfeed.1
        60 5 copy-done copy-done.1
    """))  # fmt: skip
    # The copy lasts from 0 to 65 us, of which 1 to 51 are waits.
    assert parts(found) == {"idle_input": 30, "idle_transfer": 20, "exposed_copy": 1 + 14, "idle_other": 35}


def test_waiting_for_a_late_device_is_not_communication():
    text = one_step("0 20 loop_fusion fusion.1\n20 60 all-reduce all-reduce.1") + one_step(
        "0 70 loop_fusion fusion.1\n70 10 all-reduce all-reduce.1", core=1
    )
    found = budget(text)
    assert parts(found, device=0) == {"compute": 20, "exposed_communication": 10, "idle_peer": 50, "idle_other": 20}
    assert parts(found, device=1) == {"compute": 70, "exposed_communication": 10, "idle_other": 20}


def main_thread(events):
    """A host whose main thread has a marker and these events; another thread loads data."""
    return host(f"0 100 train {{_r=1, step_num=0}}\n{events}", "0 100 $loader.py:3 worker")


BUSY = "0 10 loop_fusion fusion.1\n90 10 loop_fusion fusion.1"
"""An op at the begin and at the end of the step; idle from 10 to 90 us."""


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("10us +80us backend_compile", {"idle_compile": 80}),
        ('10us +80us "PjitFunction(f)"\n20us +30us backend_compile', {"idle_compile": 30, "idle_launch": 50}),
        ("10us +80us IteratorGetNextOp::DoCompute", {"idle_input": 80}),
        ('0us +95us "$x.py:1 f"\n8us +84us "$data.py:7 __next__"', {"idle_input": 80}),
        ('15us +30us "np.asarray(jax.Array)"', {"idle_transfer": 30, "idle_other": 50}),
        # Blocked when the device ran out of work: launching it again belongs to the wait.
        ('5us +15us "$array.py:5 __float__"\n20us +70us "PjitFunction(f)"', {"idle_transfer": 80}),
        (
            '15us +15us "$array.py:5 __float__"\n30us +60us "PjitFunction(f)"',
            {"idle_transfer": 15, "idle_launch": 60, "idle_other": 5},
        ),
        ('5us +15us "$array.py:5 __float__"\n20us +70us "$train.py:9 load"', {"idle_transfer": 10, "idle_host": 70}),
        # An event must cover 80% of the idle time to be its cause.
        ('10us +64us "$train.py:9 load"', {"idle_host": 80}),
        ('10us +63us "$train.py:9 load"', {"idle_other": 80}),
        ('30us +40us "Runtime::Event"', {"idle_other": 80}),
        # What lasts through all steps tells nothing; other threads are not searched.
        ('0us +100us "$train.py:1 main"', {"idle_other": 80}),
    ],
)  # fmt: skip
def test_idle_time_by_what_the_main_thread_does(events, expected):
    found = parts(budget(one_step(BUSY) + main_thread(events)))
    assert found == {"compute": 20, **expected}


def test_host_code_is_named_by_the_programs_own_frame():
    events = """
        0us +95us "$train.py:40 step"
        11us +78us "$train.py:9 load_batch"
        12us +76us "$random.py:120 shuffle"
    """
    (cause,) = budget(one_step(BUSY) + main_thread(events)).causes
    assert (cause.name, cause.inner, cause.time_ps) == ("$train.py:9 load_batch", "$random.py:120 shuffle", (80 * US,))


LOADER = """
    0us +95us "$train.py:40 step"
    11us +78us "$batches.py:9 __getitem__"
"""


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        # A method that Python calls, and a function without a name, give way to what they call for most of the time.
        (
            f'{LOADER}\n12us +76us "$batches.py:10 <listcomp>"\n13us +40us "$images.py:3 decode"'
            '\n54us +30us "$images.py:3 decode"',
            ("$images.py:3 decode", "$batches.py:10 <listcomp>"),
        ),
        (f'{LOADER}\n13us +40us "$images.py:3 decode"', ("$batches.py:9 __getitem__", "$batches.py:9 __getitem__")),
        (f'{LOADER}\n12us +76us "$batches.py:10 <lambda>"', ("$batches.py:9 __getitem__", "$batches.py:10 <lambda>")),
        # So do functions of libraries that only call others, to what they call or to what calls them.
        (
            '11us +78us "$torch/nn/modules/module.py:1 _call_impl"\n12us +76us "$torch/nn/modules/linear.py:9 forward"',
            ("$torch/nn/modules/linear.py:9 forward", "$torch/nn/modules/linear.py:9 forward"),
        ),
        (
            '11us +78us "$train.py:9 load"\n12us +76us "$torch/nn/modules/module.py:1 _call_impl"',
            ("$train.py:9 load", "$train.py:9 load"),
        ),
        # A function that tells what it does stands for what it calls.
        (
            '11us +78us "$train.py:9 load"\n13us +40us "$images.py:3 decode"\n54us +30us "$images.py:3 decode"',
            ("$train.py:9 load", "$train.py:9 load"),
        ),
        # Nor does what a library does for it.
        (
            '11us +78us "$batches.py:9 __getitem__"\n13us +40us "$random.py:1 shuffle"'
            '\n54us +30us "$random.py:1 shuffle"',
            ("$batches.py:9 __getitem__", "$batches.py:9 __getitem__"),
        ),
        (
            '11us +78us "$random.py:120 shuffle"\n0us +5us "Iterator"',
            ("$random.py:120 shuffle", "$random.py:120 shuffle"),
        ),
        # The function that calls a library may last through all steps.
        (
            '0us +100us "$train.py:1 main"\n11us +78us "$random.py:120 shuffle"',
            ("$train.py:1 main", "$random.py:120 shuffle"),
        ),
    ],
)
def test_host_code_is_named_by_what_says_most(events, expected):
    (cause,) = budget(one_step(BUSY) + main_thread(events)).causes
    assert ((cause.name, cause.inner), cause.time_ps) == (expected, (80 * US,))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (
            '11us +78us "$train.py:9 load"\n12us +76us "$random.py:120 shuffle"',
            ("$train.py:9 load", "$random.py:120 shuffle"),
        ),
        (
            '11us +78us "$train.py:9 load"\n12us +76us "$torch/nn/modules/module.py:1 _call_impl"',
            ("$train.py:9 load", "$train.py:9 load"),
        ),
        (
            '11us +78us "$batches.py:9 __getitem__"\n13us +40us "$images.py:3 decode"'
            '\n54us +30us "$images.py:3 decode"',
            ("$images.py:3 decode", "$batches.py:9 __getitem__"),
        ),
        (
            '11us +78us "$batches.py:9 __getitem__"\n12us +76us "$batches.py:10 <lambda>"',
            ("$batches.py:9 __getitem__", "$batches.py:10 <lambda>"),
        ),
        (
            '0us +100us "$train.py:1 main"\n11us +78us "$random.py:120 shuffle"',
            ("$train.py:1 main", "$random.py:120 shuffle"),
        ),
    ],
)  # fmt: skip
def test_host_code_is_named_wherever_the_file_has_the_name(events, expected):
    """The outermost event comes last, which makes its name the first of the plane."""
    lines = ["0us +100us train {_r=1, step_num=0}", *events.splitlines()[::-1]]
    (cause,) = budget(one_step(BUSY) + host("\n".join(lines))).causes
    assert (cause.name, cause.inner) == expected


def test_waits_in_turn_are_causes_one_by_one():
    events = """
        5us +50us "$train.py:9 first"
        6us +48us "$queue.py:9 get"
        55us +40us "$train.py:10 second"
        55us +39us "$queue.py:9 get"
    """
    found = budget(one_step(BUSY) + main_thread(events))
    assert [(cause.name, cause.inner, cause.time_ps) for cause in found.causes] == [
        ("$train.py:9 first", "$queue.py:9 get", (44 * US,)),
        ("$train.py:10 second", "$queue.py:9 get", (35 * US,)),
        ("$train.py:9 first", "$train.py:9 first", (US,)),
    ]


def test_gaps_within_a_run_of_a_program_are_not_the_hosts():
    text = one_step(BUSY, modules='0us +60us "jit_f(7)" {run_id=5}') + main_thread('10us +80us "$train.py:9 load"')
    assert parts(budget(text)) == {"compute": 20, "idle_host": 30, "idle_gap": 50}


def test_work_that_was_launched_and_has_not_begun_waits_for_its_launch():
    modules = '0us +10us "jit_f(7)" {run_id=5}\n90us +10us "jit_f(7)" {run_id=6}'
    text = one_step(BUSY, modules=modules) + main_thread("40us +2us DoEnqueueProgram {run_id=6}")
    assert parts(budget(text)) == {"compute": 20, "idle_launch": 50, "idle_other": 30}


@pytest.mark.parametrize(
    ("launched", "expected"),
    [
        (10, {"idle_launch": 80}),
        (11, {"idle_transfer": 80}),  # the device had nothing to do when the host was waiting for it
    ],
)
def test_work_that_was_launched_when_a_gap_begins_does_not_wait_for_a_blocked_host(launched, expected):
    modules = '0us +10us "jit_f(7)" {run_id=5}\n90us +10us "jit_f(7)" {run_id=6}'
    main = host(
        '0 100 train {_r=1, step_num=0}\n5 15 "np.asarray(jax.Array)"',
        f"{launched} 2 DoEnqueueProgram {{run_id=6}}",
    )
    assert parts(budget(one_step(BUSY, modules=modules) + main)) == {"compute": 20, **expected}


GPU = """
plane 1 "/device:GPU:0"
line 7 "Stream #7"
10us +20us gemm {correlation_id=1}
50us +20us gemm {correlation_id=2}
71us +9us gemm {correlation_id=3}
plane 9 "/host:CPU"
line 1 python
0us +100us train {_r=1, step_num=0}
2us +1us cuLaunchKernel {correlation_id=1}
45us +1us cuLaunchKernel {correlation_id=2}
47us +1us cuLaunchKernel {correlation_id=3}
"""


def test_kernels_are_launched_by_correlation_id():
    found = budget(GPU)
    assert (found.steps.source, found.devices) == ("device", (("GPU 0", "gpu"),))
    # From the launch at 45 us to 50 us, and the 1 us before the third kernel, which was launched long before.
    launches = parts(found)
    assert launches["compute"] == 49
    assert launches["idle_launch"] >= 6


def ends_idle(idle, events, cores=1):
    """A step from 5000 to 6000 us of cores that work but for the last microseconds, during which the host does that."""
    core = [
        planes.tpu(f"5000 {1000 - idle} fusion.1", core=number, steps="5000 1000 1 {_ct=9, _c=1}")
        for number in range(cores)
    ]
    main = host(f"5000 1000 train {{_r=1, step_num=0}}\n{6000 - idle} {idle} {events}")
    return budget(planes.profile(*core, main))


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize(
    ("idle", "event", "name"),
    [
        # Host events are read if devices are idle for more than 0.5% of the steps,
        (5, "IteratorGetNext", "idle_other"),
        (6, "IteratorGetNext", "idle_input"),
        # and the main thread's if no event tells why for more than 1%.
        (10, "$train.py:9 load", "idle_other"),
        (11, "$train.py:9 load", "idle_host"),
    ],
)
def test_the_host_is_read_if_devices_are_idle_long_enough(idle, event, name, cores):
    found = ends_idle(idle, event, cores)
    assert [parts(found, device=core) for core in range(cores)] == [{"compute": 1000 - idle, name: idle}] * cores
    assert found.traced is (True if name == "idle_host" else None)


def test_causes_are_in_the_order_of_their_time():
    text = one_step("0 10 loop_fusion fusion.1\n30 10 loop_fusion fusion.1\n90 10 loop_fusion fusion.1")
    found = budget(text + main_thread('10us +20us "$train.py:9 load"\n40us +50us "$train.py:10 save"'))
    assert [(cause.name, cause.time_ps) for cause in found.causes] == [
        ("$train.py:10 save", (50 * US,)), ("$train.py:9 load", (20 * US,)),
    ]  # fmt: skip


def test_of_two_asynchronous_collectives_one_waits_for_a_late_device():
    def core(number, late):
        return one_step(
            f"""
            0 1 async-start all-reduce-start.1
            1 4 async-done all-reduce-done.1
            5 {late - 5} loop_fusion fusion.1
            {late} 1 async-start all-reduce-start.2
            {late + 1} {79 - late} async-done all-reduce-done.2
            85 1 async-start all-reduce-start.3
            86 4 async-done all-reduce-done.3
            """,
            core=number,
        )

    found = budget(core(0, 20) + core(1, 70))
    assert parts(found, device=0) == {"compute": 15, "exposed_communication": 20, "idle_peer": 50, "idle_other": 15}
    assert parts(found, device=1) == {"compute": 65, "exposed_communication": 20, "idle_other": 15}


def test_only_devices_that_share_cores_hold_up_the_communication_of_others():
    """While the first exchanges, from 20 to 60 us, the second computes until 50 us."""
    tpus = one_step("0 20 loop_fusion fusion.1\n20 40 all-reduce all-reduce.1") + one_step(
        "0 50 loop_fusion fusion.1", core=1
    )
    assert (budget(tpus).shared_ps, parts(budget(tpus))["exposed_communication"]) == (0, 40)
    cpus = host(
        "0 100 train {_r=1, step_num=0}",
        planes.xla_on_cpu("0 20 dot.1\n20 40 all-reduce.1"),
        planes.xla_on_cpu("0 50 dot.1", device=1),
    )
    assert (budget(cpus).shared_ps, parts(budget(cpus))["exposed_communication"]) == (30 * US, 40)


def test_time_between_steps():
    text = """
plane 1 "/host:CPU"
line 1 python
0us +40us train {_r=1, step_num=0}
41us +50us "$train.py:3 load"
100us +40us train {_r=1, step_num=1}
line 2 worker
0us +40us dot.1 {hlo_op="dot.1", device_ordinal=0, run_id=1, program_id=3}
100us +38us dot.1 {hlo_op="dot.1", device_ordinal=0, run_id=2, program_id=3}
"""
    found = budget(text)
    assert [parts(found, step) for step in (0, 1)] == [{"compute": 40}, {"compute": 38, "idle_other": 2}]
    between = {name: ps / US for name, ps in zip(CATEGORIES, found.between_time_ps[0].tolist(), strict=True) if ps}
    assert (found.between_ps.tolist(), between) == ([60 * US], {"idle_host": 60})


def test_a_profile_without_devices_has_no_budget():
    found = budget('plane 1 "/host:CPU"\nline 1 python\n0us +5us train {_r=1}')
    assert (found.devices, found.time_ps.shape) == ((), (0, 0))
    assert len(merge_budgets([found])) == 0


def test_steps_of_hosts_are_matched_by_name_else_by_time():
    def one(*numbers):
        lines = ['plane 1 "/host:CPU"', "line 1 python"]
        lines += [f"{100 * i}us +80us train {{_r=1, step_num={number}}}" for i, number in enumerate(numbers)]
        lines.append("line 2 worker")
        lines += [
            f'{100 * i}us +{50 + number}us dot.1 {{hlo_op="dot.1", device_ordinal=0, run_id={i}, program_id=3}}'
            for i, number in enumerate(numbers)
        ]
        return budget("\n".join(lines))

    merged = merge_budgets([one(3, 4, 5), one(4, 5, 6, 7)])
    assert merged.names == ("train 4", "train 5")
    assert [(device.name, device.host) for device in merged.devices] == [("CPU device 0", 0), ("CPU device 0", 1)]
    assert (merged.time_ps[0] // US).tolist() == [[54, 54], [55, 55]]
    assert merged.time_ps.sum().tolist() == merged.duration_ps.tolist()
    apart = merge_budgets([one(3, 4, 5, 6), one(3, 6)])
    assert (apart.names, (apart.time_ps[0] // US).tolist()) == (("train 3", "train 6"), [[53, 53], [56, 56]])
    recordings = merge_budgets([budget(one_step(BUSY)), budget(one_step(BUSY, length=90))])
    assert (recordings.duration_ps // US).tolist() == [[100, 90]]


def test_waits_for_devices_of_other_hosts_are_found_on_a_common_clock():
    def rank(late, shift):
        """Four reductions of 60 us less `late`, after work of `late` us; steps by a marker of the host."""
        lines = ['plane 1 "/device:TPU:0"', "line 1 Steps", f"{shift}us +400us 1 {{_ct=9, _c=1}}", 'line 3 "XLA Ops"']
        for at in (shift, shift + 90, shift + 210, shift + 300):
            lines += [f"{at}us +{late}us fusion.1", f"{at + late}us +{60 - late}us all-reduce.1"]
        lines += [
            "metadata fusion.1 {program_id=u7, symbol_id=u1}",
            "metadata all-reduce.1 {program_id=u7, symbol_id=u2}",
        ]
        return budget("\n".join(lines))

    early, late = rank(10, 0), rank(40, 5000)
    assert parts(early) == {"compute": 40, "exposed_communication": 200, "idle_other": 160}
    waits = {"compute": 40, "exposed_communication": 80, "idle_peer": 120, "idle_other": 160}
    none = {"compute": 160, "exposed_communication": 80, "idle_other": 160}
    for hosts, expected in (
        ([early, late], [waits, none]),
        ([late, early], [none, waits]),
        ([early, late, early], [waits, none, waits]),
    ):
        merged = merge_budgets(hosts)
        found = [
            {name: ps // US for name, ps in zip(CATEGORIES, device, strict=True) if ps}
            for device in merged.time_ps.stacked(PARTS)[0].tolist()
        ]
        assert found == expected
        assert merged.time_ps.sum().tolist() == merged.duration_ps.tolist()


def test_host_code_of_several_hosts_is_in_the_order_of_its_time_per_device():
    """40 us on each of two devices are less than 70 us on the only one of the other host."""
    two = one_step("0 60 loop_fusion fusion.1") + one_step("0 60 loop_fusion fusion.1", core=1)
    first = budget(two + main_thread('60us +39us "$train.py:9 load"'))
    second = budget(one_step("0 30 loop_fusion fusion.1") + main_thread('30us +69us "$train.py:10 save"'))
    assert [(host, cause.name, cause.time_ps) for host, cause in merge_budgets([first, second]).causes] == [
        (1, "$train.py:10 save", (70 * US,)),
        (0, "$train.py:9 load", (40 * US, 40 * US)),
    ]


# The average step: devices that take part, time between steps, cut steps, hosts of which no device was recorded.


def averaged(steps: str, *devices: str) -> RunBudget:
    """Steps `BEGIN LENGTH` on the host, and per CPU device the runs `BEGIN LENGTH` of a program of one op, in us."""
    lines = ['plane 1 "/host:CPU"', "line 1 main"]
    for number, step in enumerate(steps.split(", ")):
        begin, length = step.split()
        lines.append(f"{begin}us +{length}us train {{_r=1, step_num={number}}}")
    for ordinal, runs in enumerate(devices):
        lines.append(f"line {ordinal + 2} worker")
        for run, one in enumerate(runs.split(", ")):
            begin, length = one.split()
            stats = f'hlo_op="dot.1", device_ordinal={ordinal}, program_id=3, run_id={run}'
            lines.append(f"{begin}us +{length}us dot.1 {{{stats}}}")
    return merge_budgets([budget("\n".join(lines))])


def test_devices_without_work_in_a_step_are_not_averaged_in():
    found = averaged("0 100, 100 100, 200 100", "0 60, 100 70, 200 80", "10 20")
    assert found.takes_part.tolist() == [[True, True], [True, False], [True, False]]
    assert (found.cells, found.step_ps, found.base) == (4, 100 * US, "step")
    # 60, 70 and 80 us of the first device and 20 of the second, by four; not by the six of steps times devices.
    assert found.part_ps("compute") == (60 + 70 + 80 + 20) / 4 * US
    assert found.share("device_compute") == 0.575
    assert found.of_steps_ps[1][:, 0].tolist() == [40 * US, 70 * US, 80 * US]
    assert found.of_devices_ps[1][:, 0].tolist() == [70 * US, 20 * US]
    assert (found.of_steps_ps[0].tolist(), found.of_devices_ps[0].tolist()) == ([100 * US] * 3, [100 * US] * 2)


def test_a_step_without_any_work_counts_for_the_devices_that_work_in_others():
    found = averaged("0 100, 100 100, 200 100", "0 60, 200 80", "10 20")
    assert found.takes_part.tolist() == [[True, True], [True, True], [True, False]]


def test_time_between_steps_is_a_part_of_the_time_from_step_to_step():
    found = averaged("0 100, 150 100, 300 100", "0 100, 150 90, 300 80")
    assert found.base == "time from step to step"
    assert (found.step_ps, found.between_step_ps, found.base_ps) == (100 * US, 50 * US, 150 * US)
    assert found.share(BETWEEN) == pytest.approx(1 / 3)
    assert sum(found.share(group.id) for group in GROUPS) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("gap_us", "base"), [(99, "step"), (100, "time from step to step")])
def test_time_between_steps_is_shown_from_one_percent(gap_us, base):
    steps = ", ".join(f"{(9900 + gap_us) * i} 9900" for i in range(3))
    assert averaged(steps, "0 9900").base == base


def test_time_between_steps_of_which_events_are_missing_is_no_part_of_shares():
    """The launch at 230 us has no kernel: what the device does until 310 us is unknown, 10 us of the second step."""
    text = """
    plane 1 "/host:CPU"
    line 1 main
    0us +200us train {step_num=0, _r=1}
    300us +200us train {step_num=1, _r=1}
    1us +2us cudaLaunchKernel {correlation_id=1}
    230us +2us cudaLaunchKernel {correlation_id=2}
    301us +2us cudaLaunchKernel {correlation_id=3}
    plane 2 "/device:GPU:0"
    line 1 "Stream #1(Compute)"
    10us +150us k {correlation_id=1}
    310us +180us k {correlation_id=3}
    """
    found = merge_budgets([budget(text)])
    assert (found.step_ps, found.between_step_ps, found.not_recorded_ps) == (200 * US, 100 * US, 75 * US)
    assert (found.part_ps(BETWEEN), found.base_ps) == (30 * US, 225 * US)
    assert (found.share(UNKNOWN), merge_budgets([]).share("compute")) == (0, 0)
    assert found.between_of_devices_ps().tolist() == [30 * US]
    assert averaged("0 100, 150 100, 300 100", "0 100, 150 90, 300 80").between_of_devices_ps().tolist() == [50 * US]
    assert averaged("0 100", "0 90").between_of_devices_ps().tolist() == [0]


def test_host_code_per_step_of_the_devices_that_take_part():
    """The second device is idle from 100 us on, of which no event covers most."""
    steps = "\n".join(
        f'{200 * i} 200 train {{_r=1, step_num={i}}}\n{200 * i + 100} 100 "$train.py:9 load"' for i in range(3)
    )
    ops = planes.in_each_step("0 100 dot.1", steps=3, period=200)
    found = merge_budgets([budget(host(steps, planes.xla_on_cpu(ops), planes.xla_on_cpu("0 100 dot.1", device=1)))])
    assert [(host, cause.name, ps) for host, cause, ps in found.causes_per_step()] == [
        (0, "$train.py:9 load", 300 / 4 * US)
    ]


@pytest.mark.parametrize(
    ("event", "inferred"),
    [(None, False), ("infer", True), ("train 1", False), ("keras_callback", True), (KERAS, False)],
)
def test_steps_are_inferred_unless_the_event_marks_them(event, inferred):
    evidence = None if event is None else Evidence("host event", event, "main", "/host:CPU", 4, 1.0, 0.0, 1.0)
    assert replace(averaged("0 100", "0 90"), evidence=evidence).inferred is inferred


@pytest.mark.parametrize(("count", "names"), [(5, [0, 1, 2, 3, 4]), (7, [1, 2, 3, 4, 5])])
def test_the_first_and_last_of_more_than_five_marked_steps_may_be_cut(count, names):
    steps = ", ".join(f"{100 * i} 100" for i in range(count))
    runs = ", ".join(f"{100 * i} 60" for i in range(count))
    assert averaged(steps, runs).number.tolist() == names


def test_a_host_of_which_no_device_was_recorded_counts_as_if_a_device_waited_for_it():
    text = host('0 100 train {_r=1, step_num=0}\n10 50 IteratorGetNextOp::DoCompute\n60 40 "$train.py:3 load"')
    run = run_of(text)
    assert run_budget(run).devices == ()
    found = run_decomposition(run)
    assert [(one.name, one.kind) for one in found.devices] == [("Host", "host")]
    parts = {name: ps / US for name, ps in zip(CATEGORIES, found.parts_ps.tolist(), strict=True) if ps}
    assert parts == {"idle_input": 50, "idle_host": 40, "idle_other": 10}
    assert len(run_decomposition(run_of(host("0 5 anything")))) == 0


def test_every_event_of_a_host_without_devices_counts_for_its_own_time():
    run = run_of(host('0 100 train {_r=1, step_num=0}\n0 40 "$train.py:3 load"\n60 20 MatMul:MatMul'))
    found = run_decomposition(run)
    assert {one: found.part_ps(one) / US for one in ("idle_host", "idle_other")} == {"idle_host": 60, "idle_other": 40}
    assert run.findings().headline.title == "1 step only: The host runs train.py:3 load for 40.0% of the step"


def test_every_part_belongs_to_one_category():
    assert sorted(part for group in GROUPS for part in group.parts) == sorted(CATEGORIES) == sorted(LABELS)
    assert [CATEGORIES[i] for i in members("input")] == ["idle_input", "input_copy"]
    assert [CATEGORIES[i] for i in members("idle_peer")] == ["idle_peer"]
    assert [label_of(name).name for name in (BETWEEN, "input", "compute")] == ["Between steps", "Input", "Ops"]
