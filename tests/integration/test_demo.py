"""The demo: a program that waits for its input, its repaired twin, and what the pages say of both."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tpu_profile_plugin
from tpu_profile_plugin.cli import main

DEMO = Path(__file__).parents[2] / "demo"
MOST_BYTES = 400_000
"""Of one of these two files: a clone has them all."""
PROGRAM = DEMO.parent / "scripts" / "demo_profiles" / "train_images.py"


def name_of(run: str) -> str:
    """The run with its session."""
    (session,) = (DEMO / run / "plugins" / "profile").iterdir()
    return f"{run}/{session.name}"


SLOW, REPAIRED = name_of("train_slow_input"), name_of("train_prefetched")


def explain(run: str) -> Any:
    return tpu_profile_plugin.open(DEMO).run(run).document("smart_suggestion")


def test_the_newest_run_has_the_problem() -> None:
    """The page opens the newest session first, and so do commands that are given no run."""
    sessions = [folder.name for folder in DEMO.glob("*/plugins/profile/*")]
    assert max(sessions) == SLOW.split("/")[1]
    logdir = tpu_profile_plugin.open(str(DEMO))
    assert logdir.run().name == SLOW


def test_the_first_finding_names_the_loader_with_its_line() -> None:
    answer = explain(SLOW)
    first = answer["findings"][0]
    assert first["id"] == "input_bound"
    assert first["title"] == "Devices wait 44.5% of the step for input, most of it in train_images.py:36 decode"
    assert first["share"] == pytest.approx(0.4448, abs=5e-5)
    assert first["confidence"] == "high"
    assert PROGRAM.read_text().splitlines()[36 - 1].startswith("def decode(")
    timeline = {one["label"]: one["query"]["find"] for one in first["evidence"] if one["tool"] == "trace_viewer@"}
    event = "$train_images.py:36 decode"
    assert timeline == {"Waits in": event, "Length of the step that waits longest": event}


def test_the_repaired_run_has_no_finding_with_a_cost() -> None:
    found = explain(REPAIRED)["findings"]
    assert [(one["id"], one["share"]) for one in found] == [("largest_part", 0.0)]
    assert found[0]["title"] == "74.7% of the step: convolution (5 ops, train_images.py:100, in train_step/loss)"


def test_compare_says_faster_beyond_noise_because_of_input(capsys: pytest.CaptureFixture[str]) -> None:
    sides = ["--base-run", SLOW, "--run", REPAIRED]
    assert main(["compare", str(DEMO), str(DEMO), *sides, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)["answer"]
    text = "35.3% faster (36.49 to 23.61 ms): waiting for input fell by 15.86 ms (train_images.py:36 decode)."
    assert (answer["headline"], answer["tone"]) == (text, "faster")
    assert answer["interval_ms"][1] < -answer["noise_ms"]


@pytest.mark.parametrize("run", [SLOW, REPAIRED])
def test_the_files_are_small_and_tell_nothing_of_the_machine(run: str) -> None:
    folder, session = run.split("/")
    (file,) = (DEMO / folder / "plugins" / "profile" / session).iterdir()
    data = file.read_bytes()
    assert file.name == "demo-host.xplane.pb"
    assert len(data) < MOST_BYTES
    paths = set(re.findall(rb"(?<![\w.<>-])/(?:[\w.+-]+/)+[\w.+-]+", data))
    assert paths == {b"/srv/demo/train_images.py"}
    assert b"site-packages" not in data
