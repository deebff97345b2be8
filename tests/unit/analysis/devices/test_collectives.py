"""Collectives matched over the devices of a host: waits, last devices, groups, clocks that disagree."""

from __future__ import annotations

import numpy as np
import pytest
from builders.programs.hlo import metadata_plane, op, program
from builders.shown import profile

from tpu_profile_plugin.analysis.devices import collectives
from tpu_profile_plugin.analysis.devices.collectives import (
    Transfer,
    _iota,
    _shift,
    first_waits,
    match_collectives,
    transfer_of,
    waits_for_start,
)
from tpu_profile_plugin.analysis.devices.model import Device, Op, OpSpans, Work
from tpu_profile_plugin.analysis.hlo.programs import HloPrograms, hlo_programs


def device(ordinal, *runs, kind="cpu", windows=(), collective="all-reduce"):
    """A device with collectives given as (op, begin, end)."""
    names = sorted({name for name, _, _ in (*runs, *windows)})
    ops = tuple(Op(name, 1, Work.COMMUNICATION, collective) for name in names)

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
    for whole, other in ((0, 1), (1, 0)):
        first = device(whole, *(("ar.1", 100 * i, 100 * i + 50) for i in range(5)))
        second = device(other, *(("ar.1", 100 * i + 20, 100 * i + 50) for i in range(1, 5)))
        found = waits(*sorted((first, second), key=lambda one: one.name))
        assert [one for one in found if one[0] == whole][:2] == [(whole, 0, 0, -1, 1), (whole, 100, 20, other, 2)]
    late = device(0, *(("ar.1", 100 * i + 20, 100 * i + 50) for i in range(3, 5)))
    whole = device(1, *(("ar.1", 100 * i, 100 * i + 50) for i in range(5)))
    assert [rank for *_, rank in waits(late, whole)] == [2, 2, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("reference", "ends", "shift"),
    [
        ((50, 150, 250, 350, 450), (150, 250), 1),
        ((50, 150, 250), (60,), 0),
        ((50, 150, 250), (100,), 0),  # as near to both
        ((50, 150, 250), (101,), 1),
        ((50, 150, 250), (240, 500), 1),
        ((50, 150), (500,), 1),
        ((50, 150), (7,), 0),
        ((50, 150, 250, 350), (250, 350), 2),
    ],
)
def test_how_many_runs_come_before_the_first_of_another_device(reference, ends, shift):
    assert _shift(np.array(reference), np.array(ends)) == shift


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
    found = match_collectives([device(0, ("ar.1", 100, 130)), device(1, ("ar.1", 130, 140))], lambda _: Transfer())
    assert (found.wait_ps.tolist(), found.early.tolist()) == ([30, 0], [False, False])
    found = match_collectives([device(0, ("ar.1", 100, 110)), device(1, ("ar.1", 130, 140))], lambda _: Transfer())
    assert (found.wait_ps.tolist(), found.early.tolist()) == ([10, 0], [True, False])


def test_a_wait_that_only_one_of_two_devices_has_is_for_the_other():
    waiting = device(1, ("w.1", 10, 50), collective="wait")
    assert waits(device(0, ("ar.1", 10, 20)), waiting) == [(0, 10, 0, -1, 1), (1, 10, 40, 0, 1)]
    assert waits(waiting, device(1, ("ar.1", 10, 20))) == [(0, 10, 40, 1, 1), (1, 10, 0, -1, 1)]
    # Of three it is not known for which, and what both have they do together.
    assert waits(waiting, device(1), device(2)) == [(0, 10, 40, -1, 1)]
    both = waits(waiting, device(1, ("w.1", 20, 50), collective="wait"))
    assert both == [(0, 10, 10, 1, 2), (1, 20, 0, 1, 2)]


