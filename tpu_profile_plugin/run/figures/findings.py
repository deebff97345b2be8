"""The findings of a run: what each rule needs of each host, computed in parallel, and what the rules say of all."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from tpu_profile_plugin.analysis.budget.host_time import EVENTS, MAIN, TIME, HostReader
from tpu_profile_plugin.analysis.common.planes import device_planes, is_tpu
from tpu_profile_plugin.analysis.findings.find import Report, RuleFinding, find, gather
from tpu_profile_plugin.analysis.findings.headline import Headline
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Confidence, Evidence, OpOf, Rule, code_line
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.text import HloText
from tpu_profile_plugin.analysis.memory.allocations import ALLOCATORS, device_allocators
from tpu_profile_plugin.analysis.summary.host_summary import may_have_groups
from tpu_profile_plugin.errors import NoData, ProfileError
from tpu_profile_plugin.run.facts import host_facts
from tpu_profile_plugin.run.figures.blame import blame, places
from tpu_profile_plugin.run.figures.budget import (
    alone_spent,
    budget,
    communication,
    host_alone,
    host_devices,
    host_spent,
    keeper_of,
    run_communication,
    run_decomposition,
)
from tpu_profile_plugin.run.figures.memory import run_allocator_uses
from tpu_profile_plugin.run.figures.programs import hlo_ops, programs_of
from tpu_profile_plugin.run.figures.spending import Spent, spent_on, step_notes
from tpu_profile_plugin.run.figures.summary import groups_if_any, host_summary, run_summary
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.hosts import RunHosts
from tpu_profile_plugin.run.html_text import bold, numbered, paragraphs, plain
from tpu_profile_plugin.system.terminal import one_line
from tpu_profile_plugin.units import duration, size

# The HLO text and the source line of the ops that findings name, from the programs that the run recorded.

MOST_TEXT = 600
"""Longer texts are cut: a fusion or a tuple may have hundreds of operands."""
_CONFIG = ", backend_config="
"""What is left out of texts: long, and of interest to the compiler."""


def with_op_texts(run: RunHosts, report: Report) -> Report:
    """The report; the ops of its evidence with what their programs tell."""
    known: dict[tuple[str, OpOf], OpOf] = {}

    def told(one: Evidence, hosts: tuple[str, ...]) -> Evidence:
        if one.op is None:
            return one
        host = one.query.get("host") or (hosts[0] if hosts else run.readable[0].name)
        key = host, one.op
        if key not in known:
            known[key] = _told(run, host, one.op)
        return replace(one, op=known[key])

    def told_of(entry: RuleFinding) -> RuleFinding:
        finding = entry.finding
        evidence = tuple(told(one, finding.hosts) for one in finding.evidence)
        return replace(entry, finding=replace(finding, evidence=evidence))

    return replace(report, findings=tuple(map(told_of, report.findings)))


def _told(run: RunHosts, host: str, op: OpOf) -> OpOf:
    """The op with text and line; as it is if the host has no such program, or one that does not decode."""
    program = None
    with suppress(ProfileError):
        profile = next(one for one in run.readable if one.name == host)
        program = programs_of(profile).program(op.program_id) if op.program_id else None
    row = None if program is None or program.problem is not None else program.row_of.get(op.name)
    if program is None or row is None:
        return op
    text = HloText(program, full=False, metadata=False).instruction(row).partition(_CONFIG)[0]
    near = ProgramRows(program).near_source(row, 1)
    file, line = ("", 0) if near is None else (near[1].file, near[1].line)
    return replace(op, text=text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…", file=file, line=line)


_MOST_SHOWN = 5
_MOST_PEAKS = 2
"""Allocators of a snapshot in a headline."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A finding as everything writes it: with the parts of the run's time, in the words of its framework.

    Attributes:
      rule: what found it; `id` is that of the rule.
      title: the cause in one line.
      share: the saving as a fraction of the run's base.
      saving_ps: what a step could gain at most, in whole ps; 0 without a direct cost.
      segments: the parts of the time budget that the saving lies in; none without a saving.
      formula, confidence, evidence: as in `Finding`.
      advice: what to do.
      hosts: names of the hosts concerned.
    """

    rule: Rule
    title: str
    share: float
    saving_ps: int
    segments: tuple[Spent, ...]
    formula: str
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    advice: str
    hosts: tuple[str, ...]

    @property
    def id(self) -> str:
        """The id of the rule."""
        return self.rule.id

    @property
    def line(self) -> str | None:
        """The first line of code, `FILE.py:LINE`, that the title or the evidence names; None without one."""
        texts = (self.title, *(proof.value for proof in self.evidence if isinstance(proof.value, str)))
        line = next(filter(None, map(code_line, texts)), None)
        return None if line is None else f"{line[0]}:{line[1]}"


@dataclass(frozen=True, slots=True, repr=False)
class Findings(Report):
    """What all rules say of a run; notebooks show the headline and the first findings.

    Attributes:
      view: the run as the rules see it.
    """

    view: RunView = field(kw_only=True, repr=False)

    @classmethod
    def of(cls, view: RunView, report: Report) -> Findings:
        """What the rules say of this run."""
        return cls(report.findings, report.silent, report.headline, report.healthy, view=view)

    @property
    def frameworks(self) -> tuple[str, ...]:
        """In whose words advice is given."""
        return tuple(self.view.frameworks)

    @property
    def keras(self) -> bool:
        """Whether advice is about Keras where it can be."""
        return self.view.keras

    @property
    def base(self) -> str:
        """What shares are of: "step", "time from step to step" or "recording"."""
        return self.view.base

    @property
    def notes(self) -> list[str]:
        """Sentences on where the steps come from, exceptions among them, and what they leave out."""
        return step_notes(self.view.budget, self.view.coverage, self.frameworks)

    @property
    def causes(self) -> list[Cause]:
        """The findings in the words of the run's framework, in their order."""
        return [self._cause(entry) for entry in self.findings]

    def _cause(self, entry: RuleFinding) -> Cause:
        finding, view = entry.finding, self.view
        saving_ps = round(finding.saving_ps)
        segments = [spent_on(view.budget, name) for name in finding.segments] if finding.saving_ps else []
        advice = finding.advice.of(view.frameworks, keras=view.keras)
        return Cause(
            *(entry.rule, finding.title, entry.share, saving_ps, tuple(segments), finding.formula, finding.confidence),
            *(finding.evidence, advice, tuple(finding.hosts or view.hosts)),
        )

    def __repr__(self) -> str:
        more = [f"{len(self) - _MOST_SHOWN} more"] if len(self) > _MOST_SHOWN else []
        titles = (f"{number}. {one.title}" for number, one in enumerate(self.findings[:_MOST_SHOWN], 1))
        return f"<Findings: {chr(10).join(map(one_line, (self.headline.title, *titles, *more)))}>"

    def _repr_html_(self) -> str:
        causes = numbered(map(self._shown, self.causes[:_MOST_SHOWN]))
        more = f"{len(self) - _MOST_SHOWN} more. " if len(self) > _MOST_SHOWN else ""
        silent = f"{more}{len(self.silent)} checks found nothing."
        return f"{paragraphs(bold(self.headline.title))}{causes}{paragraphs(silent)}"

    def _shown(self, cause: Cause) -> tuple[str, ...]:
        saving = "No direct cost"
        if cause.saving_ps:
            saving = f"Up to {duration(cause.saving_ps)}, {cause.share:.1%} of the {self.base}"
        return bold(cause.title), plain(f"{saving}; {cause.confidence} confidence."), plain(cause.advice)


