"""Programs copy whole buffers before they change them: arguments that are not donated, values that loops carry.

Fires if copies of at least {LEAST_SIZE} that change neither type nor layout take at least {COPY_SHARE:.0%} of
the time from step to step. The program says why: an argument is overwritten although its buffer belongs to the caller,
or a loop needs the old value after it has written the new one; other copies do not count. Where ops that rearrange data
take more time, copies follow from them.

Donate the argument, or change the loop so that the old value is not needed any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NO_PROGRAMS
from tpu_profile_plugin.analysis.findings.evidence.device.buffer_copies import LEAST_BYTES, Why, copies_in
from tpu_profile_plugin.analysis.findings.evidence.device.op_shares import OpShare, op_share, run_share
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import work_of
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.units import KIB, MIB

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


@dataclass(frozen=True, slots=True)
class Copied:
    """The copies of one host.

    Attributes:
      share: of all copies; `most` of it is the most costly one for the reason that most copies have.
      why, why_ps: that reason, and the self time of copies for it.
      size: of what that op copies in bytes; argument: its name, "" if it is none.
    """

    share: OpShare
    why: Why = Why.NOT_DONATED
    why_ps: int = 0
    size: int = 0
    argument: str = ""


def gather(host: HostView) -> Copied | None:
    """The copies of one host; None if no program is known."""
    work = work_of(host)
    if not any(op.rows is not None for op in work.read):
        return None
    copies = copies_in(work)
    if not copies:
        return Copied(OpShare(work.counted_ps))
    times: dict[Why, int] = {}
    for one in copies:
        times[one.why] = times.get(one.why, 0) + work.time_ps([one.op])
    why = max(times, key=lambda one: times[one])
    most = next(one for one in copies if one.why is why)
    ops = [most.op, *(one.op for one in copies if one is not most)]
    return Copied(op_share(host, ops, COPY_SHARE), why, times[why], most.size, most.argument)


def judge(run: RunView, parts: Sequence[Copied | None]) -> Finding | Silence:
    """The verdict on the copies of all hosts."""
    known = run.present(parts)
    if not known:
        return lacks(NO_PROGRAMS, "No ops with known programs recorded.")
    found = run_share(run, [None if part is None else part.share for part in parts])
    if found is None or found.lost.share < COPY_SHARE:
        share = found.lost.share if found else 0.0
        return Silence(f"Copies of whole buffers take {share:.1%} of the {run.base}.")
    part = next(part for part, host in known if host == found.host)
    reason, advice = _WHY[part.why]
    return Finding(
        f"Copies of whole buffers take {found.lost.share:.1%} of the {run.base}, most of it in {found.most.label}: "
        f"{reason.format(part.argument)}",
        found.lost.ps,
        "device compute times the share of copies that change neither type nor layout in the ops' time",
        "high" if part.why in (Why.NOT_DONATED, Why.CARRIED) else "medium",
        (
            Evidence("Copies of whole buffers, of the time of all ops", 100 * found.of_ops, "%"),
            Evidence("For this reason, of the time of these copies", 100 * part.why_ps / part.share.ops_ps, "%"),
            Evidence("Size of the copied buffer", part.size / MIB, "MiB"),
            *found.evidence(),
        ),
        advice,
        found.hosts,
        found.lost.segments,
    )


RULE = Rule("buffer_copies", "Copies of whole buffers", judge, gather, implied_by=("data_movement",))
