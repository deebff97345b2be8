"""The longest gaps of devices: where they lie, how long they are, and what the host did under them."""

from __future__ import annotations

import pytest
from builders.answers import run_of
from builders.planes import host, tpu
from builders.timeline import build_trace

from tpu_profile_plugin.analysis.budget.gaps import MOST_GAPS
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.units import PS_PER_US

US = PS_PER_US
STEPS = "0 100 0 {_ct=9, _c=0}\n100 100 1 {_ct=9, _c=1}"
DEVICE = tpu("10 30 add\n90 20 add\n120 20 add", steps=STEPS, modules="10 30 jit_step(7)\n90 50 jit_step(7)")
MAIN = """
    0us +200us "$train.py:5 main"
    41us +49us "$train.py:54 load_batch"
    45us +45us "$_queue get"
    140us +30us "$train.py:60 save"
"""


def rows(*texts: str) -> list[tuple[object, ...]]:
    """Device, rank, begin and length in us, steps, host call, deepest event, within a program."""
    table = run_of(*texts).gaps().table
    return [
        (
            *(row["device"], row["rank"], row["begin_ps"] / US, row["duration_ps"] / US),
            *(row["steps"], row["call"], row["event"], row["within_program"]),
        )
        for row in table
    ]


def test_gaps_by_length_with_the_host_call_that_covers_most_of_each() -> None:
    assert rows(DEVICE + "\n" + host(MAIN)) == [
        # The save covers half of the first; main lasts through all steps.
        ("TPU 0", 1, 140, 60, "1", "", "", False),
        ("TPU 0", 2, 40, 50, "0", "train.py:54 load_batch", "_queue get", False),
        ("TPU 0", 3, 0, 10, "0", "", "", False),
        ("TPU 0", 4, 110, 10, "1", "", "", True),
    ]


def test_shares_of_the_recording_and_of_the_steps() -> None:
    table = run_of(DEVICE + "\n" + host(MAIN)).gaps().table
    assert table["percent"].tolist() == pytest.approx([30, 25, 5, 5])
    assert table["steps_percent"].tolist() == pytest.approx([60, 50, 10, 10])


def test_a_host_call_must_cover_80_percent() -> None:
    # The gap from 40 to 90: 40 of 50 us are enough, 39 are not.
    assert rows(DEVICE + "\n" + host('50us +40us "$train.py:54 load_batch"'))[1][5] == "train.py:54 load_batch"
    assert rows(DEVICE + "\n" + host('51us +39us "$train.py:54 load_batch"'))[1][5] == ""


def test_the_event_that_covers_most_of_a_gap_without_a_host_call() -> None:
    def partial(*events: str) -> list[tuple[str, float | None]]:
        table = run_of(DEVICE + "\n" + host("\n".join(events))).gaps().table
        return [(row["partial_call"], row["partial_percent"]) for row in table][:2]

    # Of the gap from 140 to 200 half is enough, and the longest event counts, not the deepest.
    assert partial('140us +30us "$train.py:60 save"') == [("train.py:60 save", 50), ("", None)]
    assert partial('140us +29us "$train.py:60 save"') == [("", None), ("", None)]
    assert partial('150us +40us "$a.py:1 f"', '155us +31us "$a.py:2 g"', '40us +50us "$a.py:3 h"') == [
        ("a.py:1 f", pytest.approx(200 / 3)),
        ("", None),
    ]
    # Of two that cover as much, the deepest.
    assert partial('150us +40us "$a.py:1 f"', '150us +40us "$a.py:2 g"')[0][0] == "a.py:2 g"


def test_a_gap_that_ends_with_a_run_of_a_program_is_within_it() -> None:
    modules = "10 20 jit_step(7)\n60 10 jit_step(7)"
    found = rows(tpu("10 10 add\n30 10 add\n60 10 add", steps="0 70 0 {_ct=9, _c=0}", modules=modules))
    assert [(row[2], row[3], row[7]) for row in found] == [(40, 20, False), (0, 10, False), (20, 10, True)]


def test_a_device_that_ran_no_op_has_no_gaps() -> None:
    with pytest.raises(NoData):
        run_of(tpu("", steps=STEPS)).gaps()


def test_a_gap_over_two_steps_names_both_and_one_mostly_outside_names_none() -> None:
    steps = "0 100 0 {_ct=9, _c=0}\n100 100 1 {_ct=9, _c=1}\n300 100 2 {_ct=9, _c=2}"
    found = rows(tpu("0 60 add\n150 41 add\n310 90 add", steps=steps))
    # 40 of the 90 us from 60 to 150 are in step 0; of the 119 us from 191 to 310 only 9 in step 1, and 10 in step 2.
    assert [row[2:5] for row in found] == [(191, 119, ""), (60, 90, "0 to 1")]
    # Half is enough: 50 of the 100 us from 150 to 250 are in step 1.
    assert rows(tpu("0 150 add\n250 150 add", steps=steps))[0][2:5] == (150, 100, "1")


def test_a_device_that_begins_late_has_a_gap_from_the_begin_of_the_others() -> None:
    gpu = 'plane {1} "/device:GPU:{0}"\nline 1 "Stream #1"\n{2}us +20us kernel\n'
    text = gpu.format(0, 1, 0) + gpu.format(1, 2, 50) + gpu.format(0, 1, 60).partition("\n")[2].partition("\n")[2]
    assert [row[:5] for row in rows(text)] == [
        ("GPU 1", 1, 0, 50, ""),
        ("GPU 0", 1, 20, 60, ""),
    ][::-1]


def test_at_most_fifty_per_device() -> None:
    ops = "\n".join(f"{10 * i} {1 + i % 5} add" for i in range(80))
    found = run_of(tpu(ops, steps="0 800 0 {_ct=9, _c=0}")).gaps()
    assert len(found) == MOST_GAPS == 50
    assert found.rank.tolist() == list(range(1, 51))
    assert set(found.duration_ps.tolist()) == {9 * US, 8 * US, 7 * US, 6 * US}


def test_gaps_of_all_hosts() -> None:
    other = tpu("0 20 add\n100 100 add", steps=STEPS)
    found = run_of(DEVICE, other).gaps()
    assert list(zip(found.host_name, found.rank.tolist(), (found.duration_ps // US).tolist(), strict=True)) == [
        ("h1", 1, 80), ("h0", 1, 60), ("h0", 2, 50), ("h0", 3, 10), ("h0", 4, 10),
    ]  # fmt: skip


def test_the_page_gets_the_process_of_each_device_and_corrected_clocks() -> None:
    other = tpu("0 20 add\n100 100 add", steps=STEPS)
    first, second = build_trace(DEVICE, other, format="gaps", clocks=f"h1:{5 * US}").value["gaps"][:2]
    assert (first["host"], first["begin_ps"], first["device"], first["rank"]) == ("h1", 25 * US, "TPU 0", 1)
    sections = build_trace(DEVICE, other, format="columns")
    assert f'"pid":{first["pid"]},"name":"/device:TPU:0","host":"h1"'.encode() in sections.body
    assert f'"pid":{second["pid"]},"name":"/device:TPU:0","host":"h0"'.encode() in sections.body


def test_without_devices_there_are_none() -> None:
    with pytest.raises(NoData, match="neither a TPU nor a GPU"):
        run_of(host("0us +5us work")).gaps()
