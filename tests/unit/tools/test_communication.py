"""The answer of the communication tool: collectives, steps, ranks, stragglers, clocks, launches."""

from __future__ import annotations

from itertools import pairwise

import pytest
from builders.asked import ask, rows
from builders.planes import device_steps, gpu, host, marked, tpu, xla_on_cpu
from builders.profiles.findings import told
from builders.programs.hlo import metadata_plane, relu_program

from tpu_profile_plugin.analysis.devices.collectives import CollectiveKey, FirstWait
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.tools.time.communication import TOOL, first_wait_note

US = 10**6


def reducing(*devices):
    """Two steps of devices of the CPU backend; each given as (work, wait) in us before a reduction of 10 us."""
    ops = "0 {0} dot.1 {{run_id=$N}}\n{0} {1} all-reduce.2 {{run_id=$N}}"
    threads = [
        xla_on_cpu(ops.format(work, wait + 10), device=number, steps=2, period=200)
        for number, (work, wait) in enumerate(devices)
    ]
    return host(marked(steps=2, period=200, length=190), *threads)


def test_a_late_device_is_named_and_not_the_collective():
    found = ask(TOOL, reducing((100, 0), (20, 80), (30, 70)))
    (op,) = rows(
        found["ops"], "op", "kind", "ranks", "count", "total_ps", "hidden_percent", "wait_ps", "most_wait_ps", "last"
    )
    assert op == ("all-reduce.2", "all-reduce", 3, 6, 360 * US, 0.0, 300 * US, 80 * US, "CPU device 0")
    assert found["stragglers"] == [
        {"device": "CPU device 0", "host": "h0", "caused_percent": 100, "work_ratio": pytest.approx(100 / 30),
         "more_work": True, "modified_z": None, "waits_ratio": pytest.approx(8.5)}
    ]  # fmt: skip
    assert rows(found["ranks"], "device", "work_ps", "communication_ps", "wait_ps", "caused_ps")[:2] == [
        ("CPU device 0", 100 * US, 10 * US, 0, 300 * US),
        ("CPU device 1", 20 * US, 90 * US, 80 * US, 0),
    ]
    assert rows(found["ranks"], "exposed_ps", "work_ratio") == [
        (10 * US, pytest.approx(10 / 3)),
        (90 * US, pytest.approx(2 / 3)),
        (80 * US, 1),
    ]
    # 60 of 200 us on average.
    assert found["cost"] == {"share": 0.3, "base": "time from step to step"}
    assert [(step["name"], step["communication_ps"], step["hidden_percent"]) for step in found["steps"]] == [
        ("train 0", 180 * US, 0.0),
        ("train 1", 180 * US, 0.0),
    ]
    assert (found["early_ends"], found["notes"], found["late_hosts"]) == (0, [], [])


def test_the_last_device_is_named_for_each_collective():
    def thread(number, first, second):
        ops = (
            f"0 {first} dot.1 {{run_id=$N}}\n{first} {110 - first} all-reduce.2 {{run_id=$N}}\n"
            f"120 {second} dot.3 {{run_id=$N}}\n{120 + second} {110 - second} all-reduce.4 {{run_id=$N}}"
        )
        return xla_on_cpu(ops, device=number, steps=2, period=300)

    work = (20, 20), (20, 30), (100, 20), (20, 20)
    found = ask(TOOL, host(marked(steps=2, period=300, length=290), *(thread(i, *one) for i, one in enumerate(work))))
    assert sorted(rows(found["ops"], "op", "last")) == [
        ("all-reduce.2", "CPU device 2"),
        ("all-reduce.4", "CPU device 1"),
    ]


REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
GPU = """
plane 1 "/device:GPU:0"
line 1 "Stream #1"
20us +20us gemm {correlation_id=1}
40us +5us gemm {correlation_id=2}
80us +10us "ncclDevKernel_AllGather" {correlation_id=3}
plane 2 "/host:CPU"
line 1 python
10us +2us cuLaunchKernel {correlation_id=1}
41us +2us cuLaunchKernel {correlation_id=2}
70us +2us cuLaunchKernel {correlation_id=3}
"""


