"""Suggestions: what slows a run down, with the numbers that show it.

By default `{"suggestions": [{"ruleName", "suggestionText"}]}`, with the one rule that the original runs. With
`all_rules=true` an object; times are whole picoseconds:

* `findings` [{id, title, share, saving_ps_per_step, formula, confidence, evidence: [{label, value, unit, tool, query}],
  advice, hosts}], most costly first; `share` is what a step could gain, as a fraction of `step_ps`,
  or of `period_ps` if some of it lies between steps;
* `silent` [{id, looks_for, reason, looked}]: the other rules and why they found nothing; `looked` is false if the
  profile does not have what the rule needs;
* `step_ps`: the average step; `period_ps`: the time from step to step; `base`: "step", or "recording" if there are no
  steps;
* `parts` [{category, name, help, share}]: the parts of the time budget, largest first; empty without devices;
* `healthy`: no finding could save a tenth of the step, and most of it is computation.
"""

from __future__ import annotations

from typing import Any

from tpu_profile_plugin.analysis.findings.find import Report
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.findings.thresholds import CLEAR_SHARE
from tpu_profile_plugin.run.budget import LABELS
from tpu_profile_plugin.run.findings import run_findings
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tools.common.barrier_suggestion import suggestions
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import Raw, encode_object
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import HostChoice, Tool

MOSTLY = 0.75
"""Share of computation from which on a step without a finding is called healthy; with less, a quarter or more of it is
lost without a known cause."""


def build(run: Run, query: Query) -> Raw:
    """The original's suggestions, or all findings."""
    if not query.flag("all_rules"):
        return Raw(encode_object({"suggestions": suggestions(run)}))
    return Raw(encode_object(report_json(*run_findings(run))))


def report_json(run: RunView, report: Report) -> dict[str, Any]:
    """The object described above."""
    shares = [_share(run, finding) for _, finding in report.findings]
    parts = run.parts() if run.budget.devices else []
    return {
        "findings": [
            {
                "id": rule.id,
                "title": finding.title,
                "share": share,
                "saving_ps_per_step": finding.saving_ps,
                "formula": finding.formula,
                "confidence": finding.confidence,
                "evidence": [_evidence(one) for one in finding.evidence],
                "advice": finding.advice.of(run.frameworks),
                "hosts": list(finding.hosts or run.hosts),
            }
            for (rule, finding), share in zip(report.findings, shares, strict=True)
        ],
        "silent": [
            {"id": rule.id, "looks_for": rule.looks_for, "reason": one.reason, "looked": one.looked}
            for rule, one in report.silent
        ],
        "step_ps": run.step_ps,
        "period_ps": run.period_ps,
        "base": run.base,
        "parts": [_part(category, share) for category, share in parts if share > 0],
        "healthy": max(shares, default=0.0) < CLEAR_SHARE and dict(parts).get("compute", 0.0) >= MOSTLY,
    }


def _share(run: RunView, finding: Finding) -> float:
    length = run.period_ps if finding.between else run.step_ps
    return finding.saving_ps / length if length else 0.0


def _part(category: str, share: float) -> dict[str, Any]:
    label = LABELS[category]
    return {"category": category, "name": label.name, "help": label.sentence, "share": share}


def _evidence(one: Evidence) -> dict[str, Any]:
    return {"label": one.label, "value": one.value, "unit": one.unit, "tool": one.tool, "query": dict(one.query)}


TOOL = Tool(
    id="smart_suggestion",
    title="Findings",
    group="Summary",
    summary="What slows the run down, with the numbers that show it and what to do.",
    build=build,
    hosts=HostChoice.ONE_OR_ALL,
    params=(Param("all_rules", "bool", False, "Every finding with its evidence, in place of the original's answer."),),
    offered=False,
)
