"""Where the steps of typed-in profiles go: rows that add up to the time budget, to the picosecond."""

from __future__ import annotations

import numpy as np
import pytest
from builders import planes
from builders.computed import US, blame, budget, decoded
from builders.profiles.planted import cpu, tpu

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN, HostBlame, host_blame
from tpu_profile_plugin.analysis.budget.budget import spent_time
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, PARTS
from tpu_profile_plugin.analysis.budget.host_time import HostReader


def rows(found: HostBlame) -> dict[tuple[str, str, str], float]:
    """Time in us by part, op and innermost call; parts between steps begin with "-"."""
    shown: dict[tuple[str, str, str], float] = {}
    for part, op, node, ps in zip(
        *(column.tolist() for column in (found.part, found.op, found.node, found.ps)), strict=True
    ):
        name = CATEGORIES[part % BETWEEN]
        call = found.stacks.names[found.stacks.name[node]] if node >= 0 else ""
        shown["-" * (part >= BETWEEN) + name, found.ops[op].name if op >= 0 else "", call] = ps / US
    return shown


def test_idle_time_by_the_innermost_call_and_work_by_op():
    main = "0 600 $train.py:42 load_batch\n100 300 $augment.py:7 crop\n600 10 PjitFunction(f)"
    found = blame(cpu(main, "620 300 dot.1", steps=2, lasting=999))
    assert rows(found) == {
        ("idle_host", "", "$train.py:42 load_batch"): 600,
        ("idle_host", "", "$augment.py:7 crop"): 600,
        ("idle_launch", "", "PjitFunction(f)"): 20,
        ("idle_host", "", ""): 79,  # of a gap that load_batch of the next step covers to 80%
        ("idle_other", "", ""): 99,
        ("compute", "dot.1", ""): 600,
        ("-idle_host", "", ""): 1,
    }


def test_ops_that_run_at_once_share_the_time():
    """Two ops from 0 to 100 us and 50 to 150 us have 75 us each."""
    found = blame(cpu("0 5 PjitFunction(f)", "0 100 dot.1\n50 100 dot.2\n150 849 dot.3", steps=1))
    shown = rows(found)
    assert (shown["compute", "dot.1", ""], shown["compute", "dot.2", ""]) == (75, 75)


def test_the_rows_of_each_part_add_up_to_the_time_budget():
    main = "0 300 $train.py:42 load_batch\n300 10 PjitFunction(f)\n900 90 np.asarray(jax.Array)"
    for text in (cpu(main, "320 500 dot.1"), tpu(main, "310 200 fusion.1\n600 300 fusion.2", modules="310 590 m")):
        found, whole = blame(text), budget(text)
        assert whole is not None
        for part in PARTS:
            assert int(found.ps[found.part == part].sum()) == int(whole.time_ps[part].sum())
            between = found.ps[found.part == part + BETWEEN].sum()
            assert int(between) == int(whole.between_time_ps[:, part].sum())


def test_what_launched_an_op_tells_where_it_comes_from():
    """PyTorch's ops have no source; Python that runs in a native op is host code."""
    main = (
        "0 400 $train.py:9 average\n10 100 aten::mul:PyTorch\n500 300 aten::mm:PyTorch\n"
        "600 80 $traceback.py:217 extract_stack"
    )
    found = rows(blame(planes.host(planes.marked(main, steps=1, length=999)), launches=True))
    assert {key: ps for key, ps in found.items() if key[0] == "compute" or "extract" in key[2]} == {
        ("compute", "aten::mul", "$train.py:9 average"): 100,
        ("compute", "aten::mm", ""): 220,
        ("idle_host", "", "$traceback.py:217 extract_stack"): 80,
    }
    assert sum(ps for (_, op, call), ps in found.items() if not op and call == "$train.py:9 average") == 300


def test_what_launched_an_op_is_told_only_if_it_is_asked_for():
    main = "0 400 $train.py:9 average\n10 100 aten::mul:PyTorch\n500 300 aten::mm:PyTorch"
    text = planes.host(planes.marked(main, steps=1, length=999))
    for launches, call in ((True, "$train.py:9 average"), (False, "")):
        assert rows(blame(text, launches=launches))["compute", "aten::mul", call] == 100


