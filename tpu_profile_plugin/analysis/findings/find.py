"""Applies the rules to a run: findings, most costly first, why the other rules found nothing, and the headline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tpu_profile_plugin.analysis.budget.categories import GROUP_OF
from tpu_profile_plugin.analysis.common.reasons import FAILED
from tpu_profile_plugin.analysis.common.spans import total, union
from tpu_profile_plugin.analysis.findings.blamed import (
    Blamed,
    Part,
    blamed,
    busy_with,
    enlarged,
    growing,
    parts,
    pointed,
)
from tpu_profile_plugin.analysis.findings.evidence.host.recording_cost import RecordingCost, recording_cost
from tpu_profile_plugin.analysis.findings.headline import CLEAR_SHARE, Headline, headline, is_healthy
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.lost import LEAST_ANY, LEAST_SHARE, average, segments_ps, share_within
from tpu_profile_plugin.analysis.findings.model import Confidence, Evidence, Finding, Rule, Silence, code_line
from tpu_profile_plugin.analysis.findings.recorded import qualified
from tpu_profile_plugin.analysis.findings.rules import LARGEST, MOVEMENT, PRECISION, RECORDING, RULES, STRAGGLER
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.errors import ProfileError
from tpu_profile_plugin.system.terminal import LOG as _LOG

SURPASSES = 1.25
"""A part that takes so many times what a finding that explains it saves, and that others name, is told by itself."""
_BLAMED, _COMPILING, _RECORDING = "blamed", "compiling", "recording_cost"
"""Keys of the largest parts of a host's steps, its compilation and the cost of recording it, beside the rules' ids."""
_LEFT_OUT = "The recording's own cost, of this time (estimated, left out of the saving)"
_SHORTER = 0.5
"""So much of that cost the step is shorter by without it: best in 27 programs of which recording takes 5% or more."""
_OF_DEVICES = ("device_compute", "device_to_device", "collectives")
"""Groups of parts of the budget that do not depend on the clock of the host."""


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """The finding of a rule; `share`: its saving as a fraction of the run's base."""

    rule: Rule
    finding: Finding
    share: float

    @property
    def id(self) -> str:
        """The rule's id."""
        return self.rule.id

    @property
    def title(self) -> str:
        """The cause in one line."""
        return self.finding.title

    @property
    def vague(self) -> bool:
        """Whether it says that time is lost, but hardly why."""
        return self.rule.general or self.finding.confidence == "low"


@dataclass(frozen=True, slots=True)
class Report:
    """What all rules say of a run.

    Attributes:
      findings: the largest saving first, but vague ones after clear ones of a known cause, and the largest part of the
        step before savings of less than a tenth; those about no time in the order of the rules.
      silent: (rule, reason) of the others, in the order of the rules.
      headline: what limits the run, in one line.
      healthy: see `headline.is_healthy`.
    """

    findings: tuple[RuleFinding, ...]
    silent: tuple[tuple[Rule, Silence], ...]
    headline: Headline
    healthy: bool

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[RuleFinding]:
        return iter(self.findings)


class Failure:
    """A rule that raised an error; no dataclass, so that it is never stored on disk."""

    def __init__(self, error: str) -> None:
        self.error = error


def gather(host: HostView, rules: Sequence[Rule] = RULES) -> dict[str, Any]:
    """What each rule needs of one host, by the rule's id; `Failure` if it raised, except errors about the profile."""
    wanted: dict[str, Callable[[HostView], Any]] = {_BLAMED: blamed, _COMPILING: compiling, _RECORDING: recording_cost}
    wanted |= {rule.id: rule.gather for rule in rules if rule.gather is not None}
    gathered: dict[str, Any] = {}
    for name, part in wanted.items():
        try:
            gathered[name] = part(host)
        except (ProfileError, MemoryError):
            raise
        except Exception as error:
            gathered[name] = _failure(name, error)
    return gathered


