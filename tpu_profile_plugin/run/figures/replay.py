"""The replay of a run: how long a step would take without some of what it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.budget.budget import SpentTime
from tpu_profile_plugin.analysis.budget.categories import BETWEEN, CATEGORIES, members
from tpu_profile_plugin.analysis.common.reasons import NO_DEVICES, NO_STEPS
from tpu_profile_plugin.analysis.devices.inventory import program_names
from tpu_profile_plugin.analysis.devices.model import Op
from tpu_profile_plugin.analysis.findings.find import RuleFinding
from tpu_profile_plugin.analysis.findings.model import Finding
from tpu_profile_plugin.analysis.findings.without import LEAST_TAKEN, MOST_BESIDE, edits_without
from tpu_profile_plugin.analysis.replay.edits import Edit, Places, names_of_op, shorter, unknown
from tpu_profile_plugin.analysis.replay.graph import Graph, graph_of
from tpu_profile_plugin.analysis.replay.host_graph import HostGraph, host_graph
from tpu_profile_plugin.analysis.replay.parts import shortened
from tpu_profile_plugin.analysis.replay.what_if import WhatIf, what_if
from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.run.figures.budget import device_steps, host_devices, host_spent, reader_of, run_budget
from tpu_profile_plugin.run.figures.findings import run_findings
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.host import HostProfile, derived
from tpu_profile_plugin.run.hosts import RunHosts

_LONGEST_PS = 2**60
"""Of a recording whose times can be added up, two weeks; events of a damaged one may be years apart."""


@derived()
def graph_of_host(host: HostProfile) -> HostGraph | None:
    """The dependencies of one host; None without devices or steps."""
    devices, steps = host_devices(host), device_steps(host)
    if not devices or steps is None:
        return None
    return host_graph(host.lazy, devices, steps, hlo_ops(host).programs, reader_of(host))


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """The graph of a run and the names of what can be changed; cheap to ask again."""

    graph: Graph
    places: tuple[Places, ...]
    hosts: tuple[HostProfile, ...]

    def what_if(self, edit: Edit, *, parts: bool = False, limits: bool = True) -> WhatIf:
        """The step with an edit, with its parts, and what limits it, if they are asked for.

        Raises NotFound if it names nothing, NoData if the host's time would change and nothing links it to the devices.
        """
        return what_if(self.graph, self.places, edit, self._spent if parts else (), limits=limits)

    @property
    def median_ps(self) -> float:
        """The median of the recorded steps."""
        return float(np.median(self.graph.of_steps_ps(self.graph.recorded)))

    def knows(self, edit: Edit) -> bool:
        """Whether its places are those of something in the recording."""
        return all(";" not in place and any(one.knows(place) for one in self.places) for place, _ in edit.scale)

    def unknown(self, edit: Edit) -> dict[str, list[str]]:
        """The places of an edit that nothing in the recording is called, each with names that are near."""
        return unknown(self.places, edit)

    def stands_for(self, edit: Edit, finding: Finding) -> bool:
        """Whether an edit takes away the time of a finding, and little else."""
        if edit.ranks_equal:  # it shortens nothing of the devices that wait
            return True
        taken = shortened(self.places, self._spent, shorter(self.graph, self.places, edit)).gone_ps.sum(axis=1)
        mine = sorted({column for segment in finding.segments for column in members(segment)})
        mine += [len(CATEGORIES)] if BETWEEN in finding.segments else []
        inside, whole = float(taken[mine].sum()), finding.saving_ps * max(self.graph.budget.cells, 1)
        return inside >= LEAST_TAKEN * whole and float(taken.sum()) - inside <= MOST_BESIDE * whole

    @property
    def _spent(self) -> list[SpentTime]:
        return [spent for host in self.hosts if (spent := host_spent(host)) is not None]


def run_replay(run: RunHosts) -> Replay:
    """The replay of the chosen hosts, kept per run. Raises NoData without devices or steps."""
    return run.once("replay", lambda: _replay(run))


def _replay(run: RunHosts) -> Replay:
    budget = run_budget(run)
    if not budget.devices:
        raise NO_DEVICES.error()
    chosen = [run.readable[i] for i in budget.hosts]
    graphs = [graph for host in chosen if (graph := graph_of_host(host)) is not None]
    if len(graphs) < len(chosen) or not len(budget):
        raise NO_STEPS.error()
    places = tuple(Places.of(graph, _Names(host, graph)) for graph, host in zip(graphs, chosen, strict=True))
    whole = graph_of(graphs, budget)
    if not len(whole):  # of a damaged recording, in which nothing took time
        raise NO_STEPS.error()
    if int(whole.end_ps.max()) - int(whole.begin_ps.min()) >= _LONGEST_PS:
        raise NoData("The times of this recording are too far apart to replay it.")
    return Replay(whole, places, tuple(chosen))


class _Names:
    """The names by which an op is found."""

    def __init__(self, host: HostProfile, graph: HostGraph) -> None:
        self._hlo = hlo_ops(host)
        ran = {op.program for device in graph.devices for op in device.ops if op.program}
        known = self._hlo.programs.names
        self._names = {**known, **program_names(host.lazy, {number for number in ran if number not in known})}

    def __call__(self, op: Op) -> Iterable[str]:
        opcode, source = "", ""
        program = self._hlo.programs.program(op.program) if op.program else None
        if program is not None and (row := program.row_of.get(op.name)) is not None:
            opcode = program.opcodes[row]
            file, line, _ = self._hlo.source(op.program, op.name)
            source = f"{file}:{line}" if file else ""
        return names_of_op(op, self._names.get(op.program, ""), opcode, source)


def edit_of(
    without: Sequence[str], scale: Mapping[str, float], hide_collectives: bool, ranks_equal: bool, input_free: bool
) -> Edit:
    """The edit; without any, what the recorded step depends on. Raises BadRequest if a factor is not from 0 to 100."""
    for place, factor in scale.items():
        if not 0 <= factor <= 100:
            raise BadRequest(f"The factor of {place[:80]!r} must be between 0 and 100.", argument="scale", choices=[])
    parts = (*((place, 0.0) for place in without), *scale.items())
    return Edit(parts, hide_collectives, ranks_equal, input_free)


def places_in(text: str) -> list[str]:
    """The places that a text names, separated by `;`."""
    return list(filter(None, map(str.strip, text.split(";"))))


def factors_in(text: str) -> dict[str, float]:
    """The factors by place of a text such as `PLACE=0.5; PLACE=2`. Raises BadRequest for anything else."""
    factors = {}
    for part in places_in(text):
        place, _, number = part.rpartition("=")
        try:
            factors[place.strip()] = float(number)
        except ValueError:
            place = ""
        if not place.strip():
            raise BadRequest(f"scale must be PLACE=FACTOR, not {part[:80]!r}.", argument="scale", choices=[])
    return factors


def keys_of(edit: Edit) -> dict[str, str]:
    """The edit as arguments of the verb and keys of the page's address; `edit_of` their values is the edit."""
    keys = {
        "without": "; ".join(place for place, factor in edit.scale if not factor),
        "scale": "; ".join(f"{place}={factor:g}" for place, factor in edit.scale if factor),
        "hide_collectives": "true" if edit.hide_collectives else "",
        "ranks_equal": "true" if edit.ranks_equal else "",
        "input_free": "true" if edit.input_free else "",
    }
    return {key: value for key, value in keys.items() if value}


