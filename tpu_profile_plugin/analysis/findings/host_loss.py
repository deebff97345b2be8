"""Time that a cause costs hosts: what each gathers, and the verdict on all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import Reason
from tpu_profile_plugin.analysis.findings.lost import LEAST_SHARE, Lost
from tpu_profile_plugin.analysis.findings.model import Advice, Confidence, Evidence, Finding, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import costs
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.columns.arrays import I64


@dataclass(frozen=True, slots=True, eq=False)
class HostLoss:
    """What a cause costs one host.

    Attributes:
      by_part: time by part of the time budget, int64[c + 1], the last between steps; summed over steps and devices.
      what: what the finding's title tells of it; this and `harmless` may have the placeholders of `verdict`.
      evidence: what shows it, without the time itself.
      advice, confidence, reason: as in `Finding`.
      beside: some of it is computation that shares its processor.
      harmless: why it is no finding however long it takes; "" if it may be one; lacking: what the profile lacks then.
    """

    by_part: I64
    what: str
    evidence: tuple[Evidence, ...]
    advice: Advice
    confidence: Confidence = "high"
    reason: str = ""
    harmless: str = ""
    lacking: Reason | None = None
    beside: bool = False

    @property
    def ps(self) -> int:
        """Summed over steps and devices."""
        return int(self.by_part.sum())


def verdict(
    run: RunView,
    gathered: Sequence[HostLoss | None],
    *,
    title: str,
    label: str,
    formula: str,
    nothing: str,
    little: str,
    least: float = LEAST_SHARE,
    group: str = "",
) -> Finding | Silence:
    """The finding on the host that loses most, or why there is none.

    In the texts, {share} stands for the share of the time, {base} for what it is of, and {what} for that of `HostLoss`.

    Args:
      run: the run.
      gathered: of each host.
      title, formula: of the finding.
      label: what the lost time is, in evidence.
      nothing: the reason if no host has any.
      little: the reason if it is less than `least` of the time.
      group: the group of parts of the time budget that all of it lies in, which the finding then is about as a whole.
    """
    known = run.present(gathered)
    by_part = [one.by_part for one, _ in known]
    lost = run.located(by_part) if not group else run.lost_within(group, by_part)
    if not known:
        return Silence(_filled(nothing, run, lost))
    worst, host = max(known, key=lambda one: one[0].ps)
    if worst.harmless or lost.share < least:
        silence = Silence(_filled(worst.harmless or little, run, lost))
        return silence if worst.lacking is None else lacks(worst.lacking, silence.reason)
    return Finding(
        _filled(title.replace("{what}", worst.what), run, lost),
        lost.ps,
        formula,
        worst.confidence,
        (*costs(run, label, lost), *worst.evidence),
        worst.advice,
        (host,),
        lost.segments,
        worst.reason,
    )


def _filled(text: str, run: RunView, lost: Lost) -> str:
    return text.replace("{share}", f"{lost.share:.1%}").replace("{base}", run.base)
