"""The lines of the program's source by the time of the ops that were compiled from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import NO_SOURCE
from tpu_profile_plugin.analysis.hlo.source import written_stack
from tpu_profile_plugin.columns.arrays import F64, I64
from tpu_profile_plugin.errors import NotFound
from tpu_profile_plugin.run.figures.op_rates import OpRates, Texts, objects, run_op_rates
from tpu_profile_plugin.run.hosts import RunHosts

_CHOICES = 20


@dataclass(frozen=True, eq=False)
class SourceLines:
    """Lines of the source, most self time first.

    Attributes:
      ops: all ops.
      at: positions of the ops from these lines, most self time first.
      by_stack: no op is from the place itself; it is in the call stacks of these ops.
      line: `file:line`.
      self_ps: int64[lines], summed over the ops of each line; share: float64[lines], as a fraction of `ops.total_ps`.
      count: int64[lines], number of ops.
      longest: int64[lines], position of the op with most self time.
    """

    ops: OpRates
    at: I64
    by_stack: bool
    line: Texts
    self_ps: I64
    share: F64
    count: I64
    longest: I64


def run_source(run: RunHosts, place: str = "") -> SourceLines:
    """The source lines of the ops, all or those of a place, `FILE` or `FILE:LINE`; `FILE` may be the end of a path.

    Raises NoData if no op has a source line, NotFound with `argument` and `choices` if none is from the place.
    """
    ops = run_op_rates(run)
    has_source = np.flatnonzero(ops.source != "")
    if not len(has_source):
        raise NO_SOURCE.error()
    if not place:
        return _lines(ops, has_source, by_stack=False)
    at = np.array([row for row in has_source.tolist() if _is_of(ops.source[row], place)], np.int64)
    if len(at):
        return _lines(ops, at, by_stack=False)
    at = np.array(
        [row for row in has_source.tolist() if any(_is_of(call, place) for call in _stack(ops, row))], np.int64
    )
    if len(at):
        return _lines(ops, at, by_stack=True)
    found = _lines(ops, has_source, by_stack=False)
    wanted = place.rpartition("/")[2].partition(":")[0].lower()
    alike = [line for line in found.line if wanted and wanted in line.lower()]
    choices = (alike or list(found.line))[:_CHOICES]
    message = f"No op is from {place[:200]!r}; most time is from {', '.join(choices[:3])}."
    raise NotFound(message, code="source_not_found", argument="place", choices=choices)


def _stack(ops: OpRates, at: int) -> Iterator[str]:
    """The calls that lead to an op, as `file:line`."""
    assert ops.summary is not None
    for file, _, line in written_stack(ops.summary.records.text[int(ops.rows[at])].source_stack):
        yield f"{file}:{line}"


def _is_of(source: str, place: str) -> bool:
    """Whether `file:line` is in the place."""
    file = source.rpartition(":")[0]
    return any(text == place or text.endswith(f"/{place.lstrip('/')}") for text in (source, file))


def _lines(ops: OpRates, at: I64, *, by_stack: bool) -> SourceLines:
    line, first, of = np.unique(ops.source[at].astype(str), return_index=True, return_inverse=True)
    self_ps = np.zeros(len(line), np.int64)
    np.add.at(self_ps, of, ops.self_ps[at])
    order = np.argsort(-self_ps, kind="stable")
    return SourceLines(
        ops,
        at,
        by_stack,
        objects(line[order].tolist()),
        self_ps[order],
        self_ps[order] / max(1, ops.total_ps),
        np.bincount(of, minlength=len(line))[order],
        at[first[order]],  # the first op of a line has most time
    )
