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
  `step_ps`: the average step; `steps`: how many there are; `steps_left_out`: number of marked steps that are not among
  them because the recording may have cut them, only if there are any; `notes` [sentences], as on the overview;
* `groups` [{id, name, help, ps, share, parts: [the same without parts]}]: the time budget by category, in the order of
  display, without empty ones; the time between steps is one of them;
* `parts` [{category, name, help, share}]: their parts in one list, largest first; `period_ps`: as `base_ps`;
* `healthy`: neither a finding nor any part but computation takes a tenth of the time, the steps are marked, alike and
  cover the recording, and the devices' peak rates are used well;
* `problems`: what reading the run has found to be left out or damaged, as in `/run_info`; only if there is any.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tpu_profile_plugin.analysis.budget.categories import label_of
from tpu_profile_plugin.analysis.findings.model import Evidence, Rule, Silence
from tpu_profile_plugin.run.figures.findings import Cause, Findings, run_findings
from tpu_profile_plugin.run.figures.spending import Spent, by_category, parts_most_first
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
    answer = report_json(run_findings(run))
    losses = [problem for host in run.profiles for problem in host.losses]
    return Json({**answer, "problems": [one.describe(with_host=False) for one in losses]} if losses else answer)


def report_json(findings: Findings) -> dict[str, Any]:
    """The object described above."""
    view = findings.view
    budget = view.budget
    return {
        "headline": asdict(findings.headline),
        "findings": [_finding(cause) for cause in findings.causes],
        "silent": [_silent(rule, silence) for rule, silence in findings.silent],
        "base": view.base,
        "base_ps": round(view.base_ps),
        "period_ps": round(view.base_ps),
        "step_ps": round(budget.step_ps),
        "steps": len(budget),
        **({"steps_left_out": budget.left_out} if budget.left_out else {}),
        "notes": findings.notes,
        "groups": [_part(group) | {"parts": list(map(_part, parts))} for group, parts in by_category(budget)],
        "parts": [
            {"category": part.id, "name": part.name, "help": label_of(part.id).sentence, "share": part.share}
            for part in parts_most_first(budget)
        ],
        "healthy": findings.healthy,
    }


def _finding(cause: Cause) -> dict[str, Any]:
    return {
        "id": cause.id,
        "title": cause.title,
        "share": cause.share,
        "saving_ps_per_step": cause.saving_ps,
        "segments": [
            {"id": part.id, "name": part.name, "ps": round(part.ps), "percent": part.percent} for part in cause.segments
        ],
        "formula": cause.formula,
        "confidence": cause.confidence,
        "evidence": [_evidence(proof) for proof in cause.evidence],
        "advice": cause.advice,
        "hosts": list(cause.hosts),
        "help": _help(cause.rule),
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


def _part(part: Spent) -> dict[str, Any]:
    help_ = label_of(part.id).sentence
    return {"id": part.id, "name": part.name, "help": help_, "ps": round(part.ps), "share": part.share}


TOOL = Tool(
    id="smart_suggestion",
    title="Findings",
    group="Summary",
    summary="What slows the run down, with the numbers that show it and what to do.",
    build=build,
    params=(Param("all_rules", "bool", False, "Every finding with its evidence, in place of XProf's answer."),),
    offered=False,
)
