"""What a rule is and what it answers: a finding with evidence, or the reason why there is none."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from inspect import cleandoc
from typing import Any, Literal

from tpu_profile_plugin.analysis.common.reasons import Advice as Advice
from tpu_profile_plugin.analysis.common.reasons import Reason
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.run_view import RunView

Confidence = Literal["high", "medium", "low"]
State = Literal["passed", "unknown", "failed"]


_LINE = re.compile(r"(?<![\w./<>-])\$?([\w./<>-]*\w\.py):(\d{1,9})(?!\d)")


def code_line(text: str) -> tuple[str, int] | None:
    """The first line of code, file and line, that a text such as `$train.py:54 load_batch` names; None without one."""
    found = _LINE.search(text)
    return None if found is None else (found[1], int(found[2]))


@dataclass(frozen=True, slots=True)
class OpOf:
    """An op of a device, and what its program tells of it, "" and 0 before that is looked up or if it is not recorded.

    Attributes:
      name, program_id: of the op as recorded and of its program, 0 if unknown.
      text: its HLO instruction.
      file, line: where it comes from in the user's program.
    """

    name: str
    program_id: int = 0
    text: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number or text that shows a finding, and the page that shows it.

    Attributes:
      label: what it is.
      value: a number in `unit`, or a text.
      unit: "%", "ms", "us", "MiB", ...; "" for counts and texts. The label names the base of a percentage.
      tool: id of the page that shows it; "" without one.
      query: keys of that page's address, such as `host`, `window` ("from,to" in ps on the host's axis),
        `filter`, or `row` (cells of the row that the page marks).
      op: the op that it is about; None if it is about none, or about several.
    """

    label: str
    value: float | int | str
    unit: str = ""
    tool: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    op: OpOf | None = None

    @property
    def code(self) -> tuple[str, int] | None:
        """The line of code, file and line, of its op, else the one that the value names; None without one."""
        if self.op is not None and self.op.file:
            return self.op.file, self.op.line
        return code_line(self.value) if isinstance(self.value, str) else None

    @property
    def op_text(self) -> str:
        """The text of its op: the HLO instruction, else the name as recorded; "" without an op."""
        return "" if self.op is None else self.op.text or self.op.name


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause of lost time or memory.

    Attributes:
      title: the cause in one line, with its largest number.
      saving_ps: what a step could gain at most, per step and device; 0 without a direct cost. Never more than its
        segments.
      formula: how that was computed.
      confidence: high: events show cause and effect; medium: the cause is inferred; low: a possibility.
      evidence: the most telling first.
      advice: what to do.
      hosts: the hosts concerned; all if empty.
      segments: ids of the parts of the time budget, of groups of them, or `between_steps`, that the saving lies in.
      reason: what devices wait for, after "wait for"; "" if the title does not say it so.
    """

    title: str
    saving_ps: float
    formula: str
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    advice: Advice
    hosts: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Silence:
    """Why a rule found nothing.

    Attributes:
      reason: a sentence with the number that the rule looked at.
      looked: the profile has what the rule needs.
      failed: the rule raised an error.
      missing: what the profile lacks, with how to record it; None if `looked`.
    """

    reason: str
    looked: bool = True
    failed: bool = False
    missing: Reason | None = None

    @property
    def state(self) -> State:
        """`passed`: the cause is not there; `unknown`: the profile cannot tell; `failed`: the rule has a defect."""
        return "failed" if self.failed else "passed" if self.looked else "unknown"


def lacks(missing: Reason, sentence: str = "", *, unless: bool = False) -> Silence:
    """The silence of a rule that could not look, in the words of the reason or others; `unless` it could."""
    reason = sentence or missing.sentence
    return Silence(reason) if unless else Silence(reason, looked=False, missing=missing)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, declared by a module of `findings.rules`; the module's docstring is its documentation.

    Attributes:
      id: never changes.
      looks_for: the cause in a few words, as the heading of the reason why it was not found.
      judge: (run, what `gather` returned for each host) -> finding or silence.
      gather: what only this rule needs of a host, picklable and small; None if the run's view is enough.
      implied_by: ids of rules that explain what this one would say; it stays silent if one of them finds something.
      general: it says that time is lost, but hardly why: clear findings of other rules come first, whatever its saving,
        and a rule that explains it must explain half of it.
      neutral: it adds up time by place and knows no cause: a larger part of the step with the same place replaces it.
    """

    id: str
    looks_for: str
    judge: Callable[[RunView, Sequence[Any]], Finding | Silence]
    gather: Callable[[HostView], Any] | None = None
    implied_by: tuple[str, ...] = ()
    general: bool = False
    neutral: bool = False

    @property
    def documentation(self) -> tuple[str, ...]:
        """The paragraphs of the module's docstring, each on a line: the cause, when the rule fires, what to do."""
        told_by = self.gather if isinstance(self.judge, partial) and self.gather else self.judge
        return _paragraphs(told_by.__module__) or (self.looks_for,)


@cache
def _paragraphs(module: str) -> tuple[str, ...]:
    """A module's docstring; names in braces stand for the module's limits. Empty without docstrings."""
    names = vars(sys.modules[module])
    text = cleandoc(names["__doc__"] or "").format_map(names)
    return tuple(" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph)
