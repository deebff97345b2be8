"""The table `collectives` of typed-in runs of one host and of several."""

from __future__ import annotations

import pytest
from builders.answers import run_of
from builders.planes import gpu, profile, tpu
from builders.relation_rows import rows, table

from tpu_profile_plugin.analysis.devices import across_hosts

US = 10**6
START = "%all-gather-start.1 = (f32[4], f32[8]) all-gather-start(f32[4] %x), replica_groups={{0,1}}"
DONE = "%all-gather-done.1 = f32[8] all-gather-done((f32[4], f32[8]) %all-gather-start.1)"
REDUCE = "%all-reduce.2 = f32[8] all-reduce(f32[8] %y), replica_groups={{0,1}}"
"""16 bytes of each of two ranks are gathered, 32 bytes are added up."""


def core(number: int, ops: list[tuple[str, int, int]]) -> str:
    """A TensorCore with one step; ops are (HLO text, begin, us)."""
    text = "\n".join(f'{begin} {length} "{name}"' for name, begin, length in ops)
    return tpu(text, core=number, steps="0 100 0 {_ct=9, _c=0}")


TWO_CORES = profile(
    core(0, [("fusion.1", 0, 20), (START, 20, 1), ("fusion.2", 25, 15), (DONE, 50, 10), (REDUCE, 60, 30)]),
    core(1, [("fusion.1", 0, 30), (START, 30, 1), ("fusion.2", 31, 15), (DONE, 50, 10), (REDUCE, 80, 30)]),
)


def test_every_run_on_every_device_is_a_row_in_order_of_time() -> None:
    run = run_of(TWO_CORES)
    times = ("device", "name", "kind", "step", "begin_ps", "duration_ps", "exposed_ps", "wait_ps", "late_device")
    assert rows(run, "collectives", *times) == [
        ("TPU 0", "all-gather.1", "all-gather", 0, 20 * US, 40 * US, 25 * US, 10 * US, "TPU 1"),
        ("TPU 1", "all-gather.1", "all-gather", 0, 30 * US, 30 * US, 15 * US, 0, "TPU 1"),
        ("TPU 0", "all-reduce.2", "all-reduce", 0, 60 * US, 30 * US, 30 * US, 20 * US, "TPU 1"),
        ("TPU 1", "all-reduce.2", "all-reduce", 0, 80 * US, 30 * US, 30 * US, 0, "TPU 1"),
    ]
    what = ("plane", "late_host", "ranks", "replica_group", "bytes")
    assert rows(run, "collectives", *what)[::2] == [
        ("/device:TPU:0", "h0", 2, "0,1", 32),
        ("/device:TPU:0", "h0", 2, "0,1", 32),
    ]
    gather, reduce = rows(run, "collectives", "execution")[::2]
    assert rows(run, "collectives", "execution") == [gather, gather, reduce, reduce]
    assert gather != reduce


def test_a_run_outside_of_all_steps_has_none() -> None:
    late = core(0, [("fusion.1", 0, 20), (REDUCE, 120, 10)])
    assert rows(run_of(late), "collectives", "step", "late_device", "execution", "ranks") == [(None, None, None, 2)]


def ranks(late: int, shift: int = 0, plus: str = "") -> str:
    """One device that comes to each of four reductions `late` us after 10; its clock is `shift` us ahead."""
    runs = []
    for i in range(4):
        at = 100 * i + 7 * i * i + shift
        runs.append(f"{at} {10 + late} gemm\n{at + 10 + late} {50 - late} ncclDevKernel_AllReduce")
    return gpu("\n".join([*runs, plus]))


HOSTS = (ranks(0), ranks(30, shift=5000), ranks(10))


def test_waits_for_devices_of_other_hosts() -> None:
    run = run_of(*HOSTS)
    found = rows(run, "collectives", "host", "begin_ps", "wait_ps", "late_host", "late_device", "ranks")
    assert found[::4] == [
        ("h0", 10 * US, 30 * US, "h1", "GPU 0", 3),
        ("h1", 5040 * US, 0, "h1", "GPU 0", 3),  # on its own axis
        ("h2", 20 * US, 20 * US, "h1", "GPU 0", 3),
    ]
    (page,) = run.communication().sums
    whole = table(run, "collectives")
    assert (len(whole), whole["duration_ps"].sum()) == (page.count, page.total_ps) == (12, 12 * 50 * US - 4 * 40 * US)
    assert (whole["exposed_ps"].sum(), whole["wait_ps"].sum()) == (page.exposed_ps, page.wait_ps)
    assert page.wait_ps == 200 * US
    assert sorted(set(rows(run, "collectives", "execution"))) == [(0,), (1,), (2,), (3,)]


def test_runs_beyond_those_that_are_matched_between_hosts_have_no_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(across_hosts, "MOST_RUNS", 3)
    run = run_of(*HOSTS)
    assert not run.communication().whole
    assert rows(run, "collectives", "wait_ps", "late_host")[:4] == [*[(30 * US, "h1")] * 3, (None, None)]
    assert rows(run, "collectives", "execution")[:4] == [(0,), (1,), (2,), (None,)]


def test_a_host_whose_clock_is_unknown_keeps_its_own_waits() -> None:
    silent = profile(gpu("0 30 ncclDevKernel_AllReduce"), gpu("10 20 ncclDevKernel_AllReduce", number=1))
    run = run_of(ranks(0), silent)
    found = rows(run, "collectives", "host", "wait_ps", "late_host", "late_device", "execution")
    assert found[4:] == [("h1", 10 * US, "h1", "GPU 1", 0), ("h1", 0, "h1", "GPU 1", 0)]
    assert found[0] == ("h0", 0, None, None, None)


def test_hosts_without_collectives_have_no_rows() -> None:
    run = run_of(ranks(0), gpu("0 10 gemm"), 'plane 1 "/host:CPU"\nline 1 main\n0us +5us train')
    assert set(rows(run, "collectives", "host")) == {("h0",)}
