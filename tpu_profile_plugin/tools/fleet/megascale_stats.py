"""Megascale stats: collectives over the data-centre network, their slack, stalls and parts, one row per rendezvous.

Times come from the first TPU of each host. With `perfetto=true` a compressed trace for Perfetto, as XProf's: a file to
keep or to open in a local viewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from tpu_profile_plugin.analysis.common.planes import tensor_core
from tpu_profile_plugin.analysis.common.reasons import NO_MEGASCALE, Reason
from tpu_profile_plugin.analysis.megascale.collectives import PLANE, Collective, collectives, combine, send_recv_ops
from tpu_profile_plugin.analysis.megascale.flows import add_flows, flows
from tpu_profile_plugin.analysis.megascale.network import counters
from tpu_profile_plugin.analysis.megascale.perfetto import TraceWriter
from tpu_profile_plugin.analysis.megascale.trace import KINDS, Parts, collective_parts, hide_tiny_events, load
from tpu_profile_plugin.analysis.megascale.trace import PLANE as COPIES
from tpu_profile_plugin.columns.arrays import I64
from tpu_profile_plugin.errors import BadRequest, NoData
from tpu_profile_plugin.run.catalogue.communication import MEGASCALE
from tpu_profile_plugin.run.facts import RunFacts
from tpu_profile_plugin.run.figures.programs import programs_of
from tpu_profile_plugin.run.host import HostProfile, per_host
from tpu_profile_plugin.run.run import Run
from tpu_profile_plugin.tables.document import Document
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.tools.params import Param
from tpu_profile_plugin.tools.payload import BINARY_TYPE, Raw
from tpu_profile_plugin.tools.query import Query
from tpu_profile_plugin.tools.tool import Tool


@dataclass(frozen=True)
class CollectiveParts:
    """Events of collectives, an entry of each member per event, ordered by device, kind, iteration and time.

    Attributes:
      device: number of the TPU.
      run: run id of the module, of 64 bits.
      rendezvous: position in the names of the host.
      kind: position in the kinds of the timeline.
    """

    device: I64
    run: Sequence[str]
    rendezvous: I64
    kind: I64
    begin_ps: I64
    end_ps: I64


@dataclass(frozen=True)
class HostTransfers:
    """The collectives of a host in parts.

    Attributes:
      names: of the rendezvous.
      flows: positions of the parts where each flow between them begins, and where it ends.
    """

    host: str
    names: Sequence[str]
    parts: CollectiveParts
    flows: tuple[I64, I64]


@dataclass(frozen=True)
class TransferTimeline:
    """The parts of the collectives on all TPUs, and the flows between them.

    Attributes:
      kinds: ops of the TPU, and begins and ends of copies between device and host.
    """

    kinds: Sequence[str]
    hosts: Sequence[HostTransfers]


@dataclass(frozen=True)
class Megascale(Document):
    """Collectives between slices.

    Attributes:
      collectives: one row per rendezvous, by its first run; times are averages over the runs, in whole us.
      timeline: with `timeline=true`.
    """

    collectives: Table
    timeline: TransferTimeline | None = None


@per_host()
def host_collectives(host: HostProfile) -> tuple[Collective, ...]:
    """The collectives of one host."""
    plane = next((plane for plane in host.lazy.planes if plane.name == PLANE), None)
    return () if plane is None else collectives(send_recv_ops(host.lazy, plane, programs_of(host)))


MAX_TRACKS = 4096
"""Upper limit of a trace for damaged profiles; hosts have some tens of tracks."""


@per_host()
def host_parts(host: HostProfile) -> tuple[Parts, tuple[I64, I64]]:
    """The parts and flows of one host."""
    space = host.lazy
    space.decode([plane for plane in space.planes if plane.name == COPIES or tensor_core(plane.name) is not None])
    parts = collective_parts(space)
    return parts, flows(parts)


def build(run: Run, query: Query) -> Megascale | Raw:
    """The collectives of one host, or averages over all; or a file of Perfetto."""
    if query.flag("perfetto"):
        return perfetto(run, query)
    table = Table.of_rows(MEGASCALE, combined(run))
    return Megascale(table, _timeline(run) if query.flag("timeline") else None)


def combined(run: Run) -> tuple[Collective, ...]:
    """The collectives of the chosen hosts."""
    return combine(run.map_hosts(host_collectives))


def _timeline(run: Run) -> TransferTimeline:
    hosts = [
        HostTransfers(
            host.name,
            parts.names,
            CollectiveParts(
                *(parts.device, [str(run_id) for run_id in parts.run.tolist()], parts.rendezvous, parts.kind),
                *(parts.begin_ps, parts.end_ps),
            ),
            host_flows,
        )
        for host, (parts, host_flows) in zip(run.readable, run.map_hosts(host_parts), strict=True)
    ]
    return TransferTimeline(KINDS, hosts)


def perfetto(run: Run, query: Query) -> Raw:
    """The trace of one host, compressed; raises BadRequest for several, NoData for impossibly many tracks."""
    if len(run.profiles) > 1:
        raise BadRequest("A Perfetto trace shows one host: choose it with host=NAME.", parameter="host")
    trace = load(run.profiles[0].lazy)
    if len(trace.tracks) > MAX_TRACKS:
        raise NoData(f"The trace would have {len(trace.tracks)} tracks; at most {MAX_TRACKS} can be shown.")
    if query.flag("group_tiny_events"):
        hide_tiny_events(trace)
    add_flows(trace, receives=query.flag("recv_done"))
    name = quote(f"{run.name}-{run.profiles[0].name}.perfetto-trace.gz", safe="")
    shown = (("Content-Disposition", f"attachment; filename*=UTF-8''{name}"),)
    return Raw(TraceWriter(trace).compressed(counters(trace)), BINARY_TYPE, headers=shown)


def _lacks(facts: RunFacts) -> Reason | None:
    return None if facts.megascale else NO_MEGASCALE


TOOL = Tool(
    id="megascale_stats",
    title="Megascale Stats",
    group="Fleet",
    summary="Collectives over the data-centre network: slack, stalls and the bandwidth they need.",
    build=build,
    params=(
        Param("perfetto", "bool", False, "Answer a compressed Perfetto trace of one host instead of the table."),
        Param("group_tiny_events", "bool", True, "Of perfetto=true: merge neighbouring events shorter than 1 ns."),
        Param("recv_done", "bool", False, "Of perfetto=true: include flows to recv-done ops."),
        Param("timeline", "bool", False, "Also the parts of the collectives and the flows between them."),
    ),
    lacks=_lacks,
)
