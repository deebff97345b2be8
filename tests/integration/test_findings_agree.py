"""Evidence has the numbers of the pages, of the parts of the time budget above all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest
from builders.answers import answer_of, hosts_of
from builders.profiles import device_profiles, planted, step_profiles
from builders.recorded import chosen

from tpu_profile_plugin.tools import registry

HERE = Path(__file__).parents[2]
RULE_TESTS = HERE / "tests/unit/analysis/findings"
ROOTS = (HERE.parent / "shared/traces/logdir", HERE / "demo")
RECORDED = sorted({file.parent for root in ROOTS for file in root.rglob("*.xplane.pb") if chosen(file)})
LAUNCHES = "0 2999 $train.py:5 update\n" + "\n".join(f"{30 * i} 19 PjitFunction(add)" for i in range(100))
TINY = "\n".join(f"{30 * i + 20} 10 f{i % 8} {{program_id={i % 8}}}" for i in range(100))
TYPED = {
    "collectives": tuple(device_profiles.host(number, 500 * number) for number in range(2)),
    "gpu": (step_profiles.gpu(),),
    "host code": (planted.cpu("0 800 $train.py:9 load_batch", "800 200 dot.1", lasting=1000),),
    "small programs": (planted.cpu(LAUNCHES, TINY, length=3000, lasting=3000),),
}
RUNS: dict[str, tuple[str | Path, ...]] = {
    **{"/".join(folder.parts[-5:]): tuple(sorted(folder.glob("*.xplane.pb"))) for folder in RECORDED},
    **TYPED,
}
SCALES = {"%": (1, 100), "ms": (1, 1e-9, 1e-6, 1e-3), "us": (1, 1e-6, 1e-3), "MiB": (1, 2**-20), "": (1,)}
"""What numbers of an answer are multiplied by to get a unit: times are in ps, ns or us, sizes in bytes."""


hosts = lru_cache(2)(hosts_of)


@cache
def asked(tool: str, run: str, **params: str) -> Any:
    """The tool's answer for a run, as our pages ask for it, or for one of its hosts."""
    found = registry.find(tool)
    names = {param.name for param in found.params}
    if "backend" in names:
        params.setdefault("backend", "auto")
    host = params.pop("host", None)
    files = [file for file in RUNS[run] if isinstance(file, Path) and file.name == f"{host}.xplane.pb"] or RUNS[run]
    return answer_of(found, hosts(*files), **{name: value for name, value in params.items() if name in names})


