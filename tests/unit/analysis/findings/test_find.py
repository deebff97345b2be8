"""Rules are applied on their own: one that raises is reported as failed, beside the answers of the others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builders import answers
from builders.profiles.planted import MS, tpu

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES
from tpu_profile_plugin.analysis.findings import find as module
from tpu_profile_plugin.analysis.findings.blamed import Part
from tpu_profile_plugin.analysis.findings.find import RuleFinding
from tpu_profile_plugin.analysis.findings.lost import Lost
from tpu_profile_plugin.analysis.findings.model import Advice, Confidence, Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.rules import LARGEST, RULES, STRAGGLER
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


# Order and savings of findings, on a typed-in step of 1000 ps.


def budget_of(**parts: int) -> Any:
    parts_ps = np.array([parts.get(name, 0) for name in CATEGORIES])
    return SimpleNamespace(cells=2, gaps=1, base_ps=1000, parts_ps=parts_ps, between_step_ps=parts.get(BETWEEN, 0))


def run_of(**more: Any) -> Any:
    """A run of which `find` reads only this."""
    view = {"hosts": ("h0",), "base": "step", "share": lambda ps: ps / 1000, "present": lambda gathered: []}
    view |= {"summary": SimpleNamespace(clocks=()), "budget": budget_of(compute=500, idle_host=500)}
    return SimpleNamespace(**{**view, **more})


def found_of(name: str, ps: float, sure: Confidence = "high", segments: Sequence[str] = ("compute",)) -> Finding:
    return Finding(name, ps, "f", sure, (), Advice("Do it."), ("h0",), tuple(segments))


def entry_of(name: str, ps: float, sure: Confidence = "high", rule: Rule | None = None, **more: Any) -> RuleFinding:
    known = rule or Rule(name, name, lambda run, gathered: Silence(""))
    return RuleFinding(known, replace(found_of(name, ps, sure), **more), ps / 1000)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # Twice as many bytes as are needed explain half of the movement.
        ({"movement": 300, "precision": 300, "other": 299}, ["movement", "precision", "other"]),
        ({"movement": 301, "precision": 300, "other": 298}, ["precision", "movement", "other"]),
        ({"movement": 600, "precision": 300, "other": 298}, ["precision", "movement", "other"]),
        ({"movement": 600, "precision": 300, "other": 299.5}, ["precision", "other", "movement"]),
        ({"movement": 601, "precision": 300, "other": 299}, ["movement", "precision", "other"]),
        ({"movement": 600, "precision": (300, "medium"), "other": 299}, ["movement", "precision", "other"]),
        ({"movement": 110, "precision": 60, "other": 58}, ["movement", "precision", "other"]),
        ({"movement": 99, "precision": 60, "other": 58}, ["precision", "movement", "other"]),
        # Where most of the time goes comes before what costs little.
        ({"other": 99, "largest": 0}, ["largest", "other"]),
        ({"other": 100, "largest": 0}, ["other", "largest"]),
        ({"other": 99, "largest": 0, "more": 100}, ["more", "other", "largest"]),
        (
            {"recording": 0, "unsure": (0, "low"), "other": 50, "free": 0, "largest": 0},
            ["free", "largest", "other", "recording", "unsure"],
        ),
        ({"unsure": (400, "low"), "other": 99.9, "free": 0}, ["unsure", "other", "free"]),
        ({"unsure": (400, "low"), "other": 100, "more": 99}, ["other", "unsure", "more"]),
    ],
)
def test_the_order_of_findings(found: dict[str, Any], expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(name: str) -> Rule:
        ps, sure = found[name] if isinstance(found[name], tuple) else (found[name], "high")
        return Rule(name, name, lambda run, gathered: found_of(name, ps, sure))

    rules = {name: rule(name) for name in found}
    for name in {"movement", "precision", "largest", "recording"} & set(found):
        monkeypatch.setattr(module, name.upper(), rules[name])
    monkeypatch.setattr(module, "headline", lambda run, first, **more: first)
    monkeypatch.setattr(module, "is_healthy", lambda run, largest: largest)
    run = run_of(budget=budget_of(compute=1000), part_ps=lambda part: 0)
    report = module.find(run, [{}], tuple(rules.values()))
    assert [one.id for one in report] == expected
    shares = {one.id: one.share for one in report}
    assert report.headline == (expected[0], expected[0], shares[expected[0]])
    assert report.healthy == max(shares.values())


@pytest.mark.parametrize("added", [True, False])
def test_the_rule_of_the_largest_part_is_silent_unless_a_part_is_told(
    added: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tuple(Rule(name, name, lambda run, gathered: Silence("")) for name in ("largest", "quiet"))
    rules = (*rules, Rule("other", "other", lambda run, gathered: found_of("other", 20)))
    part = RuleFinding(rules[0], found_of("part", 50), 0.05)
    monkeypatch.setattr(module, "LARGEST", rules[0])
    monkeypatch.setattr(module, "parts", lambda run, gathered: [])
    monkeypatch.setattr(module, "_with_parts", lambda run, found, largest: [*found, *([part] if added else [])])
    monkeypatch.setattr(module, "headline", lambda run, first, **more: first)
    monkeypatch.setattr(module, "is_healthy", lambda run, largest: largest)
    report = module.find(run_of(part_ps=lambda part: 0), [{}], rules)
    assert [one.id for one in report] == (["largest"] if added else []) + ["other"]
    assert [rule.id for rule, _ in report.silent] == ([] if added else ["largest"]) + ["quiet"]


@pytest.mark.parametrize(
    ("offsets", "segments", "expected"),
    [
        ((), ("idle_host",), "high"),
        ((5, -5), ("idle_host",), "high"),
        ((5, 0), ("idle_host",), "low"),
        ((0,), ("compute", "exposed_communication", "device_to_device"), "high"),
        ((0,), ("compute", "idle_gap"), "low"),
        ((0,), (BETWEEN,), "low"),
        ((0,), (), "high"),
    ],
)
def test_why_a_device_is_idle_is_unknown_without_a_common_clock(
    offsets: Sequence[int], segments: Sequence[str], expected: str
) -> None:
    run = run_of(summary=SimpleNamespace(clocks=[SimpleNamespace(offset_ps=one) for one in offsets]))
    assert module._confidence(run, found_of("x", 1, "high", segments)) == expected


@pytest.mark.parametrize(
    ("saving_ps", "general", "expected"), [(0, False, False), (1, False, True), (50, True, True), (49, True, False)]
)
def test_which_findings_explain_others(saving_ps: int, general: bool, expected: bool) -> None:
    rule = Rule("x", "x", lambda run, gathered: Silence(""), general=general)
    assert module._explains(saving_ps, rule, found_of("x", 100)) is expected


@pytest.mark.parametrize(
    ("costs", "saving", "left", "told"),
    [
        ([50, 50], 400, 7200 / 19, 10.0),  # two hosts, two steps: 50 of 500 ps, 9/10 of 19/20
        ([50, 0], 400, 15200 / 39, 5.0),
        ([49, 0], 400, 400, None),
        ([50, 50], 0, 0, None),
        ([], 400, 400, None),
        ([900, 900], 400, 0.0, 100.0),
    ],
)
def test_savings_without_the_cost_of_recording(costs: list[int], saving: int, left: float, told: float | None) -> None:
    def cost(ps: int) -> Any:
        by_part = np.array([*(ps * (name == "idle_host") for name in CATEGORIES), 7])
        return SimpleNamespace(by_part=by_part)

    entry = entry_of("x", saving, segments=("idle_host",))
    (found,) = module._without_recording(run_of(), [entry], [cost(ps) for ps in costs])
    assert (found.finding.saving_ps, found.share) == (pytest.approx(left), pytest.approx(left / 1000))
    assert [one.value for one in found.finding.evidence] == ([] if told is None else [pytest.approx(told)])


@pytest.mark.parametrize(
    ("sure", "late_ps", "more", "expected"),
    [
        # Two others wait 500 ps for a host: half of it is twice the 125 ps that it loses.
        ("medium", 125, {}, [("late", 625)]),
        ("medium", 124, {}, [("late", 124), ("waits", 500)]),
        ("high", 125, {}, [("late", 125), ("waits", 500)]),
        ("medium", 125, {"hosts": ("h1",)}, [("late", 125), ("waits", 500)]),
        ("medium", 125, {"confidence": "low"}, [("late", 125), ("waits", 500)]),
        ("medium", 0, {}, [("late", 0), ("waits", 500)]),
    ],
)
def test_waits_for_a_late_host_count_as_what_makes_it_late(
    sure: Confidence, late_ps: int, more: dict[str, Any], expected: list[tuple[str, int]]
) -> None:
    run = run_of(communication=SimpleNamespace(devices=range(3)), devices_of=lambda host: [0])
    waits = entry_of("waits", 500, sure, STRAGGLER, segments=("idle_peer",))
    entries = [entry_of("late", late_ps, **more), entry_of("less", 10), waits]
    found = [one for one in module._with_waits(run, entries) if one.finding.title != "less"]
    assert [(one.title.partition(";")[0], one.finding.saving_ps) for one in found] == expected
    if len(expected) == 1:
        assert (found[0].share, found[0].finding.segments) == (0.625, ("compute", "idle_peer"))
    assert module._with_waits(run, entries[:2]) == entries[:2]


@pytest.mark.parametrize(
    ("devices", "steps", "expected"), [(0, None, 0.4), (1, None, 0.4), (0, "steps", 0.4), (1, "steps", 0.0)]
)
def test_the_share_of_a_recording_that_is_compilation(devices: int, steps: str | None, expected: float) -> None:
    """40 of 100 ps, in calls of two threads that overlap; the recording begins at 900."""
    events = SimpleNamespace(begin_ps=np.array([900, 980]), duration_ps=np.array([90, 20]))
    compile_ = np.array([910, 925, 950]), np.array([930, 945, 955])
    host: Any = SimpleNamespace(
        shown=SimpleNamespace(devices=range(devices), steps=steps),
        reader=SimpleNamespace(time=SimpleNamespace(compile_=compile_)),
        plane=SimpleNamespace(events=events),
    )
    assert module.compiling(host) == expected
    host.plane = None
    assert module.compiling(host) == 0.0
    host.plane, host.reader.time.compile_ = SimpleNamespace(events=events), (np.zeros(0), np.zeros(0))
    assert module.compiling(host) == 0.0


def part_of(ps: int, place: str = "train.py:4 load", **more: Any) -> Part:
    """A part of the step in which devices wait for a function."""
    by_part = np.array([*(ps * (name == "idle_host") for name in CATEGORIES), 0])
    lost = Lost(ps, ps / 1000, ("idle_host",))
    return Part(
        lost, by_part, **{"ordinary": False, **more}, place=place, names=("load",), finding=found_of("part", ps)
    )


def waiting(name: str, ps: float, sure: Confidence = "high", *, neutral: bool = False, segment="idle_host") -> Any:
    rule = Rule(name.partition(" ")[0], name, lambda run, gathered: Silence(""), neutral=neutral)
    rule = LARGEST if name == LARGEST.id else rule
    return entry_of(name, ps, sure, rule, segments=(segment,))


@pytest.mark.parametrize(
    ("entries", "parts", "expected"),
    [
        # What is usual hides findings that only add up time, if they are about it.
        ([("a", 90, "low", True)], [part_of(200, usual=True)], []),
        ([("a", 90, "high", True)], [part_of(200, usual=True)], [("a", 90, 0)]),
        ([("a load", 90, "high", True)], [part_of(200, usual=True)], []),
        ([("a", 90, "low", False)], [part_of(200, usual=True)], [("a", 90, 0)]),
        ([("a", 90, "low", True, "compute")], [part_of(200, usual=True)], [("a", 90, 0)]),
        ([], [part_of(250, usual=True)], [("largest_part", 0, 0)]),
        ([], [part_of(249, usual=True)], []),
        # A cause of most of the time is pointed at the line.
        ([("a", 400, "high", False)], [part_of(400)], [("a", 400, 1)]),
        ([("a", 400, "high", False)], [part_of(400, "load")], [("a", 400, 0)]),
        ([("a", 400, "low", False)], [part_of(400, "load")], [("a", 400, 0)]),
        ([("a", 400, "low", False)], [part_of(400, "load", shown=False)], [("a", 400, 1)]),
        # Else it is a finding of its own, beside or in place of one that knows no cause.
        ([("a", 90, "high", False)], [part_of(400)], [("a", 90, 0), ("largest_part", 400, 0)]),
        ([("a load", 90, "high", True)], [part_of(400)], [("a", 400, 1)]),
        ([("a load", 90, "high", True)], [part_of(400, advised=True)], [("largest_part", 400, 0)]),
        ([("a load", 90, "high", True, "compute")], [part_of(400, advised=True)], [("largest_part", 400, 0)]),
        ([("a load", 90, "low", True)], [part_of(400, shown=False)], [("a", 90, 1)]),
        ([("a load", 90, "high", True)], [part_of(400, shown=False)], [("a", 90, 0)]),
        ([("a load", 400, "high", True)], [part_of(400)], [("a", 400, 0)]),
        ([("a load", 400, "high", False)], [part_of(400)], [("a", 400, 0)]),
        ([("a load", 90, "high", False)], [part_of(400, ordinary=True)], [("a", 90, 0)]),
        ([("a load", 90, "high", False, "compute")], [part_of(400)], [("a", 90, 0), ("largest_part", 400, 0)]),
        ([("a load", 300, "high", False)], [part_of(400)], [("a", 300, 0)]),
        ([("a load", 300, "high", True)], [part_of(400)], [("a", 400, 1)]),
        # A cause of less than four fifths of what another finding is named after does not stand for it.
        (
            [("a", 320, "high", False), ("b load", 90, "high", False, "compute")],
            [part_of(400)],
            [("a", 320, 1), ("b", 90, 0)],
        ),
        (
            [("a", 319, "high", False), ("b load", 90, "high", False, "compute")],
            [part_of(400)],
            [("a", 319, 0), ("b", 90, 0), ("largest_part", 400, 0)],
        ),
        # Ordinary work is told once, unless something is known to be lost.
        ([], [part_of(400, ordinary=True)], [("largest_part", 400, 0)]),
        ([("a", 0, "high", False)], [part_of(400, ordinary=True)], [("a", 0, 0), ("largest_part", 400, 0)]),
        ([("largest_part", 0, "high", False)], [part_of(400, ordinary=True)], [("largest_part", 0, 0)]),
        ([("largest_part", 0, "high", False)], [part_of(400, usual=True)], [("largest_part", 0, 0)]),
        (
            [("largest_part", 10, "high", False)],
            [part_of(400, ordinary=True)],
            [("largest_part", 10, 0), ("largest_part", 400, 0)],
        ),
    ],
)
def test_the_largest_parts_of_the_step_beside_findings(entries, parts, expected) -> None:
    findings = [
        waiting(name, ps, sure, neutral=neutral, segment=(*more, "idle_host")[0])
        for name, ps, sure, neutral, *more in entries
    ]
    found = module._with_parts(run_of(has_devices=True), findings, parts)
    assert [(one.id, one.finding.saving_ps, len(one.finding.evidence)) for one in found] == expected
