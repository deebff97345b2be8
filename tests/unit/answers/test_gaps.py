"""The verb `gaps`: when devices are idle, and what the host did then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from builders.asking import asked, page
from builders.logdirs import write
from builders.planes import host, tpu

import tpu_profile_plugin
from tpu_profile_plugin.opening import OpenLogdir

STEPS = "0 100 0 {_ct=9, _c=0}\n100 100 1 {_ct=9, _c=1}"
DEVICE = tpu("10 30 add\n90 20 add\n120 20 add", steps=STEPS, modules="10 30 jit_step(7)\n90 50 jit_step(7)")
MAIN = """
    0us +200us "$train.py:5 main"
    41us +49us "$train.py:54 load_batch"
    140us +42us "$train.py:60 save"
"""


def opened(root: Path, *hosts: str) -> OpenLogdir:
    return tpu_profile_plugin.open(
        write(root, {f"plugins/profile/a/h{i}.xplane.pb": text for i, text in enumerate(hosts)})
    )


def rows(envelope: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in envelope["answer"]["gaps"]]


def test_gaps_with_the_host_call_of_each(tmp_path: Path) -> None:
    found = asked(opened(tmp_path, f"{DEVICE}\n{host(MAIN)}"), "gaps")
    assert list(found["answer"]["gaps"][0]) == ["id", "duration_ms", "percent", "begin_ms", "steps", "call"]
    assert rows(found) == [
        ("TPU 0:1", 0.06, 30, 0.14, "1", "train.py:60 save (70% of the gap)"),
        ("TPU 0:2", 0.05, 25, 0.04, "0", "train.py:54 load_batch"),
        ("TPU 0:3", 0.01, 5, 0, "0", "unknown: no host event covers half of it"),
        ("TPU 0:4", 0.01, 5, 0.11, "1", "none: between ops of one program"),
    ]
    assert {name: value for name, value in found["answer"].items() if name != "gaps"} == {
        "gaps_found": 4,
        "shorter_gaps_left_out": 0,
        "longest_ms": 0.06,
        "longest_percent": 30,
    }
    assert found["link"].endswith("?run=a&tool=trace_viewer@&gap=TPU%200:1")
    assert found["base"] == "of the time from the first step or op of the host to the last"
    assert (found["next"][0]["verb"], found["next"][0]["arguments"]) == (
        "timeline",
        {"run": "a", "from": 0.14, "to": 0.2},
    )
    assert [one["verb"] for one in found["next"][-2:]] == ["budget", "explain"]


def test_numbers_are_those_of_the_page(tmp_path: Path) -> None:
    logdir = opened(tmp_path, f"{DEVICE}\n{host(MAIN)}")
    found = asked(logdir, "gaps")
    shown = page(logdir, found)["gaps"]
    assert [(row["duration_ms"], row["percent"]) for row in found["answer"]["gaps"]] == [
        (row["duration_ps"] / 1e9, pytest.approx(row["percent"])) for row in shown
    ]


def test_gaps_that_are_short_beside_the_longest_are_left_out(tmp_path: Path) -> None:
    found = asked(opened(tmp_path, tpu("0 10 a\n11 10 a\n121 10 a\n127 10 a")), "gaps")
    assert [row[0] for row in rows(found)] == ["TPU 0:1"]
    assert found["answer"]["shorter_gaps_left_out"] == 1


def test_a_text_of_a_call_or_device_and_hosts(tmp_path: Path) -> None:
    logdir = opened(tmp_path, f"{DEVICE}\n{host(MAIN)}", f"{DEVICE}\n{host('0 10 x')}")
    found = asked(logdir, "gaps", find="LOAD")
    assert [row[0] for row in rows(found)] == ["h0: TPU 0:2"]
    assert found["next"][0]["arguments"] == {"run": "a", "from": 0.04, "to": 0.09, "host": "h0"}
    assert [row[0] for row in rows(asked(logdir, "gaps", find="h1: tpu"))] == [f"h1: TPU 0:{n}" for n in (1, 2, 3, 4)]
    assert rows(asked(logdir, "gaps", find="nothing")) == []


def test_without_devices_it_says_what_to_record(tmp_path: Path) -> None:
    found = asked(opened(tmp_path, host(MAIN)), "gaps")
    assert found["answer"] == {}
    assert found["cannot_answer"]["reason"].startswith("The profile has neither a TPU nor a GPU")
    assert "Record while programs run on a device" in found["cannot_answer"]["how_to_record"]
