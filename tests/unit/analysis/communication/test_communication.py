"""Communication of hosts on typed-in profiles: collectives, steps, waits, and hosts whose clocks differ."""

from __future__ import annotations

import numpy as np
from builders.xspace_text import build

from tpu_profile_plugin.analysis.communication.host import host_communication
from tpu_profile_plugin.analysis.communication.run import merge_communication
from tpu_profile_plugin.analysis.derived.preprocess import preprocess
from tpu_profile_plugin.analysis.devices.host import devices_of
from tpu_profile_plugin.analysis.devices.windows import step_windows
from tpu_profile_plugin.analysis.hlo.programs import hlo_programs
from tpu_profile_plugin.analysis.summary.host import may_have_groups
from tpu_profile_plugin.columns import load

US = 10**6


def host(text):
    space = load(np.frombuffer(build(text), np.uint8))
    pre = preprocess(space, derive=False) if may_have_groups(space) else None
    programs = hlo_programs(space)
    devices = devices_of(space, programs)
    return host_communication(space, devices, step_windows(space, pre, devices) if devices else None, programs)


START = "%all-gather-start.1 = (f32[4], f32[8]) all-gather-start(f32[4] %x), replica_groups={{0,1}}"
DONE = "%all-gather-done.1 = f32[8] all-gather-done((f32[4], f32[8]) %all-gather-start.1)"
REDUCE = "%all-reduce.2 = f32[8] all-reduce(f32[8] %y), replica_groups={{0,1}}"


def core(number, ops, step=100):
    lines = [f'plane {number + 1} "/device:TPU:{number}"', "line 1 Steps", f"0us +{step}us 1 {{_ct=9, _c=1}}"]
    lines.append('line 3 "XLA Ops"')
    lines += [f'{begin}us +{length}us "{name}"' for name, begin, length in ops]
    lines += [f'metadata "{name}" {{program_id=u7}}' for name in dict.fromkeys(name for name, _, _ in ops)]
    return "\n".join(lines) + "\n"


TWO_CORES = core(
    0, [("fusion.1", 0, 20), (START, 20, 1), ("fusion.2", 25, 15), (DONE, 50, 10), (REDUCE, 60, 30)]
) + core(
    1,
    [("fusion.1", 0, 30), (START, 30, 1), ("fusion.2", 31, 15), (DONE, 50, 10), ("fusion.3", 60, 20), (REDUCE, 80, 10)],
)


def test_collectives_over_the_cores_of_a_host():
    found = host(TWO_CORES)
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
    (gather,) = host(core(0, ops)).sums
    span, covered = 60 - 20, 15
    assert (gather.total_ps, gather.exposed_ps) == (span * US, (span - covered) * US)
    # A synchronous collective in the window counts as communication here, and hides it there.
    both = [*ops[:2], (REDUCE, 25, 15), ops[3]]
    gather = next(one for one in host(core(0, both)).sums if one.key.kind == "all-gather")
    assert gather.exposed_ps == 40 * US


def ranks(late, shift=0, runs=4, begin=0):
    """One device that comes to each of four reductions `late` us after 10; its clock is `shift` us ahead."""
    lines = ['plane 1 "/device:GPU:0"', 'line 1 "Stream #1"']
    for i in range(begin, runs):
        at = 100 * i + 7 * i * i + shift
        lines += [f"{at}us +{10 + late}us gemm", f"{at + 10 + late}us +{50 - late}us ncclDevKernel_AllReduce"]
    return "\n".join(lines)


def test_hosts_are_matched_on_a_common_clock():
    parts = [host(ranks(0)), host(ranks(30, shift=5000)), host(ranks(10))]
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


def test_a_host_that_cannot_be_compared_waits_for_its_own_devices_only():
    silent = 'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n0us +10us gemm\n20us +20us gemm'
    run = merge_communication([host(ranks(0)), host(silent)])
    assert run.offsets == (None, None)
    (one,) = run.sums
    assert (one.ranks, one.wait_ps, one.last) == (1, 0, -1)


def test_profiles_without_devices():
    run = merge_communication([host('plane 1 "/host:CPU"\nline 1 python\n0us +5us train')])
    assert (run.devices, run.sums, run.work_ps.shape) == ((), (), (0, 0))
