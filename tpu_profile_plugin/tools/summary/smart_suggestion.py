"""Suggestions: what slows a run down, with the numbers that show it.

By default `{"suggestions": [{"ruleName", "suggestionText"}]}`, with the one rule that XProf runs. With `all_rules=true`
an object; times are whole picoseconds:

* `headline` {title, tone, finding}: what limits the run, in one line; `tone` is "good" (healthy), "fair", "bad" or
  "none" (no verdict, or busy); `finding` is the id of the finding that it repeats, or null;
* `findings` [{id, title, share, saving_ps_per_step, segments: [{id, name, ps, percent}], formula, confidence, evidence:
  [{label, value, unit, tool, query, op, file, line}], advice, hosts, help}], most costly first; `op` is the HLO text of
  the op that evidence is about, else the op's recorded name, or null; `file` and `line` are its line of code, or null;
  `share` is the saving as a fraction of `base_ps`; `segments` are the parts, or groups of parts, of the time budget
  that the saving lies in, which never exceeds their sum; `help` is the rule's documentation;
* `silent` [{id, looks_for, reason, looked, state, help}]: the other rules and why they found nothing; `state` is
  "passed" (the cause is not there), "unknown" (the profile lacks what the rule needs) or "failed" (the rule raised an
  error); `looked` is true for "passed";
* `base`: what every share is of: "step", "time from step to step" or "recording"; `base_ps`: its length on average;
  `step_ps`: the average step; `steps`: how many there are; `notes` [sentences] about them, as on the overview;
* `groups` [{id, name, help, ps, share, parts: [the same without parts]}]: the time budget by category, in the order of
  display, without empty ones; the time between steps is one of them;
* `parts` [{category, name, help, share}]: their parts in one list, largest first; `period_ps`: as `base_ps`;
* `healthy`: neither a finding nor any part but computation takes a tenth of the time, the steps are marked, alike and
  cover the recording, and the devices' peak rates are used well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, GROUPS, UNKNOWN, label_of
from tpu_profile_plugin.analysis.budget.run import RunBudget
from tpu_profile_plugin.analysis.findings.find import Report, RuleFinding
from tpu_profile_plugin.analysis.findings.model import Evidence, Rule, Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.run.figures.findings import run_findings
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.barrier_suggestion import suggestions
from tpu_profile_plugin.tools.common.decomposition import step_notes
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Json
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool


def build(run: Run, query: Query) -> Json:
    """XProf's suggestions, or all findings."""
    if not query.flag("all_rules"):
        return Json({"suggestions": suggestions(run)})
    return Json(report_json(*run_findings(run)))


def report_json(run: RunView, report: Report) -> dict[str, Any]:
    """The object described above."""
    return {
        "headline": asdict(report.headline),
        "findings": [_finding(run, entry) for entry in report.findings],
        "silent": [_silent(rule, silence) for rule, silence in report.silent],
        "base": run.base,
        "base_ps": round(run.base_ps),
        "period_ps": round(run.base_ps),
        "step_ps": round(run.budget.step_ps),
        "steps": len(run.budget),
        "notes": step_notes(run.budget, run.coverage),
        "groups": _groups(run.budget),
        "parts": _flat(run.budget),
        "healthy": report.healthy,
    }


def _finding(run: RunView, entry: RuleFinding) -> dict[str, Any]:
    finding = entry.finding
    return {
        "id": entry.id,
        "title": finding.title,
        "share": entry.share,
        "saving_ps_per_step": round(finding.saving_ps),
        "segments": [_segment(run.budget, name) for name in finding.segments] if finding.saving_ps else [],
        "formula": finding.formula,
        "confidence": finding.confidence,
        "evidence": [_evidence(proof) for proof in finding.evidence],
        "advice": finding.advice.of(run.frameworks, keras=run.keras),
        "hosts": list(finding.hosts or run.hosts),
        "help": _help(entry.rule),
    }


def _evidence(proof: Evidence) -> dict[str, Any]:
    """The evidence, with the text of its op and the line of code that it is about."""
    file, line = proof.code or (None, None)
    return {**asdict(proof), "op": proof.op_text or None, "file": file, "line": line}


def _silent(rule: Rule, silence: Silence) -> dict[str, Any]:
    return {
        "id": rule.id,
        "looks_for": rule.looks_for,
        "reason": silence.reason,
        "looked": silence.state == "passed",
        "state": silence.state,
        "help": _help(rule),
    }


def _help(rule: Rule) -> str:
    return "\n\n".join(rule.documentation)


def _segment(budget: RunBudget, name: str) -> dict[str, Any]:
    return {
        "id": name,
        "name": label_of(name).name,
        "ps": round(budget.part_ps(name)),
        "percent": 100 * budget.share(name),
    }


def _groups(budget: RunBudget) -> list[dict[str, Any]]:
    known = [group for group in GROUPS if group.id != UNKNOWN]
    groups = [_part(budget, group.id) | {"parts": _parts(budget, group.parts)} for group in known]
    return [one for one in (*groups, _part(budget, BETWEEN) | {"parts": []}) if one["ps"]]


def _flat(budget: RunBudget) -> list[dict[str, Any]]:
    parts = sorted(_parts(budget, (*CATEGORIES, BETWEEN)), key=lambda part: -part["share"])
    return [{"category": part["id"]} | {key: part[key] for key in ("name", "help", "share")} for part in parts]


def _parts(budget: RunBudget, names: Sequence[str]) -> list[dict[str, Any]]:
    return [part for name in names if (part := _part(budget, name))["ps"] and name != UNKNOWN]


def _part(budget: RunBudget, name: str) -> dict[str, Any]:
    label = label_of(name)
    return {
        "id": name,
        "name": label.name,
        "help": label.sentence,
        "ps": round(budget.part_ps(name)),
        "share": budget.share(name),
    }


TOOL = Tool(
    id="smart_suggestion",
    title="Findings",
    group="Summary",
    summary="What slows the run down, with the numbers that show it and what to do.",
    build=build,
    params=(Param("all_rules", "bool", False, "Every finding with its evidence, in place of XProf's answer."),),
    offered=False,
)
