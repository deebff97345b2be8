"""The verb `memory`: how full the memory is at its peak, and what holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from tpu_profile_plugin.analysis.common.reasons import (
    MEMORY,
    NO_BUFFERS,
    NO_CAPACITY,
    NO_MEMORY,
    NO_PROGRAMS,
    UNKNOWN_PROGRAM,
)
from tpu_profile_plugin.analysis.findings.rules.memory.memory_near_limit import MEMORY_SHARE
from tpu_profile_plugin.analysis.memory.buffers import unknown_memory
from tpu_profile_plugin.answers.answer import Answer, Link, Next, distinct_ids
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.answers.verbs.ops import next_source
from tpu_profile_plugin.errors import NoData, NotFound
from tpu_profile_plugin.opening import OpenRun
from tpu_profile_plugin.run.catalogue.memory import ANSWERED
from tpu_profile_plugin.run.figures.memory import AllocatorUse, AtPeak, ProgramPeak, run_programs_ran
from tpu_profile_plugin.tables.table import Table
from tpu_profile_plugin.units import PS_PER_MS

_DID_NOT_RUN = "This program did not run in the recording."
_NOT_TOLD = "The allocator does not tell how much memory the device has."
_SOURCES = {
    "allocator": "the allocator's size",
    "device": "as the device reported it",
    "model": "by the device's model; the runtime reserves a part",
}


def memory(
    asked: Asked, *, program: Annotated[str, "A program, MODULE(ID) or ID, instead of the recorded allocations."] = ""
) -> Answer:
    """How full the memory is at its peak, whether it is a limit, and what holds it."""
    run = asked.run
    if not program:
        try:
            return _of_allocators(asked, run.allocator_uses())
        except NoData:
            pass
    try:
        if program:
            return _of_program(asked, run.program_peak(program))
        return _of_largest(asked)
    except NotFound as error:
        if error.code != "module_not_found":
            raise
        choices = error.details.get("modules", [])
        raise NotFound(error.message, code=error.code, argument="program", choices=choices) from None
    except NoData as error:
        if program or error.reason != NO_PROGRAMS.code:
            raise
        raise NO_BUFFERS.error() from None


def _of_largest(asked: Asked) -> Answer:
    """The program that needs most memory of those that ran, unless that with most time is not known."""
    run = asked.run
    found = run.memory()
    if reason := unknown_memory(found.ran):
        most = found.ran[0]
        facts = {"program": most.name, "share_percent": 100 * most.share}
        base = {"share_percent": "of the time of all programs on devices"}
        others = [Next("memory", {"program": one.name}, "a program that ran less") for one in found.ran if one.known][
            :1
        ]
        further = (*others, Next("programs", {}, "the programs, and which have HLO"))
        lacking = asked.cannot(UNKNOWN_PROGRAM.said(reason))
        return Answer(Link("op_profile"), facts, base=base, next=further, cannot=lacking)
    return _of_program(asked, run.program_peak(found.largest_program))


def _of_allocators(asked: Asked, uses: Sequence[AllocatorUse]) -> Answer:
    """What was recorded: the fullest allocator."""
    use = uses[0]
    segments = {"segment_bytes": use.segment_bytes, "largest_free_block_bytes": use.largest_free_bytes}
    facts: dict[str, Any] = {
        **_verdict(use.in_use_bytes, use.capacity_bytes, use.title),
        "of": f"{use.title} of host {use.host}",
        "in_use_bytes": use.in_use_bytes,
        **({"capacity_bytes": use.capacity_bytes, "free_bytes": use.free_bytes} if use.capacity_bytes else {}),
        "heap_bytes": use.heap_bytes,
        "stack_bytes": use.stack_bytes,
        "at_ps": use.time_ps,
        "heap_lifetime_peak_bytes": use.lifetime_bytes,
        **{name: value for name, value in segments.items() if value >= 0},
        "allocators": [f"{one.device or one.allocator} of {one.host}" for one in uses[:8]],
    }
    link = Link("memory_profile", {"host": use.host, "memory_id": use.allocator})
    further = [
        Next("memory", {"program": name}, "the buffers of the program that needs most") for name in _needy(asked.run)
    ]
    moment = use.time_ps / PS_PER_MS
    window = {"from": max(0.0, round(moment - 1, 3)), "to": round(moment + 1, 3)}
    further.append(Next("timeline", window, "what ran at the peak"))
    lacking = NO_CAPACITY.said(_NOT_TOLD) if use.of_device else NO_CAPACITY
    cannot = None if use.capacity_bytes else asked.cannot(lacking)
    return Answer(link, facts, _table(use.allocations, "allocations"), next=tuple(further), cannot=cannot)


def _needy(run: OpenRun) -> list[str]:
    try:
        name = run.memory().largest_program
    except NoData:
        return []
    return [name] if name else []


def _of_program(asked: Asked, found: ProgramPeak) -> Answer:
    """What XLA planned."""
    if not found.peak_bytes:
        lacking = NO_MEMORY.said(f"The profile has no buffer assignment of {found.program}.")
        about = {"program": found.program}
        return Answer(Link("memory_viewer", _query(found)), about, cannot=asked.cannot(lacking))
    ran = run_programs_ran(asked.run)
    did_not_run = bool(ran) and all(one.name != found.program for one in ran)
    facts: dict[str, Any] = {
        **({} if did_not_run else _verdict(found.peak_bytes, found.device_bytes, "the program")),
        "program": found.program,
        "peak_bytes": found.peak_bytes,
        "without_padding_bytes": found.unpadded_bytes,
        "argument_bytes": found.argument_bytes,
        "output_bytes": found.output_bytes,
    }
    if found.device_bytes:
        facts |= {"device_bytes": found.device_bytes, "device_memory": _SOURCES.get(found.device_source, "")}
    if did_not_run:
        facts["notes"] = list(filter(None, (_DID_NOT_RUN, unknown_memory(ran))))
    lines = dict.fromkeys(one.source for one in found.buffers if one.source)
    further = [next_source(line) for line in list(lines)[:2]]
    held = [one.name for one in found.buffers if one.kind == "Temporary"][:2]
    further += [Next("hlo", {"op": f"{name}@{found.program}"}, "what makes and uses this buffer") for name in held]
    further.append(Next("programs", {}, "the other programs"))
    cannot = None if found.device_bytes else asked.cannot(NO_CAPACITY)
    table = _table(found.buffers, "buffers", f"@{found.program}")
    return Answer(Link("memory_viewer", _query(found)), facts, table, next=tuple(further), cannot=cannot)


def _query(found: ProgramPeak) -> dict[str, str]:
    return {"module_name": found.program}


def _verdict(used: int, capacity: int, what: str) -> dict[str, str]:
    """Whether memory is a limit, by the figures beside it; nothing if the capacity is unknown."""
    if not capacity:
        return {}
    share = used / capacity
    limit = "Near the limit" if share >= MEMORY_SHARE else "No limit"
    return {"verdict": f"{limit}: {share:.1%} of the memory in use at the peak of {what}."}


def _table(held: Sequence[AtPeak], name: str, end: str = "") -> Table:
    """A row per buffer or allocation; several of one name are numbered."""
    ids = [f"{id_}{end}" for id_ in distinct_ids(one.name for one in held)]
    shown = [column for column in ANSWERED[1:] if any(getattr(one, column.id) for one in held)]
    data = [ids, *([getattr(one, column.id) for one in held] for column in shown)]
    return Table((ANSWERED[0], *shown), data, name=name)


VERB = verb(memory, needs=MEMORY)
