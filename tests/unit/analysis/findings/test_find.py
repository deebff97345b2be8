"""Rules are applied on their own: one that raises is reported as failed, beside the answers of the others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from builders import answers
from builders.profiles.planted import MS, tpu

from tpu_profile_plugin.analysis.findings import find as module
from tpu_profile_plugin.analysis.findings.model import Advice, Confidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.rules import RULES
from tpu_profile_plugin.errors import CorruptProfile
from tpu_profile_plugin.run.figures import findings as run_findings
from tpu_profile_plugin.tools.summary.smart_suggestion import TOOL

PROFILE = tpu("", "0 400 fusion.1\n900 100 fusion.1", steps=4)
OTHER = tpu("", "0 300 fusion.1\n900 100 fusion.1", steps=4)


def ask(monkeypatch: pytest.MonkeyPatch, rules: Sequence[Rule], *profiles: str) -> dict[str, Any]:
    """The answer of the tool with other rules."""
    gather, find = module.gather, module.find
    monkeypatch.setattr(run_findings, "gather", lambda host: gather(host, rules))
    monkeypatch.setattr(run_findings, "find", lambda run, gathered: find(run, gathered, rules))
    found: dict[str, Any] = answers.answer(TOOL, *profiles, page=True)
    return found


def by_id(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in (*found["findings"], *found["silent"])}


def with_fault(place: str, *, only_host: str = "", error: Exception | None = None) -> tuple[Rule, ...]:
    """All rules, of which `padding` raises in `gather` (on one host or all) or in `judge`."""
    (rule,) = [rule for rule in RULES if rule.id == "padding"]
    raised = error or ValueError("a fault: planted.")

    def gather(host: Any) -> Any:
        if place == "gather" and only_host in ("", host.name):
            raise raised
        return rule.gather(host) if rule.gather else None

    def judge(run: Any, gathered: Sequence[Any]) -> Finding | Silence:
        if place == "judge":
            raise raised
        return rule.judge(run, gathered)

    faulty = Rule(rule.id, rule.looks_for, judge, gather)
    return tuple(faulty if one is rule else one for one in RULES)


@pytest.mark.parametrize("place", ["gather", "judge"])
def test_a_rule_that_raises_is_reported_beside_the_others(
    place: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = by_id(ask(monkeypatch, RULES, PROFILE))
    with caplog.at_level(logging.ERROR, "tpu_profile_plugin"):
        found = by_id(ask(monkeypatch, with_fault(place), PROFILE))
    failed = found.pop("padding")
    assert failed["state"] == "failed"
    assert failed["reason"].endswith("ValueError: a fault: planted.")
    assert found == {name: entry for name, entry in whole.items() if name != "padding"}
    assert any(entry["state"] != "failed" for entry in found.values() if "state" in entry)
    (record,) = [record for record in caplog.records if "padding" in record.getMessage()]
    assert record.exc_info is not None


def test_a_rule_that_raises_on_one_host_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = by_id(ask(monkeypatch, with_fault("gather", only_host="h1"), PROFILE, OTHER))
    assert found["padding"]["reason"] == "The rule failed on h1: ValueError: a fault: planted."


def test_a_damaged_host_is_no_fault_of_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = with_fault("gather", only_host="h1", error=CorruptProfile("damaged"))
    assert by_id(ask(monkeypatch, rules, PROFILE, OTHER))["padding"]["state"] != "failed"
    with pytest.raises(CorruptProfile):
        ask(monkeypatch, with_fault("gather", error=CorruptProfile("damaged")), PROFILE)


def test_causes_silence_what_they_imply(monkeypatch: pytest.MonkeyPatch) -> None:
    def fires(name: str, saving_ps: int, *causes: str) -> Rule:
        finding = Finding(name, saving_ps, "f", "high", (), Advice("Do it."), segments=("compute", "idle_other"))
        return Rule(name, name, lambda run, gathered: finding, None, causes)

    rules = (fires("small", MS // 10), fires("free", 0), fires("large", 9 * MS), fires("implied", MS // 5, "small"))
    rules += (fires("kept", 1, "free"),)
    found = ask(monkeypatch, rules, PROFILE)
    assert [(entry["id"], entry["share"]) for entry in found["findings"]] == [
        ("large", pytest.approx(1.0, rel=0.01)),
        ("small", pytest.approx(0.1, rel=0.01)),
        ("kept", pytest.approx(0.0, abs=1e-6)),
        ("free", 0.0),
    ]
    assert [(entry["id"], entry["state"]) for entry in found["silent"]] == [("implied", "passed")]
    assert found["headline"] == {"title": "large", "tone": "bad", "finding": "large"}


@pytest.mark.parametrize(
    ("known_us", "first", "silenced"), [(99, "general", False), (100, "known", False), (250, "known", True)]
)
def test_general_findings_come_after_clear_ones(
    known_us: int, first: str, silenced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fires(name: str, us: int, **more: Any) -> Rule:
        found = Finding(name, us * 1_000_000, "f", "high", (), Advice("Do it."), segments=("compute", "idle_other"))
        return Rule(name, name, lambda run, gathered: found, **more)

    # Of the 1000 us of a step.
    rules = (fires("general", 500, implied_by=("known",), general=True), fires("known", known_us), fires("small", 50))
    found = ask(monkeypatch, rules, PROFILE)
    order = [entry["id"] for entry in found["findings"]]
    assert (found["headline"]["finding"], order[0]) == (first, first)
    assert ("general" not in order) is silenced
    assert order == (["known", "small"] if silenced else [first, *({"known", "general"} - {first}), "small"])


@pytest.mark.parametrize(
    ("confidence", "known_us", "first"),
    [("low", 99, "unsure"), ("low", 100, "known"), ("low", 101, "known"), ("medium", 101, "unsure")],
)
def test_findings_of_an_unknown_cause_come_after_clear_ones(
    confidence: Confidence, known_us: int, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fires(name: str, us: int, sure: Confidence) -> Rule:
        found = Finding(name, us * 1_000_000, "f", sure, (), Advice("Do it."), segments=("compute", "idle_other"))
        return Rule(name, name, lambda run, gathered: found)

    # Of the 1000 us of a step.
    found = ask(monkeypatch, (fires("unsure", 500, confidence), fires("known", known_us, "high")), PROFILE)
    assert [entry["id"] for entry in found["findings"]] == [first, *({"known", "unsure"} - {first})]
    assert found["headline"]["finding"] == first


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rules_document_what_they_look_for_their_limits_and_what_to_do(rule: Rule) -> None:
    looks_for, fires, advice = rule.documentation
    assert looks_for.endswith((".", "line."))
    assert fires.startswith("Fires ")
    assert advice.endswith(".")
    assert not set("{}") & set(looks_for + fires + advice)
