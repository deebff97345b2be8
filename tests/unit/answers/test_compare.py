"""The verb `compare`: what changed between two runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from builders.asking import asked, page
from builders.logdirs import write
from builders.profiles.compared import BASE, HOST, RUN, core

import tpu_profile_plugin
from tpu_profile_plugin.errors import BadRequest, NotFound
from tpu_profile_plugin.opening import OpenLogdir


def opened(root: Path, **runs: str) -> OpenLogdir:
    return tpu_profile_plugin.open(
        write(root, {f"plugins/profile/{run}/h.xplane.pb": text for run, text in runs.items()})
    )


def test_changes_of_a_program_that_was_compiled_again(tmp_path: Path) -> None:
    logdir = opened(tmp_path, old=core(*BASE), new=core(*RUN))
    found = asked(logdir, "compare", run="new", base="old")
    shown = page(logdir, found)
    answer = found["answer"]
    assert answer["headline"] == shown["headline"]
    times = shown["length"]
    assert [answer[name] for name in ("base_ms", "run_ms", "delta_ms")] == [
        round(times[name] / 1e9, 6) for name in ("base", "run", "delta")
    ]
    changes = {row["id"].partition(" (")[0]: (row["change"], row["delta_ms"]) for row in answer["contributions"]}
    assert changes["fusion.11"] == ("slower", 0.12)
    assert sum(row["delta_ms"] for row in answer["contributions"]) == pytest.approx(answer["delta_ms"])
    assert found["base"] == {
        "delta_percent": "of delta_ms of the runs",
        **dict.fromkeys(("base_matched_percent", "run_matched_percent"), found["base"]["run_matched_percent"]),
    }
    assert [row["line"] for row in answer["contributions"]] == ["model.py:6", "model.py:4", "model.py:5", "", ""]
    assert found["link"].endswith("?run=new&tool=compare&base=old")


def displayed(text: str) -> str:
    """The profile with names of ops to display, as profilers write them."""
    return re.sub(r'^(metadata "%([\w.]+) .*)$', r"\1 display=\2", text, flags=re.MULTILINE)


def test_ops_of_either_run_are_asked_for_where_they_are(tmp_path: Path) -> None:
    logdir = opened(tmp_path, old=displayed(core(*BASE)), new=displayed(core(*RUN)))
    further = asked(logdir, "compare", run="new", base="old")["next"]
    assert ("op", {"run": "new", "name": "fusion.11@7"}) in [(one["verb"], one["arguments"]) for one in further]
    assert ("op", {"run": "old", "name": "gone.3@7"}) in [(one["verb"], one["arguments"]) for one in further]
    assert [one["verb"] for one in further[-3:]] == ["budget", "budget", "explain"]


def test_the_base_is_by_default_the_run_that_shares_most(tmp_path: Path) -> None:
    logdir = opened(tmp_path, a=core(*BASE), b=HOST)
    assert asked(logdir, "compare", run="b")["answer"]["base"] == "a"
    assert asked(opened(tmp_path / "one", a=HOST), "compare")["cannot_answer"]["reason"] == (
        "There is no other run in this logdir."
    )


def test_the_cause_of_a_part_comes_first(tmp_path: Path) -> None:
    logdir = opened(tmp_path, old=core(100, 100, 100), new=core(100, 100, 100, step_us=990, period_us=1000))
    assert asked(logdir, "compare", run="new", base="old")["next"][0]["verb"] == "explain"


def test_a_single_host_is_not_compared(tmp_path: Path) -> None:
    files = {f"plugins/profile/{run}/{name}.xplane.pb": core(*BASE) for run in "ab" for name in "xy"}
    with pytest.raises(BadRequest, match="all hosts of both runs"):
        asked(tpu_profile_plugin.open(write(tmp_path, files)), "compare", run="a", host="x", base="b")


def test_a_base_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as raised:
        asked(opened(tmp_path, a=core(*BASE), b=HOST), "compare", run="b", base="../b")
    assert (raised.value.details["argument"], raised.value.details["choices"]) == ("base", ["a"])


def test_runs_without_steps_are_not_compared(tmp_path: Path) -> None:
    found = asked(opened(tmp_path, a=core(*BASE), b=HOST), "compare", run="a", base="b")
    assert found["answer"]["tone"] == "unknown"
    assert found["answer"]["delta_ms"] is None
    assert found["cannot_answer"]["reason"] == found["answer"]["headline"]
    assert "steps of both runs" in found["cannot_answer"]["how_to_record"]


def test_a_run_that_shares_more_is_proposed() -> None:
    logdir = tpu_profile_plugin.open(Path(__file__).parents[3] / "demo")
    run, base = "train_prefetched/2026_11_22_19_04_16", "train_slow_input/2026_11_22_19_04_21"
    found = asked(logdir, "compare", run=run, base="jax_scan/2026_11_20_10_31_38")
    assert "hardly comparable" in found["answer"]["caution"]
    assert (found["next"][0]["verb"], found["next"][0]["arguments"]) == ("compare", {"run": run, "base": base})
    assert "caution" not in asked(logdir, "compare", run=run, base=base)["answer"]
