"""Values fetched within steps: both conditions, at, below and above their thresholds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builders.profiles.planted import cpu, evidence, finding, findings, reason, tpu

from tpu_profile_plugin.analysis.blame.host_blame import BETWEEN
from tpu_profile_plugin.analysis.budget.categories import CATEGORIES, IDLE_COMPILE, IDLE_HOST
from tpu_profile_plugin.analysis.findings.evidence.host.code import Fetches, Idle
from tpu_profile_plugin.analysis.findings.rules.host import host_sync


def fetching(blocked, after, call="$array_methods.py:273 _item"):
    """A step of 1000 us: an op ends when the call does, then nothing until the next launch."""
    end = 100 + blocked
    main = f"0 999 $train.py:10 epoch\n0 50 PjitFunction(f)\n100 {blocked} {call}\n{end + after} 20 PjitFunction(f)\n"
    ops = f"0 {end - 10} dot.1\n{end + after} {1000 - end - after} dot.2"
    return main, ops


def test_names_the_call_the_function_and_what_it_costs():
    found = finding("host_sync", cpu(*fetching(400, 190)))
    after = "after 1 call of .item() per step in train.py:10 epoch"
    assert found["title"] == f"Devices idle 20.0% of the step {after}"
    assert found["confidence"] == "high"
    assert found["saving_ps_per_step"] == 200 * 10**6
    assert evidence(found) == {
        "Devices idle after such calls, of the step": pytest.approx(20.0, abs=0.02),
        "Devices idle after such calls per step": 0.2,
        "Longest idle time after a call, with the call": 0.59,
        "Host in such calls, of the step": pytest.approx(40.0, abs=0.02),
        "Calls per step": 1.0,
        "Kind of call": ".item()",
        "Function": "train.py:10 epoch",
    }
    timeline = found["evidence"][2]
    assert (timeline["tool"], timeline["query"]["host"]) == ("trace_viewer@", "h0")
    # The call and the idle time after it last 590 us; a tenth of that on each side.
    assert timeline["query"]["window"] == "0,1280000000"


@pytest.mark.parametrize(("blocked", "after", "fires"), [(301, 195, True), (290, 195, False), (310, 180, False)])
def test_both_conditions_must_hold(blocked, after, fires):
    # The op ends 10 us before the call does, so that devices are idle 10 us longer than `after`.
    assert (finding("host_sync", cpu(*fetching(blocked, after))) is not None) == fires


def lockstep(waits, launches):
    """A step of 1000 us: short ops that run in their launches, and short waits, 40 us before the next launch."""
    main, ops = ["0 999 $train.py:10 epoch"], []
    for i in range(launches):
        main.append(f"{70 * i} 20 PjitFunction(f)")
        ops.append(f"{70 * i} 20 dot.{i + 1}")
    main += [f"{70 * i + 25} 5 $array.py:298 __bool__" for i in range(waits)]
    return "\n".join(main), "\n".join(ops) + "\n960 40 dot.30"


@pytest.mark.parametrize(("waits", "launches", "fires"), [(4, 11, True), (3, 11, False), (3, 8, True), (2, 3, False)])
def test_short_waits_after_most_launches(waits, launches, fires):
    # With the op at the end of the step there are `launches` + 1: at least a third of them must be waited for.
    found = finding("host_sync", cpu(*lockstep(waits, launches)))
    assert (found is not None) == fires
    if found:
        assert found["saving_ps_per_step"] == waits * 45 * 10**6


@pytest.mark.parametrize(
    ("event", "call"),
    [
        ("$array.py:298 __float__", "float()"),
        ("$array.py:310 __int__", "int()"),
        ("np.asarray(jax.Array)", "np.asarray()"),
        ("$api.py:2479 block_until_ready", "block_until_ready()"),
        ("$ops.py:400 numpy", ".numpy()"),
        ("cudaStreamSynchronize", "cudaStreamSynchronize"),
    ],
)
def test_calls_of_many_kinds(event, call):
    found = finding("host_sync", cpu(*fetching(400, 190, event)))
    assert evidence(found)["Kind of call"] == call


def test_a_conversion_counts_only_if_the_device_stops_in_it():
    asarray = "$numpy asarray"
    assert finding("host_sync", cpu(*fetching(400, 190, asarray))) is not None
    # The array is on the host: the device has stopped before, and loading takes the time.
    main = "0 999 $train.py:10 epoch\n0 50 PjitFunction(f)\n300 400 $numpy asarray\n720 20 PjitFunction(f)"
    assert finding("host_sync", cpu(main, "0 200 dot.1\n720 280 dot.2")) is None


def test_waiting_while_the_device_works_is_no_loss():
    main = "0 999 $train.py:10 epoch\n0 50 PjitFunction(f)\n60 935 $api.py:2479 block_until_ready"
    answer = findings(cpu(main, "20 970 dot.1"))
    assert answer["findings"] == []
    assert "Busy: 97.1% of the step is device compute" in answer["headline"]["title"]
    assert reason("host_sync", cpu(main, "20 970 dot.1"))


def test_a_slow_start_after_the_launch_is_not_the_calls():
    """The next program was launched at once and starts late: the device allocates memory, say."""
    main = "0 999 $train.py:10 epoch\n5 50 PjitFunction(f)\n60 938 $api.py:2479 block_until_ready"
    assert finding("host_sync", cpu(main, "300 490 dot.1", length=1000)) is not None
    slow = main.replace("938", "9938").replace("999", "9999")
    assert finding("host_sync", cpu(slow, "5000 4990 dot.1", length=10_000)) is None


def test_code_that_runs_after_the_call_is_not_the_calls():
    main, ops = fetching(400, 390)
    main += "505 380 $train.py:30 augment"
    found = findings(cpu(main, ops))["findings"]
    assert [one["id"] for one in found] == ["slow_host_code"]


def test_without_python_functions():
    main, ops = fetching(400, 190, "np.asarray(jax.Array)")
    found = finding("host_sync", cpu(main.replace("0 999 $train.py:10 epoch\n", ""), ops))
    assert found["confidence"] == "medium"
    assert found["title"].endswith("of the step after 1 call of np.asarray() per step")


def test_tensor_cores():
    main = "0 50 PjitFunction(f)\n100 400 np.asarray(jax.Array)\n690 20 PjitFunction(f)"
    found = finding("host_sync", tpu(main, "0 490 fusion.1\n690 310 fusion.2"))
    assert found["saving_ps_per_step"] == pytest.approx(200 * 10**6, rel=0.06)


def test_compilation_in_one_step_does_not_hide_it():
    main, ops = fetching(400, 195)
    slow = cpu(main, ops, once="4050 9050 backend_compile_and_load") + "\n13100us +50us late.1 "
    slow += '{hlo_op="late.1", device_ordinal=0, program_id=7, run_id=99}'
    slow = slow.replace("3000us +999us train", "3000us +10101us train")
    found = finding("host_sync", slow)
    assert "idle 6.0% of the step" in found["title"]


GPU = """
plane 1 "/device:GPU:0"
line 1 "Stream #1(Compute)"
{kernels}
plane 9 "/host:CPU"
line 1 main
{host}
"""


def test_gpus():
    kernels, host = [], []
    for step in range(4):
        at = 1000 * step
        host += [
            f"{at}us +999us train {{_r=1, step_num={step}}}",
            f"{at + 5}us +5us cuLaunchKernel {{correlation_id={2 * step + 1}}}",
        ]
        host += [
            f"{at + 20}us +500us cuStreamSynchronize",
            f"{at + 700}us +5us cuLaunchKernel {{correlation_id={2 * step + 2}}}",
        ]
        kernels += [f"{at + 15}us +495us gemm {{correlation_id={2 * step + 1}}}"]
        kernels += [f"{at + 710}us +289us relu {{correlation_id={2 * step + 2}}}"]
    text = GPU.format(kernels="\n".join(kernels), host="\n".join(host))
    found = finding("host_sync", text)
    assert evidence(found)["Kind of call"] == "cuStreamSynchronize"
    assert found["saving_ps_per_step"] == 200 * 10**6


def test_no_device():
    assert "No devices" in reason("host_sync", 'plane 1 "/host:CPU"\nline 1 main\n0us +5us a')


def test_a_wait_that_no_work_follows_costs_nothing():
    """One wait, at the end of all: the only step with a gap is the last one."""
    lines = ['plane 9 "/host:CPU"', "line 1 main"]
    for step in range(2):
        lines += [f"{1000 * step}us +999us train {{_r=1, step_num={step}}}", f"{1000 * step}us +5us PjitFunction(f)"]
    lines += ['1010us +980us "$api.py:2479 block_until_ready"', "line 2 worker"]
    lines += ['10us +980us dot.1 {hlo_op="dot.1", device_ordinal=0, program_id=7, run_id=1}']
    lines += ['1010us +500us dot.1 {hlo_op="dot.1", device_ordinal=0, program_id=7, run_id=2}']
    assert finding("host_sync", "\n".join(lines)) is None


@pytest.mark.parametrize(
    ("call", "fires"), [("$api.py:2479 block_until_ready", False), ("np.asarray(jax.Array)", True)]
)
def test_devices_that_share_cores_wait_for_each_other(call, fires):
    """Device 0 has finished after 300 us, device 1 after 900: the cores work for 1 meanwhile."""
    lines = ['plane 9 "/host:CPU"', "line 1 main"]
    for step in range(4):
        at = 1000 * step
        lines += [f"{at}us +999us train {{_r=1, step_num={step}}}", f"{at}us +5us PjitFunction(f)"]
        lines += [f'{at + 10}us +895us "{call}"']
    for device, length in enumerate((300, 900)):
        lines.append(f"line {device + 2} worker")
        run = f'dot.1 {{hlo_op="dot.1", device_ordinal={device}, program_id=7, run_id='
        lines += [f"{1000 * step + 5}us +{length - 5}us {run}{step}}}" for step in range(4)]
    assert (finding("host_sync", "\n".join(lines)) is not None) == fires


# The rule on typed-in calls: of two kinds, four in two steps.

ITEM, FLOAT, MAIN = "$array.py:1 item", "$array.py:298 __float__", "$train.py:10 main"


def synced(
    monkeypatch, spans, *, blocked=300, fetched=4, lockstep=False, compiling=(0, 0), cpus=False, cells=2, per="step"
):
    """Idle spans (begin, end) of a host with two steps of 500, and calls from 100, 300, 500 and 700 on, of 50 each.

    Args:
      blocked: time in such calls, of 1000; fetched: how many; lockstep: the host waits for most that it launches.
      compiling: time of compilation in steps and between them; cells: of steps and devices.
    """
    begin = np.array([100, 300, 500, 700])
    fetches = Fetches(begin, begin + 50, np.array([0, 1, 0, 1]))
    asked = []

    def most(nodes, ps):
        asked.append((nodes.tolist(), ps.tolist()))
        return MAIN, int(ps.sum())

    calls = SimpleNamespace(
        main=SimpleNamespace(names=(ITEM, FLOAT, MAIN)), most=most, function=np.array([2, 20, 3, 30, -1]),
        stacks=SimpleNamespace(at=lambda points: np.searchsorted(begin, points)),
    )  # fmt: skip
    since, until = (np.array([one[i] for one in spans], np.int64) for i in (0, 1))
    code = SimpleNamespace(
        calls=calls, fetches=fetches, fetched=fetched, in_lockstep=lockstep, blocked_ps=blocked,
        length_ps=1000 * cells // 2, after=Idle(since, until, since * 0),
    )  # fmt: skip
    monkeypatch.setattr(host_sync, "code_of", lambda host: code)
    part = np.array([IDLE_COMPILE, IDLE_HOST, BETWEEN + IDLE_COMPILE])
    host = SimpleNamespace(
        name="h0", per=per, base="step", steps=(0, 1), devices=(0,), on_cpus=cpus,
        blame=SimpleNamespace(part=part, ps=np.array([compiling[0], 777, compiling[1]])),
        time=SimpleNamespace(cells=cells), by_part=lambda spans, parts: np.zeros(len(CATEGORIES) + 1, np.int64),
    )  # fmt: skip
    return host_sync.gather(host), asked


@pytest.mark.parametrize(
    ("spans", "given", "harmless"),
    [
        ([(150, 250)], {}, False),  # 30% of 1000 waited for, 10% idle afterwards
        ([(150, 250)], {"blocked": 299}, True),
        ([(150, 249)], {}, True),
        ([(150, 250)], {"blocked": 0, "lockstep": True}, False),
        # Compilation, in steps or between them, is no time of the steps: of 800
        ([(150, 230)], {"blocked": 240, "compiling": (150, 50)}, False),
        ([(150, 230)], {"blocked": 239, "compiling": (150, 50)}, True),
        ([(150, 229)], {"blocked": 240, "compiling": (150, 50)}, True),
        # On two devices as on one
        ([(150, 350)], {"cells": 4}, False),
        ([(150, 349)], {"cells": 4}, True),
        ([(150, 350)], {"cells": 4, "blocked": 299}, True),
        # Of CPUs that are waited for once per step a fifth
        ([(150, 250)], {"cpus": True, "fetched": 3}, False),
        ([(150, 350)], {"cpus": True, "fetched": 2}, False),
        ([(150, 349)], {"cpus": True, "fetched": 2}, True),
        ([(150, 250)], {"fetched": 2}, False),
    ],
)
def test_the_least_time_of_waits_for_results(monkeypatch, spans, given, harmless):
    loss, _ = synced(monkeypatch, spans, **given)
    assert bool(loss.harmless) == harmless


@pytest.mark.parametrize(
    ("spans", "what", "asked"),
    [
        ([(150, 200), (350, 390), (740, 760)], "float()", ([20, 30], [40, 20])),
        ([(150, 200), (350, 390)], ".item()", ([2], [50])),  # nothing is idle after the other of them
        ([(150, 200), (550, 560), (740, 760)], ".item()", ([2, 3], [50, 10])),
        ([(60, 90), (350, 370)], ".item()", ([2], [30])),  # before the first call
    ],
)
def test_the_calls_with_most_idle_time_after_them(monkeypatch, spans, what, asked):
    loss, places = synced(monkeypatch, spans)
    assert loss.what == f"2 calls of {what} per step in train.py:10 main"
    assert places == [asked]
    longest = max(spans, key=lambda one: one[1] - one[0])
    begin = 100 + max(longest[0] - 100, 0) // 200 * 200
    assert loss.evidence[0].value == (longest[1] - begin) / 10**9


@pytest.mark.parametrize(
    ("fetched", "per", "what"),
    [(2, "step", "1 call of .item() per step"), (3, "step", "1.5 calls of .item() per step"),
     (4, "recording", "2 calls of .item()")],
)  # fmt: skip
def test_how_many_calls_there_are(monkeypatch, fetched, per, what):
    loss, _ = synced(monkeypatch, [(150, 250)], fetched=fetched, per=per)
    assert loss.what == f"{what} in train.py:10 main"


def test_a_host_without_steps_or_waits(monkeypatch):
    assert synced(monkeypatch, [])[0] is None
    monkeypatch.setattr(host_sync, "code_of", lambda host: None)
    assert host_sync.gather(SimpleNamespace(steps=(0, 1))) is None
    monkeypatch.setattr(host_sync, "code_of", lambda host: SimpleNamespace(after=(0,)))
    assert host_sync.gather(SimpleNamespace(steps=None)) is None
