"""Applies the rules to a run: findings, most costly first, and why the other rules found nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tpu_profile_plugin.analysis.findings.model import Finding, Rule, Silence
from tpu_profile_plugin.analysis.findings.rules import RULES

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.host_view import HostView
    from tpu_profile_plugin.analysis.findings.run_view import RunView


@dataclass(frozen=True, slots=True)
class Report:
    """What all rules say of a run.

    Attributes:
      findings: (rule, finding), the largest saving first, those about no time in the order of the rules.
      silent: (rule, reason) of the others, in the order of the rules.
    """

    findings: tuple[tuple[Rule, Finding], ...]
    silent: tuple[tuple[Rule, Silence], ...]


def gather(host: HostView) -> dict[str, Any]:
    """What each rule needs of one host, by the rule's id."""
    return {rule.id: rule.gather(host) for rule in RULES if rule.gather is not None}


def find(run: RunView, gathered: Sequence[Mapping[str, Any]]) -> Report:
    """Applies every rule.

    Args:
      run: the run.
      gathered: what `gather` returned for each of its hosts.
    """
    said = {rule.id: rule.judge(run, [host.get(rule.id) for host in gathered]) for rule in RULES}
    spoken = {name for name, one in said.items() if isinstance(one, Finding) and one.saving_ps}
    findings: list[tuple[Rule, Finding]] = []
    silent: list[tuple[Rule, Silence]] = []
    for rule in RULES:
        one = said[rule.id]
        if isinstance(one, Silence):
            silent.append((rule, one))
        elif causes := [name for name in rule.implied_by if name in spoken]:
            silent.append((rule, Silence(f"It follows from another finding ({causes[0]}).")))
        else:
            most = run.period_ps if one.between else run.step_ps
            findings.append((rule, replace(one, saving_ps=min(one.saving_ps, most))))
    return Report(tuple(sorted(findings, key=lambda one: -one[1].saving_ps)), tuple(silent))
