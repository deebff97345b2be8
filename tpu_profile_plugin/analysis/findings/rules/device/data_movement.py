"""Ops rearrange data instead of computing: gathers, scatters, transposes, copies.

Fires if they take at least {SHARE_OF_STEP:.0%} of the time from step to step, {LINE_SHARE:.0%} of it one kind of op at
one line, or at least {LEAST_SHARE:.0%} of it and {MOVEMENT_SHARE:.0%} of the ops' time while matrix products take less
than {MATRIX_SHARE:.0%}. It names the op and its line. Programs that mostly copy whole buffers are left to
`buffer_copies`.

Change the layout where the data is made, or read and write contiguous blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.blame.op_nature import Nature
from tpu_profile_plugin.analysis.common.reasons import NO_COSTS
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.evidence.device.buffer_copies import copies_in
from tpu_profile_plugin.analysis.findings.evidence.device.op_evidence import of_op
from tpu_profile_plugin.analysis.findings.evidence.device.op_places import Place, longest_run
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import NamedOp, OpWork, ReadOp, work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.limits import LEAST_SHARE
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.run_view import RunView

SHARE_OF_STEP = 0.25
"""Least share of the time from step to step beside other work: programs of layers, attention and convolutions that
leave nothing to mend rearrange data in up to 17% of their step."""
MOVEMENT_SHARE, MATRIX_SHARE = 0.5, 0.2
"""Least share of movement, and largest share of matrix products, in the ops' time of programs that do little else.
Programs of matrix products need some movement; on real captures these limits told the two kinds apart with a wide
margin."""

LINE_SHARE = 0.5
"""Least share of one kind of op at one line in the movement beside other work: many small moves at many places belong
to the program."""

_KINDS = 3
_MOST_NAMED = 64
_INDEXED = frozenset(("gather", "scatter", "dynamic-slice", "dynamic-update-slice", "sort"))
_LAYOUT = "Change the order of dimensions or the layout where the data is made so that this op is not needed, or let "
_LAYOUT += "the next op read the data as it is."
_INDEX = "Read and write contiguous blocks instead of single rows or elements: sort or group indices first, use slices "
_INDEX += "or a matrix product with one-hot rows for small tables, and keep the indexed dimension outermost."
_WRITES_WHOLE = frozenset(("select", "concatenate", "pad"))
_WHOLE = "Write only the part that changes into the existing buffer (a slice update at an index, such as .at[i].set or "
_WHOLE += "dynamic_update_slice) instead of building all of it anew by a mask, a shift or a concatenation."
_TPU = " On TPUs the innermost dimension should be a multiple of 128."


@dataclass(frozen=True, slots=True)
class Moved:
    """Self times of one host's ops; `most` and `kinds` take most of the movement, `copies_ps` duplicates buffers.

    `line_ps`: of the kind of op and source line with most of the movement.
    """

    counted_ps: int
    unknown_ps: int
    movement_ps: int
    copies_ps: int
    matrix_ps: int
    most: NamedOp | None
    kinds: tuple[tuple[str, int], ...]
    line_ps: int
    longest: Place | None


def gather(host: HostView) -> Moved:
    """How much of the ops' time moves data."""
    work = work_of(host)
    moving = work.of(Nature.MOVEMENT)
    moved, matrix = work.time_ps(moving), work.time_ps(work.of(Nature.MATRIX))
    longest = None
    if moving and moved >= SHARE_OF_STEP * work.counted_ps:
        row = moving[0].index
        longest = longest_run(host, host.ops.module[row], host.ops.name[row])
    most = work.named(moving[0]) if moving else None
    unknown = work.time_ps(work.of(Nature.UNKNOWN))
    copies = work.time_ps([one.op for one in copies_in(work)])
    return Moved(
        work.counted_ps,
        unknown,
        moved,
        copies,
        matrix,
        most,
        tuple(work.kinds(moving)[:_KINDS]),
        _of_one_line(work, moving),
        longest,
    )


def _of_one_line(work: OpWork, moving: Sequence[ReadOp]) -> int:
    """Self time of the kind of op and source line with most of it; ops without a line stand alone."""
    times: dict[tuple[str, str], int] = {}
    for op in moving[:_MOST_NAMED]:
        place = work.named(op).place or work.table.name[op.index]
        times[op.does, place] = times.get((op.does, place), 0) + work.time_ps([op])
    return max(times.values(), default=0)


def judge(run: RunView, parts: Sequence[Moved]) -> Finding | Silence:
    """The verdict on the ops of all hosts."""
    counted, moved = sum(part.counted_ps for part in parts), sum(part.movement_ps for part in parts)
    if 2 * sum(part.unknown_ps for part in parts) >= counted:
        return lacks(NO_COSTS, "No ops with known work recorded.")
    of_ops, matrix = moved / counted, sum(part.matrix_ps for part in parts) / counted
    lost = run.lost_in("device_compute", ps=of_ops * (run.part_ps("compute") + run.part_ps("data_movement")))
    share = lost.share
    clear = share >= SHARE_OF_STEP and max(part.line_ps / max(part.movement_ps, 1) for part in parts) >= LINE_SHARE
    little_else = share >= LEAST_SHARE and of_ops >= MOVEMENT_SHARE and matrix < MATRIX_SHARE
    if not clear and not little_else:
        return Silence(
            f"Ops that rearrange data take {of_ops:.1%} of the ops' time ({share:.1%} of the {run.base}), matrix "
            f"products {matrix:.1%}."
        )
    if 2 * sum(part.copies_ps for part in parts) > moved:
        return Silence(f"Ops that rearrange data take {share:.1%} of the {run.base}; most are copies of whole buffers.")
    host = max(range(len(parts)), key=lambda i: parts[i].movement_ps)
    most = parts[host].most
    assert most is not None
    kinds = ", ".join(f"{does} {ps / parts[host].movement_ps:.0%}" for does, ps in parts[host].kinds)
    return Finding(
        f"Rearranging data takes {share:.1%} of the {run.base}, most of it in {most.label}: {most.does}",
        lost.ps,
        "device compute times the share of gathers, scatters, transposes and copies in the ops' time",
        "high" if little_else else "medium",
        (
            Evidence("Ops that rearrange data, of the time of all ops of known work", 100 * of_ops, "%"),
            Evidence("Matrix products, of the same time", 100 * matrix, "%"),
            Evidence("Kinds of these ops", kinds),
            *of_op(run.hosts[host], most, parts[host].longest),
        ),
        _advice(run, most),
        tuple(run.hosts[i] for i, part in enumerate(parts) if part.movement_ps),
        lost.segments,
    )


def _advice(run: RunView, most: NamedOp) -> Advice:
    general = _INDEX if most.does in _INDEXED else _WHOLE if most.does in _WRITES_WHOLE else _LAYOUT
    return Advice(general + (_TPU if run.hardware is Hardware.TPU else ""))


RULE = Rule("data_movement", "Ops that only rearrange data", judge, gather)
