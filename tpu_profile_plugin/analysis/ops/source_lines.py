"""Sums by source line: time, FLOPs and memory traffic of ops, and memory of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.rows import sums_by
from tpu_profile_plugin.analysis.hlo.programs import Frame
from tpu_profile_plugin.columns.arrays import F64, I64

NO_LOCATION: Frame = ("", "", 0)
"""The line of what has none."""


@dataclass(frozen=True, slots=True, eq=False)
class LineSums:
    """Sums by line, most self time first, then most memory, then by file; what has no line comes last.

    Attributes:
      line: file, function, line; `NO_LOCATION` for the rest, if there is any.
      of_op, of_buffer: int64, the line of each op and of each buffer.
      ops, occurrences, self_ps: int64[lines].
      flops, bytes: float64[lines], of all occurrences.
      buffers, peak_bytes: int64[lines], number and size of the buffers.
    """

    line: tuple[Frame, ...]
    of_op: I64
    of_buffer: I64
    ops: I64
    occurrences: I64
    self_ps: I64
    flops: F64
    bytes: F64
    buffers: I64
    peak_bytes: I64


def sums_by_line(
    op_lines: Sequence[Frame],
    occurrences: I64,
    self_ps: I64,
    flops: F64,
    bytes_: F64,
    buffer_lines: Sequence[Frame],
    buffer_bytes: I64,
) -> LineSums:
    """The sums of ops and of buffers, one line and one value of each column per op or buffer."""
    code_of: dict[Frame, int] = {}
    of_op = _codes(op_lines, code_of)
    of_buffer = _codes(buffer_lines, code_of)
    lines, count = list(code_of), len(code_of)
    time, peak = sums_by(of_op, self_ps, count), sums_by(of_buffer, buffer_bytes, count)
    times, sizes = time.tolist(), peak.tolist()
    order = sorted(range(count), key=lambda i: (lines[i] == NO_LOCATION, -times[i], -sizes[i], lines[i]))
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    return LineSums(
        line=tuple(lines[i] for i in order),
        of_op=place[of_op],
        of_buffer=place[of_buffer],
        ops=np.bincount(of_op, minlength=count)[order],
        occurrences=sums_by(of_op, occurrences, count)[order],
        self_ps=time[order],
        flops=sums_by(of_op, flops, count)[order],
        bytes=sums_by(of_op, bytes_, count)[order],
        buffers=np.bincount(of_buffer, minlength=count)[order],
        peak_bytes=peak[order],
    )


def _codes(lines: Sequence[Frame], code_of: dict[Frame, int]) -> I64:
    return np.array([code_of.setdefault(line, len(code_of)) for line in lines], np.int64)
