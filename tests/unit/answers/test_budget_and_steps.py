"""The verbs `budget` and `steps`: parts of the average step and of single steps, the slowest steps first."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.asking import asked
from builders.logdirs import write
from builders.profiles import device_profiles
from builders.profiles.verdicts import LOADER, NOTHING, UNMARKED
from builders.xspace_text import build

import tpu_profile_plugin
from tpu_profile_plugin.analysis.common.reasons import PROFILE, STEPS
from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.opening import OpenLogdir

ABOUT = {"run": "memory"}


@pytest.fixture
def loader() -> OpenLogdir:
    return tpu_profile_plugin.open(build(LOADER))


def part(id_: str, name: str, category: str, ms: float, percent: float) -> dict:
    return {"id": id_, "name": name, "category": category, "per_step_ms": ms, "share_percent": percent}


def test_parts_of_the_average_step(loader: OpenLogdir) -> None:
    envelope = asked(loader, "budget")
    assert envelope["answer"] == {
        "shares_of": "time from step to step",
        "base_ms": 0.216667,
        "step_ms": 0.116667,
        "steps": 3,
        "devices": 1,
        "host_code": [{"code": "train.py:9 load_batch", "per_step_ms": 0.05}],
        "parts": [
            part("between_steps", "Between steps", "Between steps", 0.1, 46.1538),
            part("compute", "Ops", "Device compute", 0.066667, 30.7692),
            part("idle_host", "Waits for host code", "Host compute", 0.05, 23.0769),
        ],
    }
    assert envelope["units"] == {"base_ms": "ms", "step_ms": "ms", "per_step_ms": "ms", "share_percent": "%"}
    assert envelope["base"].startswith("of the average time from step to step")
    assert envelope["link"].endswith("?run=memory&tool=time_budget")
    assert [one["verb"] for one in envelope["next"]] == ["explain", "gaps", "ops", "steps"]


def test_parts_of_one_step_beside_the_average(loader: OpenLogdir) -> None:
    envelope = asked(loader, "budget", step="5")
    waits = {"id": "idle_host", "name": "Waits for host code", "category": "Host compute"}
    works = {"id": "compute", "name": "Ops", "category": "Device compute"}
    assert envelope["answer"] == {
        "id": "5",
        "step_ms": 0.15,
        "average_step_ms": 0.116667,
        "begin_ms": 0.4,
        "end_ms": 0.55,
        "parts": [
            {**waits, "in_step_ms": 0.1, "average_ms": 0.05},
            {**works, "in_step_ms": 0.05, "average_ms": 0.066667},
        ],
    }
    assert envelope["next"][0] == {"verb": "timeline", "arguments": {**ABOUT, "from": 0.4, "to": 0.55}}


def test_an_unknown_step_is_refused_with_the_choices(loader: OpenLogdir) -> None:
    with pytest.raises(NotFound) as caught:
        asked(loader, "budget", step="train 0")
    assert caught.value.details == {"argument": "step", "choices": ["3", "4", "5"]}


def test_the_spread_over_devices_where_they_differ(tmp_path: Path) -> None:
    place = "plugins/profile/2026_11_20_10_00_00"
    write(tmp_path, {f"{place}/h{i}.xplane.pb": device_profiles.host(i, 500 * i) for i in range(2)})
    parts = {one["id"]: one for one in asked(tpu_profile_plugin.open(tmp_path), "budget")["answer"]["parts"]}
    spread = {id_: (one["most_on"], one["most_ms"], one["least_ms"]) for id_, one in parts.items()}
    assert spread == {
        "compute": ("h1: TPU 1", 1.14, 0.54),
        "idle_peer": ("h0: TPU 0", 0.6, 0.0),
        **dict.fromkeys(["idle_host", "exposed_communication", "between_steps", "idle_other"], (None, None, None)),
    }


def step(id_: str, ms: float, begin: float, end: float, *more: str | float | None) -> dict:
    part, of_part, average = more or (None, None, None)
    times = {"duration_ms": ms, "begin_ms": begin, "end_ms": end}
    return {"id": id_, **times, "more_of": part, "part_ms": of_part, "part_average_ms": average}


def test_the_slowest_step_first_with_what_it_has_more_of(loader: OpenLogdir) -> None:
    envelope = asked(loader, "steps")
    slow = step("5", 0.15, 0.4, 0.55, "Waits for host code", 0.1, 0.05)
    usual = [step("3", 0.1, 0.0, 0.1), step("4", 0.1, 0.2, 0.3)]
    assert envelope["answer"] == {
        "steps_recorded": 3,
        "steps_from": "device",
        "average_step_ms": 0.116667,
        "far_longer_than_median": 0,
        "steps": [slow, *usual],
    }
    assert asked(loader, "steps", sort="recorded")["answer"]["steps"] == [*usual, slow]
    assert [(one["verb"], one["arguments"]) for one in envelope["next"]] == [
        ("budget", {**ABOUT, "step": "5"}),
        ("timeline", {**ABOUT, "from": 0.4, "to": 0.55}),
        ("explain", ABOUT),
    ]


def test_steps_of_one_name_are_told_apart() -> None:
    main = "\n".join(f"{10 * i}us +{8 + i}us train {{_r=1, step_num=4}}\n{10 * i}us +5us work" for i in range(2))
    opened = tpu_profile_plugin.open(build(f'plane 0 "/host:CPU"\nline 1 main\n{main}'))
    ids = [one["id"] for one in asked(opened, "steps", sort="recorded")["answer"]["steps"]]
    assert len(set(ids)) == len(ids)
    for id_ in ids:
        assert asked(opened, "budget", step=id_)["answer"]["id"] == id_


def test_a_host_without_devices_is_on_the_overview() -> None:
    main = "0us +8us train {_r=1, step_num=4}\n1us +5us work"
    opened = tpu_profile_plugin.open(build(f'plane 0 "/host:CPU"\nline 1 main\n{main}'))
    assert {asked(opened, verb)["from"]["tool"] for verb in ("budget", "steps")} == {"overview_page"}


def test_without_steps_the_recording_has_parts_but_no_steps() -> None:
    opened = tpu_profile_plugin.open(build(UNMARKED))
    assert asked(opened, "budget")["answer"]["shares_of"] == "recording"
    envelope = asked(opened, "steps")
    assert envelope["answer"] == {}
    assert envelope["cannot_answer"]["how_to_record"] == STEPS.general
    assert [one["verb"] for one in envelope["next"]] == ["budget", "explain"]


@pytest.mark.parametrize(("verb", "how"), [("budget", PROFILE.general), ("steps", STEPS.general)])
def test_without_devices_and_steps_they_say_what_to_record(verb: str, how: str) -> None:
    cannot = asked(tpu_profile_plugin.open(build(NOTHING)), verb)["cannot_answer"]
    assert cannot["how_to_record"] == how
    assert cannot["reason"].startswith("The profile has neither a TPU nor a GPU")
