"""The verb `explain`: findings with evidence and advice, and what could not be checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from builders.asking import asked
from builders.logdirs import write
from builders.profiles import device_profiles
from builders.profiles.verdicts import LOADER, NOTHING
from builders.xspace_text import build

import tpu_profile_plugin
from tpu_profile_plugin.analysis.common.reasons import PROFILE
from tpu_profile_plugin.analysis.findings.model import Evidence
from tpu_profile_plugin.analysis.findings.rules import RULES
from tpu_profile_plugin.answers.answer import Next
from tpu_profile_plugin.answers.verbs.explain import first, further
from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.opening import OpenLogdir
from tpu_profile_plugin.run.figures.findings import Cause

TITLE = "Devices wait 23.1% of the time from step to step for code on the host: train.py:9 load_batch"
ADVICE = (
    "Move this work to another thread or process so that it runs while the devices compute, or make it cheaper. "
    "The devices have nothing to do until it has finished."
)


@pytest.fixture
def loader() -> OpenLogdir:
    return tpu_profile_plugin.open(build(LOADER))


def test_findings_with_evidence_and_advice(loader: OpenLogdir) -> None:
    envelope = asked(loader, "explain")
    found, ordinary = envelope["answer"]["findings"]
    assert (ordinary["id"], ordinary["title"]) == ("largest_part", "30.8% of the time from step to step: fusion")
    assert [found] == [
        {
            "id": "slow_host_code",
            "title": TITLE,
            "share_percent": 23.0769,
            "saving_ms": 0.05,
            "confidence": "high",
            "line": "train.py:9",
            "evidence": "Devices idle because of code on the host, of the time from step to step: 23.1%; "
            "Devices idle because of code on the host per step: 50 us; Function: train.py:9 load_batch",
            "advice": ADVICE,
        }
    ]
    assert envelope["units"] == {"base_ms": "ms", "share_percent": "%", "saving_ms": "ms"}
    assert envelope["answer"]["base_ms"] == 0.216667
    assert envelope["answer"]["checks"] == "22 clean, 26 not possible with this recording"
    assert envelope["answer"]["not_possible"][1] == {
        "reason": "No collectives of several devices recorded.",
        "checks": "straggler, uneven_work, pipeline_bubbles",
    }
    assert [(one["verb"], one["arguments"]) for one in envelope["next"]] == [
        ("explain", {"run": "memory", "finding": "slow_host_code"}),
        ("explain", {"run": "memory", "finding": "largest_part"}),
        ("budget", {"run": "memory"}),
    ]


def test_one_finding_in_full(loader: OpenLogdir) -> None:
    envelope = asked(loader, "explain", finding="slow_host_code")
    assert envelope["answer"] == {
        "id": "slow_host_code",
        "title": TITLE,
        "confidence": "high",
        "share_percent": 23.0769,
        "saving_ms": 0.05,
        "saving_is": "idle time that one event of the main thread covers to at least 80%, per step and device",
        "lies_in": [{"id": "idle_host", "name": "Waits for host code", "per_step_ms": 0.05}],
        "line": "train.py:9",
        "advice": ADVICE,
        "evidence": [
            {
                "label": "Devices idle because of code on the host, of the time from step to step",
                "value": 23.0769,
                "unit": "%",
            },
            {"label": "Devices idle because of code on the host per step", "value": 0.05, "unit": "ms"},
            {"label": "Function", "value": "train.py:9 load_batch"},
            {"label": "Because of this function, of that time", "value": 93.3333, "unit": "%"},
            {"label": "Longest wait", "value": 0.1, "unit": "ms"},
        ],
    }
    assert envelope["link"].endswith("tool=overview_page&finding=slow_host_code")
    window = {"run": "memory", "from": 0.34, "to": 0.64}
    assert [(one["verb"], one["arguments"]) for one in envelope["next"]] == [
        ("timeline", {**window, "find": "$train.py:9 load_batch"}),
        ("gaps", {"run": "memory"}),
        ("budget", {"run": "memory"}),
        ("explain", {"run": "memory"}),
        ("timeline", window),
    ]


def test_a_check_that_found_nothing_says_what_it_saw(loader: OpenLogdir) -> None:
    envelope = asked(loader, "explain", finding="host_sync")
    assert envelope["answer"] == {
        "id": "host_sync",
        "looks_for": "Waiting for results in steps",
        "state": "passed",
        "reason": "No idle time follows a wait for results.",
    }
    assert envelope["cannot_answer"] is None


def test_a_check_that_was_not_possible_says_what_to_record(loader: OpenLogdir) -> None:
    envelope = asked(loader, "explain", finding="straggler")
    assert envelope["cannot_answer"] == {
        "reason": "No collectives of several devices recorded.",
        "how_to_record": "Record a program that computes on several devices, with all of its hosts.",
    }


def test_an_unknown_finding_is_refused_with_the_choices(loader: OpenLogdir) -> None:
    with pytest.raises(NotFound) as caught:
        asked(loader, "explain", finding="slow")
    assert caught.value.details["argument"] == "finding"
    assert caught.value.details["choices"][0] == "slow_host_code"
    assert "straggler" in caught.value.details["choices"]


def test_without_devices_it_says_so() -> None:
    envelope = asked(tpu_profile_plugin.open(build(NOTHING)), "explain")
    assert envelope["cannot_answer"] == {
        "reason": "No device in the profile: its time cannot be accounted for.",
        "how_to_record": PROFILE.general,
    }
    assert [one["id"] for one in envelope["answer"]["findings"]] == ["steps_not_marked"]


def test_a_late_device_leads_to_its_collective_on_its_host(tmp_path: Path) -> None:
    place = "plugins/profile/2026_11_20_10_00_00"
    write(tmp_path, {f"{place}/h{i}.xplane.pb": device_profiles.host(i, 500 * i) for i in range(2)})
    envelope = asked(tpu_profile_plugin.open(tmp_path), "explain", finding="straggler")
    assert envelope["answer"]["on_hosts"] == ["h1"]
    about = {"run": "2026_11_20_10_00_00"}
    assert [(one["verb"], one["arguments"]) for one in envelope["next"]][:2] == [
        ("collectives", {**about, "find": "all-reduce.2"}),
        ("timeline", {**about, "host": "h0", "from": 0.0, "to": 1.89, "find": "all-reduce.2"}),
    ]


def cause(*evidence: Evidence, title: str = "T") -> Cause:
    return Cause(RULES[0], title, 0.5, 1, (), "f", "high", evidence, "A", ("h",))


ROW = {"host": "h", "row": "hlo_op_name~fusion\\,1;program_id~7"}


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Evidence("Most of it in", "x", "", "hlo_stats", ROW), [("op", {"host": "h", "name": "fusion,1@7"})]),
        (
            Evidence("Its source line", "model.py:29", "", "hlo_stats", ROW),
            [("op", {"host": "h", "name": "fusion,1@7"}), ("source", {"host": "h", "place": "model.py:29"})],
        ),
        (Evidence("Ops by limit", "roofline", "", "roofline_model"), [("ops", {})]),
        (Evidence("Slowest", "x", "", "framework_op_stats", {"filter": "PyFunc"}), [("ops", {"find": "PyFunc"})]),
        (
            Evidence("Longest", 1.0, "ms", "trace_viewer@", {"host": "h", "window": "1000000000,2500000000"}),
            [("timeline", {"host": "h", "from": 1.0, "to": 2.5})],
        ),
        (Evidence("Waits in", "a", "", "communication", {"t1.row": "op~a"}), [("collectives", {"find": "a"})]),
        (Evidence("Peak", 1, "MiB", "memory_viewer", {"module_name": "f(1)"}), [("memory", {"program": "f(1)"})]),
        (Evidence("Peak", 1, "MiB", "memory_profile", {"memory_id": "0"}), [("memory", {})]),
        (Evidence("Python functions", "not recorded", "", "capture", {"python_tracer_level": "1"}), []),
        (Evidence("Mean", 1.0, "us"), []),
    ],
)
def test_evidence_leads_to_the_verb_that_shows_it(evidence: Evidence, expected: list) -> None:
    found = further([evidence], 2, lambda name, program: f"{name}@{program}")
    assert [(one.verb, dict(one.arguments)) for one in found] == expected


def test_the_most_precise_question_of_each_verb_comes_first() -> None:
    asked_next = [
        Next("budget", {}, ""),
        Next("ops", {}, ""),
        Next("ops", {"find": "a"}, ""),
        Next("ops", {}, ""),
        Next("op", {"name": "b"}, ""),
    ]
    assert [(one.verb, dict(one.arguments)) for one in first(asked_next)] == [
        ("ops", {"find": "a"}),
        ("op", {"name": "b"}),
        ("budget", {}),
        ("ops", {}),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("most of it in train_images.py:54 __next__", "train_images.py:54"),
        ("$lib/data.py:7 get", "lib/data.py:7"),
        ("in copy-done.2 (stress_test.py:29)", "stress_test.py:29"),
        ("code on the host: load_batch", None),
        ("10:29 of the step", None),
    ],
)
def test_the_line_of_code_that_a_finding_names(text: str, line: str | None) -> None:
    assert cause(title=text).line == line
    assert cause(Evidence("Function", text)).line == line
