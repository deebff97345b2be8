"""The verb `runs`: recordings of a logdir, and what to ask of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.asking import asked
from builders.logdirs import SMALL, write
from builders.xspace_text import build

import tpu_profile_plugin
from tpu_profile_plugin.opening import OpenLogdir

NAMES = ("a/2026_01_03_00_00_00", "b/2026_01_02_00_00_00", "a/2026_01_01_00_00_00")


@pytest.fixture
def logdir(tmp_path: Path) -> OpenLogdir:
    places = [name.replace("/", "/plugins/profile/") for name in NAMES]
    files = {f"{place}/h{i}.xplane.pb": SMALL for place in places for i in range(10 if place == places[0] else 1)}
    return tpu_profile_plugin.open(write(tmp_path, files))


def test_the_newest_first_with_hosts_and_size(logdir: OpenLogdir) -> None:
    envelope = asked(logdir, "runs")
    rows = envelope["answer"]["runs"]
    size = len(build(SMALL))
    assert [(row["id"], row["hosts"], row["size_bytes"]) for row in rows] == [
        (NAMES[0], "h0, h1, h2, h3, h4, h5, h6, h7 and 2 more", 10 * size),
        (NAMES[1], "h0", size),
        (NAMES[2], "h0", size),
    ]
    assert envelope["from"] == {"run": None, "hosts": [], "tool": None}
    assert [(one["verb"], one["arguments"]) for one in envelope["next"]] == [
        *(("overview", {"run": name}) for name in NAMES),
        ("compare", {"run": NAMES[0], "base": NAMES[2]}),
        ("trend", {}),
    ]


def test_those_with_a_text_in_their_name(logdir: OpenLogdir) -> None:
    envelope = asked(logdir, "runs", match="b/")
    assert [row["id"] for row in envelope["answer"]["runs"]] == [NAMES[1]]
    assert [one["verb"] for one in envelope["next"]] == ["overview"]
    cannot = asked(logdir, "runs", match="none")["cannot_answer"]
    assert cannot["reason"] == "No run has 'none' in its name."


def test_an_empty_logdir_says_how_to_record(tmp_path: Path) -> None:
    cannot = asked(tpu_profile_plugin.open(tmp_path), "runs")["cannot_answer"]
    assert "plugins/profile" in cannot["reason"]
    assert "tpu-profile capture" in cannot["how_to_record"]
