"""Evidence has the numbers of the pages: of the page it links to, and of the time budget's part that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from builders.answers import answer, rows
from builders.profiles import device_profiles, planted, step_profiles

from tpu_profile_plugin.tools import registry

HERE = Path(__file__).parents[2]
ROOTS = (HERE.parent / "shared/traces/logdir", HERE / "demo")
RECORDED = sorted({file.parent for root in ROOTS for file in root.rglob("*.xplane.pb")})
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
PARTS = {
    "Compute": "compute",
    "Exposed communication": "exposed_communication",
    "Exposed copies": "exposed_copy",
    "Idle because of input": "idle_input",
    "Idle because of host code": "idle_host",
    "Idle because of launches": "idle_launch",
    "Waits for other devices": "idle_peer",
    "Waits": "idle_peer",
}
"""How labels of evidence begin that name a part of the time budget."""
LABEL = re.compile(rf"({'|'.join(PARTS)})(?:, of the | per )(step|recording|time from step to step)\b.*")


@cache
def asked(tool: str, run: str, **params: str) -> Any:
    """The tool's answer for a run, as our pages ask for it, or for one of its hosts."""
    found = registry.find(tool)
    names = {param.name for param in found.params}
    for name, value in (("backend", "auto"), ("extended", "true"), ("all_rules", "true")):
        if name in names:
            params.setdefault(name, value)
    host = params.pop("host", None)
    files = [file for file in RUNS[run] if isinstance(file, Path) and file.name == f"{host}.xplane.pb"] or RUNS[run]
    return answer(found, *files, **{name: value for name, value in params.items() if name in names})


def evidence_of(run: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each finding with each of its evidence that is a number."""
    for finding in asked("smart_suggestion", run)["findings"]:
        for one in finding["evidence"]:
            if not isinstance(one["value"], str):
                yield finding, one


def numbers(value: Any) -> Iterator[float]:
    """Every number in a JSON value, those in texts included."""
    if isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers(one)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, str):
        with suppress(ValueError):
            yield float(value)


def close(number: float, value: float) -> bool:
    return abs(number - value) <= 1e-4 * abs(value)


def part_of(run: str, category: str, base: str, unit: str) -> float:
    """A part of the time budget, averaged over devices and steps, in ms or as a share of the base."""
    budget, report = asked("time_budget", run), asked("smart_suggestion", run)
    means = {
        (device, part): (ps, percent)
        for device, part, ps, percent in rows(budget["average"], "device", "category", "time_ps", "percent")
    }
    ps, percent = means.get(("all", category)) or means[budget["devices"][0]["name"], category]
    if base == "time from step to step":
        between = [parts[budget["categories"].index(category)] for parts in budget["between"]["time_ps"]]
        ps += sum(between) / len(between) / len(budget["steps"])
        percent = 100 * ps / report["period_ps"]
    return percent if unit == "%" else ps / 1e9


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
            shown = any(close(number * scale, value) for scale in scales for number in page)
        else:
            continue
        if not shown:
            missing.append((finding["id"], one["label"], value, one["unit"], tool))
    assert not missing


@pytest.mark.parametrize("run", RUNS)
def test_evidence_that_names_a_part_has_the_number_of_the_time_budget(run: str) -> None:
    """Linked or not."""
    wrong = []
    steps = asked("smart_suggestion", run)["base"]
    for finding, one in evidence_of(run):
        if named := LABEL.fullmatch(one["label"]):
            between = any("time from step to step" in each["label"] for each in finding["evidence"])
            allowed = ("time from step to step", steps) if between else (steps,)
            part = part_of(run, PARTS[named[1]], "time from step to step" if between else steps, one["unit"])
            if named[2] not in allowed or not close(part, one["value"]):
                wrong.append((finding["id"], one["label"], one["value"], part, one["unit"]))
    assert not wrong


@pytest.mark.parametrize("run", RUNS)
def test_parts_beside_the_findings_are_those_of_the_time_budget(run: str) -> None:
    report = asked("smart_suggestion", run)
    for part in report["parts"]:
        assert close(part_of(run, part["category"], report["base"], "%"), 100 * part["share"]), part["name"]


def test_every_way_to_name_a_part_is_compared_in_some_run() -> None:
    """So that a label in new words is not passed over."""
    named = [LABEL.fullmatch(one["label"]) for run in RUNS for _, one in evidence_of(run)]
    assert {label[1] for label in named if label} == set(PARTS)
