"""The verb `ops`: which ops take the time of the devices."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import OPS
from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.ops import BASES, next_op, next_source, page_of
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.run.catalogue.ops import ANSWERED
from tpu_profile_plugin.run.figures.ops import OpRates
from tpu_profile_plugin.tables.column import Column
from tpu_profile_plugin.tables.table import Table

Order = Literal["self_time", "time", "average", "occurrences"]
_SORTED = {"self_time": "self_ps", "time": "time_ps", "average": "average_ps", "occurrences": "occurrences"}
_IF_SORTED = {"average_ps": "average", "time_ps": "time"}
"""Columns that are shown if rows are sorted by them."""
_MOST_NEXT = 3


def ops(
    asked: Asked,
    *,
    sort: Annotated[Order, "What the largest come first by."] = "self_time",
    find: Annotated[str, "Only ops whose name, framework op, program, category or source has this text."] = "",
) -> Answer:
    """The ops that take the time of the devices, or of the CPU without devices, most self time first."""
    found = asked.run.op_rates()
    chosen = np.flatnonzero(found.having(find)) if find else np.arange(len(found))
    if sort != "self_time":
        chosen = chosen[np.argsort(-getattr(found, _SORTED[sort])[chosen], kind="stable")]
    facts: dict[str, int | float] = {"ops_found": len(chosen)}
    if not find and found.rates is not None:
        facts["all_ops_percent"] = 100 * float(found.share.sum())  # the page's cumulative share
    base = BASES[found.place]
    columns = _columns(found, sort)
    values = {**vars(found), "share_percent": 100 * found.share, "average_ps": found.average_ps}
    values["bound_by"] = found.bound_by
    rows = Table(columns, [values[column.id][chosen] for column in columns], name="ops")
    return Answer(Link(page_of(found), _filter(found, chosen, find)), facts, rows, base, _next(found, chosen, find))


def _columns(found: OpRates, sort: str) -> tuple[Column, ...]:
    """Few columns: texts that all ops lack, and figures that the rows are not sorted by, are left out."""
    kept = []
    for column in ANSWERED:
        shown = _IF_SORTED.get(column.id, sort) == sort
        if shown and column.id in ("bound_by", "source", "framework_op"):
            shown = bool((getattr(found, column.id) != "").any())
        if shown:
            kept.append(column)
    return tuple(kept)


def _filter(found: OpRates, chosen: np.ndarray[tuple[int], np.dtype[np.intp]], find: str) -> dict[str, str]:
    """The same filter on the page, which looks into names only."""
    wanted = find.lower()
    named = all(wanted in found.name[at].lower() or wanted in found.framework_op[at].lower() for at in chosen.tolist())
    return {"op": find} if find and named and found.rates is not None else {}


def _next(found: OpRates, chosen: np.ndarray[tuple[int], np.dtype[np.intp]], find: str) -> tuple[Next, ...]:
    first = chosen[:_MOST_NEXT].tolist()
    further = [next_op(found, at) for at in first]
    sources = dict.fromkeys(found.source[at] for at in first if found.source[at])
    further += [next_source(place) for place in list(sources)[:1]]
    if len(set(found.program) - {""}) > 1:
        further.append(Next("programs", {}, "the programs that the ops are of, by time"))
    if find and not first:
        further.append(Next("ops", {}, "all ops"))
    return tuple(further)


VERB = verb(ops, needs=OPS)