def test_a_wait_until_others_start_is_of_none_of_them():
    ms = 10**9
    alone = match_collectives([device(0, ("w.1", 5, 800 * ms), collective="wait"), device(1)], lambda _: Transfer())
    assert (alone.wait_ps.tolist(), alone.start_ps.tolist()) == ([800 * ms - 5], [800 * ms - 5])
    assert alone.last.tolist() == [-1]
    runs = [("ar.1", 0, 800 * ms), ("ar.1", 900 * ms, 902 * ms)]
    late = [("ar.1", 799 * ms, 800 * ms), ("ar.1", 901 * ms, 902 * ms)]
    both = match_collectives([device(0, *runs), device(1, *late)], lambda _: Transfer())
    assert [ps // ms for ps in both.wait_ps.tolist()] == [799, 1, 0, 0]
    assert [ps // ms for ps in both.start_ps.tolist()] == [799, 0, 0, 0]
    assert [ps // ms for ps in both.repeated_ps.tolist()] == [0, 1, 0, 0]
    assert [ps // ms for ps in both.caused_ps(2).tolist()] == [0, 1]


def test_the_longest_wait_for_a_start_comes_first():
    ms = 10**9
    devices = [
        device(number, ("ar.1", 0, wait * ms), ("ar.1", 900 * ms, 902 * ms))
        for number, wait in enumerate((700, 800, 750))
    ]
    found = waits_for_start(match_collectives(devices, lambda _: Transfer()))
    assert [(one.device, one.wait_ps // ms, one.key.name) for one in found] == [
        (1, 798, "ar.1"), (2, 748, "ar.1"), (0, 698, "ar.1"),
    ]  # fmt: skip


def test_each_device_causes_the_waits_for_it():
    first = device(0, ("ar.1", 10, 50), ("ar.2", 130, 150))
    second = device(1, ("ar.1", 30, 50), ("ar.2", 125, 150))
    found = match_collectives([first, second], lambda _: Transfer())
    assert found.caused_ps(3).tolist() == [5, 20, 0]


def test_a_tensor_core_takes_part_from_start_to_done():
    runs = (("ar-start.1", 10, 11), ("ar-done.1", 40, 50))
    first = device(0, *runs, kind="tpu", windows=(("ar-start.1", 10, 50),))
    second = device(1, ("ar-start.1", 30, 31), ("ar-done.1", 45, 50), kind="tpu", windows=(("ar-start.1", 30, 50),))
    assert waits(first, second) == [(0, 10, 20, 1, 2), (1, 30, 0, 1, 2)]
    plain = (*runs, ("ar.5", 60, 70))
    both = device(0, *plain, kind="tpu", windows=(("ar-start.1", 10, 50), ("ar-start.1", 80, 90)))
    found = match_collectives([both], lambda _: Transfer())
    assert sorted(zip(found.begin_ps.tolist(), found.source.tolist(), strict=True)) == [(10, -1), (60, 2), (80, -2)]


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
        ("%a = f32[8] all-reduce(f32[8] %x), replica_groups=[0,4]<=[0]", 32, None),
        ("%a = f32[8] all-reduce(f32[8] %x), replica_groups=[2,1]<=[1,2]", 32, ((0,), (1,))),
        ('%a = f32[8] all-reduce(f32[8]{0:T(8,128)} %x), replica_groups={{0}}, type="f32[9]"', 32, ((0,),)),
        ("%a = f32[8] all-reduce(f32[8]{0:T(8,128)} %x, f32[2] %y), replica_groups={{0}}", 40, ((0,),)),
        ("", None, None),
    ],
)
def test_what_hlo_text_says_about_a_transfer(text, operand_bytes, groups):
    found = transfer_of(Op("a", 0, Work.COMMUNICATION, "all-reduce", text), NO_PROGRAMS)
    assert (found.operand_bytes, found.groups) == (operand_bytes, groups)


def test_what_pytorch_recorded_of_a_transfer():
    def recorded(**facts):
        return transfer_of(Op("a", 0, Work.COMMUNICATION, "all-reduce", **facts), NO_PROGRAMS)

    assert recorded(operand_bytes=8) == Transfer(8, ())
    assert recorded(ranks=2) == Transfer(None, ((0, 1),))
    assert recorded(operand_bytes=8, ranks=3) == Transfer(8, ((0, 1, 2),))
    assert recorded(text="%a = f32[2] all-reduce(f32[2] %x)") == Transfer(8, None)


def test_numbers_of_groups_are_checked(monkeypatch):
    assert _iota((-2, -2), (4,), ()) is None
    assert _iota((4,), (-2, -2), ()) is None
    for most, known in ((4, ((0, 1), (2, 3))), (3, None)):
        monkeypatch.setattr(collectives, "_MOST_DEVICES", most)
        assert _iota((2, 2), (4,), ()) == known


def test_a_device_is_in_the_group_that_has_its_number():
    groups = Transfer(8, ((0, 3), (1, 2), (4,)))
    assert [groups.group_of(number, 5) for number in (0, 1, 2, 3, 4, 7)] == [0, 1, 1, 0, 2, None]
    assert groups.group_of(0, 4) is None


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
    assert start_waits((0, 0, 20), (0, 900, 2), (0, 910, 2)) == [18, 0, 0]  # ten times as long
    assert start_waits((0, 0, 1.01), (0, 900, 0.01)) == [1, 0]  # by a millisecond
    # Just as long as all else, and longer.
    assert start_waits((0, 0, 20), *((0, 100 + 10 * i, 2) for i in range(8))) == [0] * 9
    assert start_waits((0, 0, 20), *((0, 100 + 10 * i, 2) for i in range(7))) == [18, *[0] * 7]


def test_each_device_has_a_wait_of_its_own() -> None:
    """Most of the second device's time is in other runs."""
    key, number = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1, 1])
    begin, length = np.array([0, 900, 0, 900, 100, 300, 500]) * MS, np.array([800, 2, 40, 2, 100, 100, 100]) * MS
    found = first_waits(key, number, begin, begin + length, np.zeros(7, np.bool_))
    assert (found // MS).tolist() == [798, 0, 0, 0, 0, 0, 0]


def test_other_first_collectives_that_begin_meanwhile_wait_as_well() -> None:
    assert start_waits((0, 0, 800), (0, 900, 2), (1, 10, 700), (1, 901, 1), (2, 850, 50), (2, 950, 1)) == [
        798,
        0,
        699,
        0,
        0,
        0,
    ]
    assert start_waits((0, 0, 800), (0, 900, 2), (1, 800, 700), (1, 1901, 1)) == [798, 0, 0, 0]


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
    assert start_waits((0, 900, 1), (0, 910, 1), (1, 0, 800)) == [0, 0, 0]


def test_without_runs() -> None:
    none = np.zeros(0, np.int64)
    assert len(first_waits(none, none, none, none, none.astype(np.bool_))) == 0


GATHERED = metadata_plane(
    jit_f=(
        7,
        program([
            op("x", "parameter", "f32[4]{0}"),
            op("y", "parameter", "bf16[4]{0}", parameter_number=1),
            op("all-reduce.1", "all-reduce", "f32[4]{0}", "x", "y", replica_groups=[{"replica_ids": [0, 2]}]),
            op("barrier.1", "all-reduce", "f32[]"),
        ]),
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("number", "name", "expected"),
    [
        (7, "all-reduce.1", Transfer(16 + 8, ((0, 2),))),
        (7, "barrier.1", Transfer(None, ())),
        # Of other programs and instructions the text tells.
        (7, "all-reduce.2", Transfer(20, ((0, 1),))),
        (8, "all-reduce.1", Transfer(20, ((0, 1),))),
        (0, "all-reduce.1", Transfer(20, ((0, 1),))),
    ],
)
def test_what_the_instruction_says_about_a_transfer(number, name, expected):
    programs = hlo_programs(profile(GATHERED))
    text = "%a = f32[5] all-reduce(f32[5] %x), replica_groups={{0,1}}"
    assert transfer_of(Op(name, number, Work.COMMUNICATION, "all-reduce", text), programs) == expected
