"""The findings: XProf's form; what the page receives: findings, silent rules and parts of the step."""

from __future__ import annotations

import json
import math

import pytest
from builders import planes
from builders.asked import ask
from builders.profiles.findings import tpu

from tpu_profile_plugin.analysis.budget.run_budget import merge_budgets
from tpu_profile_plugin.analysis.findings.find import Report, RuleFinding
from tpu_profile_plugin.analysis.findings.headline import Headline
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.rules import RULES
from tpu_profile_plugin.run.figures.findings import Findings
from tpu_profile_plugin.tables.document import document_json
from tpu_profile_plugin.tools import registry
from tpu_profile_plugin.tools.summary.smart_suggestion import TOOL, document_of

US = 10**6
CONFIDENCES = {"high", "medium", "low"}


def two_steps(*ops: str, host: str = "") -> str:
    """Two steps of 100 us on one TPU, with ops and events of the host's main thread."""
    device = planes.tpu("\n".join(ops), steps=planes.device_steps(2, 200, 100))
    return planes.profile(device, planes.host(planes.marked(steps=2, period=200, length=90) + "\n" + host))


BUSY = two_steps("0us +100us fusion.1", "200us +100us fusion.1")
WAITING = two_steps(
    "0us +100us fusion.1",
    "200us +40us fusion.1",
    "290us +10us fusion.1",
    host='240us +45us "$train.py:9 load_batch"\n242us +40us "$random.py:3 shuffle"',
)
GAPS = two_steps("0us +70us fusion.1", "200us +70us fusion.1")
NOTHING = 'plane 1 "/host:CPU"\nline 1 main\n0us +1us f'


def test_it_answers_requests_but_is_no_page_of_its_own():
    assert registry.find("smart_suggestion") is TOOL
    assert not TOOL.offered


def test_by_default_the_form_of_xprof():
    found = ask(TOOL, BUSY)
    assert list(found) == ["suggestions"]
    assert all(set(one) == {"ruleName", "suggestionText"} for one in found["suggestions"])


@pytest.mark.parametrize(
    "profile", [BUSY, WAITING, GAPS, NOTHING, ""], ids=["busy", "waiting", "gaps", "nothing", "no"]
)
def test_every_rule_finds_something_or_says_why_not(profile: str):
    found = ask(TOOL, profile, page=True)
    budget = {"step_ps", "base_ps", "base", "groups", "steps", "steps_left_out", "notes"}
    assert set(found) == {"headline", "findings", "silent", "healthy", "problems", "left_out"} | budget
    assert sorted(one["id"] for one in [*found["findings"], *found["silent"]]) == sorted(rule.id for rule in RULES)
    for one in found["silent"]:
        assert set(one) == {"id", "looks_for", "reason", "state", "help"}
        assert one["state"] in ("passed", "unknown")
        assert one["looks_for"]
        assert one["reason"].endswith(".")
    for one in found["findings"]:
        assert set(one) == {
            *("id", "title", "share", "saving_ps_per_step", "formula", "confidence", "evidence", "advice", "hosts"),
            *("help", "segments"),
        }
        assert one["confidence"] in CONFIDENCES
        assert one["title"]
        assert one["formula"]
        assert one["advice"].endswith(".")
        assert 0 <= one["saving_ps_per_step"] <= sum(part["ps"] for part in one["segments"]) <= found["base_ps"]
        assert one["share"] == pytest.approx(one["saving_ps_per_step"] / max(found["base_ps"], 1))
        for proof in one["evidence"]:
            assert set(proof) == {"label", "value", "unit", "tool", "query", "op", "file", "line"}
            assert (proof["file"] is None) == (proof["line"] is None)
            assert isinstance(proof["value"], str) or math.isfinite(proof["value"])
            assert proof["tool"] == "" or registry.find(proof["tool"])
    savings = [one["saving_ps_per_step"] for one in found["findings"]]
    assert savings == sorted(savings, reverse=True)


