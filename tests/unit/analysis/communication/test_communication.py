"""Communication of hosts on typed-in profiles: collectives, steps, waits, and hosts whose clocks differ."""

from __future__ import annotations

from builders.computed import communication
from builders.planes import gpu, tpu

from tpu_profile_plugin.analysis.communication.run_collectives import merge_communication

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


def test_a_host_that_cannot_be_compared_waits_for_its_own_devices_only():
    silent = 'plane 1 "/device:GPU:0"\nline 1 "Stream #1"\n0us +10us gemm\n20us +20us gemm'
    run = merge_communication([communication(ranks(0)), communication(silent)])
    assert run.offsets == (None, None)
    (one,) = run.sums
    assert (one.ranks, one.wait_ps, one.last) == (1, 0, -1)


def test_profiles_without_devices():
    run = merge_communication([communication('plane 1 "/host:CPU"\nline 1 python\n0us +5us train')])
    assert (run.devices, run.sums, run.work_ps.shape) == ((), (), (0, 0))