def evidence_of(run: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each finding with each of its evidence that is a number."""
    for finding in asked("smart_suggestion", run)["findings"]:
        for one in finding["evidence"]:
            if not isinstance(one["value"], str):
                yield finding, one


def numbers(value: Any) -> Iterator[float]:
    """Every number in a JSON value, those of texts and of settings, `name=2`, included."""
    if isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers(one)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, str):
        for text in value.split():
            with suppress(ValueError):
                yield float(text.rpartition("=")[2])


def close(number: float, value: float) -> bool:
    return abs(number - value) <= 1e-4 * abs(value)


def shown_parts(run: str) -> dict[str, float]:
    """The time budget as its page has it, in ps: parts, groups and the time between steps."""
    shown = asked("time_budget", run)["decomposition"]
    parts = shown["average_ps"]
    groups = {group["id"]: sum(parts.get(part["id"], 0.0) for part in group["parts"]) for group in shown["groups"]}
    return {**groups, **parts}


@pytest.mark.parametrize("run", RUNS)
def test_pages_show_the_numbers_of_evidence(run: str) -> None:
    missing = []
    for finding, one in evidence_of(run):
        value, tool, query = one["value"], one["tool"], one["query"]
        if tool == "trace_viewer@" and one["unit"] == "ms":
            begin, end = map(int, query["window"].split(","))
            shown = end - begin >= value * 1e9
        elif tool and tool != "trace_viewer@":
            scales = SCALES.get(one["unit"], (1,))
            page = set(numbers(asked(tool, run, **query)))
            if tool == "time_budget":
                base = asked(tool, run)["decomposition"]["base_ps"]
                page |= {value for ps in shown_parts(run).values() for value in (ps, ps / base)}
            shown = any(close(number * scale, value) for scale in scales for number in page)
        else:
            continue
        if not shown:
            missing.append((finding["id"], one["label"], value, one["unit"], tool))
    assert not missing


def literal(label: str) -> str:
    """What a rule's own tests have of a label: without names, numbers and the base."""
    return re.sub(r"\d+", "0", re.sub(r" (?:of|per) \S+$", "", label.partition(",")[0]))


@pytest.mark.parametrize("run", RUNS)
def test_numbers_on_no_page_are_the_saving_or_tested_with_their_rule(run: str) -> None:
    """Evidence without a link has no exemption: a test of its rule asserts it from a typed-in profile."""
    tests = re.sub(r"\d+", "0", "".join(file.read_text() for file in RULE_TESTS.glob("test_*.py")))
    for finding, one in evidence_of(run):
        saving = {"%": 100 * finding["share"], "ms": finding["saving_ps_per_step"] / 1e9}.get(one["unit"])
        if not one["tool"] and not (saving is not None and close(saving, one["value"])):
            assert f'"{literal(one["label"])}' in tests, (finding["id"], one["label"])


@pytest.mark.parametrize("run", RUNS)
def test_evidence_that_leads_to_a_part_has_its_number(run: str) -> None:
    shown, base = shown_parts(run), asked("time_budget", run)["decomposition"]["base_ps"]
    for finding, one in evidence_of(run):
        part = one["query"].get("part")
        if part is not None and not one["label"].startswith("Largest idle part of this device"):
            value = 100 * shown[part] / base if one["unit"] == "%" else shown[part] / 1e9
            assert close(value, one["value"]), (finding["id"], one["label"])


@pytest.mark.parametrize("run", RUNS)
def test_what_is_called_like_a_part_has_its_number(run: str) -> None:
    """One name, one number: evidence that is more, or less, than a part of the budget has another name."""
    shown, budget = shown_parts(run), asked("time_budget", run)["decomposition"]
    named = {one["name"].lower(): one["id"] for group in budget["groups"] for one in (group, *group["parts"])}
    for finding, one in evidence_of(run):
        name = re.sub(r", of the .*| per \S+$", "", one["label"]).lower()
        if name in named and one["unit"] in ("%", "ms"):
            part = shown[named[name]]
            value = 100 * part / budget["base_ps"] if one["unit"] == "%" else part / 1e9
            assert close(value, one["value"]), (finding["id"], one["label"], one["value"], value)


@pytest.mark.parametrize("run", RUNS)
def test_savings_lie_in_parts_of_the_time_budget(run: str) -> None:
    report, shown = asked("smart_suggestion", run), shown_parts(run)
    base = asked("time_budget", run)["decomposition"]
    assert (report["base"], report["base_ps"]) == (base["base"], round(base["base_ps"]))
    for finding in report["findings"]:
        segments = finding["segments"]
        assert bool(segments) is (finding["saving_ps_per_step"] > 0)
        assert finding["saving_ps_per_step"] <= sum(part["ps"] for part in segments) + len(segments)
        for part in segments:
            assert part["ps"] == round(shown[part["id"]])
            assert close(100 * shown[part["id"]] / base["base_ps"], part["percent"])
        # A title with the saving's share has the same digits as the card, but for what recording costs.
        if segments and (
            told := re.search(r"([\d.]+)% of the (?:step|recording|time from step to step)", finding["title"])
        ):
            recording = [
                one["value"] for one in finding["evidence"] if one["label"].startswith("The recording's own cost")
            ]
            left_out = recording[0] / 100 if recording else 0.0
            assert told[1] == f"{100 * finding['share'] / (1 - left_out):.1f}"


@pytest.mark.parametrize("run", RUNS)
def test_the_time_budget_beside_the_findings_is_that_of_its_page(run: str) -> None:
    report, shown = asked("smart_suggestion", run), shown_parts(run)
    told = [part for group in report["groups"] for part in (group, *group["parts"])]
    assert {part["id"]: part["ps"] for part in told} == {name: round(ps) for name, ps in shown.items() if round(ps)}
    assert sum(group["ps"] for group in report["groups"]) == pytest.approx(report["base_ps"], abs=len(told))


def test_some_evidence_leads_to_a_part() -> None:
    """So that a new form of links is not passed over."""
    parts = {one["query"]["part"] for run in RUNS for _, one in evidence_of(run) if "part" in one["query"]}
    assert {"input", "idle_host", "idle_launch", "exposed_copy", "exposed_communication", "idle_peer"} <= parts