def run_what_if(run: RunHosts, edit: Edit) -> WhatIf:
    """The average step with an edit. Raises NoData without devices or steps, NotFound if it names nothing."""
    return run_replay(run).what_if(edit)


# Edits that are worth a try.

_MOST_FINDINGS, _MOST_PARTS = 8, 8
_LEAST_GAIN = 0.001
"""Least share of the step that a largest part must gain to be suggested."""
_MOST_GAIN = 1.5
"""A part that gains more, in multiples of its own time on the binding path, is a function around other parts."""
_LEAST_LEFT = 0.05
"""A function without which less of the step is left runs the step, and is no cause."""
_NO_EDIT = "No function, event, op or kind of op takes just this time, so that no replay is about this finding alone."


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An edit that a finding, a large part of the step, or the kind of the run suggests.

    Attributes:
      finding: the finding, None for others.
      edit, found: the edit and the step with it; None if it cannot be told.
      cannot: the reason for that; "" if it can.
    """

    finding: RuleFinding | None
    edit: Edit | None
    found: WhatIf | None
    cannot: str = ""


def suggestions(run: RunHosts) -> tuple[Suggestion, ...]:
    """Edits worth a try: those of findings in their order, then the largest gain first. Raises as `run_replay`."""
    return run.once("what_if_suggestions", lambda: _suggestions(run))


def _suggestions(run: RunHosts) -> tuple[Suggestion, ...]:
    replay, findings = run_replay(run), run_findings(run)
    of_findings = [_of_finding(replay, one) for one in findings if one.finding.saving_ps > 0][:_MOST_FINDINGS]
    known = {one.edit for one in of_findings}
    most = {Edit(input_free=True): np.inf, Edit(hide_collectives=True): np.inf, Edit(ranks_equal=True): np.inf}
    for limit in replay.what_if(Edit()).limits[:_MOST_PARTS]:
        if limit.name and limit.what in ("op", "collective", "host code"):
            most[Edit(((limit.name, 0.0),))] = _MOST_GAIN * limit.time_ps
    others = [(_tried(replay, None, edit), most[edit]) for edit in most if edit not in known and replay.knows(edit)]
    gains = [
        (one.found.saving_ps, one)
        for one, largest in others
        if one.found is not None
        and _LEAST_GAIN * one.found.step_ps <= one.found.saving_ps <= largest
        and one.found.after_ps >= _LEAST_LEFT * one.found.step_ps
    ]
    return (*of_findings, *(one for _, one in sorted(gains, key=lambda gain: -gain[0])))


def _of_finding(replay: Replay, one: RuleFinding) -> Suggestion:
    """The first edit that stands for a finding."""
    cannot = _NO_EDIT
    for edit in edits_without(one.finding.segments, one.finding.evidence):
        try:
            if replay.knows(edit) and replay.stands_for(edit, one.finding):
                tried = _tried(replay, one, edit)
                if tried.found is None or tried.found.after_ps >= _LEAST_LEFT * tried.found.step_ps:
                    return tried
        except NoData as error:
            cannot = str(error)
    return Suggestion(one, None, None, cannot)


def _tried(replay: Replay, finding: RuleFinding | None, edit: Edit) -> Suggestion:
    try:
        return Suggestion(finding, edit, replay.what_if(edit, limits=False))
    except NoData as error:
        return Suggestion(finding, edit, None, str(error))
