"""The HLO programs that a host's devices ran, by time, and their memory."""

from __future__ import annotations

import numpy as np

from tpu_profile_plugin.analysis.findings.host_view import HostView, once
from tpu_profile_plugin.analysis.hlo.programs import Program
from tpu_profile_plugin.analysis.memory.buffers import DEFAULT_SPACE, MemoryLayout
from tpu_profile_plugin.errors import CorruptProfile

MOST_PROGRAMS = 8
"""Programs whose memory is read, longest-running first: the others do not decide how much memory a run needs."""


def programs_by_time(host: HostView, most: int) -> list[int]:
    """Ids of at most `most` programs with HLO that ran, longest first; the largest if no op names its program."""
    programs = host.hlo.programs
    ids, where = np.unique(np.array(host.ops.module, np.uint64), return_inverse=True)
    time = np.bincount(where.reshape(-1), weights=host.ops.self_ps, minlength=len(ids)) if len(ids) else np.zeros(0)
    ran = [int(ids[at]) for at in np.argsort(-time, kind="stable") if int(ids[at]) in programs.modules]
    if not ran and not ids.any():
        ran = sorted(programs.modules, key=lambda number: -programs.size(number))
    return ran[:most]


def layout_of(host: HostView, program_id: int) -> MemoryLayout | None:
    """Memory layout of a program, read once; None if it is missing or its buffer assignment is damaged."""
    known = _layouts(host)
    if program_id not in known:
        program = host.hlo.programs.program(program_id)
        known[program_id] = None if program is None else _layout(program)
    return known[program_id]


@once
def _layouts(_: HostView) -> dict[int, MemoryLayout | None]:
    return {}


def _layout(program: Program) -> MemoryLayout | None:
    try:
        return MemoryLayout(program, DEFAULT_SPACE)
    except CorruptProfile:
        return None
