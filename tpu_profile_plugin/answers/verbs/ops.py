"""The verb `ops`: which ops take the time of the devices; ids, pages and questions of ops for other verbs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import numpy as np

from tpu_profile_plugin.analysis.common.reasons import OPS
from tpu_profile_plugin.analysis.findings.places import cell
from tpu_profile_plugin.answers.answer import Answer, Link, Next
from tpu_profile_plugin.answers.verb import Asked, verb
from tpu_profile_plugin.errors import NoData
from tpu_profile_plugin.run.catalogue.ops import ANSWERED
from tpu_profile_plugin.run.figures.ops import OpRates, Place
from tpu_profile_plugin.run.run import Run
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


def op_ids(run: Run, names: Iterable[str]) -> list[str]:
    """Ids of the ops of a run with these names, each once; of programs with an op of one name, that with most time."""
    try:
        ops = run.op_rates()
    except NoData:
        return []
    found = (ops.rows_of_name.get(name) for name in names)
    return list(dict.fromkeys(str(ops.id[rows[0]]) for rows in found if rows))


BASES: dict[Place, str] = {
    "device": "of the time of all devices in the recording, idle time included",
    "cpu": "of the time from the first to the last op of the CPU backend, or of the ops' time if that is longer",
    "framework device": "of the time of all devices in the recording, idle time included",
    "framework host": "of the observed time of the host's threads with ops, idle time included",
}
"""What `share_percent` is a share of."""


def page_of(ops: OpRates) -> str:
    """The tool that shows the ops."""
    return "framework_op_stats" if ops.rates is None else "hlo_stats"


def link_to(ops: OpRates, name: str, program_id: int) -> Link:
    """The page with the row of an op marked."""
    if ops.rates is None:
        return Link(page_of(ops), {"t1.row": cell("operation", name)})
    return Link(page_of(ops), {"row": f"{cell('hlo_op_name', name)};{cell('program_id', str(program_id))}"})


def next_op(ops: OpRates, at: int, why: str = "its rates, limit, source and what is fused into it") -> Next:
    """The question about one op."""
    return Next("op", {"name": ops.id[at]}, why)


def next_source(place: str) -> Next:
    """The question about a source line."""
    return Next("source", {"place": place}, "all ops from this line, and their time together")


VERB = verb(ops, needs=OPS)