def test_what_computation_hides_is_a_share_of_the_collective():
    found = ask(
        TOOL,
        f"""
        plane 1 "/device:GPU:0"
        line 1 "Stream #1"
        0us +20us gemm
        30us +10us gemm
        line 2 "Stream #2"
        20us +40us {REDUCE}
        """,
    )
    assert rows(found["ops"], "total_ps", "exposed_ps", "hidden_percent") == [(40 * US, 30 * US, 25.0)]


def test_the_first_wait_for_other_ranks_is_set_aside():
    """Only this rank was recorded: its first reduction waits 15 s until others have started, all others take 30 us."""
    kernels = [(0, 60, "gemm"), (60, 15_000_000, REDUCE)]
    for step in range(1, 4):
        kernels += [(15_000_000 + 100 * step, 60, "gemm"), (15_000_060 + 100 * step, 30, REDUCE)]
    begins = [0, *(15_000_000 + 100 * step for step in range(1, 5))]
    steps = "\n".join(
        f"{begin}us +{end - begin}us train {{_r=1, step_num={i}}}" for i, (begin, end) in enumerate(pairwise(begins))
    )
    text = "\n".join(f"{begin}us +{length}us {name} {{group_id={0}}}" for begin, length, name in kernels)
    profile = f'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n{text}\nplane 2 "/host:CPU"\nline 1 python\n{steps}'
    found = ask(TOOL, profile)
    (first,) = found["first_waits"]
    assert (first["device"], first["host"], first["op"], first["kind"]) == ("GPU 0", "h0", REDUCE, "all-reduce")
    assert (first["begin_ps"], first["wait_ps"]) == (60 * US, 14_999_970 * US)
    assert found["notes"] == [
        "The first all-reduce on GPU 0 waited 15 s for other devices to start; left out of all times and shares here."
    ]
    columns = "total_ps", "exposed_ps", "own_exposed_ps", "wait_ps", "end_ps"
    assert rows(found["ops"], *columns)[0][:4] == (120 * US, 120 * US, 120 * US, 0)
    assert sum(step["communication_ps"] for step in found["steps"]) == 120 * US
    assert found["stragglers"] == []
    # Without that wait steps take 105 us, of which 30 are the reduction.
    assert found["cost"] == {"share": pytest.approx(30 / 105), "base": "step"}


def test_collectives_are_ranked_without_waits_as_the_finding_ranks_them():
    """The first reduction takes 100 us on each device, of which the first one waits 80; the gathers take 40 in all."""
    gathers = "\n".join(f"{150 + 10 * i} 10 all-gather.3 {{{{run_id=$N}}}}" for i in range(4))
    ops = "0 {0} dot.1 {{run_id=$N}}\n{0} {1} all-reduce.2 {{run_id=$N}}\n" + gathers
    threads = [
        xla_on_cpu(ops.format(work, 110 - work), device=number, steps=2, period=200)
        for number, work in enumerate((10, 90))
    ]
    profile = host(marked(steps=2, period=200, length=190), *threads)
    found = rows(ask(TOOL, profile)["ops"], "op", "exposed_ps", "own_exposed_ps")
    assert found == [("all-gather.3", 160 * US, 160 * US), ("all-reduce.2", 240 * US, 80 * US)]
    assert told("exposed_communication", profile)["title"].endswith("most of it in all-gather.3")


def test_launches_and_clocks_of_a_gpu():
    found = ask(TOOL, GPU)
    assert rows(found["launches"], "device", "launches", "most_queued", "tiny", "launch_bound_percent") == [
        ("GPU 0", 3, 1, 1, pytest.approx(100 * 25 / 70))
    ]
    # The second kernel begins 1 us before the call that launches it: too little to prove anything.
    assert rows(found["clocks"], "clock", "reference", "offset_ps", "pairs", "violations") == [("GPU 0", "h0", 0, 3, 0)]
    ((kind, ranks, bytes_, bus),) = rows(found["ops"], "kind", "ranks", "bytes", "bus_gbps")
    assert (kind, ranks, bytes_, bus) == ("all-gather", None, None, None)