def find(run: RunView, gathered: Sequence[Mapping[str, Any]], rules: Sequence[Rule] = RULES) -> Report:
    """Applies every rule.

    Args:
      run: the run.
      gathered: what `gather` returned for each of its hosts.
      rules: in the order of the report.
    """
    verdicts = {rule.id: _verdict(rule, run, [host.get(rule.id) for host in gathered]) for rule in rules}
    fired = {name: verdict.saving_ps for name, verdict in verdicts.items() if isinstance(verdict, Finding)}
    findings: list[RuleFinding] = []
    silent: list[tuple[Rule, Silence]] = []
    for rule in rules:
        verdict = verdicts[rule.id]
        if isinstance(verdict, Silence):
            silent.append((rule, qualified(rule.id, run, verdict)))
        elif causes := [name for name in rule.implied_by if _explains(fired.get(name, 0.0), rule, verdict)]:
            silent.append((rule, Silence(f"It follows from another finding ({causes[0]}).")))
        else:
            saving_ps = min(verdict.saving_ps, segments_ps(run.budget, verdict.segments))
            finding = replace(verdict, saving_ps=saving_ps, confidence=_confidence(run, verdict))
            findings.append(RuleFinding(rule, finding, run.share(saving_ps)))
    of_hosts = [part if isinstance(part := host.get(_BLAMED), Blamed) else None for host in gathered]
    largest = parts(run, of_hosts) if LARGEST in rules else []
    findings = _with_parts(run, findings, largest)
    findings = [replace(one, finding=growing(one.finding, largest)) for one in findings]
    if any(entry.rule is LARGEST for entry in findings):
        silent = [one for one in silent if one[0] is not LARGEST]
    costs = [part for host in gathered if isinstance(part := host.get(_RECORDING), RecordingCost)]
    findings = _with_waits(run, _without_recording(run, findings, costs))
    known = any(entry.share >= CLEAR_SHARE and not entry.vague for entry in findings)
    # Where most of the time goes comes before causes that cost little, if none costs more.
    little = all(entry.share < CLEAR_SHARE for entry in findings)
    # float64 doubles the bytes that are moved: it comes before the movement if it explains half of its time.
    wide = (one.finding for one in findings if one.rule is PRECISION and one.finding.confidence == "high")
    wide_ps = max((one.saving_ps for one in wide), default=0.0)
    larger = [one for one in findings if one.rule is MOVEMENT and wide_ps < one.finding.saving_ps <= 2 * wide_ps]
    findings.sort(
        key=lambda one: (
            known and (one.vague or one.share < CLEAR_SHARE),
            little and one.rule is not LARGEST and (one.vague or one.finding.saving_ps > 0 or one.rule is RECORDING),
            1 - wide_ps if one in larger else -one.finding.saving_ps,
        )
    )
    main = next(((one.id, one.title, one.share) for one in findings), None)
    healthy = is_healthy(run, max((entry.share for entry in findings), default=0.0))
    compiles = max((part for host in gathered if isinstance(part := host.get(_COMPILING), float)), default=0.0)
    told = headline(run, main, busy_with=busy_with(run, of_hosts), compiling=compiles)
    return Report(tuple(findings), tuple(silent), told, healthy)


def compiling(host: HostView) -> float:
    """Without any device and steps, the share of the host's recording in which programs are compiled, on any thread."""
    if len(host.shown.devices) and host.shown.steps is not None:
        return 0.0
    begin, end = host.reader.time.compile_
    plane = host.plane
    if plane is None or not len(begin):
        return 0.0
    events = plane.events
    length = int((events.begin_ps + events.duration_ps).max()) - int(events.begin_ps.min())
    return float(total(union(begin, end))) / max(length, 1)


def _with_parts(run: RunView, findings: list[RuleFinding], largest: Sequence[Part]) -> list[RuleFinding]:
    """The findings, and the largest parts of the step that none of them explains; those that they do are pointed at."""
    neutral = {one.id for one in findings if one.rule.neutral}
    for part in (part for part in largest if part.usual):
        findings = [one for one in findings if not (one.id in neutral and _is_usual(one.finding, part))]
    for part in (part for part in largest if not part.usual):
        naming = [one for one in findings if part.overlaps(one.finding) and part.named_in(one.finding)]
        told = {one.id for one in naming if part.ordinary or part.told_by(one.finding, neutral=one.id in neutral)}
        if told:
            neutral -= told
            continue
        within = neutral | {one.id for one in findings if part.whole and one.share <= part.lost.share}
        known = [i for i, one in enumerate(findings) if one.id not in within and part.explained_by(one.finding)]
        replaced = [one for one in findings if one.id in within and part.replaces(one.finding)]
        larger = max((findings[i].finding.saving_ps for i in known), default=0.0) * SURPASSES < part.lost.ps
        named = larger and part.shown and any(part.names_title(one.finding) for one in findings)
        if known and named and code_line(part.place) is not None:
            findings.append(RuleFinding(LARGEST, part.finding, run.share(part.finding.saving_ps)))
        elif known:
            if code_line(part.place) is not None or (findings[known[0]].vague and not part.shown):
                findings[known[0]] = _pointing(findings[known[0]], part)
        elif not part.shown:
            findings = [_pointing(one, part) if one in replaced and one.vague else one for one in findings]
        elif replaced:
            neutral -= {one.id for one in replaced}
            most = max(replaced, key=lambda one: one.finding.saving_ps)
            findings = [one for one in findings if one not in replaced]
            whole = enlarged(run, part, most.finding)
            rule = LARGEST if part.advised else most.rule
            findings.append(RuleFinding(rule, whole, run.share(whole.saving_ps)))
        elif not part.ordinary or not any(one.rule is LARGEST and not one.share for one in findings):
            findings.append(RuleFinding(LARGEST, part.finding, run.share(part.finding.saving_ps)))
    first = max(largest, key=lambda one: one.lost.ps, default=None)
    if first and first.lost.share >= LEAST_ANY and not any(one.rule is LARGEST or one.share for one in findings):
        findings.append(RuleFinding(LARGEST, replace(first.finding, saving_ps=0.0), 0.0))
    return findings