GPU = """
plane 1 "/device:GPU:0"
line 7 "Stream #7"
10us +20us gemm {correlation_id=1}
50us +20us gemm {correlation_id=2}
71us +9us reduce {correlation_id=3}
85us +5us copy
plane 9 "/host:CPU"
line 1 python
0us +100us train {_r=1, step_num=0}
1us +20us "$train.py:3 first"
2us +1us cuLaunchKernel {correlation_id=1}
40us +20us "$train.py:5 second"
45us +1us cudaLaunchKernel {correlation_id=2}
47us +1us hipLaunchKernel {correlation_id=3}
"""


def test_kernels_are_launched_by_the_calls_with_their_ids():
    work = {key: ps for key, ps in rows(blame(GPU, launches=True)).items() if key[0] == "compute"}
    assert work == {
        ("compute", "gemm", "cuLaunchKernel"): 20,
        ("compute", "gemm", "cudaLaunchKernel"): 20,
        ("compute", "reduce", "hipLaunchKernel"): 9,
        ("compute", "copy", ""): 5,
    }


def test_loops_are_launched_by_no_call():
    ops = "0 60 while.1\n10 20 fusion.1"
    device = planes.tpu(ops, steps="0 100 1 {_ct=9, _c=1}", modules='0us +60us "jit_f(7)" {run_id=5}')
    main = planes.host('0 100 train {_r=1, step_num=0}\n0 2 "PjitFunction(f)"\n1 1 DoEnqueueProgram {run_id=5}')
    work = {key: ps for key, ps in rows(blame(planes.profile(device, main), launches=True)).items() if key[1]}
    assert work == {("compute", "while.1", ""): 40, ("compute", "fusion.1", "DoEnqueueProgram"): 20}


def test_each_device_has_its_ops():
    ops = planes.xla_on_cpu("0 60 dot.1\n60 40 add.1"), planes.xla_on_cpu("0 30 sort.1\n30 60 fft.1", device=1)
    found = rows(blame(planes.host("0 100 train {_r=1, step_num=0}", *ops)))
    assert {op: ps for (_, op, _), ps in found.items() if op} == {"dot.1": 60, "add.1": 40, "sort.1": 30, "fft.1": 60}


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize(("idle", "call"), [(50, ""), (51, "IteratorGetNext")])
def test_stacks_are_read_if_devices_are_idle_for_more_than_a_twentieth(cores, idle, call):
    """Of steps from 5000 to 6000 us, whose end the host waits for input."""
    core = [
        planes.tpu(f"5000 {1000 - idle} fusion.1", core=number, steps="5000 1000 1 {_ct=9, _c=1}")
        for number in range(cores)
    ]
    main = planes.host(f"5000 1000 train {{_r=1, step_num=0}}\n{6000 - idle} {idle} IteratorGetNext")
    text = planes.profile(*core, main)
    assert rows(blame(text))["idle_input", "", call] == cores * idle
    assert rows(blame(text, launches=True))["idle_input", "", "IteratorGetNext"] == cores * idle


def by_step(steps: int, used: list[bool]) -> dict[tuple[int, str], float]:
    """Time in us by step and op of four steps, in some of which the device takes part; -1: not told apart."""
    space, devices, windows, programs = decoded(cpu("0 5 PjitFunction(f)", "0 $N00 sort.1\n500 10 dot.1", steps=4))
    reader = HostReader(space)
    spent = spent_time(devices, windows, programs, reader)
    found = host_blame(devices, spent, np.array(used)[:, None], reader, launches=False, steps=steps)
    shown: dict[tuple[int, str], float] = {}
    for op, step, part, ps in zip(*(one.tolist() for one in (found.op, found.step, found.part, found.ps)), strict=True):
        if op >= 0 and part < BETWEEN and ps:
            shown[step, found.ops[op].name] = shown.get((step, found.ops[op].name), 0) + ps / US
    return shown


def test_the_first_steps_are_told_apart():
    """Sorting takes 100 us more in each step; steps without the device do not count."""
    every = [True] * 4
    assert by_step(0, every) == {(-1, "sort.1"): 600, (-1, "dot.1"): 40}
    assert by_step(2, every) == {
        (1, "sort.1"): 100, (-1, "sort.1"): 500, (0, "dot.1"): 10, (1, "dot.1"): 10, (-1, "dot.1"): 20,
    }  # fmt: skip
    assert by_step(4, [True, False, True, True]) == {
        (2, "sort.1"): 200, (3, "sort.1"): 300, (0, "dot.1"): 10, (2, "dot.1"): 10, (3, "dot.1"): 10,
    }  # fmt: skip


def test_a_profile_without_devices_has_no_rows():
    assert len(blame("").ps) == 0
