"""TensorCores wait for copies between memories inside programs, such as values offloaded to the host.

Fires if host copies, or waits for copies between the device's own memories, take at least {EXPOSED_COPY_SHARE:.0%} of
the time from step to step and the programs of a TPU contain such copies.

Keep the value in the device's memory, offload less, or start the copy earlier.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tpu_profile_plugin.analysis.common.reasons import NOT_TPU
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.evidence.device.op_evidence import of_op
from tpu_profile_plugin.analysis.findings.evidence.device.op_places import Place, longest_run
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import NamedOp, named_op
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Advice, Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.places import per_step, share_of
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import leaves
from tpu_profile_plugin.analysis.ops.op_tables import OpTable
from tpu_profile_plugin.units import MIB

EXPOSED_COPY_SHARE = 0.1
"""Exposed copies, as a share of the step: below it, starting them earlier gains less than a tenth."""

_PARTS = {"exposed_copy": "host copies", "move_wait": "copies between the device's memories"}
"""Parts of the time budget that such copies belong to, in words."""
_COPY = re.compile(r"^(async-)?(copy|slice|dynamic-slice|dynamic-update-slice)-(start|done)\b|^async-done\b")
_HOST_SPACE = 5
"""Number of the host's memory in HLO layouts."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Time in ops that start asynchronous copies or wait for them.

    Attributes:
      time_ps: self time, all cores.
      most: the op with most of it.
      bytes: size of what that op copies; 0 if unknown.
      host: to or from the host's memory.
    """

    time_ps: int
    most: NamedOp
    bytes: int
    host: bool


def costly_copies(table: OpTable, hlo: HloOps) -> Copies | None:
    """The copies of an op table by name or category; None without any."""
    copies = [row for row in table.by_self_time() if _COPY.match(table.name[row]) or _COPY.match(table.category[row])]
    if not copies:
        return None
    row = copies[0]
    program = hlo.programs.program(table.module[row])
    rows = None if program is None else ProgramRows(program)
    position = None if rows is None else rows.row(table.name[row])
    place, size, host = ("", 0, False) if rows is None or position is None else _what(rows, position)
    named = named_op(table, hlo, row, table.category[row], table.provenance[row].partition(":")[0], place)
    return Copies(int(table.self_ps[copies].sum()), named, size, host)


def _what(rows: ProgramRows, row: int) -> tuple[str, int, bool]:
    """Source, size, and whether the host's memory is one side; the start of a copy has both sides in its shape."""
    operands = [one for one in rows.links.operands(row) if one >= 0]
    done = rows.opcodes[row].endswith("-done")
    start = operands[0] if done and operands else row
    arrays = [leaf for one in {row, start, *operands} for _, leaf in leaves(rows.shape(one))]
    host = any(leaf.layout.memory_space == _HOST_SPACE for leaf in arrays)
    return rows.place(row), rows.bytes(row) if done else 0, host


_HOST = Advice(
    "Keep this value in the device's memory, or offload less: the link to the host's memory is far slower than HBM. "
    "Where it does not fit, start the copy earlier so that more computation hides it.",
    jax="Keep this value in device memory, or offload less of it (memory_kind='pinned_host', offload policies of "
    "jax.checkpoint): the link to the host is far slower than HBM. Where it does not fit, recompute it with "
    "jax.checkpoint, or offload what is needed much later so that computation hides the copy.",
)
_OTHER = Advice(
    "Let more computation run while the copy is under way, or make the copied value smaller. A copy between memories "
    "that the next op waits for costs its whole time."
)


@dataclass(frozen=True, slots=True)
class Waited:
    """One host: the copies inside its programs, None on other devices than TPUs; time of all ops; the longest wait."""

    copies: Copies | None
    longest: Place | None = None


def gather(host: HostView) -> Waited:
    """The copies that take most of the TensorCores' time."""
    if host.summary.environment.hardware is not Hardware.TPU:
        return Waited(None)
    copies = costly_copies(host.ops, host.hlo)
    if copies is None or copies.time_ps < EXPOSED_COPY_SHARE * host.ops.op_ps:
        return Waited(copies)
    return Waited(copies, longest_run(host, copies.most.program_id, copies.most.name))


def judge(run: RunView, parts: Sequence[Waited]) -> Finding | Silence:
    """The verdict on the time budget's exposed copies."""
    part_id = max(_PARTS, key=run.part_ps)
    lost = run.lost_in(part_id)
    known = [(part, part.copies, host) for part, host in zip(parts, run.hosts, strict=True) if part.copies]
    if lost.share < EXPOSED_COPY_SHARE or not known:
        if not run.has_devices or run.hardware is not Hardware.TPU:
            return lacks(NOT_TPU, "Only TPUs record copies between memories inside programs.")
        return Silence(f"{_PARTS[part_id].capitalize()} take {lost.share:.1%} of the {run.base}.")
    part, copies, host = max(known, key=lambda one: one[1].time_ps)
    label = _PARTS[part_id].capitalize()
    what = "copies" if part_id == "exposed_copy" and not copies.host else _PARTS[part_id]
    evidence = [
        share_of(label, lost, run.base),
        per_step(label, lost, run.per),
        *of_op(host, copies.most, part.longest),
    ]
    if copies.bytes:
        evidence.append(Evidence("Size of the copied value", copies.bytes / MIB, "MiB"))
    return Finding(
        f"{lost.share:.1%} of the {run.base} waits for {what}, most of it in {copies.most.label}",
        lost.ps,
        "time while a copy is under way and the device computes nothing, per step and device",
        "high",
        tuple(evidence),
        _HOST if copies.host else _OTHER,
        tuple(host for _, _, host in known),
        lost.segments,
    )


RULE = Rule("exposed_copy", "Exposed copies", judge, gather)
