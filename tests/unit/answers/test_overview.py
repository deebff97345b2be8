"""The verb `overview`: what a run is, what its average step is spent on, the findings in short, what to ask next."""

from __future__ import annotations

from pathlib import Path

from builders.asking import asked
from builders.logdirs import write
from builders.profiles import device_profiles
from builders.profiles.verdicts import LOADER, NOTHING, UNMARKED
from builders.xspace_text import build

import tpu_profile_plugin

TITLE = "Devices wait 23.1% of the time from step to step for code on the host: train.py:9 load_batch"
ABOUT = {"run": "memory"}
DEMO = Path(__file__).parents[3] / "demo"


def test_a_run_that_waits_for_host_code() -> None:
    assert asked(tpu_profile_plugin.open(build(LOADER)), "overview") == {
        "answer": {
            "headline": TITLE,
            "healthy": False,
            "device_type": "TPU v5 lite",
            "device_cores": 1,
            "host_count": 1,
            "frameworks": [],
            "recording_ms": 0.55,
            "covered_by_steps_ms": 0.35,
            "shares_of": "time from step to step",
            "base_ms": 0.216667,
            "step_ms": 0.116667,
            "steps": 3,
            "steps_from": "device",
            "spent_on": [
                {"id": "between_steps", "name": "Between steps", "per_step_ms": 0.1, "share_percent": 46.1538},
                {"id": "device_compute", "name": "Device compute", "per_step_ms": 0.066667, "share_percent": 30.7692},
                {"id": "host_compute", "name": "Host compute", "per_step_ms": 0.05, "share_percent": 23.0769},
            ],
            "findings": [
                {
                    "id": "slow_host_code",
                    "title": TITLE,
                    "share_percent": 23.0769,
                    "confidence": "high",
                    "line": "train.py:9",
                },
                {
                    "id": "largest_part",
                    "title": "30.8% of the time from step to step: fusion",
                    "share_percent": None,
                    "confidence": "medium",
                    "line": None,
                },
            ],
        },
        "units": {
            "recording_ms": "ms",
            "covered_by_steps_ms": "ms",
            "base_ms": "ms",
            "step_ms": "ms",
            "per_step_ms": "ms",
            "share_percent": "%",
        },
        "base": "of the average time from step to step (steps as devices recorded them), "
        "averaged over the devices that take part",
        "from": {"run": "memory", "hosts": ["host"], "tool": "overview_page"},
        "link": "http://localhost:6006/data/plugin/profile/index.html?run=memory&tool=overview_page",
        "next": [
            {"verb": "explain", "arguments": ABOUT},
            {"verb": "budget", "arguments": ABOUT},
            {"verb": "ops", "arguments": ABOUT},
            {"verb": "memory", "arguments": ABOUT},
            {"verb": "gaps", "arguments": ABOUT},
        ],
        "rows": {"from": 0, "to": 2, "of": 2},
        "cursor": None,
        "cannot_answer": None,
    }


def test_without_steps_shares_are_of_the_recording() -> None:
    envelope = asked(tpu_profile_plugin.open(build(UNMARKED)), "overview")
    answer = envelope["answer"]
    assert (answer["shares_of"], answer["steps"], answer["base_ms"]) == ("recording", 0, 0.55)
    assert envelope["base"].startswith("of the recording")
    assert "all of the recording counts as one" in answer["notes"][0]
    assert [one["id"] for one in answer["findings"]] == ["slow_host_code", "steps_not_marked", "largest_part"]
    assert [one["share_percent"] for one in answer["findings"]] == [27.2727, None, None]


def test_the_run_before_is_proposed_to_compare_with(tmp_path: Path) -> None:
    names = ["a/2026_01_03_00_00_00", "b/2026_01_02_00_00_00", "a/2026_01_01_00_00_00"]
    write(tmp_path, {f"{name.replace('/', '/plugins/profile/')}/h.xplane.pb": LOADER for name in names})
    opened = tpu_profile_plugin.open(tmp_path)
    for name, base in ((names[0], names[2]), (names[1], names[2]), (names[2], None)):
        further = {one["verb"]: one["arguments"] for one in asked(opened, "overview", run=name)["next"]}
        assert further.get("compare") == (base and {"run": name, "base": base})


def test_hosts_that_are_left_out_are_told(tmp_path: Path) -> None:
    place = "plugins/profile/2026_11_20_10_00_00"
    opened = tpu_profile_plugin.open(
        write(tmp_path, {f"{place}/a.xplane.pb": LOADER, f"{place}/b.xplane.pb": b"\xff" * 40})
    )
    for verb in ("overview", "explain", "budget", "steps"):
        assert "b" in [word.strip(":") for word in asked(opened, verb)["answer"]["notes"][-1].split()], verb


def test_a_late_host_is_named(tmp_path: Path) -> None:
    place = "plugins/profile/2026_11_20_10_00_00"
    late = "\n".join(f"{200 * i}us +{190 if i < 2 else 195}us {i + 1} {{_ct=9, _c={i + 1}}}" for i in range(3))
    steps = "0us +100us 1 {_ct=9, _c=1}\n200us +100us 2 {_ct=9, _c=2}\n400us +150us 3 {_ct=9, _c=3}"
    assert steps in LOADER
    hosts = {"a": LOADER, "b": LOADER, "c": LOADER.replace(steps, late)}
    opened = tpu_profile_plugin.open(
        write(tmp_path, {f"{place}/{name}.xplane.pb": text for name, text in hosts.items()})
    )
    assert asked(opened, "overview")["answer"]["late_hosts"] == ["c"]


def test_devices_of_the_cpu_are_counted() -> None:
    assert asked(tpu_profile_plugin.open(DEMO), "overview")["answer"]["cpu_devices"] == 1


def test_without_devices_it_cannot_tell() -> None:
    envelope = asked(tpu_profile_plugin.open(build(NOTHING)), "overview")
    assert envelope["cannot_answer"]["reason"] == "No device in the profile: its time cannot be accounted for."
    assert "while the program computes" in envelope["cannot_answer"]["how_to_record"]
    assert not {"steps", "base_ms", "spent_on", "device_cores"} & set(envelope["answer"])
    assert [one["verb"] for one in envelope["next"]] == ["explain"]


def test_collectives_are_the_next_question_where_they_take_time(tmp_path: Path) -> None:
    place = "plugins/profile/2026_11_20_10_00_00"
    write(tmp_path, {f"{place}/h{i}.xplane.pb": device_profiles.host(i, 500 * i) for i in range(2)})
    opened = tpu_profile_plugin.open(tmp_path)
    envelope = asked(opened, "overview")
    assert envelope["from"]["hosts"] == ["h0", "h1"]
    assert [one["verb"] for one in envelope["next"]] == [*("explain", "budget", "collectives", "ops", "memory", "gaps")]
    alone = asked(opened, "overview", host="h1")
    assert alone["from"]["hosts"] == ["h1"]
    assert all(one["arguments"]["host"] == "h1" for one in alone["next"])
