"""Collectives matched over the devices of a host: waits, last devices, groups, clocks that disagree."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_profile_plugin.analysis.devices.collectives import Transfer, first_waits, match_collectives, transfer_of
from tpu_profile_plugin.analysis.devices.model import Device, Op, OpSpans, Work
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms


def device(ordinal, *runs, kind="cpu", windows=()):
    """A device with collectives given as (op, begin, end)."""
    names = sorted({name for name, _, _ in (*runs, *windows)})
    ops = tuple(Op(name, 1, Work.COMMUNICATION, "all-reduce") for name in names)

    def spans(given):
        columns = [np.array([one[i] for one in given], np.int64) for i in (1, 2)]
        op = np.array([names.index(one[0]) for one in given], np.int32)
        work = np.full(len(given), Work.COMMUNICATION, np.uint8)
        return OpSpans(columns[0], columns[1], op, work, np.arange(len(given)))

    return Device(f"d{ordinal}", kind, ordinal, 0, ops, spans(runs), windows=spans(windows))


def waits(*devices, transfer=None):
    """(device, begin, wait, last, ranks) of each run, by device and begin."""
    found = match_collectives(devices, lambda _: transfer or Transfer())
    columns = (found.device, found.begin_ps, found.wait_ps, found.last, found.ranks)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def test_each_device_waits_for_the_last_to_come():
    found = waits(device(0, ("ar.1", 10, 50)), device(1, ("ar.1", 30, 52)), device(2, ("ar.1", 25, 51)))
    assert found == [(0, 10, 20, 1, 3), (1, 30, 0, 1, 3), (2, 25, 5, 1, 3)]


def test_runs_of_an_op_are_matched_in_order():
    first = device(0, ("ar.1", 0, 10), ("ar.2", 12, 20), ("ar.1", 100, 130))
    second = device(1, ("ar.1", 5, 10), ("ar.2", 11, 20), ("ar.1", 120, 130))
    assert waits(first, second) == [
        (0, 0, 5, 1, 2), (0, 12, 0, 0, 2), (0, 100, 20, 1, 2),
        (1, 5, 0, 1, 2), (1, 11, 1, 0, 2), (1, 120, 0, 1, 2),
    ]  # fmt: skip


def test_a_device_that_lacks_the_first_run_is_aligned_by_time():
    first = device(0, *(("ar.1", 100 * i, 100 * i + 50) for i in range(5)))
    second = device(1, *(("ar.1", 100 * i + 20, 100 * i + 50) for i in range(1, 5)))
    assert waits(first, second)[:2] == [(0, 0, 0, -1, 1), (0, 100, 20, 1, 2)]


def test_only_devices_of_a_group_wait_for_each_other():
    devices = [device(i, ("ar.1", begin, 60)) for i, begin in enumerate((0, 50, 10, 20))]
    found = waits(*devices, transfer=Transfer(8, ((0, 2), (1, 3))))
    assert found == [(0, 0, 10, 2, 2), (1, 50, 0, 1, 2), (2, 10, 0, 2, 2), (3, 20, 30, 1, 2)]
    # Groups of devices that were not recorded cannot be told apart.
    assert {rank for *_, rank in waits(*devices, transfer=Transfer(8, ((0, 2, 4), (1, 3, 5))))} == {1}
    assert {rank for *_, rank in waits(*devices, transfer=Transfer(8, ((0, 1, 2, 3, 4, 5),)))} == {4}


def test_a_wait_is_not_longer_than_the_run_and_clocks_that_disagree_are_counted():
    found = match_collectives([device(0, ("ar.1", 0, 10)), device(1, ("ar.1", 30, 40))], lambda _: Transfer())
    assert (found.wait_ps.tolist(), found.early.tolist()) == ([10, 0], [True, False])


def test_a_tensor_core_takes_part_from_start_to_done():
    runs = (("ar-start.1", 10, 11), ("ar-done.1", 40, 50))
    first = device(0, *runs, kind="tpu", windows=(("ar-start.1", 10, 50),))
    second = device(1, ("ar-start.1", 30, 31), ("ar-done.1", 45, 50), kind="tpu", windows=(("ar-start.1", 30, 50),))
    assert waits(first, second) == [(0, 10, 20, 1, 2), (1, 30, 0, 1, 2)]


def test_devices_without_collectives():
    assert waits(device(0), device(1)) == []


NO_PROGRAMS = HloPrograms(None, {})


@pytest.mark.parametrize(
    ("text", "operand_bytes", "groups"),
    [
        ("%a = f32[8,4]{1,0} all-reduce(f32[8,4]{1,0} %x), replica_groups={{0,1},{2,3}}", 128, ((0, 1), (2, 3))),
        ("%a = (bf16[4], bf16[6]) all-reduce(bf16[4] %x, bf16[6] %y), replica_groups={}", 20, ()),
        ("%g = f32[8] all-gather-start(f32[2]{0:T(8,128)} %x), replica_groups=[2,2]<=[4]", 8, ((0, 1), (2, 3))),
        ("%g = s8[8] all-gather(s8[2] %x), replica_groups=[2,2]<=[2,2]T(1,0)", 2, ((0, 2), (1, 3))),
        ("%p = pred[3] collective-permute(pred[3] %x), source_target_pairs={{0,1},{1,0}}", 3, None),
        ("%a = f8e4m3fn[16] all-to-all(f8e4m3fn[16] %x)", 16, None),
        ("%a = f32[8] all-reduce(%x), replica_groups=[3,5]<=[4]", None, None),
        ("", None, None),
    ],
)
def test_what_hlo_text_says_about_a_transfer(text, operand_bytes, groups):
    found = transfer_of(Op("a", 0, Work.COMMUNICATION, "all-reduce", text), NO_PROGRAMS)
    assert (found.operand_bytes, found.groups) == (operand_bytes, groups)


# The wait of a device's first collective for devices that start later.


MS = 10**9


def start_waits(*runs: tuple[int, float, float], meets: tuple[int, ...] = ()) -> list[float]:
    """In ms, of the runs of one device: (collective, begin, length in ms), sorted by collective and begin."""
    key, begin, length = (np.array(column) for column in zip(*runs, strict=True))
    begin, length = (begin * MS).astype(np.int64), (length * MS).astype(np.int64)
    found = first_waits(key.astype(np.int64), np.zeros(len(key), np.int64), begin, begin + length, np.isin(key, meets))
    return [one / MS for one in found.tolist()]


def test_the_first_run_takes_far_longer_than_the_others() -> None:
    assert start_waits((0, 0, 800), (0, 900, 2), (0, 910, 4), (0, 920, 3)) == [797, 0, 0, 0]
    assert start_waits((0, 0, 800), (0, 900, 2)) == [798, 0]


def test_other_first_collectives_that_begin_meanwhile_wait_as_well() -> None:
    assert start_waits((0, 0, 800), (0, 900, 2), (1, 10, 700), (1, 901, 1), (2, 850, 50), (2, 950, 1)) == [
        798,
        0,
        699,
        0,
        0,
        0,
    ]


def test_a_slow_first_run_is_no_wait() -> None:
    assert start_waits((0, 0, 19), (0, 900, 2), (0, 910, 2)) == [0, 0, 0]  # 9.5 times as long
    assert start_waits((0, 0, 0.9), (0, 900, 0.01)) == [0, 0]  # less than a millisecond
    assert (
        start_waits((0, 0, 100), *((0, 200 + 10 * i, 5) for i in range(30))) == [0] * 31
    )  # most time is in the others
    assert start_waits((0, 0, 5), (0, 10, 800), (0, 900, 2)) == [0, 0, 0]  # the second one is long


def test_a_single_run_waits_only_if_it_moves_no_data() -> None:
    assert start_waits((0, 0, 800), (1, 900, 2)) == [0, 0]
    assert start_waits((0, 0, 800), (1, 900, 2), meets=(0,)) == [800, 0]


def test_without_runs() -> None:
    none = np.zeros(0, np.int64)
    assert len(first_waits(none, none, none, none, none.astype(np.bool_))) == 0
