"""The verb `collectives`: communication, and which device or host is late."""

from __future__ import annotations

from pathlib import Path

from builders.asking import asked, page
from builders.logdirs import write
from builders.planes import host, tpu
from builders.profiles import device_profiles

import tpu_profile_plugin
from tpu_profile_plugin.opening import OpenLogdir


def opened(root: Path, *hosts: str) -> OpenLogdir:
    return tpu_profile_plugin.open(
        write(root, {f"plugins/profile/a/h{i}.xplane.pb": text for i, text in enumerate(hosts)})
    )


def two_hosts(root: Path) -> OpenLogdir:
    """Core 1 of host 1 computes 900 us of each step, the others 300, and wait for it."""
    return opened(root, *(device_profiles.host(number, 500 * number) for number in range(2)))


def test_the_late_host_and_the_time_that_nothing_hides(tmp_path: Path) -> None:
    found = asked(two_hosts(tmp_path), "collectives")
    answer = found["answer"]
    assert (answer["collectives_found"], answer["devices"]) == (2, 4)
    (late,) = answer["late_devices"]
    assert (late["device"], late["host"]) == ("h1: TPU 1", "h1")
    # 1050 us of own work, the others 450; three devices wait 600 us for it in each of six steps.
    assert late["work_ratio"] > 1.5
    assert (late["caused_ms"], late["caused_percent"], late["more_work"]) == (10.8, 100, True)
    assert [
        (row["id"], row["count"], row["total_ms"], row["wait_ms"], row["last"]) for row in answer["collectives"]
    ] == [
        ("all-reduce.2@7", 24, 12.96, 10.8, "h1: TPU 1"),
        ("all-gather.1@7", 24, 5.04, 0, ""),
    ]
    assert answer["clocks"] == [{"host": "h1", "offset_ms": -0.5}]
    assert found["base"]["communication_percent"].startswith("of the average ")
    assert found["link"].endswith("?run=a&tool=communication")


def test_numbers_are_those_of_the_page(tmp_path: Path) -> None:
    logdir = two_hosts(tmp_path)
    found = asked(logdir, "collectives")
    shown = page(logdir, found)
    assert found["answer"]["communication_percent"] == float(f"{100 * shown['cost']['share']:.6g}")
    assert found["answer"]["late_devices"][0]["work_ratio"] == float(f"{shown['stragglers'][0]['work_ratio']:.6g}")


def test_further_questions(tmp_path: Path) -> None:
    logdir = two_hosts(tmp_path)
    further = asked(logdir, "collectives")["next"]
    assert further[0]["verb"] == "timeline"
    assert ("ops", {"run": "a", "host": "h1"}) in [(one["verb"], one["arguments"]) for one in further]
    for one in further[:2]:
        assert asked(logdir, one["verb"], **one["arguments"])["cannot_answer"] is None


def test_a_text_of_a_name_or_kind(tmp_path: Path) -> None:
    found = asked(two_hosts(tmp_path), "collectives", find="GATHER")
    assert [row["kind"] for row in found["answer"]["collectives"]] == ["all-gather"]


def test_devices_that_do_not_communicate(tmp_path: Path) -> None:
    found = asked(opened(tmp_path, tpu("0 10 add")), "collectives")
    assert found["cannot_answer"] is None
    assert found["answer"]["collectives_found"] == 0
    assert found["answer"]["notes"] == ["No collective ran in the recording."]


def test_without_devices_it_says_what_to_record(tmp_path: Path) -> None:
    found = asked(opened(tmp_path, host("0 10 a")), "collectives")
    assert found["cannot_answer"]["how_to_record"].startswith("Record several devices")


OUTSIDE = """
plane 1 "/device:TPU:0"
line 1 Steps
0us +100us 1 {_ct=9, _c=1}
100us +100us 2 {_ct=9, _c=2}
line 2 "XLA Ops"
0us +100us fusion.1
100us +100us fusion.1
300us +50us all-reduce.1
metadata fusion.1 {hlo_category="loop fusion", program_id=u7, symbol_id=u1}
metadata all-reduce.1 {hlo_category="all-reduce", program_id=u7, symbol_id=u2}
plane 2 "/host:CPU"
line 1 main
0us +90us train {_r=1, step_num=0}
100us +90us train {_r=1, step_num=1}
"""


def test_collectives_outside_steps_are_told(tmp_path: Path) -> None:
    answer = asked(opened(tmp_path, OUTSIDE), "collectives")["answer"]
    assert [(row["id"], row["exposed_ms"]) for row in answer["collectives"]] == [("all-reduce.1@7", 0.05)]
    assert answer["communication_percent"] == 0
    assert any("ran outside the steps" in note for note in answer["notes"])
    assert all(
        "outside" not in note
        for note in asked(two_hosts(tmp_path / "inside"), "collectives")["answer"].get("notes", [])
    )


def test_hosts_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    logdir = opened(tmp_path, *(device_profiles.host(number, 500 * number) for number in range(2)))
    (tmp_path / "plugins/profile/a/h1.xplane.pb").write_bytes(b"\xff" * 100)
    found = asked(logdir, "collectives")
    assert found["answer"]["devices"] == 2
    (sentence,) = found["from"]["left_out"]
    assert "h1" in sentence
    assert asked(logdir, "collectives") == found  # also when the figures are known
    assert "left_out" not in asked(two_hosts(tmp_path / "whole"), "collectives")["from"]