def test_the_largest_finding_comes_with_numbers_and_where_to_look():
    found = ask(TOOL, WAITING, page=True)
    assert (found["step_ps"], found["base_ps"], found["base"]) == (100 * US, 200 * US, "time from step to step")
    one = found["findings"][0]
    assert (one["id"], one["share"], one["saving_ps_per_step"], one["hosts"]) == (
        "slow_host_code",
        0.125,
        25 * US,
        ["h0"],
    )
    assert "train.py:9 load_batch" in one["title"]
    assert one["segments"] == [
        {"id": "idle_host", "name": "Waits for host code", "ps": 25 * US, "percent": pytest.approx(12.5)}
    ]
    first = one["evidence"][0]
    assert (first["value"], first["tool"], first["query"]) == (
        pytest.approx(12.5),
        "time_budget",
        {"part": "idle_host"},
    )
    assert [(group["id"], group["name"], group["ps"], group["share"]) for group in found["groups"]] == [
        ("device_compute", "Device compute", 75 * US, 0.375),
        ("host_compute", "Host compute", 25 * US, 0.125),
        ("between_steps", "Between steps", 100 * US, 0.5),
    ]
    assert [part["id"] for group in found["groups"] for part in group["parts"]] == ["compute", "idle_host"]
    assert all(group["help"].endswith(".") for group in found["groups"])


@pytest.mark.parametrize(
    ("busy_us", "steps", "costs", "healthy"),
    [
        (91, 3, "flops=50000000, model_flops=50000000, bytes_accessed=1000", True),
        (90, 3, "flops=50000000, model_flops=50000000, bytes_accessed=1000", False),
        (91, 2, "flops=50000000, model_flops=50000000, bytes_accessed=1000", False),
        (91, 3, "flops=5000000, model_flops=5000000, bytes_accessed=1000", False),
        (91, 3, "bytes_accessed=0", False),
    ],
)
def test_healthy_is_computation_at_a_good_rate(busy_us: int, steps: int, costs: str, healthy: bool):
    peaks = ", peak_teraflops_per_second=1d, peak_hbm_bw_gigabytes_per_second=100d"
    ops = [("%convolution.1 = f32[8] convolution()", "convolution", busy_us)]
    found = ask(TOOL, tpu(ops, facts=peaks, costs=f", {costs}", steps=steps), page=True)
    assert found["healthy"] is healthy


def test_a_profile_without_devices_is_not_healthy_and_has_no_parts():
    found = ask(TOOL, NOTHING, page=True)
    assert [(one["id"], one["share"]) for one in found["findings"]] == [("steps_not_marked", 0.0)]
    assert (found["groups"], found["base_ps"], found["healthy"]) == ([], 0, False)
    assert any(one["state"] == "unknown" for one in found["silent"])


class View:
    """What `document_of` reads of a run."""

    hosts = ("a", "b")
    frameworks = ("JAX",)
    keras = False
    base_ps = 200
    base = "step"
    budget = merge_budgets([])
    coverage = None


def test_findings_about_no_time_and_of_all_hosts():
    rule = Rule("big_buffer", "Big buffers", lambda run, gathered: Silence("No."))
    proof = Evidence("Largest buffer", 3, "MiB", "memory_viewer", {"host": "a"})
    report = Report(
        (RuleFinding(rule, Finding("A buffer takes 3 MiB", 0, "none", "low", (proof,), Advice("Shrink it.")), 0.0),),
        ((rule, Silence("Unknown.", looked=False)),),
        Headline("Fine", "good"),
        healthy=True,
    )
    found = json.loads(document_json(document_of(Findings.of(View(), report))))  # type: ignore[arg-type]
    assert found["findings"] == [
        {
            "id": "big_buffer",
            "title": "A buffer takes 3 MiB",
            "share": 0.0,
            "saving_ps_per_step": 0,
            "segments": [],
            "formula": "none",
            "confidence": "low",
            "evidence": [
                {
                    "label": "Largest buffer",
                    "value": 3,
                    "unit": "MiB",
                    "tool": "memory_viewer",
                    "query": {"host": "a"},
                    "op": None,
                    "file": None,
                    "line": None,
                }
            ],
            "advice": "Shrink it.",
            "hosts": ["a", "b"],
            "help": "\n".join(rule.documentation),
        }
    ]
    assert found["silent"] == [
        {
            "id": "big_buffer",
            "looks_for": "Big buffers",
            "reason": "Unknown.",
            "state": "unknown",
            "help": "\n".join(rule.documentation),
        }
    ]
    assert (found["headline"], found["healthy"]) == ({"title": "Fine", "tone": "good", "finding": None}, True)


def test_evidence_names_the_line_of_code() -> None:
    texts = ("$train.py:9 load_batch", "models/mlp.py:54", "fusion.1", "a.py:1 and b.py:2")
    assert [Evidence("", text).code for text in texts] == [("train.py", 9), ("models/mlp.py", 54), None, ("a.py", 1)]
    assert Evidence("", 3.5).code is None
    found = ask(TOOL, WAITING, page=True)["findings"][0]
    assert ("train.py", 9) in {(proof["file"], proof["line"]) for proof in found["evidence"]}
