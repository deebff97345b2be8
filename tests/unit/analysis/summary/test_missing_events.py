"""Work of devices that ran and was not recorded, as a run tells it."""

from __future__ import annotations

import pytest
from builders.answers import run_of
from builders.profiles.planted import evidence, finding

from tpu_profile_plugin.run.facts import combine_facts, host_facts
from tpu_profile_plugin.run.figures.budget import lacks_planes, run_decomposition


def gpu(kernels: range, launches: int = 100, name: str = "cudaLaunchKernel", warning: str = "") -> str:
    """A launch per millisecond, some of which have a kernel."""
    calls = "\n".join(f"{1000 * i}us +5us {name} {{correlation_id={i + 1}}}" for i in range(launches))
    work = "\n".join(f"{1000 * i + 10}us +800us gemm {{correlation_id={i + 1}}}" for i in kernels)
    return f"""
        plane 1 "/host:CPU"
        line 1 python
        {calls}
        0us +{1000 * launches}us PjitFunction(f)
        plane 2 "/device:GPU:0"
        line 7 "Stream #7(Compute)"
        0us +1us first {{correlation_id=9999}}
        {work}
        {warning}
    """


def told(text: str) -> list[tuple[str, str, int | None]]:
    return [(one.code, one.message, one.count) for one in host_facts(run_of(text).profiles[0]).losses]


@pytest.mark.parametrize(
    ("kernels", "sentence"),
    [
        (range(10), "Device events of GPU 0 end at 10% of the time of the launches: 90 of 100"),
        (range(90, 100), "Device events of GPU 0 begin at 91% of the time of the launches: 90 of 100"),
        (range(0, 100, 2), "Of GPU 0: 50 of 100"),
        (range(97), "Device events of GPU 0 end at 98% of the time of the launches: 3 of 100"),
    ],
)
def test_launches_without_kernels(kernels: range, sentence: str) -> None:
    text = gpu(kernels)
    ((code, message, count),) = told(text)
    assert (code, message) == ("device_events_missing", f"{sentence} launches have no event of the device.")
    assert count == 100 - len(kernels)
    found = finding("truncated_trace", text)
    assert found["title"].endswith(f": {count} of 100 launches have no event of the device")
    assert evidence(found) == {"Launches without an event of the device, of 100": count}


def tpu(runs: range, devices: int = 1) -> str:
    """A program of every millisecond, some of which the devices recorded."""
    calls = "\n".join(f"{1000 * i}us +5us TfrtTpuExecutable::Execute {{run_id={i + 1}}}" for i in range(20))
    programs = "\n".join(f"{1000 * i + 10}us +800us jit_f(1) {{run_id={i + 1}}}" for i in runs)
    ops = "\n".join(f"{1000 * i + 10}us +800us fusion.1" for i in runs)
    planes = "\n".join(
        f'plane {i + 2} "/device:TPU:{i}" {{device_type_string="TPU v4"}}\n'
        f'line 2 "XLA Modules"\n{programs}\nline 3 "XLA Ops"\n{ops}'
        for i in range(devices)
    )
    return f'plane 1 "/host:CPU"\nline 1 python\n{calls}\n{planes}'


@pytest.mark.parametrize(
    ("runs", "devices", "sentence"),
    [
        (range(4), 1, "Device events of TPU 0 end at 21% of the time of the launches: 16 of 20 launches"),
        (range(16, 20), 2, "Device events of the TPUs begin at 84% of the time of the launches: 16 of 20 launches"),
        (range(20), 2, None),
    ],
)
def test_programs_of_tpus(runs: range, devices: int, sentence: str | None) -> None:
    losses = told(tpu(runs, devices))
    assert [message for _, message, _ in losses] == (
        [] if sentence is None else [f"{sentence} have no event of the device."]
    )


def test_the_last_launches_may_lack_theirs() -> None:
    assert told(gpu(range(98))) == []


def test_graphs_whose_kernels_are_not_traced() -> None:
    ((code, message, _),) = told(gpu(range(0), 40, "cudaGraphLaunch"))
    assert (code, message) == (
        "device_events_missing",
        "40 graph launches have no kernel events on GPU 0: idle time is unknown.",
    )


def test_messages_of_the_profiler() -> None:
    (loss,) = told(gpu(range(100), warning='warning "Dropped 12 events because a buffer was full"'))
    assert loss[:2] == (
        "events_dropped",
        "The profiler reports lost events: Dropped 12 events because a buffer was full",
    )


@pytest.mark.parametrize(
    ("call", "who"),
    [
        ("TfrtTpuExecutable::Execute", "Programs ran on a TPU"),
        ("PjRtStreamExecutorLoadedExecutable::Execute", "Programs ran on a GPU"),
        ("cuLaunchKernel", "The host launched work on a GPU 8 times"),
        ("PjitFunction(f)", None),
    ],
)
def test_a_host_whose_devices_were_not_recorded(call: str, who: str | None) -> None:
    events = "\n".join(f"{1000 * i}us +900us {call}" for i in range(8))
    run = run_of(f'plane 1 "/host:CPU"\nline 1 python\n{events}')
    facts = host_facts(run.profiles[0])
    assert [one.message for one in facts.losses] == (
        [] if who is None else [f"{who}, and no plane of the device was recorded."]
    )
    assert combine_facts([facts]).device_types == (("CPU",) if who is None else ("not recorded",))
    # What the host did tells nothing of the time of a device that it used.
    assert bool(run_decomposition(run).devices) is (who is None)
    assert (lacks_planes(run) is None) is (who is None)
