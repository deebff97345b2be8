"""Findings: what slows a run down, with the numbers that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpu_profile_plugin.analysis.budget.categories import label_of
from tpu_profile_plugin.analysis.findings.headline import Headline
from tpu_profile_plugin.analysis.findings.model import Confidence, Evidence, Rule, State
from tpu_profile_plugin.errors import Problem
from tpu_profile_plugin.run.figures.findings import Cause, Findings, gathered, run_findings
from tpu_profile_plugin.run.figures.ops import DEVICE_OPS
from tpu_profile_plugin.run.figures.spending import Spent, by_category
from tpu_profile_plugin.run.figures.summary import host_inference
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool


@dataclass(frozen=True)
class Proof:
    """A number or text that shows a finding.

    Attributes:
      tool: id of the page that shows the value; "" without one.
      query: keys of that page's address: `host`, `window` as `FROM,TO` in ps on the host's time axis, `find`, `filter`.
      op: the HLO text of the op that it is about, else the op's recorded name; null without one.
      file: of the line of code of its op, else of the one that the value names; null without one.
      line: null without one.
    """

    label: str
    value: float | int | str
    unit: str
    tool: str
    query: Mapping[str, str]
    op: str | None
    file: str | None
    line: int | None


@dataclass(frozen=True)
class FindingSegment:
    """A category or part of the average step that a saving lies in.

    Attributes:
      percent: of the base.
    """

    id: str
    name: str
    ps: int
    percent: float | None


@dataclass(frozen=True)
class Finding:
    """A cause of lost time or memory.

    Attributes:
      id: of the rule; stable.
      share: the saving as a fraction of the base; 0 for findings that are not about time.
      saving_ps_per_step: at most the sum of the segments.
      formula: how the saving was computed.
      hosts: the hosts concerned.
      help: the rule's documentation, a paragraph a line.
    """

    id: str
    title: str
    share: float
    saving_ps_per_step: int
    segments: Sequence[FindingSegment]
    formula: str
    confidence: Confidence
    evidence: Sequence[Proof]
    advice: str
    hosts: Sequence[str]
    help: str


@dataclass(frozen=True)
class Check:
    """A rule without a finding.

    Attributes:
      state: "passed": the cause is not there; "unknown": the profile lacks what the rule needs; "failed": the rule
        raised an error.
      help: the rule's documentation, a paragraph a line.
    """

    id: str
    looks_for: str
    reason: str
    state: State
    help: str


@dataclass(frozen=True)
class TimePart:
    """A category of the average step, or a part of one.

    Attributes:
      share: of the base, 0 to 1.
    """

    id: str
    name: str
    help: str
    ps: int
    share: float | None


@dataclass(frozen=True)
class TimeCategory(TimePart):
    """A category of the average step with its parts."""

    parts: Sequence[TimePart]


@dataclass(frozen=True)
class Loss:
    """A part of the run that was left out or damaged.

    Attributes:
      offset: of the byte at which the damage begins; null if unknown.
      remedy: what to do about it; "" if the message says so.
    """

    file: str | None
    code: str
    message: str
    offset: int | None
    remedy: str


@dataclass(frozen=True)
class RunFindings(Document):
    """Causes of a slow run; times are whole picoseconds.

    Attributes:
      headline: what limits the run, in one line; `tone` is "good" (healthy), "fair", "bad" or "none" (no verdict, or
        busy), `finding` the id of the finding that it repeats.
      findings: most costly first; general ones follow those of at least a tenth that name a cause.
      silent: the other rules, and why they found nothing.
      base: what every share is of: "step", "time from step to step" or "recording".
      base_ps: its length on average.
      step_ps: the average step.
      steps: number of steps.
      steps_left_out: number of marked steps that are not among them because the recording may have cut them.
      notes: sentences about the steps, as on the overview.
      groups: the time budget by category, in the order of display, without empty ones; the time between steps is one.
      healthy: neither a finding nor any part but computation takes a tenth of the time, the steps are marked, alike and
        cover the recording, and the devices' peak rates are used well.
    """

    headline: Headline
    findings: Sequence[Finding]
    silent: Sequence[Check]
    base: str
    base_ps: int
    step_ps: int
    steps: int
    steps_left_out: int
    notes: Sequence[str]
    groups: Sequence[TimeCategory]
    healthy: bool
    problems: Sequence[Loss]


def build(run: Run, query: Query) -> RunFindings:
    """All findings, and the rules without one."""
    findings = run_findings(run)
    return document_of(findings, [problem for host in run.profiles for problem in host.losses])


def document_of(findings: Findings, losses: Sequence[Problem] = ()) -> RunFindings:
    """The findings as the page shows them; `losses`: what was left out while they were made."""
    view = findings.view
    budget = view.budget
    return RunFindings(
        headline=findings.headline,
        findings=[_finding(cause) for cause in findings.causes],
        silent=[
            Check(rule.id, rule.looks_for, silence.reason, silence.state, _help(rule))
            for rule, silence in findings.silent
        ],
        base=view.base,
        base_ps=round(view.base_ps),
        step_ps=round(budget.step_ps),
        steps=len(budget),
        steps_left_out=budget.left_out,
        notes=findings.notes,
        groups=[
            TimeCategory(**_part(category), parts=[TimePart(**_part(part)) for part in parts])
            for category, parts in by_category(budget)
        ],
        healthy=findings.healthy,
        problems=[Loss(loss.file, loss.code, loss.message, loss.offset, loss.remedy) for loss in losses],
    )


def _finding(cause: Cause) -> Finding:
    return Finding(
        id=cause.id,
        title=cause.title,
        share=cause.share,
        saving_ps_per_step=cause.saving_ps,
        segments=[FindingSegment(part.id, part.name, round(part.ps), part.percent) for part in cause.segments],
        formula=cause.formula,
        confidence=cause.confidence,
        evidence=[_proof(evidence) for evidence in cause.evidence],
        advice=cause.advice,
        hosts=cause.hosts,
        help=_help(cause.rule),
    )


def _proof(evidence: Evidence) -> Proof:
    file, line = evidence.code or (None, None)
    shown = evidence.label, evidence.value, evidence.unit, evidence.tool, evidence.query
    return Proof(*shown, evidence.op_text or None, file, line)


def _help(rule: Rule) -> str:
    return "\n".join(rule.documentation)


def _part(part: Spent) -> dict[str, Any]:
    help_ = label_of(part.id).sentence
    return {"id": part.id, "name": part.name, "help": help_, "ps": round(part.ps), "share": part.share}


TOOL = Tool(
    id="smart_suggestion",
    title="Findings",
    group="Summary",
    summary="What slows the run down, with the numbers that show it and what to do.",
    build=build,
    needs=(gathered, host_inference, DEVICE_OPS),  # shown beside the overview
    offered=False,
)
