"""Copies between memories inside compiled programs, and what they copy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tpu_profile_plugin.analysis.findings.on_device.op_work import NamedOp, named_op
from tpu_profile_plugin.analysis.findings.on_device.program_rows import ProgramRows
from tpu_profile_plugin.analysis.hlo.ops import HloOps
from tpu_profile_plugin.analysis.hlo.shapes import leaves
from tpu_profile_plugin.analysis.ops.table import OpTable

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
    found = [row for row in table.by_self_time() if _COPY.match(table.name[row]) or _COPY.match(table.category[row])]
    if not found:
        return None
    row = found[0]
    program = hlo.programs.program(table.module[row])
    rows = None if program is None else ProgramRows(program)
    at = None if rows is None else rows.row(table.name[row])
    place, size, host = ("", 0, False) if rows is None or at is None else _what(rows, at)
    named = named_op(table, hlo, row, table.category[row], table.provenance[row].partition(":")[0], place)
    return Copies(int(table.self_ps[found].sum()), named, size, host)


def _what(rows: ProgramRows, at: int) -> tuple[str, int, bool]:
    """Source, size, and whether the host's memory is one side; the start of a copy has both sides in its shape."""
    operands = [one for one in rows.links.operands(at) if one >= 0]
    done = rows.opcodes[at].endswith("-done")
    start = operands[0] if done and operands else at
    arrays = [leaf for one in {at, start, *operands} for _, leaf in leaves(rows.shape(one))]
    host = any(leaf.layout.memory_space == _HOST_SPACE for leaf in arrays)
    return rows.place(at), rows.bytes(at) if done else 0, host
