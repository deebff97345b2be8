"""The verb `collectives`: communication between devices, and which device or host the others wait for."""

from __future__ import annotations

from typing import Annotated, Any

from tpu_profile_plugin.analysis.common.reasons import COMMUNICATION
from tpu_profile_plugin.answers.answer import Answer, Link, Next, distinct_ids
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.answers.verbs.ops import op_ids
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.run.catalogue.communication import ANSWERED
from tpu_profile_plugin.run.facts import lacks_communication
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.units import PS_PER_MS

_HIDDEN = "of the total time of the collective, that during which the device computes"
_CAUSED = "of all waits in collectives"
_MOST_LATE, _MOST_CLOCKS = 5, 16


def collectives(
    asked: Asked, *, find: Annotated[str, "Only collectives whose name or kind has this text."] = ""
) -> Answer:
    """Collectives with the time that no computation hides, and the device or host that others wait for.

    Most exposed time without waits for late devices comes first, as findings rank them.
    Times and counts are summed over the runs on all devices; `clocks` tells what to add to the times of other hosts.
    """
    run = asked.run
    run.communication()  # raises NoData without devices
    if (lacks := lacks_communication(run.facts)) is not None:
        return Answer(Link("communication"), cannot=asked.cannot(lacks))
    page: Any = run.payload("communication")
    ops: Table = page.ops
    text = find.casefold()
    names = zip(ops["op"], ops["kind"], strict=True)
    rows = [row for row, (name, kind) in enumerate(names) if text in f"{name} {kind}".casefold()]
    chosen = ops.take(rows)
    ids = [f"{op}@{program}" if program else op for op, program in zip(chosen["op"], chosen["program"], strict=True)]
    table = Table(ANSWERED, [distinct_ids(ids), *(chosen[column.id] for column in ANSWERED[1:])], name="collectives")
    base = {"hidden_percent": _HIDDEN}
    outside: list[str] = []
    facts: dict[str, Any] = {"collectives_found": len(rows), "devices": len(page.ranks)}
    if page.cost is not None:
        facts["communication_percent"] = 100 * page.cost.share
        base["communication_percent"] = f"of the average {page.cost.base}; waits for late devices included"
        if not page.cost.share and ops["exposed_ps"].any():
            outside = [f"The exposed collectives ran outside the {page.cost.base}s, so that they are no share of them."]
    facts |= _late(page)
    if facts["late_devices"]:
        base["caused_percent"] = _CAUSED
    if page.first_waits:
        keys = ("device", "op", "kind", "wait_ps")
        facts["first_waits"] = [{name: getattr(wait, name) for name in keys} for wait in page.first_waits[:_MOST_LATE]]
    offsets = list(page.host_offsets_ps.items())[:_MOST_CLOCKS]
    if offsets:
        facts["clocks"] = [{"host": host, "offset_ps": offset} for host, offset in offsets]
    notes = [*page.notes, *outside, *([] if len(ops) else ["No collective ran in the recording."])]
    if notes:
        facts["notes"] = notes
    return Answer(Link("communication"), facts, table, base, _further(run, chosen, page))


def _late(page: Any) -> dict[str, Any]:
    """Devices that others wait for, and hosts of which all devices are late, as page and finding name them."""
    ranks = page.ranks
    caused = dict(zip(ranks["device"], ranks["caused_ps"].tolist(), strict=True))
    late = [
        {name: getattr(device, name) for name in ("device", "host", "work_ratio", "more_work", "caused_percent")}
        | {"caused_ps": caused.get(device.device)}
        for device in page.stragglers[:_MOST_LATE]
    ]
    return {"late_devices": late, "late_hosts": page.late_hosts}


def _instructions(name: str) -> tuple[str, str]:
    """The instructions that a collective may be: its name, or the start of an asynchronous one."""
    kind, dot, number = name.partition(".")
    return name, f"{kind}-start{dot}{number}"


def _further(run: OpenRun, ops: Table, page: Any) -> tuple[Next, ...]:
    """The window of the collective with most exposed time, its op, and what to do."""
    further = []
    if len(ops):
        name = ops["op"][0]
        begin, end = int(ops["begin_ps"][0]), int(ops["end_ps"][0])
        if end > begin:
            arguments: dict[str, str | float] = {"from": begin / PS_PER_MS, "to": end / PS_PER_MS}
            if len(run.hosts) > 1:
                arguments["host"] = ops["host"][0]
            further.append(Next("timeline", arguments, f"what ran during the longest run of {name}"))
        further += [
            Next("op", {"name": id_}, "its times, shapes and source") for id_ in op_ids(run, _instructions(name))[:1]
        ]
    if page.stragglers:
        late = page.stragglers[0].host
        further.append(Next("ops", {"host": late}, f"what the devices of {late} work on"))
    further.append(Next("explain", {}, "what slows the run down, and what to do"))
    further.append(Next("budget", {}, "what else the average step consists of"))
    return tuple(further)


VERB = verb(
    collectives,
    needs=COMMUNICATION,
)
