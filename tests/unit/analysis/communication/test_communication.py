"""Communication of hosts on typed-in profiles: collectives, steps, waits, and hosts whose clocks differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders.computed import communication
from builders.planes import gpu, tpu
from builders.shown import profile

from tpu_profile_plugin.analysis.communication import host_collectives
from tpu_profile_plugin.analysis.communication.host_collectives import bus_factor, gigabytes_per_second, message_bytes
from tpu_profile_plugin.analysis.communication.run_collectives import (
    Before,
    Straggler,
    before_last,
    merge_communication,
    modified_z,
    stragglers,
    with_more_work,
)
from tpu_profile_plugin.analysis.devices import across_hosts, launched
from tpu_profile_plugin.analysis.devices.across_hosts import (
    ClockOffset,
    HostRuns,
    best_shift,
    clock_offsets,
    device_offset,
    keep_runs,
    match_hosts,
    offset_by_ends,
    step_of,
    sum_by_step,
    sums_of_cells,
)
from tpu_profile_plugin.analysis.devices.collectives import (
    CollectiveKey,
    CollectiveRuns,
    FirstWait,
    RecordedCollectives,
    Transfer,
    match_runs,
)
from tpu_profile_plugin.analysis.devices.launches import HostCalls, Launches, LaunchSummary, launch_summary, launches_of
from tpu_profile_plugin.analysis.devices.model import NO_LAUNCH, Device, Op, OpSpans, RunDevice, Work
from tpu_profile_plugin.analysis.devices.windows import StepWindows
from tpu_profile_plugin.columns import DeviceClock

US = 10**6


START = "%all-gather-start.1 = (f32[4], f32[8]) all-gather-start(f32[4] %x), replica_groups={{0,1}}"
DONE = "%all-gather-done.1 = f32[8] all-gather-done((f32[4], f32[8]) %all-gather-start.1)"
REDUCE = "%all-reduce.2 = f32[8] all-reduce(f32[8] %y), replica_groups={{0,1}}"


def core(number, ops, step=100):
    """A TensorCore with one step; ops are (HLO text, begin, us)."""
    text = "\n".join(f'{begin} {length} "{name}"' for name, begin, length in ops)
    return tpu(text, core=number, steps=f"0 {step} 1 {{_ct=9, _c=1}}") + "\n"


TWO_CORES = core(
    0, [("fusion.1", 0, 20), (START, 20, 1), ("fusion.2", 25, 15), (DONE, 50, 10), (REDUCE, 60, 30)]
) + core(
    1,
    [("fusion.1", 0, 30), (START, 30, 1), ("fusion.2", 31, 15), (DONE, 50, 10), ("fusion.3", 60, 20), (REDUCE, 80, 10)],
)


def test_collectives_over_the_cores_of_a_host():
    found = communication(TWO_CORES)
    gather, reduce = sorted(found.sums, key=lambda one: one.key.name)
    assert (gather.key.name, gather.key.kind, gather.count, gather.instances, gather.ranks) == (
        "all-gather.1", "all-gather", 2, 1, 2,
    )  # fmt: skip
    # From 20 to 60 us and from 30 to 60 us; 15 us of each are hidden, and the core waits in done.
    assert (gather.total_ps, gather.exposed_ps, gather.stall_ps) == (70 * US, 40 * US, 20 * US)
    assert (gather.latency_ps, gather.wait_ps, gather.last) == (30 * US, 10 * US, 1)
    assert (gather.transfer.operand_bytes, gather.transfer.groups) == (16, ((0, 1),))
    # Core 1 comes 20 us later than core 0.
    assert (reduce.total_ps, reduce.exposed_ps, reduce.stall_ps) == (40 * US, 40 * US, 40 * US)
    assert (reduce.latency_ps, reduce.wait_ps, reduce.most_wait_ps, reduce.last) == (10 * US, 20 * US, 20 * US, 1)
    assert (reduce.begin_ps, reduce.end_ps, reduce.device) == (60 * US, 90 * US, 0)
    assert (found.work_ps // US).tolist() == [[35, 65]]
    assert (found.communication_ps // US).tolist() == [[70, 40]]
    assert (found.exposed_ps // US).tolist() == [[55, 25]]
    assert (found.wait_ps // US).tolist() == [[30, 0]]
    assert (found.caused_ps // US).tolist() == [0, 30]


def test_async_overlap_as_xprof_counts_it_where_the_definitions_coincide():
    """The exposed time of asynchronous windows, ops of the line other than start and done hiding it: by hand."""
    ops = [("fusion.1", 0, 20), (START, 20, 1), ("fusion.2", 25, 15), (DONE, 50, 10)]
    (gather,) = communication(core(0, ops)).sums
    span, covered = 60 - 20, 15
    assert (gather.total_ps, gather.exposed_ps) == (span * US, (span - covered) * US)
    # A synchronous collective in the window counts as communication here, and hides it there.
    both = [*ops[:2], (REDUCE, 25, 15), ops[3]]
    gather = next(one for one in communication(core(0, both)).sums if one.key.kind == "all-gather")
    assert gather.exposed_ps == 40 * US


def ranks(late, shift=0):
    """One device that comes to each of four reductions `late` us after 10; its clock is `shift` us ahead."""
    runs = []
    for i in range(4):
        at = 100 * i + 7 * i * i + shift
        runs.append(f"{at} {10 + late} gemm\n{at + 10 + late} {50 - late} ncclDevKernel_AllReduce")
    return gpu("\n".join(runs))


def test_hosts_are_matched_on_a_common_clock():
    parts = [communication(ranks(0)), communication(ranks(30, shift=5000)), communication(ranks(10))]
    run = merge_communication(parts)
    assert [offset and offset.offset_ps // US for offset in run.offsets] == [None, -5000, 0]
    (one,) = run.sums
    assert (one.ranks, one.instances, one.count) == (3, 4, 12)
    # Rank 1 comes last: rank 0 waits for 30 us each time, rank 2 for 20.
    assert (one.wait_ps, one.most_wait_ps, one.last) == (200 * US, 30 * US, 1)
    assert (run.caused_ps // US).tolist() == [0, 200, 0]
    assert (one.latency_ps, run.early) == (4 * 20 * US, 0)
    (straggler,) = run.stragglers
    assert straggler.index == 1
    # Waits are in the steps in which they are by the host's own clock, and so is the longest run.
    assert (run.wait_ps.sum(axis=0) // US).tolist() == [120, 0, 80]
    assert (one.begin_ps // US, one.end_ps // US, one.device) == (10, 60, 0)
    (alike,) = merge_communication([communication(ranks(0)), communication(ranks(0))]).sums
    assert (alike.wait_ps, alike.last) == (0, -1)


def two_ranks(*runs):
    """Two GPUs of a host; runs are (name, begin on each, end)."""
    return "\n".join(
        gpu("\n".join(f"{run[1 + i]} {run[3] - run[1 + i]} ncclDevKernel_{run[0]}" for run in runs), number=i)
        for i in range(2)
    )


def test_a_host_whose_clock_is_unknown_keeps_its_own_waits_among_those_of_all():
    """The hosts have no collective in common; on both the second device comes last."""
    first = two_ranks(("AllReduce", 10, 20, 50), ("AllReduce", 110, 130, 150), ("AllReduce", 200, 210, 250))
    second = two_ranks(("AllGather", 10, 50, 90), ("AllGather", 110, 130, 150), ("AllGather", 200, 240, 250))
    run = merge_communication([communication(first), communication(second)])
    assert run.offsets == (None, None)
    assert [device.host for device in run.devices] == [0, 0, 1, 1]
    assert (run.caused_ps // US).tolist() == [0, 40, 0, 100]
    assert (run.wait_ps.sum(axis=0) // US).tolist() == [40, 0, 100, 0]
    assert [(one.key.kind, one.device, one.last, one.wait_ps // US, one.most_wait_ps // US) for one in run.sums] == [
        ("all-reduce", 0, 1, 40, 20), ("all-gather", 2, 3, 100, 40),
    ]  # fmt: skip


def test_what_a_host_of_its_own_recorded_is_kept_with_that_of_all():
    key = CollectiveKey("r", 0, "all-reduce")
    first = communication(two_ranks(("AllReduce", 10, 20, 50), ("AllReduce", 110, 130, 150)))
    second = communication(two_ranks(("AllGather", 10, 50, 90), ("AllGather", 110, 130, 150)))
    waits = (FirstWait(key, 0, 5, 105, 70), FirstWait(key, 1, 5, 205, 200))
    run = merge_communication([first, replace(second, early=3, first_waits=waits)])
    assert run.early == 3
    assert run.first_waits == (FirstWait(key, 3, 5, 205, 200), FirstWait(key, 2, 5, 105, 70))
    parts = [first, second]
    assert merge_communication(parts).whole
    parts[1] = replace(second, runs=replace(second.runs, whole=False))
    assert not merge_communication(parts).whole
    assert merge_communication(parts[1:]).whole  # nothing is to be matched


def test_a_host_whose_clock_is_ahead_has_its_times_on_its_own_axis():
    """Rank 0 of the second host begins first, and alone waits for the others to start."""
    late = [ranks(30), ranks(0, shift=700)]
    run = merge_communication(list(map(communication, late)))
    assert run.offsets[1].offset_ps == -700 * US
    assert (run.wait_ps.sum(axis=0) // US).tolist() == [0, 120]
    steps = communication(late[1]).steps
    assert (int(steps.begin_ps.min()) // US, run.sums[0].wait_ps // US) == (700, 120)


@pytest.mark.parametrize(
    ("hosts", "late", "host"),
    [
        ((0, 0, 1, 1), (0, 1), 0),
        ((0, 0, 1, 1), (2, 3), 1),
        ((0, 0, 1, 1), (3,), None),
        ((0, 0, 1, 1), (1, 2), None),
        ((0, 0, 1, 1), (), None),
        ((0, 0, 1, 1, 1), (2, 3), None),
        ((0, 0, 1, 1, 1), (2, 3, 4), 1),
        ((0, 1), (1,), None),
        ((0, 0), (0, 1), None),
    ],
)
def test_the_host_of_which_all_devices_are_late(hosts, late, host):
    run = replace(
        merge_communication([communication('plane 1 "/host:CPU"')]),
        hosts=tuple(sorted(set(hosts))),
        devices=tuple(RunDevice("D", of, "gpu") for of in hosts),
        stragglers=tuple(Straggler(index, 5, 0.5, None, None) for index in late),
    )
    assert run.late_host == host


def test_a_host_that_cannot_be_compared_waits_for_its_own_devices_only():
    silent = 'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n0us +10us gemm\n20us +20us gemm'
    run = merge_communication([communication(ranks(0)), communication(silent)])
    assert run.offsets == (None, None)
    (one,) = run.sums
    assert (one.ranks, one.wait_ps, one.last) == (1, 0, -1)


def runs_of(*runs):
    """Collectives of devices: (device, begin, end, start_ps, instance)."""
    number, begin, end, start, instance = (ints(*column) for column in zip(*runs, strict=True))
    none, ones = np.zeros(len(runs), np.int64), np.ones(len(runs), np.int64)
    return CollectiveRuns(
        (CollectiveKey("r", 0, "all-reduce"),),
        *(none, number, begin, end, none, none, instance, ones, start, start, none - 1, none.astype(np.bool_)),
    )


def working(number, compute, talk):
    """A device that computes and communicates in these spans."""
    spans = sorted([(*span, Work.COMPUTE) for span in compute] + [(*span, Work.COMMUNICATION) for span in talk])
    begin, end, work = (ints(*column) for column in zip(*spans, strict=True)) if spans else (ints(),) * 3
    runs = OpSpans(begin, end, np.zeros(len(spans), np.int32), work.astype(np.uint8), np.arange(len(spans)))
    return Device(f"GPU {number}", "gpu", number, 0, (Op("k", 0, Work.COMPUTE),), runs)


def test_sums_of_the_runs_of_a_collective():
    """Two of one execution, and two alone; of two as long the one that did not wait for a start is the longest."""
    runs = runs_of((0, 200, 290, 30, -1), (0, 0, 50, 0, 0), (1, 10, 52, 0, 0), (1, 100, 160, 0, -1))
    found = host_collectives._sum(runs.keys[0], Transfer(), None, runs, ints(80, 50, 40, 20), np.arange(4))
    assert (found.count, found.instances, found.total_ps, found.exposed_ps) == (4, 3, 212, 160)
    assert (found.latency_ps, found.begin_ps, found.end_ps, found.device) == (42 + 60 + 60, 100, 160, 1)


def test_what_a_device_did_since_the_collective_before():
    """The second one begins with a collective, the third has none, and the fourth nothing else."""
    devices = [
        working(0, [(0, 10), (30, 40)], [(20, 30), (60, 90), (70, 80)]),
        working(1, [(30, 35)], [(5, 20), (50, 60)]),
        working(2, [(0, 9)], []),
        working(3, [], []),
    ]
    runs = runs_of(
        *((0, 60, 90, 0, 0), (0, 20, 30, 0, 0), (0, 70, 80, 0, 0)),
        *((1, 5, 20, 0, 0), (1, 50, 60, 0, 0)),
        (3, 5, 6, 0, 0),
    )
    work, idle = host_collectives._before(devices, runs)
    assert (work.tolist(), idle.tolist()) == ([10, 10, 0, 0, 5, 0], [20, 10, 0, 0, 25, 0])


def test_how_long_collectives_were_queued():
    calls, begin = ints(5, 15, 62), ints(20, 60, 61)
    launches = [Launches(calls, calls + 2, begin, begin + 5), Launches(ints(), ints(), ints(), ints())]
    runs = runs_of(*((0, at, at + 9, 0, 0) for at in (60, 20, 61, 70, 30)), (1, 20, 30, 0, 0))
    assert host_collectives._queued(launches, runs).tolist() == [45, 15, 0, -1, -1, -1]
    assert host_collectives._queued(launches[::-1], runs).tolist() == [-1, -1, -1, -1, -1, 15]


def test_waits_for_a_start_are_no_communication_of_their_device():
    devices = [working(0, [(40, 45)], [(0, 50)]), working(1, [], [(0, 50)])]
    runs = runs_of((0, 0, 50, 30, 0), (1, 0, 50, 0, 0), (1, 100, 110, 0, 0))
    steps = StepWindows(ints(0), ("",), np.array([[0, 0]]), np.array([[60, 60]]), "device")
    work, talk, shown = host_collectives._per_step(devices, steps, runs)
    assert (work.tolist(), talk.tolist(), shown.tolist()) == ([[5, 0]], [[20, 50]], [[15, 50]])


def test_profiles_without_devices():
    run = merge_communication([communication('plane 1 "/host:CPU"\nline 1 python\n0us +5us train')])
    assert (run.devices, run.sums, run.work_ps.shape) == ((), (), (0, 0))


# Bandwidths with worked examples, stragglers, clocks and launches on typed-in numbers.


MS = 10**9
MIB = 1 << 20


def ints(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("kind", "operand", "ranks", "time_ps", "algorithm", "bus"),
    [
        # 1 GiB in 10 ms is 107.37 GB/s; each of 8 ranks sends and receives 2 * 7/8 of it.
        ("all-reduce", 1024 * MIB, 8, 10 * MS, 107.3741824, 187.9048192),
        # Each of 4 ranks contributes 16 MiB and receives 64 MiB, of which 48 MiB over its link.
        ("all-gather", 16 * MIB, 4, 1 * MS, 67.108864, 50.331648),
        ("reduce-scatter", 64 * MIB, 4, 1 * MS, 67.108864, 50.331648),
        ("all-to-all", 64 * MIB, 2, 1 * MS, 67.108864, 33.554432),
        ("collective-permute", 1 * MIB, 8, 100 * US, 10.48576, 10.48576),
        ("all-reduce", 1 * MIB, 1, 100 * US, 10.48576, 0.0),
    ],
)
def test_bandwidths(kind, operand, ranks, time_ps, algorithm, bus):
    rate = gigabytes_per_second(message_bytes(kind, operand, ranks), time_ps)
    assert rate == pytest.approx(algorithm)
    assert rate * bus_factor(kind, ranks) == pytest.approx(bus)


def test_unknown_sizes_have_no_bandwidth():
    assert message_bytes("all-reduce", None, 8) is None
    assert message_bytes("all-gather", 5, 0) is None
    assert gigabytes_per_second(None, 5) is None
    assert gigabytes_per_second(5, 0) is None
    assert bus_factor("all-reduce", 0) == 1.0


def test_a_device_works_longer_while_the_others_are_in_collectives():
    (one,) = with_more_work([56.4, 15.3, 15.0, 15.6], [5.5, 27.8, 27.5, 28.1])
    assert (one.index, round(one.ratio, 2), round(one.waits, 2), one.z) == (0, 3.65, 5.05, None)
    assert with_more_work([56.4, 15.3, 15.0, 15.6], [20, 27.8, 27.5, 28.1]) == []  # the others hardly wait
    assert with_more_work([20, 15.3, 15.0, 15.6], [5.5, 27.8, 27.5, 28.1]) == []  # 1.3 times the median
    (one,) = with_more_work([30, 10], [0, 20])
    assert (one.index, one.ratio, one.waits) == (0, 3.0, None)
    assert with_more_work([5], [1]) == with_more_work([], []) == with_more_work([0, 0], [1, 1]) == []
    assert with_more_work([0, 0], [0, 5]) == with_more_work([30, 10], [0, 0]) == []
    # Just twice as long; and beside a device that does not work at all.
    assert [(one.index, one.waits) for one in with_more_work([30, 10], [10, 20])] == [(0, 2.0)]
    assert [(one.index, one.ratio) for one in with_more_work([5, 0], [0, 9])] == [(0, float("inf"))]
    several = with_more_work([10, 20, 10, 30, 10], [90, 10, 90, 10, 90])
    assert [(one.index, one.ratio) for one in several] == [(3, 3.0), (1, 2.0)]


def late(caused, *, kind="gpu", hosts=None, waits=None, work=None, talk=None):
    """Indices of the stragglers of devices with equal work, one per host, of which others wait `caused` for each."""
    count = len(caused)
    devices = [RunDevice("D", host, kind) for host in hosts or range(count)]
    columns = (waits or [0] * count, work or [100] * count, talk or [sum(caused)] * count)
    return [one.index for one in stragglers(devices, ints(*caused), *(ints(*column) for column in columns))]


def test_who_is_waited_for_is_late():
    assert late([0, 0, 0, 0, 0, 0, 0, 80]) == [7]
    # Device 3 has twice the work, and no device waits for it.
    assert late([0, 0, 0, 1, 0, 0, 0, 80], work=[100, 100, 100, 200, 100, 100, 100, 100]) == [7]
    assert late([80, 20]) == [0]
    assert late([79, 21]) == []


def test_waits_that_are_spread_have_no_culprit():
    assert late([20, 10, 15, 12, 18, 9, 11, 14]) == []
    assert late([30, 40, 35]) == []
    assert late([0, 0]) == []
    # Two of eight devices cause nearly all of them.
    assert late([0, 50, 0, 0, 0, 45, 0, 5]) == [1, 5]
    assert late([0, 50, 45, 5]) == []


def test_waits_that_are_spread_are_for_the_device_with_clearly_more_work():
    """Stages of a pipeline wait for their neighbours, which wait for the slow one."""
    work, talk = [100, 240, 100, 110], [180, 40, 180, 170]
    assert late([40, 50, 45, 5], work=work, talk=talk) == [1]
    assert late([40, 50, 45, 5], work=[240, 240, 100, 110], talk=[40, 40, 180, 170]) == []
    # At most a quarter of the devices.
    spread, work, talk = [20, 10, 15, 12, 18, 9, 11, 14], [100] * 8, [90] * 8
    for index, found in ((1, [1]), (5, [5, 1]), (7, [])):
        work[index], talk[index] = 200 + 10 * index, 40
        assert late(spread, work=work, talk=talk) == found


def test_the_work_of_a_late_device_is_compared_with_that_of_the_others():
    for work, ratio in (([30, 10], 3.0), ([30, 0], None), ([0, 10], 0.0)):
        devices = [RunDevice("D", host, "gpu") for host in range(2)]
        (one,) = stragglers(devices, ints(80, 0), ints(0, 0), ints(*work), ints(40, 40))
        assert (one.ratio, one.caused_ps, one.share) == (ratio, 80, 1.0)


def test_short_waits_in_long_collectives_have_no_culprit():
    assert late([10, 0], talk=[50, 50]) == [0]
    assert late([9, 0], talk=[50, 50]) == []


def test_all_devices_of_a_host_are_late_together():
    hosts = [0, 0, 1, 1, 2, 2]
    # Which of the two comes last is chance; the others wait for both.
    assert late([0, 60, 0, 0, 0, 0], hosts=hosts, waits=[1, 0, 15, 15, 15, 15]) == [1, 0]
    assert late([30, 30, 1, 1, 0, 0], hosts=hosts, waits=[1, 1, 15, 15, 15, 15]) == [0, 1]
    # A fifth of the mean wait of the others is little.
    assert late([0, 60, 0, 0, 0, 0], hosts=hosts, waits=[1, 0, 6, 6, 6, 6]) == [1, 0]
    assert late([0, 60, 0, 0, 0, 0], hosts=hosts, waits=[2, 0, 6, 6, 6, 6]) == [1]
    # The other device of the host waits as well.
    assert late([0, 60, 0, 0, 0, 0], hosts=hosts, waits=[15, 0, 15, 15, 15, 15]) == [1]
    # Waits for many devices are the fault of the host that causes 80% of them.
    assert late([20, 20, 20, 20, 5, 5, 5, 5], hosts=[0] * 4 + [1] * 4) == [0, 1, 2, 3]
    assert late([19, 21, 18, 22, 5, 5, 5, 5], hosts=[0] * 4 + [1] * 4) == [3, 1, 0, 2]
    assert late([19, 19, 19, 19, 6, 6, 6, 6], hosts=[0] * 4 + [1] * 4) == []


def test_devices_that_share_cores_are_late_only_with_more_work():
    assert late([80, 0, 0], kind="cpu", hosts=[0, 0, 0]) == []
    assert late([80, 0, 0], kind="cpu", hosts=[0, 0, 0], work=[300, 100, 100], talk=[10, 40, 40]) == [0]
    assert late([80, 0, 0], kind="cpu") == [0]


def test_what_a_late_device_did_before():
    """Three devices meet twice; device 2 begins at 50 and 150, the others at 10 and 110; once more device 0 is last."""
    key, device = ints(*[0] * 9), ints(0, 0, 0, 1, 1, 1, 2, 2, 2)
    begin = ints(10, 110, 220, 10, 110, 210, 50, 150, 210)
    runs = match_runs(
        (CollectiveKey("r", 0, "all-reduce"),), (key, device, begin, begin + 60, key), [Transfer(1, ())], 3
    )
    work, idle = ints(5, 5, 5, 7, 7, 5, 9, 9, 5), ints(1, 1, 1, 1, 1, 1, 30, 40, 1)
    queued = ints(3, 3, 3, 3, 3, 3, 8, 8, 3)
    assert before_last(runs, work, idle, queued, 2) == Before(2, 9, 35, 6, 1, launched_after_ps=35)
    # Its work alone made the last one late; no device waits for device 1.
    assert before_last(runs, work, idle, ints(-1, *[0] * 8), 2) == Before(2, 9, 35, 6, 1)
    assert before_last(runs, work, idle, queued, 1) is None
    # What begins when it is called was not queued.
    at_once = ints(3, 3, 3, 0, 0, 3, 0, 0, 3)
    assert before_last(runs, work, idle, at_once, 2) == Before(2, 9, 35, 6, 1, launched_after_ps=42)


def test_a_collective_that_no_device_waits_in_is_not_late():
    key, device, begin = ints(0, 0, 0, 0), ints(0, 0, 1, 1), ints(10, 100, 30, 100)
    runs = match_runs((CollectiveKey("r", 0, "all-reduce"),), (key, device, begin, begin + 60, key), [Transfer()], 2)
    assert runs.last.tolist() == [1, 1, 1, 1]
    assert before_last(runs, ints(5, 6, 7, 8), ints(1, 2, 3, 4), ints(-1, -1, -1, -1), 1) == Before(1, 7, 3, 5, 1)


def test_modified_z_scores():
    assert modified_z(np.array([1.0, 2.0, 3.0, 4.0, 100.0])).round(4).tolist() == [
        -1.349,
        -0.6745,
        0.0,
        0.6745,
        65.4265,
    ]
    assert modified_z(np.array([1.0, 3.0, 5.0, 7.0, 100.0])).round(4).tolist() == [-1.349, -0.6745, 0, 0.6745, 32.0388]
    assert modified_z(np.array([1.0, 1.0, 1.0, 9.0])) is None
    assert modified_z(np.array([1.0, 1.0, 1.0, 1.0, 9.0])) is None  # more than half are equal


def test_hosts_are_aligned_by_the_ends_of_collectives():
    reference = ints(10, 110, 210, 310), ints(50, 150, 250, 350)
    found = offset_by_ends(*reference, ints(1005, 1105, 1215, 1305), ints(1049, 1150, 1253, 1350))
    # Differences of the ends: -999, -1000, -1003, -1000.
    assert found == ClockOffset(offset_ps=-1000, spread_ps=0, pairs=4, violations=0)
    # Begins after the other side has ended, even with the offset.
    late = offset_by_ends(*reference, ints(1005, 1105, 1251, 1305), ints(1050, 1150, 1310, 1350))
    assert (late.offset_ps, late.violations) == (-1000, 1)
    # Ends just when the other begins, and before; begins just when the other ends, and later.
    for begin, end, violations in ((1105, 1110, 0), (1105, 1109, 1), (1150, 1150, 0), (1151, 1160, 1)):
        found = offset_by_ends(*reference, ints(1005, begin, 1205, 1305), ints(1050, end, 1250, 1350))
        assert (found.offset_ps, found.violations) == (-1000, violations)
    assert offset_by_ends(*(ints(1, 2),) * 4) is None


def test_recordings_that_begin_at_different_times_are_shifted():
    reference = ints(100, 250, 330, 500, 560, 700, 910)
    assert best_shift(reference, reference[2:] + 12_345) == 2
    assert best_shift(reference[3:], reference + 99) == -3
    assert best_shift(reference, reference + 7) == 0
    # Three in common are enough, fewer are not, however well they agree.
    assert best_shift(reference[:5], reference[2:5] + 9) == 2
    assert best_shift(reference[:5], reference[3:5] + 9) == 0
    assert best_shift(reference[:5], ints(330, 500, 561)) == 2
    # Of two shifts alike the first; shifts have a limit.
    assert best_shift(ints(0, 100, 300, 400, 600, 700, 900), ints(0, 200, 300, 500, 600, 800)) == -1
    assert best_shift(reference, reference[2:] + 5, most=2) == 2
    assert best_shift(reference[2:], reference + 5, most=2) == -2
    assert best_shift(reference, reference[2:] + 5, most=1) < 2


def test_the_offset_of_a_device_is_that_by_which_its_times_were_moved():
    assert device_offset(ints(5, 7, 6, 9), None) == ClockOffset(0, 1, 4, 0)
    assert device_offset(ints(8, 0, 9, 2), DeviceClock("/device:GPU:0", 3, 5, 2)) == ClockOffset(3, 6, 4, 2)
    assert device_offset(ints(1, 2), None) is None
    assert device_offset(ints(1, 2, 4), None).pairs == 3


def test_as_many_runs_as_are_kept_are_all_of_them(monkeypatch):
    monkeypatch.setattr(across_hosts, "MOST_RUNS", 4)
    begin, none = ints(0, 100, 200, 300), np.zeros(4, np.int64)
    runs = match_runs((CollectiveKey("a", 0, "all-reduce"),), (none, none, begin, begin + 5, none), [Transfer()], 2)
    assert len(keep_runs(RecordedCollectives(runs, begin), 2).key) == 4


@pytest.mark.parametrize(("most", "kept"), [(12, 12), (11, 8), (7, 4), (3, 4)])
def test_of_too_many_runs_the_first_of_each_collective_and_device_are_kept(monkeypatch, most, kept):
    monkeypatch.setattr(across_hosts, "MOST_RUNS", most)
    key, number = np.repeat([0, 1], 6), np.tile(np.repeat([0, 1], 3), 2)
    begin = np.tile(ints(0, 100, 200), 4) + 10 * key
    keys = tuple(CollectiveKey(name, 0, "all-reduce") for name in "ab")
    runs = match_runs(keys, (key, number, begin, begin + 5, np.arange(12)), [Transfer()] * 2, 2)
    found = keep_runs(RecordedCollectives(runs, begin), 2)
    assert (len(found.key), found.whole) == (kept, kept == 12)
    assert int(found.occurrence.max()) == kept // 4 - 1


def test_the_step_that_a_point_in_time_is_in():
    """Steps of two devices, of the second one not in order; the first device has a pause."""
    begin, end = np.array([[10, 130], [30, 110]]), np.array([[20, 150], [40, 130]])
    device = ints(1, 0, 0, 0, 0, 0, 1, 1, 1, 1)
    times = ints(130, 9, 10, 19, 20, 39, 109, 129, 150, 149)
    assert step_of(begin, end, device, times).tolist() == [0, -1, 0, 0, -1, 1, -1, 1, -1, 0]
    values = ints(1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    assert sum_by_step(begin, end, device, times, values).tolist() == [[12, 513], [32, 128]]
    assert sum_by_step(begin, end, device[:1], times[:1], ints(0)).tolist() == [[0, 0], [0, 0]]
    cells = zip(*sums_of_cells(begin, end, device, times, np.where(values == 32, 0, 1)), strict=True)
    assert sorted(cells) == [(0, 0, 2), (0, 1, 2), (1, 1, 1)]


def host_of(*runs, kind="all-reduce", name="r", program=0, groups=((0, 1),), devices=2):
    """Runs of one collective on the devices of a host: (device, begin, end)."""
    number, begin, end = (ints(*column) for column in zip(*runs, strict=True))
    occurrence = ints(*(sum(earlier[0] == run[0] for earlier in runs[:i]) for i, run in enumerate(runs)))
    exposed = end - begin - 1
    none = np.zeros(len(runs), np.int64)
    keys, transfers = (CollectiveKey(name, program, kind),), (Transfer(8, groups),)
    return HostRuns(keys, transfers, devices, none, number, begin, end, exposed, none, occurrence)


def both(*times, shift=0):
    """Runs on two devices of a host, of which the second begins 2 and ends 1 later."""
    return [run for at in times for run in ((0, at + shift, at + shift + 50), (1, at + shift + 2, at + shift + 51))]


TIMES = (100, 250, 330, 500)


@pytest.mark.parametrize(
    ("second", "known"),
    [
        ({}, True),
        ({"kind": "send/recv"}, False),  # another collective
        ({"name": "s"}, False),
        ({"program": 3}, True),  # programs have other numbers on each host
        ({"groups": ((0,), (1,))}, False),  # not all devices at once
        ({"groups": None}, True),
    ],
)
def test_clocks_are_compared_by_collectives_of_all_devices(second, known):
    first, other = host_of(*both(*TIMES)), host_of(*both(*TIMES, shift=1000), **second)
    expected = ClockOffset(-1000, 0, 4, 0) if known else None
    assert clock_offsets([first, other]) == (None, expected)


@pytest.mark.parametrize(("kind", "known"), [("send/recv", True), ("barrier", True), ("collective-permute", False)])
def test_kinds_of_collectives_that_clocks_are_compared_by(kind, known):
    first, other = host_of(*both(*TIMES), kind=kind), host_of(*both(*TIMES, shift=1000), kind=kind)
    assert (clock_offsets([first, other])[1] is not None) is known


def test_hosts_that_share_none_with_the_first_one_are_compared_with_those_that_do():
    """The second host lacks the first run of what it shares with the third."""
    first, third = host_of(*both(*TIMES)), host_of(*both(*TIMES, shift=5000), name="s")
    parts = [host_of(*both(*TIMES, shift=1000)), host_of(*both(*TIMES[1:], shift=1000), name="s")]
    columns = [np.concatenate(pair) for pair in zip(*(
        (one.key + i, one.device, one.begin_ps, one.end_ps, one.exposed_ps, one.wait_ps, one.occurrence)
        for i, one in enumerate(parts)
    ), strict=True)]  # fmt: skip
    second = HostRuns(*(parts[0].keys + parts[1].keys, parts[0].transfers + parts[1].transfers), 2, *columns)
    longer = host_of(*both(*TIMES, 700, shift=5000), name="s")
    for last in (third, longer):
        assert clock_offsets([first, second, last]) == (None, ClockOffset(-1000, 0, 4, 0), ClockOffset(-5000, 0, 3, 0))


def test_a_recording_that_begins_later_and_ends_earlier_has_a_known_clock():
    first, second = host_of(*both(*TIMES, 700)), host_of(*both(*TIMES[1:4], shift=1000))
    assert clock_offsets([first, second]) == (None, ClockOffset(-1000, 0, 3, 0))
    assert clock_offsets([second, first]) == (None, ClockOffset(1000, 0, 3, 0))


def test_runs_of_all_hosts_on_the_first_ones_clock():
    first, second = host_of((0, 100, 150), (1, 120, 151)), host_of((0, 1140, 1152), (1, 1110, 1150))
    alone = host_of((0, 7, 9), name="t", devices=1)
    found = match_hosts([first, alone, second], (None, None, ClockOffset(-1000, 0, 4, 0)))
    runs = found.runs
    assert (found.alone, found.first_device.tolist(), found.moved_ps.tolist()) == (
        (1,),
        [0, 2, 3],
        [0, 0, -1000, -1000],
    )
    assert [key.name for key in runs.keys] == ["r", "t"]
    rows = zip(runs.device, runs.begin_ps, runs.wait_ps, runs.last, runs.source, strict=True)
    assert sorted(rows) == [(0, 100, 40, 3, 0), (1, 120, 20, 3, 1), (3, 140, 0, 3, 2), (4, 110, 30, 3, 3)]
    # All of what is exposed of a run, which is a picosecond less than it, may be a wait.
    assert found.extra_ps.tolist() == [40, 20, 0, 30]
    waited = replace(first, wait_ps=ints(30, 50), exposed_ps=ints(35, 10))
    assert match_hosts([waited, second], (None, ClockOffset(-1000, 0, 4, 0))).extra_ps.tolist() == [5, 0, 0, 30]


def launched_gpu(*runs):
    begin, end = (ints(*times) for times in zip(*runs, strict=True))
    spans = OpSpans(begin, end, np.zeros(len(begin), np.int32), np.zeros(len(begin), np.uint8), np.arange(len(begin)))
    return Device("GPU 0", "gpu", 0, 0, (Op("k", 0, Work.COMPUTE),), spans, starts=begin)


@pytest.mark.parametrize(
    ("kind", "programs", "starts", "expected"),
    [
        ("gpu", [7, 7, 0, 7, 9], [0, 1, 2, 3, 4], ([0, 40], [7, 9])),
        ("gpu", [0, 7, 9, 9, 7], [0, 1, 2, 3, 4], ([10, 20, 40], [7, 9, 7])),
        ("gpu", [0] * 5, [0, 1, 2, 3, 4], ([], [])),
        ("gpu", [7] * 5, [], ([], [])),
        ("tpu", [7, 7, 9, 9, 8], [0, 20, 99], ([0, 20, 99], [7, 9, 8])),
    ],
)
def test_runs_of_programs(kind, programs, starts, expected):
    at = ints(0, 10, 20, 30, 40)
    ops = tuple(Op(f"k{program}", program, Work.COMPUTE) for program in programs)
    runs = OpSpans(at, at + 5, np.arange(5, dtype=np.int32), np.zeros(5, np.uint8), np.arange(5))
    device = Device("D", kind, 0, 0, ops, runs, starts=ints(*starts))
    assert tuple(column.tolist() for column in launched._programs(device)) == expected
    assert [len(column) for column in launched._programs(replace(device, runs=OpSpans()))] == [0, 0]


def test_short_gaps_between_runs(monkeypatch):
    """Of steps of 400 and 200 ps a twentieth is 15 ps."""
    monkeypatch.setattr(launched, "SHORT_GAP_PS", 10)
    steps = StepWindows(ints(0, 1), ("", ""), np.array([[1000], [1400]]), np.array([[1400], [1600]]), "device")
    assert launched.longest_gap_ps(steps) == 15
    gpu = working(0, [(1000, 1100), (1114, 1200), (1215, 1300), (1350, 1405), (1410, 1590)], [])
    assert launched._idle(gpu, steps, 0, np.array([True, True])) == (14 + 5 + 10, 14 + 15 + 50 + 5 + 10)
    assert launched._idle(gpu, steps, 0, np.array([False, True])) == (5 + 10, 5 + 10)
    found = launched.launched([replace(gpu, starts=gpu.runs.begin_ps)], None, steps, np.ones((2, 1), np.bool_))
    assert (found.eager, found.per_step, found.median_ps) == (False, 0.0, 86)


def test_the_step_that_launches_most():
    steps = StepWindows(
        ints(0, 1, 2), ("",) * 3, *(np.array([[at], [at + 100], [at + 200]]) for at in (1000, 1100)), "device"
    )
    begins = (1000, 1110, 1120, 1130, 1210)
    gpu = working(0, [(at, at + 5) for at in begins], [])
    ops = tuple(Op(f"k{i}", i + 1, Work.COMPUTE) for i in range(5))
    runs = replace(gpu.runs, op=np.arange(5, dtype=np.int32))
    gpu = replace(gpu, ops=ops, runs=runs, starts=gpu.runs.begin_ps)
    found = launched.launched([gpu], None, steps, np.ones((3, 1), np.bool_))
    assert (found.window, found.per_step, found.distinct) == ((1100, 1200), 5 / 3, 5)
    assert found.at_ps.tolist() == list(begins)


def test_calls_by_what_they_launch():
    calls = HostCalls(ints(0, 5, 9), ints(3, 1, 2), ints(10, 20, 30), ints(11, 22, 33))
    keys = ints(9, 0, 7, 99, NO_LAUNCH)
    assert calls.launching(keys).tolist() == [2, 0, -1, -1, -1]
    assert [column.tolist() for column in calls.times(keys)] == [[30, 10, *[NO_LAUNCH] * 3], [33, 11, *[NO_LAUNCH] * 3]]
    assert HostCalls().launching(keys).tolist() == [-1] * 5


@pytest.mark.parametrize(("kind", "key", "ends"), [("gpu", "correlation_id", [65, 95]), ("tpu", "run_id", [60, 90])])
def test_what_the_calls_of_a_host_started(kind, key, ends):
    space = profile(f'plane 1 "/host:CPU"\nline 1 a\n10ps +2ps x {{{key}=0}}\n20ps +4ps x {{{key}=5}}')
    device = working(0, [(50, 55), (60, 65), (90, 95)], [])
    device = replace(device, kind=kind, starts=ints(50, 60, 90), launch_key=ints(7, 0, 5))
    (found,) = launches_of(space, [device])
    columns = found.call_ps, found.called_ps, found.begin_ps, found.end_ps, found.delay_ps
    assert [column.tolist() for column in columns] == [[10, 20], [12, 24], [60, 90], ends, [50, 70]]
    assert [len(one) for one in launches_of(space, [replace(device, kind="cpu")])] == [0]
    assert launches_of(space, []) == []


def test_launches_of_a_gpu():
    device = launched_gpu((20 * US, 40 * US), (40 * US, 45 * US), (80 * US, 90 * US))
    calls = ints(10 * US, 15 * US, 70 * US)
    launches = Launches(calls, calls + 2 * US, device.runs.begin_ps, device.runs.end_ps)
    found = launch_summary(device, launches, ints(0), ints(100 * US))
    # Nothing runs and nothing is queued from 0 to 10, 45 to 70 and 90 to 100 us.
    assert found == LaunchSummary(
        launches=3, per_step=3.0, delay_ps=10 * US, late_delay_ps=25 * US, call_ps=2 * US, most_queued=2,
        mean_queued=0.45, tiny=1, starved_ps=45 * US, step_ps=100 * US,
    )  # fmt: skip
    # Only what begins in a step counts.
    assert launch_summary(device, launches, ints(0, 75 * US), ints(30 * US, 100 * US)).launches == 2
    assert launch_summary(device, launches, ints(200 * US), ints(300 * US)) is None


def test_a_collective_that_ran_once_and_one_without_runs_that_were_kept():
    part = host_of((0, 100, 150), (1, 102, 151))
    other = replace(part, keys=(*part.keys, CollectiveKey("s", 0, "all-reduce")), transfers=part.transfers * 2)
    times = across_hosts._last_times(other, other.keys)
    assert {key.name: [side.tolist() for side in of] for key, of in times.items()} == {"r": [[102], [151]]}
