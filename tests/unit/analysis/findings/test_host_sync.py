"""Values fetched within steps: both conditions, at, below and above their thresholds."""

from __future__ import annotations

import pytest
from builders.profiles.planted import cpu, evidence, finding, findings, reason, tpu


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
