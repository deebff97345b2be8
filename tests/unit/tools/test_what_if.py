"""The page What if: the step before and after changes, what findings suggest, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from builders.answers import run_of
from builders.asked import ask, rows
from builders.planes import gpu, host

from tpu_profile_plugin.analysis.findings.model import Evidence, OpOf
from tpu_profile_plugin.analysis.findings.without import edits_without
from tpu_profile_plugin.analysis.replay.edits import Edit
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.facts import PlaneFact, RunFacts
from tpu_profile_plugin.run.figures.replay import run_replay
from tpu_profile_plugin.tools.summary.what_if import TOOL, _is_large

US = 10**6
DEMO = Path(__file__).parents[3] / "demo"


def _steps(count: int) -> str:
    """Steps of 100 us: the host loads a batch (60 us), launches a kernel (20 us), waits for it and saves (12 us)."""
    kernels = "\n".join(f"{100 * s + 65} 20 matmul {{correlation_id={s + 1}}}" for s in range(count))
    calls = "\n".join(
        f"{100 * s} 100 train {{_r=1, step_num={s}}}\n"
        f"{100 * s} 60 $train.py:3 load_batch\n"
        f"{100 * s + 60} 2 cudaLaunchKernel {{correlation_id={s + 1}}}\n"
        f"{100 * s + 62} 25 cudaStreamSynchronize\n"
        f"{100 * s + 88} 12 $train.py:9 save"
        for s in range(count)
    )
    return f"{gpu(kernels)}\n{host(calls)}"


PROFILE = _steps(4)


def test_the_recorded_step_and_what_is_worth_a_try() -> None:
    found = ask(TOOL, PROFILE)
    assert found["base"] == "step"
    assert found["before"]["length_ps"] == found["after"]["parts"]["length_ps"] == 100 * US
    assert found["before"]["median_ps"] == found["after"]["parts"]["median_ps"] == 100 * US
    assert found["before"]["average_ps"] == pytest.approx(found["after"]["parts"]["average_ps"])
    assert found["unknown"] == []
    tried = {one["label"]: one for one in found["tried"]}
    load = tried["Without train.py:3 load_batch"]
    assert load["finding"] == "slow_host_code"
    # The finding is about both functions and names the longer one: its gain is less than its time.
    assert load["title"] == "Devices wait 73.0% of the step for code on the host: train.py:3 load_batch"
    assert load["keys"] == {"without": "train.py:3 load_batch"}
    assert (load["part_ps"], load["gain_ps"], load["confidence"]) == (73 * US, 60 * US, "high")
    assert (load["low_ps"], load["high_ps"]) == (60 * US, 60 * US)
    assert tried["Without matmul"]["finding"] == ""
    assert tried["Without matmul"]["gain_ps"] == 20 * US


def test_the_step_as_recorded_without_a_replay() -> None:
    found = ask(TOOL, PROFILE, recorded_only="true", without="save")
    assert (found["base"], found["before"]["length_ps"], found["before"]["median_ps"]) == ("step", 100 * US, None)
    assert found["before"]["average_ps"] == ask(TOOL, PROFILE)["before"]["average_ps"]
    assert (found["after"], found["tried"], found["cannot"]) == (None, [], "")


def test_changes_add_up() -> None:
    found = ask(TOOL, PROFILE, without="train.py:3 load_batch; save", scale="matmul=0.5")
    after = found["after"]
    assert after["parts"]["length_ps"] == after["low_ps"] == after["high_ps"] == 18 * US
    assert sum(after["parts"]["average_ps"].values()) == pytest.approx(18 * US)
    assert after["parts"]["average_ps"]["compute"] == 10 * US
    assert rows(after["limits"], "what", "name", "per_step_ps")[0] == ("op", "matmul", 10 * US)
    assert rows(after["limits"], after["limits"]["columns"][3]["id"])[0] == (pytest.approx(100 * 10 / 18),)


def test_a_place_that_is_not_there_is_named_and_left_out() -> None:
    found = ask(TOOL, PROFILE, without="lod_batch; matmul")
    assert [one["place"] for one in found["unknown"]] == ["lod_batch"]
    assert "load_batch" in found["unknown"][0]["near"]
    assert found["after"]["parts"]["length_ps"] == 80 * US


def test_what_nothing_links_to_the_devices_cannot_be_told() -> None:
    found = ask(TOOL, PROFILE.replace("correlation_id", "other"), input_free="true")
    assert found["after"] is None
    assert found["cannot"] == "Nothing tells which calls of the host launched the work of the devices."
    assert found["remedy"].startswith("Record host and devices in one session")
    assert found["before"]["length_ps"] == 100 * US


def test_a_change_stands_for_a_finding_if_it_takes_most_of_its_time_and_little_else() -> None:
    run = run_of(PROFILE)
    [entry] = run.findings()
    replay = run_replay(run)
    assert replay.stands_for(Edit((("load_batch", 0.0),)), entry.finding)
    # 60 of 76 us are not 80%, 12 of 73 us are not either, and the marker of the step takes the kernel as well.
    assert not replay.stands_for(Edit((("load_batch", 0.0),)), replace(entry.finding, saving_ps=76 * US))
    assert not replay.stands_for(Edit((("save", 0.0),)), entry.finding)
    assert not replay.stands_for(Edit((("train", 0.0),)), entry.finding)


def test_changes_that_may_stand_for_a_finding_come_the_most_general_first() -> None:
    evidence = [
        Evidence("Op", 40.0, "%", op=OpOf("fusion.3", file="model.py", line=7)),
        Evidence("Function", "train.py:9 save", tool="trace_viewer@", query={"find": "$train.py:9 save"}),
        Evidence("Another op", 20.0, "%", op=OpOf("fusion.4")),
    ]
    places = "fusion", "model.py:7", "fusion.3", "train.py:9 save", "fusion.4"
    without = [Edit(((place, 0.0),)) for place in places]
    assert list(edits_without(["idle_peer"], evidence)) == [Edit(ranks_equal=True), *without]
    assert list(edits_without(["compute"], evidence)) == without


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([], []),
        (["idle_input"], [Edit(input_free=True)]),
        (["idle_input", "input_copy"], [Edit(input_free=True)]),
        (["idle_input", "compute"], []),
        (["exposed_communication"], [Edit(hide_collectives=True)]),
        (["peer_transfer"], [Edit(hide_collectives=True)]),
        (["exposed_communication", "peer_transfer"], [Edit(hide_collectives=True)]),
        (["exposed_communication", "peer_transfer", "compute"], []),
        (["exposed_communication", "idle_peer"], [Edit(hide_collectives=True)]),
        (["idle_peer"], [Edit(ranks_equal=True)]),
        (["idle_input", "idle_peer"], []),
    ],
)
def test_changes_of_all_that_a_finding_may_be_about(segments: list[str], expected: list[Edit]) -> None:
    assert list(edits_without(segments, [])) == expected
    # Pages other than the timeline tell no place.
    assert list(edits_without(segments, [Evidence("Row", 1, tool="hlo_stats", query={"find": "f"})])) == expected


def test_a_finding_without_a_change_says_so() -> None:
    found = ask(TOOL, DEMO / "jax_scan/plugins/profile/2026_11_20_10_31_38/demo-host.xplane.pb")
    idle = found["tried"][0]
    assert (idle["finding"], idle["label"], idle["keys"], idle["gain_ps"]) == ("launch_bound", "", {}, None)
    assert idle["cannot"].startswith("No function, event, op or kind of op takes just this time")


@pytest.mark.parametrize(("size", "large"), [(16 << 20, False), ((16 << 20) + 1, True), (1, False)])
def test_a_page_asks_before_it_replays_a_large_recording(size: int, large: bool) -> None:
    facts = RunFacts(planes=(PlaneFact("h", "/host:CPU", 1, size - 1), PlaneFact("h", "/device:GPU:0", 1, 1)))
    assert _is_large(SimpleNamespace(facts=facts)) is large


def test_time_between_steps_counts_to_their_length() -> None:
    steps = "\n".join(f"{100 * i}us +80us {i} {{_ct=9, _c={i}}}" for i in range(3))
    ops = "\n".join(f"{100 * i}us +50us fusion.1" for i in range(3))
    tpu = f'plane 1 "/device:TPU:0" {{device_type_string="TPU v4"}}\nline 1 Steps\n{steps}\nline 2 "XLA Ops"\n{ops}'
    found = ask(TOOL, f"{tpu}\nmetadata fusion.1 {{program_id=u7, symbol_id=u1}}", recorded_only="true")["before"]
    assert (found["length_ps"], found["average_ps"]["between_steps"]) == (100 * US, 20 * US)


def test_a_wrong_factor_is_a_bad_request() -> None:
    with pytest.raises(BadRequest, match="scale must be PLACE=FACTOR"):
        ask(TOOL, PROFILE, scale="matmul")


def test_runs_without_devices_say_why() -> None:
    assert "neither" in (TOOL.available(RunFacts(planes=(PlaneFact("h", "/host:CPU", 1, 1),))) or "")