def _host_time(host: HostProfile) -> None:
    """What the host of TPUs without steps did, which is read while devices are built.

    Steps, and those of other devices in general, may need all events of the host, so that nothing is left to read.
    """
    planes = device_planes(host.lazy)
    if not planes or not is_tpu(planes[0]) or may_have_groups(host.lazy):
        return
    keep = keeper_of(host)
    with suppress(ProfileError):  # raised again where what cannot be read is needed
        _ = HostReader(host.lazy, keep).time
        keep(ALLOCATORS, lambda: device_allocators(host.lazy))


# The overview waits for the summary as well.
@per_host(
    first=(host_summary,),
    beside=_host_time,
    drops=(EVENTS, TIME, MAIN, ALLOCATORS, host_spent.name, alone_spent.name, blame.name),
)
def gathered(host: HostProfile) -> dict[str, Any]:
    """What the rules need of one host, by their ids."""
    hlo = hlo_ops(host)
    of_devices = budget(host)
    shown = of_devices if of_devices.devices else host_alone(host)
    shared = host_summary(host), of_devices, shown, communication(host)
    spent = host_spent if of_devices.devices else alone_spent
    derived = lambda: host_devices(host), lambda: spent(host), lambda: blame(host)
    found = gather(HostView(host.name, host.lazy, groups_if_any(host), hlo, shared, *derived, keeper_of(host)))
    places(host)  # which comparisons need: the blame is dropped
    return found


def _of_snapshot(run: RunHosts) -> Headline:
    """What a memory snapshot holds: the peaks of its allocators, and the line with most of the largest one."""
    try:
        uses = run_allocator_uses(run)
    except NoData:
        return Headline("Memory snapshot: nothing was allocated", "none")
    held = Counter[str]()
    for one in uses[0].allocations:
        held[one.source] += one.size_bytes * one.count
    most = max(filter(None, held), key=lambda line: held[line], default="")
    by = f", {size(held[most])} of it by {PurePath(most).name}" if most else ""
    peaks = [f"{size(one.in_use_bytes)} at the peak of {one.title.removeprefix('allocator ')}" for one in uses]
    rest = [*peaks[1:_MOST_PEAKS], *([f"{len(peaks) - _MOST_PEAKS} more"] if len(peaks) > _MOST_PEAKS else [])]
    return Headline("; ".join([f"Memory snapshot: {peaks[0]}{by}", *rest]), "none")


def run_findings(run: RunHosts) -> Findings:
    """What the rules say of the chosen hosts."""
    of_hosts = run.map_hosts(gathered)
    parts = run_summary(run), run_decomposition(run), run_communication(run)
    view = RunView(tuple(host.name for host in run.readable), *parts)
    report = run.once("findings", lambda: with_op_texts(run, find(view, of_hosts)))
    if not view.has_devices and all(facts.allocations_only for facts in run.map_hosts(host_facts)):
        report = replace(report, headline=run.once("snapshot", lambda: _of_snapshot(run)))
    return Findings.of(view, report)
