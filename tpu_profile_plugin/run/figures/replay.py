"""The replay of a run: how long a step would take without some of what it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_DEVICES, NO_STEPS
from tpu_profile_plugin.analysis.devices.inventory import program_names
from tpu_profile_plugin.analysis.devices.model import Op
from tpu_profile_plugin.analysis.replay.edits import Edit, Places, names_of_op
from tpu_profile_plugin.analysis.replay.graph import Graph, graph_of
from tpu_profile_plugin.analysis.replay.host_graph import HostGraph, host_graph
from tpu_profile_plugin.analysis.replay.what_if import WhatIf, saving, what_if
from tpu_profile_plugin.errors import BadRequest
from tpu_profile_plugin.run.figures.budget import device_steps, host_devices, reader_of, run_budget
from tpu_profile_plugin.run.figures.programs import hlo_ops
from tpu_profile_plugin.run.host import HostProfile, derived
from tpu_profile_plugin.run.hosts import RunHosts


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

    def saving_ps(self, edit: Edit) -> float:
        """What the average step gains by an edit. Raises NotFound if it names nothing."""
        return saving(self.graph, self.places, edit)

    def what_if(self, edit: Edit) -> WhatIf:
        """The step with an edit. Raises NotFound if it names nothing."""
        return what_if(self.graph, self.places, edit)


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
    return Replay(graph_of(graphs, budget), places)


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


def run_what_if(run: RunHosts, edit: Edit) -> WhatIf:
    """The average step with an edit. Raises NoData without devices or steps, NotFound if it names nothing."""
    return run_replay(run).what_if(edit)
