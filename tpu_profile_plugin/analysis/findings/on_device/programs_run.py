"""The HLO programs that a host's devices ran, by time, and their memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tpu_profile_plugin.analysis.memory.layout import DEFAULT_SPACE, MemoryLayout
from tpu_profile_plugin.errors import CorruptProfile

if TYPE_CHECKING:
    from tpu_profile_plugin.analysis.findings.host_view import HostView
    from tpu_profile_plugin.analysis.hlo.programs import Program


def programs_by_time(host: HostView, most: int) -> list[int]:
    """Ids of at most `most` programs, those with the most self time first; the largest if no op names its program."""
    programs = host.hlo.programs
    ids, where = np.unique(np.array(host.ops.module, np.uint64), return_inverse=True)
    time = np.bincount(where.reshape(-1), weights=host.ops.self_ps, minlength=len(ids)) if len(ids) else np.zeros(0)
    ran = [int(ids[at]) for at in np.argsort(-time, kind="stable") if int(ids[at]) in programs.modules]
    if not ran:
        ran = sorted(programs.modules, key=lambda number: -programs.size(number))
    return ran[:most]


def layout_of(program: Program) -> MemoryLayout | None:
    """A program's use of main memory; None if its buffer assignment is damaged."""
    try:
        return MemoryLayout(program, DEFAULT_SPACE)
    except CorruptProfile:
        return None