def _is_usual(found: Finding, part: Part) -> bool:
    """Whether a finding that knows no cause is about Python between ops, of which there is no more than usual."""
    return part.names_title(found) or (found.confidence == "low" and part.overlaps(found))


def _without_recording(
    run: RunView, findings: Sequence[RuleFinding], costs: Sequence[RecordingCost]
) -> list[RuleFinding]:
    """The findings with savings that leave out what recording costs in the parts of the step that they lie in."""
    if not costs:
        return list(findings)
    cost = average(run.budget, np.sum([one.by_part for one in costs], axis=0))
    left = []
    for entry in findings:
        found = entry.finding
        share = share_within(run.budget, cost, found.segments)
        if found.saving_ps and share >= LEAST_SHARE:
            evidence = (*found.evidence, Evidence(_LEFT_OUT, 100 * share, "%"))
            found = replace(found, saving_ps=found.saving_ps * (1 - share) / (1 - _SHORTER * share), evidence=evidence)
        left.append(replace(entry, finding=found, share=run.share(found.saving_ps)))
    return left


def _with_waits(run: RunView, findings: list[RuleFinding]) -> list[RuleFinding]:
    """The findings; the others' waits for a late host count as what makes it late, if one finding is most of that."""
    waits = next((one for one in findings if one.rule is STRAGGLER and one.finding.confidence != "high"), None)
    if waits is None:
        return findings
    peers = len(run.communication.devices) - len(run.devices_of(waits.finding.hosts[0]))
    others = (one for one in findings if one is not waits and one.finding.hosts == waits.finding.hosts)
    late = [one for one in others if not one.vague and one.share]
    cause = max(late, key=lambda one: one.share, default=None)
    # Savings are averages over devices: one host's time counts once, the waits for it as often as it has peers.
    if cause is None or cause.share * peers < waits.share / 2:
        return findings
    found, ps = cause.finding, cause.finding.saving_ps + waits.finding.saving_ps
    title = f"{found.title}; the others wait {waits.share:.1%} of the {run.base} for this host"
    segments = (*found.segments, *waits.finding.segments)
    whole = replace(
        found, title=title, saving_ps=ps, evidence=(*found.evidence, *waits.finding.evidence), segments=segments
    )
    return [
        replace(cause, finding=whole, share=run.share(ps)) if one is cause else one
        for one in findings
        if one is not waits
    ]


def _pointing(entry: RuleFinding, part: Part) -> RuleFinding:
    """A finding, and the place of the time that it explains."""
    evidence = (*entry.finding.evidence[:2], pointed(part, entry.finding.saving_ps), *entry.finding.evidence[2:])
    return replace(entry, finding=replace(entry.finding, evidence=evidence))


def _explains(saving_ps: float, rule: Rule, found: Finding) -> bool:
    """Whether a finding with this saving explains what a rule found."""
    return saving_ps > 0 and (not rule.general or saving_ps >= found.saving_ps / 2)


def _confidence(run: RunView, found: Finding) -> Confidence:
    """How sure a finding is: not at all of why a device is idle if its clock cannot be compared with its host's."""
    idle = any(GROUP_OF.get(segment, segment) not in _OF_DEVICES for segment in found.segments)
    return "low" if idle and any(not clock.offset_ps for clock in run.summary.clocks) else found.confidence


def _verdict(rule: Rule, run: RunView, gathered: Sequence[Any]) -> Finding | Silence:
    """What a rule says; a rule that raises, here or on a host, is reported and leaves the others alone."""
    failures = [(host, part) for host, part in zip(run.hosts, gathered, strict=True) if isinstance(part, Failure)]
    if failures:
        host, failure = failures[0]
        return Silence(f"The rule failed on {host}: {failure.error}.", looked=False, failed=True, missing=FAILED)
    try:
        return rule.judge(run, gathered)
    except (ProfileError, MemoryError):
        raise
    except Exception as error:
        reason = f"The rule failed: {_failure(rule.id, error).error}."
        return Silence(reason, looked=False, failed=True, missing=FAILED)


def _failure(rule: str, error: Exception) -> Failure:
    """Logs the error with its traceback."""
    _LOG.exception("the rule %s of the findings failed", rule)
    return Failure(f"{type(error).__name__}: {error}".rstrip(": ."))
