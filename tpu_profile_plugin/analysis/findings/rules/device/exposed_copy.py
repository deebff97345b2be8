"""TensorCores wait for copies between memories inside programs, such as values offloaded to the host.

Fires if host copies, or waits for copies between the device's own memories, take at least {EXPOSED_COPY_SHARE:.0%} of
the time from step to step and the programs of a TPU contain such copies.

Keep the value in the device's memory, offload less, or start the copy earlier.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tpu_profile_plugin.analysis.common.reasons import NOT_TPU
from tpu_profile_plugin.analysis.environment.environment import Hardware
from tpu_profile_plugin.analysis.findings.evidence.device.op_kinds import OpKind, op_kind
from tpu_profile_plugin.analysis.findings.evidence.device.op_work import ReadOp
from tpu_profile_plugin.analysis.findings.host_view import HostView
from tpu_profile_plugin.analysis.findings.model import Evidence, Finding, Rule, Silence, lacks
from tpu_profile_plugin.analysis.findings.part_advice import PARTS
from tpu_profile_plugin.analysis.findings.places import costs
from tpu_profile_plugin.analysis.findings.run_view import RunView
from tpu_profile_plugin.analysis.hlo.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.shapes import leaves
from tpu_profile_plugin.analysis.ops.op_nature import Nature
from tpu_profile_plugin.units import MIB

EXPOSED_COPY_SHARE = 0.1
"""Exposed copies, as a share of the step: below it, starting them earlier gains less than a tenth."""

_PARTS = {"exposed_copy": "host copies", "move_wait": "copies between the device's memories"}
"""Parts of the time budget that such copies belong to, in words."""
_COPY = re.compile(r"^(async-)?(copy|slice|dynamic-slice|dynamic-update-slice)-(start|done)\b|^async-done\b")
_HOST_SPACE = 5
"""Number of the host's memory in HLO layouts."""


def gather(host: HostView) -> OpKind | None:
    """The ops that start asynchronous copies or wait for them; None without any, and on other devices than TPUs."""
    table = host.ops
    if host.summary.environment.hardware is not Hardware.TPU:
        return None
    rows = [row for row in table.by_self_time() if _COPY.match(table.name[row]) or _COPY.match(table.category[row])]
    if not rows:
        return None
    ops = [ReadOp(row, Nature.NOT_COUNTED, table.category[row], int(table.self_ps[row])) for row in rows]
    found = host.hlo.located(table.module[rows[0]], table.name[rows[0]])
    size, of_host = (0, False) if found is None else _what(*found)
    evidence = (Evidence("Size of the copied value", size / MIB, "MiB"),) if size else ()
    kind, what = op_kind(host, ops, EXPOSED_COPY_SHARE), "host copies" if of_host else "copies"
    advice = PARTS["copies to the host's memory" if of_host else "exposed copies"]
    return replace(kind, what=what, evidence=evidence, advice=advice)


def _what(rows: ProgramRows, row: int) -> tuple[int, bool]:
    """Size, and whether the host's memory is one side; the start of a copy has both sides in its shape."""
    operands = [one for one in rows.links.operands(row) if one >= 0]
    done = rows.opcodes[row].endswith("-done")
    start = operands[0] if done and operands else row
    arrays = [leaf for one in {row, start, *operands} for _, leaf in leaves(rows.shape(one))]
    return rows.bytes(row) if done else 0, any(leaf.layout.memory_space == _HOST_SPACE for leaf in arrays)


def judge(run: RunView, parts: Sequence[OpKind | None]) -> Finding | Silence:
    """The verdict on the time budget's exposed copies."""
    part = max(_PARTS, key=run.part_ps)
    lost, label = run.lost_in(part), _PARTS[part].capitalize()
    known = run.present(parts)
    if lost.share < EXPOSED_COPY_SHARE or not known:
        if not run.has_devices or run.hardware is not Hardware.TPU:
            return lacks(NOT_TPU, "Only TPUs record copies between memories inside programs.")
        return Silence(f"{label} take {lost.share:.1%} of the {run.base}.")
    most = max((one for one, _ in known), key=lambda one: one.ops_ps)
    what = most.what if part == "exposed_copy" else _PARTS[part]
    return Finding(
        f"{lost.share:.1%} of the {run.base} waits for {what}{most.most}",
        lost.ps,
        "time while a copy is under way and the device computes nothing, per step and device",
        "high",
        (*costs(run, label, lost), *most.of_op, *most.evidence),
        most.advice,
        tuple(host for _, host in known),
        lost.segments,
    )


RULE = Rule("exposed_copy", "Exposed copies", judge, gather)
