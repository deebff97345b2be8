"""Suggestions: what slows a run down, with the numbers that show it.

By default `{"suggestions": [{"ruleName", "suggestionText"}]}`, with the one rule that XProf runs. With `all_rules=true`
an object; times are whole picoseconds:

* `headline` {title, tone, finding}: what limits the run, in one line; `tone` is "good" (healthy), "fair", "bad" or
  "none" (no verdict); `finding` is the id of the finding that it repeats, or null;
* `findings` [{id, title, share, saving_ps_per_step, formula, confidence, evidence: [{label, value, unit, tool, query}],
  advice, hosts, help}], most costly first; `share` is what a step could gain, as a fraction of `step_ps`,
  or of `period_ps` if some of it lies between steps; `help` is the rule's documentation;
* `silent` [{id, looks_for, reason, looked, state, help}]: the other rules and why they found nothing; `state` is
  "passed" (the cause is not there), "unknown" (the profile lacks what the rule needs) or "failed" (the rule raised an
  error); `looked` is true for "passed";
* `step_ps`: the average step; `period_ps`: the time from step to step; `base`: "step", or "recording" if there are no
  steps;
* `parts` [{category, name, help, share}]: the parts of the time budget, largest first; empty without devices;
* `healthy`: no finding could save a tenth of the step, and most of it is computation.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tpu_profile_plugin.analysis.findings.find import Report, RuleFinding
from tpu_profile_plugin.analysis.findings.model import Rule, Silence
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.run.figures.budget import LABELS
from tpu_profile_plugin.run.figures.findings import run_findings
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.barrier_suggestion import suggestions
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
    parts = run.parts() if run.budget.devices else []
    return {
        "headline": asdict(report.headline),
        "findings": [_finding(run, entry) for entry in report.findings],
        "silent": [_silent(rule, silence) for rule, silence in report.silent],
        "step_ps": run.step_ps,
        "period_ps": run.period_ps,
        "base": run.base,
        "parts": [_part(category, share) for category, share in parts if share > 0],
        "healthy": report.healthy,
    }


def _finding(run: RunView, entry: RuleFinding) -> dict[str, Any]:
    finding = entry.finding
    return {
        "id": entry.id,
        "title": finding.title,
        "share": entry.share,
        "saving_ps_per_step": finding.saving_ps,
        "formula": finding.formula,
        "confidence": finding.confidence,
        "evidence": [asdict(proof) for proof in finding.evidence],
        "advice": finding.advice.of(run.frameworks),
        "hosts": list(finding.hosts or run.hosts),
        "help": _help(entry.rule),
    }


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


def _part(category: str, share: float) -> dict[str, Any]:
    label = LABELS[category]
    return {"category": category, "name": label.name, "help": label.sentence, "share": share}


TOOL = Tool(
    id="smart_suggestion",
    title="Findings",
    group="Summary",
    summary="What slows the run down, with the numbers that show it and what to do.",
    build=build,
    params=(Param("all_rules", "bool", False, "Every finding with its evidence, in place of XProf's answer."),),
    offered=False,
)