TEXT = "%all-reduce.1 = f32[250000]{0} all-reduce(f32[250000]{0} %x), replica_groups={{0,1}}"
TPU = "\n".join(
    tpu(f'{begin} {60 - begin} "{TEXT}"', core=core, steps=device_steps(1, 100)) for core, begin in ((0, 10), (1, 40))
)


def test_bandwidth_is_that_of_the_quickest_rank():
    ((size, algorithm, bus, stall, host, begin, end),) = rows(
        ask(TOOL, TPU)["ops"], "bytes", "algorithm_gbps", "bus_gbps", "stall_ps", "host", "begin_ps", "end_ps"
    )
    # 1 MB in 20 us are 50 GB/s; of two ranks each carries 2 * 1/2 of it.
    assert (size, algorithm, bus, stall) == (1_000_000, 50.0, 50.0, 70 * US)
    assert (host, begin, end) == ("h0", 10 * US, 60 * US)


def test_what_each_of_four_ranks_carries():
    """In two steps; the last rank to begin is the second."""
    text = TEXT.replace("{{0,1}}", "{{0,1,2,3}}")
    cores = [
        tpu("\n".join(f'{at + begin} {60 - begin} "{text}"' for at in (0, 100)), core=core, steps=device_steps(2, 100))
        for core, begin in enumerate((10, 40, 20, 30))
    ]
    found = rows(
        ask(TOOL, "\n".join(cores))["ops"], "ranks", "count", "last", "bytes", "algorithm_gbps", "bus_gbps", "program"
    )
    # 2 * 3/4 of 50 GB/s.
    assert found == [(4, 8, "TPU 1", 1_000_000, 50, 75, "7")]


def test_programs_of_collectives_are_named():
    named = metadata_plane(jit_f=(7, relu_program()))
    assert rows(ask(TOOL, f"{named}\n{TPU}")["ops"], "program") == [("jit_f(7)",)]
    assert rows(ask(TOOL, GPU)["ops"], "program") == [("",)]


@pytest.mark.parametrize(("count", "more"), [(1, False), (2, True)])
def test_the_longest_of_several_first_waits_is_told(count, more):
    wait = FirstWait(CollectiveKey("all-reduce.1", 7, "all-reduce"), 0, 0, 5 * US, 4 * US)
    assert (f"{count} runs waited so" in first_wait_note([wait] * count, ["GPU 0"])) is more


def test_clocks_of_hosts_are_compared():
    found = ask(TOOL, *(_one_rank(shift) for shift in (0, 700)))
    assert rows(found["clocks"], "clock", "reference", "offset_ps", "pairs") == [("h1", "h0", -700 * US, 3)]
    assert rows(found["ranks"], "device", "host")[1] == ("h1: GPU 0", "h1")


def _one_rank(shift):
    return gpu("\n".join(f"{at + shift} 20 ncclDevKernel_AllReduce" for at in (0, 100, 230)))


def test_hosts_whose_clocks_cannot_be_compared_are_noted():
    silent = 'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n0us +10us gemm'
    assert ask(TOOL, _one_rank(0), silent)["notes"] == [
        "The clocks of some hosts could not be compared; their waits are for devices of the same host only."
    ]


def test_profiles_without_devices():
    found = ask(TOOL, 'plane 1 "/host:CPU"\nline 1 python\n0us +5us train')
    assert (found["steps"], found["stragglers"], rows(found["ops"], "op"), rows(found["clocks"])) == ([], [], [], [])
    assert "neither" in TOOL.available(RunFacts())
    assert "neither" in TOOL.available(RunFacts(tf_executor=True))
