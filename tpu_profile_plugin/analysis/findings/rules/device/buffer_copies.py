"""Programs copy whole buffers before they change them: arguments that are not donated, values that loops carry.

Fires if copies of at least {LEAST_SIZE} that change neither type nor layout take at least {COPY_SHARE:.0%} of
the time from step to step. The program says why: an argument is overwritten although its buffer belongs to the caller,
or a loop needs the old value after it has written the new one; other copies do not count. Where ops that rearrange data
take more time, copies follow from them.

Donate the argument, or change the loop so that the old value is not needed any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import OpWork, ProgramOp, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Silence
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.hlo.buffer_copies import COPY, ProgramCopies, Why
from tpu_profile_plugin.units import KIB, MIB

LEAST_BYTES = 4096
"""Size of a buffer (a page of memory) below which its copy only costs the start of an op: loop counters and scalars."""


@dataclass(frozen=True, slots=True)
class BufferCopy:
    """An op that only duplicates a buffer of `size` bytes; `argument`: name of the argument that it copies, or ""."""

    op: ProgramOp
    why: Why
    size: int
    argument: str


def copies_in(work: OpWork) -> list[BufferCopy]:
    """The ops that only duplicate a buffer for a reason that the program shows, the most costly first."""
    programs: dict[int, ProgramCopies] = {}
    found: list[BufferCopy] = []
    for op in work.in_programs:
        copies = programs.setdefault(id(op.rows), ProgramCopies(op.rows))
        if op.does == COPY and copies.is_copy(op.at) and (size := op.rows.bytes(op.at)) >= LEAST_BYTES:
            why, argument = copies.why(op.at)
            if why is not Why.OTHER:
                found.append(BufferCopy(op, why, size, argument))
    return found


COPY_SHARE = 0.1
"""Copies, as a share of the time from step to step: XLA needs some in every program with loops, and below a tenth
less is gained than by most other changes."""
LEAST_SIZE = f"{LEAST_BYTES // KIB} KiB"
_WHY = {
    Why.NOT_DONATED: ("argument {} is overwritten but not donated", PARTS["not donated"]),
    Why.ARGUMENT: ("argument {} is overwritten and kept by the caller", PARTS["copied argument"]),
    Why.CARRIED: ("a loop needs its old value in every iteration", PARTS["copied in a loop"]),
}
_TELLING = Telling(
    "Copies of whole buffers take {share:.1%} of the {base}{most}: {what}",
    "Copies of whole buffers take {share:.1%} of the {base}.",
    "Copies of whole buffers, of the time of all ops",
    "device compute times the share of copies that change neither type nor layout in the ops' time",
    COPY_SHARE,
)


def gather(host: HostView) -> OpKind | Silence:
    """The copies of one host; the most costly one for the reason that most of them have comes first."""
    work = work_of(host)
    copies = copies_in(work)
    if not copies:
        return op_kind(host, (), COPY_SHARE) if work.in_programs else UNREAD
    times = {why: sum(one.op.self_ps for one in copies if one.why is why) for why in Why}
    why = max(times, key=lambda one: times[one])
    copies.sort(key=lambda one: one.why is not why)
    found = op_kind(host, [one.op for one in copies], COPY_SHARE)
    told, advice = _WHY[why]
    return replace(
        found,
        what=told.format(copies[0].argument),
        evidence=(
            Evidence("For this reason, of the time of these copies", 100 * times[why] / found.ops_ps, "%"),
            Evidence("Size of the copied buffer", copies[0].size / MIB, "MiB"),
        ),
        advice=advice,
        confidence="medium" if why is Why.ARGUMENT else "high",
    )


RULE = kind_rule("buffer_copies", "Copies of whole buffers", gather, _TELLING, implied_by=("data_movement",))
