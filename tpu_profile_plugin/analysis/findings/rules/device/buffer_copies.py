"""Programs copy whole buffers before they change them: arguments that are not donated, values that loops carry.

Fires if copies of at least {LEAST_SIZE} that change neither type nor layout take at least {COPY_SHARE:.0%} of
the time from step to step. The program says why: an argument is overwritten although its buffer belongs to the caller,
or a loop needs the old value after it has written the new one; other copies do not count. Where ops that rearrange data
take more time, copies follow from them.

Donate the argument, or change the loop so that the old value is not needed any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import UNREAD, OpKind, Telling, kind_rule, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import OpWork, ProgramOp, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Silence
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import Shape, leaves
from tpu_profile_plugin.units import KIB, MIB

COPY, _PART = "copy", "get-tuple-element"
_SAME = frozenset(("bitcast", "copy", "opt-barrier", "optimization-barrier"))
LEAST_BYTES = 4096
"""Size of a buffer (a page of memory) below which its copy only costs the start of an op: loop counters and scalars."""


class Why(Enum):
    """Why a buffer is copied."""

    NOT_DONATED = "not donated"
    """An argument is overwritten, its buffer belongs to the caller, and a result of its shape and type is returned."""
    ARGUMENT = "argument"
    """An argument is overwritten whose buffer must not change."""
    CARRIED = "carried"
    """A loop carries the value from iteration to iteration and still needs the old one when it writes the new one."""
    OTHER = "other"
    """XLA's own reasons, such as the initial value of a loop; the program does not show what to change."""


class ProgramCopies:
    """The copies of one program."""

    def __init__(self, rows: ProgramRows) -> None:
        self._rows, self._links = rows, rows.links

    def is_copy(self, row: int) -> bool:
        """Whether an instruction only duplicates its operand: same type, sizes, layout and memory."""
        inside = self._rows.inside(row)
        copies = [one for one in inside if self._rows.opcodes[one] == COPY]
        if len(copies) != 1 or any(self._rows.opcodes[one] not in (*_SAME, "parameter") for one in inside):
            return False
        source = self._links.operands(copies[0])[:1]
        return (
            source != [] and source[0] >= 0 and _kind(self._rows.shape(copies[0])) == _kind(self._rows.shape(source[0]))
        )

    def why(self, row: int) -> tuple[Why, str]:
        """The reason for a copy, and the name of the argument that it copies; "" if it is none."""
        rows = list(self._rows.back(row, lambda one: self._rows.opcodes[one] in (*_SAME, _PART)))
        source = rows[-1]
        path = tuple(
            self._rows.instruction(one).tuple_index for one in reversed(rows) if self._rows.opcodes[one] == _PART
        )
        if self._rows.opcodes[source] != "parameter":
            return Why.OTHER, ""
        home = self._links.home(source)
        if home in self._bodies:
            return Why.CARRIED, ""
        if home != self._rows.program.entry:
            return Why.OTHER, ""
        number = int(self._rows.instruction(source).parameter_number)
        name = self._rows.program.op_names[source] or self._rows.program.names[source]
        if (number, path) in self._donated:
            return Why.OTHER, name
        given_back = _kind(self._rows.shape(row)) in self._results
        return (Why.NOT_DONATED if given_back else Why.ARGUMENT), name

    @cached_property
    def _bodies(self) -> frozenset[int]:
        """Computations that loops run in every iteration."""
        loops = (row for row, opcode in enumerate(self._rows.opcodes) if opcode == "while")
        return frozenset(called for loop in loops for called in self._links.called(loop))

    @cached_property
    def _donated(self) -> frozenset[tuple[int, tuple[int, ...]]]:
        """Arguments, by number and path, whose buffers the program may overwrite."""
        header = self._rows.header
        entries = (*header.input_output_alias.entries, *header.buffer_donor.entries)
        return frozenset((int(one.parameter_number), tuple(one.parameter_shape_index)) for one in entries)

    @cached_property
    def _results(self) -> frozenset[tuple[object, ...]]:
        """Types and sizes of the program's results."""
        entry = self._rows.program.entry
        root = None if entry is None else self._rows.root(entry)
        return frozenset() if root is None else frozenset(_kind(leaf) for _, leaf in leaves(self._rows.shape(root)))


def _kind(shape: Shape) -> tuple[object, ...]:
    """What two arrays have in common if one can take the other's place in memory."""
    return shape.element_type, tuple(shape.dimensions), tuple(shape.layout.minor_to_major), shape.layout.memory_space


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

_NOT_DONATED = Advice(
    "Let the program overwrite this argument in place: donate its buffer if the caller does not use it again after the "
    "call. Every call copies it before the first write.",
    jax="Donate the argument: jax.jit(step, donate_argnames=...) or donate_argnums, and use only the returned value "
    "afterwards. Every call copies the argument before the first write to it.",
    tensorflow="Keep the value in a tf.Variable and update it with assign or scatter_update instead of passing it in "
    "and returning it. Every call copies the argument before the first write to it.",
)
_ARGUMENT = Advice(
    "Pass only the part of this argument that the program changes, or build the changed value inside the program. The "
    "caller keeps the old buffer, so every call copies all of it before the first write."
)
_CARRIED = Advice(
    "Change the loop so that the carried value is read before it is written, and only by slices: an iteration that "
    "still needs the old value after writing the new one copies the whole buffer. Collect per-iteration results as "
    "the loop's outputs, and keep values that do not change outside the loop's state.",
    jax="Read from the carry before you update it, update it with .at[i].set or lax.dynamic_update_slice, and return "
    "per-iteration results as the scan's outputs (ys) rather than in the carry. An iteration that needs the old value "
    "after writing the new one copies the whole buffer.",
)
_WHY = {
    Why.NOT_DONATED: ("argument {} is overwritten but not donated", _NOT_DONATED),
    Why.ARGUMENT: ("argument {} is overwritten and kept by the caller", _ARGUMENT),
    Why.CARRIED: ("a loop needs its old value in every iteration", _CARRIED),
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
