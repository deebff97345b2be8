"""One decomposition: pages, findings, comparison, Python and command line divide every run's time in the same way.

Looks at every run of the demo and of the samples beside the checkout (../shared); none is exempt.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from builders.recorded import chosen

import tpu_profile_plugin
from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, GROUPS
from tpu_profile_plugin.commands.explain import as_text
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.opening import OpenRun

ROOT = Path(__file__).parents[2]
LOGDIRS = [ROOT / "demo", ROOT.parent / "shared" / "traces" / "logdir"]
RUNS = {run.name: run for path in LOGDIRS if path.is_dir() for run in tpu_profile_plugin.open(str(path)).runs()}
SHARES = [*(group.id for group in GROUPS), BETWEEN]


@pytest.fixture(params=sorted(filter(chosen, RUNS)))
def run(request) -> OpenRun:
    return RUNS[request.param]


def shares(decomposition: dict[str, Any]) -> dict[str, float]:
    """The categories that take time, as shares of the base."""
    average, base = decomposition["average_ps"], decomposition["base_ps"]
    parts = {group["id"]: [part["id"] for part in group["parts"]] or [group["id"]] for group in decomposition["groups"]}
    found = {group: sum(average.get(part, 0.0) for part in own) / base for group, own in parts.items() if base}
    return {group: share for group, share in found.items() if share}


def close(of: dict[str, float]) -> Any:
    return pytest.approx(of, rel=1e-6, abs=1e-9)


def test_overview_input_pipeline_and_time_budget_have_the_same(run):
    overview = run.document("overview_page")["steps"]["decomposition"]
    assert run.document("input_pipeline_analyzer")["steps"]["decomposition"] == overview
    assert run.answer("time_budget")["decomposition"] == overview
    assert sum(overview["average_ps"].values()) == pytest.approx(overview["base_ps"])
    steps = overview["steps"]
    for i, length in enumerate(steps["duration_ps"]):
        assert sum(part[i] for part in steps["parts_ps"].values()) == pytest.approx(length)


def test_steps_of_python_are_those_of_the_pages(run):
    shown = run.document("overview_page")["steps"]["decomposition"]
    if shown["source"] in ("", "recording"):
        with pytest.raises(NoData):
            run.steps()
        return
    steps = run.steps()
    assert (list(steps.name), steps.duration_ps.tolist()) == (shown["steps"]["name"], shown["steps"]["duration_ps"])


def test_findings_and_command_line_say_the_same(run):
    shown = run.answer("time_budget")["decomposition"]
    found = run.document("smart_suggestion")
    assert (found["base"], found["base_ps"]) == (shown["base"], pytest.approx(shown["base_ps"], abs=1))
    assert {group["id"]: group["share"] for group in found["groups"]} == close(shares(shown))
    printed = as_text(run.name, len(run.hosts), run.findings(), silent=False)
    for group in found["groups"]:
        assert f"{group['name']} {group['share']:.1%}" in printed
    for finding in found["findings"]:
        segments = sum(segment["ps"] for segment in finding["segments"])
        assert finding["saving_ps_per_step"] <= segments + 1, finding["id"]
        assert finding["share"] == pytest.approx(finding["saving_ps_per_step"] / found["base_ps"], abs=1e-6)
        for segment in finding["segments"]:
            own = shown["average_ps"].get(segment["id"], shares(shown).get(segment["id"], 0) * shown["base_ps"])
            assert segment["ps"] == pytest.approx(own, abs=1), (finding["id"], segment["id"])


def test_a_comparison_has_the_same_parts(run):
    shown = run.answer("time_budget")["decomposition"]
    found = run.compare(run).run
    if not any(device["kind"] != "host" for device in shown["devices"]):
        assert found.steps == 0  # runs are compared by the work of their devices
        return
    parts = dict(zip((*CATEGORIES, BETWEEN), (part.mean for part in (*found.parts, found.between)), strict=True))
    assert found.length.mean == pytest.approx(shown["base_ps"])
    assert {name: ps for name, ps in parts.items() if ps} == close(shown["average_ps"])


def test_workers_of_the_pod_viewer_have_the_same(run):
    shown = run.answer("time_budget")
    pod = run.document("pod_viewer")["steps"]
    parts_ns = [pod["parts_ns"].get(part) for part in CATEGORIES]
    assert len(pod["total_ns"]) == len(shown["steps"]["name"])
    for step, parts in enumerate(shown["time_ps"]):
        for device, of_device in enumerate(parts):
            for ns, ps in zip(parts_ns, of_device, strict=True):
                assert abs((ns[step][device] if ns else 0) - ps / 1000) <= 1


def test_every_percentage_of_the_headline_is_one_of_the_categories_or_findings(run):
    found = run.document("smart_suggestion")
    title = found["headline"]["title"]
    known = [
        share for group in found["groups"] for share in (group["share"], *(part["share"] for part in group["parts"]))
    ]
    known += [one["share"] for one in found["findings"]]
    known += [proof["value"] / 100 for one in found["findings"] for proof in one["evidence"] if proof["unit"] == "%"]
    # What devices are busy with is a share of their ops, and their use one of peak rates.
    of_steps = re.sub(r"(Busy: .*? is device compute).*", r"\1", title.partition(" that steps cover")[2] or title)
    for number in re.findall(r"(\d+\.\d)%", of_steps):
        assert any(f"{share:.1%}" == f"{number}%" for share in known), title
